// The table of words: sorts and searches ten thousand words in a few milliseconds and draws a hundred at a time.

import { byId, html, signed } from './elements.js'
import { wordButton } from './facts.js'
import { meant } from './words.js'

const PAGE = 100
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/ // beginnings of cells that spreadsheets run as formulas (OWASP), as in context/modifiers.py
const count = n => n.toLocaleString('en')
const COLUMNS = [
  { name: 'word', title: 'word', text: true },
  { name: 'kind', title: 'kind', text: true },
  { name: 'strength', title: 'strength', show: value => signed(value), certain: true },
  { name: 'error', title: '±', show: value => value.toFixed(2) },
  { name: 'people', title: 'people', show: value => (Number.isNaN(value) ? '–' : signed(value)) },
  { name: 'valence', title: 'valence', show: value => signed(value), size: true },
  { name: 'norm', title: 'norm ‖ΔJ‖', show: value => value.toPrecision(3) },
  { name: 'tau', title: 'τ, words', show: value => (value > 0 ? value.toFixed(1) : '–') },
  { name: 'counts', title: 'seen', show: value => count(value) },
]

export function wordTable(words, open, split) {
  const n = words.measured.ids.length
  const people = Float64Array.from(words.measured.ids, id => words.people.get(words.words[id])?.[0] ?? NaN)
  const measured = people.some(value => value === value) ? { ...words.measured, people } : words.measured
  const columns = COLUMNS.filter(({ name }) => name === 'word' || name === 'kind' || measured[name])
  const text = {
    word: Array.from(measured.ids, id => words.words[id]),
    kind: Array.from(measured.kinds, k => words.kinds[k]),
  }
  const value = (name, i) => (name in text ? text[name][i] : measured[name][i])
  let sorted = { name: 'strength', down: true }
  let shown = PAGE
  byId('words-table').hidden = false

  const body = html('tbody')
  const heads = columns.map(column => {
    const button = html('button', { type: 'button', onclick: () => sort(column) }, column.title)
    return html('th', { scope: 'col', class: column.text ? '' : 'number' }, button)
  })
  byId('rows').append(html('thead', {}, html('tr', {}, ...heads)), body)

  /** Places of the words that match, in order. */
  const chosen = () => {
    const wanted = meant(byId('search').value.trim().toLowerCase(), split)
    const kind = byId('kind').value
    const found = []
    for (let i = 0; i < n; i++)
      if (wanted.some(part => text.word[i].toLowerCase().includes(part)) && (!kind || text.kind[i] === kind)) found.push(i)
    const { name, down } = sorted
    const column = columns.find(one => one.name === name)
    const key = column.text
      ? null
      : Float64Array.from({ length: n }, (_, i) => {
          if (column.certain) return words.certain(i)
          const own = measured[name][i]
          if (Number.isNaN(own)) return name === 'people' ? -9 : 0 // below every judgment, as 0 is below every τ
          return column.size ? Math.abs(own) : own
        })
    const compare = key ? (i, j) => key[i] - key[j] : (i, j) => (text[name][i] < text[name][j] ? -1 : 1)
    return found.sort((i, j) => (down ? compare(j, i) : compare(i, j)))
  }

  const sort = column => {
    sorted = { name: column.name, down: sorted.name === column.name ? !sorted.down : !column.text }
    shown = PAGE
    show()
  }

  const show = () => {
    const found = chosen()
    heads.forEach((head, k) => {
      const here = columns[k].name === sorted.name
      head.setAttribute('aria-sort', here ? (sorted.down ? 'descending' : 'ascending') : 'none')
    })
    body.replaceChildren(
      ...found.slice(0, shown).map(i =>
        html(
          'tr',
          {},
          ...columns.map(column => {
            if (column.name === 'word')
              return html('th', { scope: 'row' }, wordButton(text.word[i], open, words.kind(text.word[i])))
            return html(
              'td',
              { class: column.text ? '' : 'number' },
              column.text ? text[column.name][i] : column.show(value(column.name, i)),
            )
          }),
        ),
      ),
    )
    byId('found').textContent = found.length
      ? `${count(found.length)} of ${count(n)} words. Strength: the share by which a word changes the effect of the next word. Sorting by it ranks words by |strength| − 2 errors.`
      : 'No word matches: try a shorter part of it, or all kinds.'
    byId('more').hidden = found.length <= shown
    byId('more').textContent = `Show ${Math.min(PAGE, found.length - shown)} more`
  }

  const again = () => {
    shown = PAGE
    show()
  }
  byId('search').addEventListener('input', again)
  byId('kind').addEventListener('change', again)
  byId('more').addEventListener('click', () => {
    shown += PAGE
    show()
  })
  byId('csv').addEventListener('click', () => save(columns, chosen(), value))
  show()
}

function save(columns, rows, value) {
  const safe = content => (typeof content === 'string' && FORMULA.test(content) ? `'${content}` : String(content))
  const cell = content => `"${safe(content).replaceAll('"', '""')}"`
  const lines = [
    columns.map(column => cell(column.name)),
    ...rows.map(i => columns.map(column => cell(value(column.name, i)))),
  ]
  const url = URL.createObjectURL(
    new Blob([lines.map(line => line.join(',')).join('\r\n') + '\r\n'], { type: 'text/csv' }),
  )
  html('a', { href: url, download: 'words.csv' }).click()
  URL.revokeObjectURL(url)
}
