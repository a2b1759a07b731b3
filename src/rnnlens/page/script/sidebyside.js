// Several networks read the same sentence: their logits in one chart, and below it the words as each reads them.

import { arcChart, modifications } from './arcs.js'
import { placesOf, readingChart, swatch } from './charts.js'
import { KIND_SAID, MODIFIERS, byId, html, signed } from './elements.js'
import { Reading } from './reading.js'
import { SAID, WordList } from './wordlist.js'

const NEAR = 3 // words
const SMALLER = 0.9 // words leave room for their marks, which differ between networks

/** A network that reads: its name, its look, and the strengths of its words. */
export class Reads {
  /** measured: columns of the table of words; effect: the usual size of a word's effect, or null. */
  constructor({ name, look, network, vocabulary, split, measured, kinds, effect }) {
    Object.assign(this, { name, look, network, vocabulary, split, effect })
    this.reading = new Reading(network)
    this.strengths = new Map()
    measured.ids?.forEach((id, i) => {
      const row = { strength: measured.strength[i], error: measured.error[i], kind: kinds[measured.kinds[i]] }
      this.strengths.set(vocabulary.words[id], row)
    })
  }

  tokens(text) {
    const found = this.split(text).map(word => this.vocabulary.token(this.vocabulary.spelled(word)))
    return this.network.backward ? found.reverse() : found
  }

  /** The words of a text with the logit after each: [{ word, logit, known }]. */
  read(text) {
    const tokens = this.tokens(text)
    const { logits } = new Reading(this.network).read(tokens.map(token => token.row))
    const known = state => state === 'known' || state === 'pad'
    return tokens.map(({ word, state }, t) => ({ word, logit: logits[t + 1], known: known(state) }))
  }

  kind(word) {
    return this.strengths.get(word)?.kind ?? 'none'
  }

  isModifier(token) {
    return token.state === 'known' && MODIFIERS.includes(this.kind(token.word))
  }
}

export class SideBySide {
  /** networks: of Reads; people: what people say of a word's strength. */
  constructor(networks, people, unit, sides, examples) {
    Object.assign(this, { networks, unit, sides })
    this.people = new Map(Object.entries(people))
    this.text = examples[0] ?? ''
    this.width = 600 // until the page is laid out
    this.pointed = null
    this.rows = networks.map(network => this.row(network))
    this.connect(examples)
    this.restore()
    new ResizeObserver(([{ target }]) => {
      if (target.clientWidth && target.clientWidth !== this.width) this.show()
    }).observe(byId('reading'))
    addEventListener('hashchange', () => this.restore())
  }

  /** The place of a network's words, below its name and what it reads in the end. */
  row(network) {
    const said = html('span', { class: 'row-said' })
    const arcs = html('div', { class: 'chart' })
    const words = html('div')
    const head = html('h3', { class: 'row-head' }, swatch(network.look), html('bdi', {}, network.name), said)
    byId('reads').append(html('div', { class: 'reads-row' }, head, arcs, words))
    const list = new WordList(words, {
      point: (_, t) => this.point(t),
      open: () => {},
      words: { kind: word => network.kind(word) },
    })
    return { said, arcs, list }
  }

  connect(examples) {
    byId('text').addEventListener('input', event => this.read(event.target.value))
    for (const text of examples) {
      const choose = () => {
        this.read(text)
        this.fill()
      }
      const chip = html('button', { type: 'button', class: 'chip', onclick: choose }, text.replaceAll('<pad> ', ''))
      document.querySelector('.examples').append(chip)
    }
  }

  /** Take the sentence from the address, as in #read=not+bad. */
  restore() {
    this.text = new URLSearchParams(location.hash.slice(1)).get('read') ?? this.text
    this.fill()
    this.show()
  }

  fill() {
    byId('text').value = this.text
  }

  /** Show another sentence, and put it into the address. */
  read(text) {
    this.text = text
    this.show(true)
    clearTimeout(this.saving)
    this.saving = setTimeout(() => {
      try {
        history.replaceState(null, '', '#' + new URLSearchParams({ read: text }))
      } catch {
        /* some browsers do not allow it for files */
      }
    }, 60)
  }

  /** Show a sentence with a word in it. */
  tryWord(word) {
    this.read(`It was ${word} good.`)
    this.fill()
    byId('live').scrollIntoView()
    byId('text').focus({ preventScroll: true })
  }

  show(changed = false) {
    this.shown = this.networks.map(network => {
      const { name, look, reading } = network
      const tokens = network.tokens(this.text)
      const { logits } = reading.read(tokens.map(token => token.row))
      return { name, look, tokens, reading, logits, words: tokens.map(token => token.word) }
    })
    this.width = byId('reading').clientWidth || this.width
    const places = placesOf(this.width, this.shown)
    this.places = { ...places, size: SMALLER * places.size }
    const { chart, point } = readingChart(this.places, this.shown, this.unit, this.sides, t => this.point(t))
    this.cursor = point
    byId('reading').replaceChildren(chart)
    this.tell()
    this.rows.forEach(({ list }, k) =>
      list.show(this.shown[k], String(k), this.places, `Words as ${this.networks[k].name} reads them`),
    )
    // Done after a delay, so that typing stays fast.
    clearTimeout(this.pointing)
    this.pointing = setTimeout(() => this.finish(changed), changed ? 60 : 0)
  }

  /** What each network reads in the end, beside its line in the legend and above its words. */
  tell() {
    const parts = this.shown.map(({ name, look, logits, words }, k) => {
      const last = logits.at(-1)
      const total = words.length ? html('b', { class: last > 0 ? 'up' : 'down' }, signed(last)) : '–'
      this.rows[k].said.textContent = words.length ? `${signed(last)} ${this.judged(last)}` : ''
      return html('span', { class: 'total' }, swatch(look), html('bdi', {}, name), ' ', total)
    })
    byId('verdict').replaceChildren(...parts)
  }

  judged(last) {
    if (this.unit !== 'logit') return 'in total'
    const side = last > 0 ? this.sides.above : this.sides.below
    return this.sides.sure ? `${side}, ${Math.round(100 / (1 + Math.exp(-Math.abs(last))))} % sure` : side
  }

  /** Arcs from modifiers to the words that they modify, and the facts about a word. */
  finish(typed) {
    this.networks.forEach((network, k) => {
      const { tokens, reading } = this.shown[k]
      const isModifier = token => network.isModifier(token)
      const changes = network.effect ? strongest(modifications(tokens, reading, isModifier, network.effect)) : []
      const chart = this.places.aligned ? arcChart(this.places, changes, tokens, t => this.point(t)) : null
      this.rows[k].arcs.replaceChildren(...(chart ? [chart] : []))
      this.rows[k].list.underline(changes, tokens)
    })
    const { tokens } = this.shown[0]
    const modifier = tokens.reduce((best, _, t) => (this.size(t) > this.size(best) ? t : best), 0)
    this.point(typed ? tokens.length - 1 : Math.min(this.pointed ?? modifier, tokens.length - 1))
  }

  /** The largest strength that a network has for a word of the sentence. */
  size(t) {
    const sizes = this.networks.map((network, k) => {
      const token = this.shown[k].tokens[t]
      return token && network.isModifier(token) ? Math.abs(network.strengths.get(token.word).strength) : 0
    })
    return Math.max(...sizes)
  }

  /** Mark a word in the chart and in every row, and show what each network does with it. */
  point(t) {
    clearTimeout(this.pointing)
    const token = this.shown[0].tokens[t]
    if (t >= 0 && !token) return
    this.pointed = token ? t : null
    this.cursor(token ? t : -1)
    for (const { list, arcs } of this.rows) {
      list.mark(t, Boolean(token))
      for (const arc of arcs.querySelectorAll('.arc'))
        arc.classList.toggle('pointed', [arc.dataset.from, arc.dataset.to].includes(String(t)))
    }
    byId('focus').replaceChildren(...(token ? this.facts(t) : []))
  }

  /** A word of the sentence in every network, as a table. */
  facts(t) {
    const { word } = this.shown[0].tokens[t]
    const said = this.people.get(word)
    const number = text => html('td', { class: 'number' }, text)
    const rows = this.networks.map((network, k) => {
      const { tokens, logits } = this.shown[k]
      const { word: own, state } = tokens[t]
      const row = state === 'known' ? network.strengths.get(own) : null
      const kind = state === 'known' ? KIND_SAID[network.kind(own)] : SAID[state]
      return html(
        'tr',
        {},
        html('th', { scope: 'row' }, swatch(network.look), html('bdi', {}, network.name)),
        number(signed(logits[t + 1] - logits[t])),
        number(signed(logits[t + 1])),
        number(row ? `${signed(row.strength)} ± ${row.error.toFixed(2)}` : '–'),
        html('td', {}, row || state !== 'known' ? kind : 'not measured'),
      )
    })
    const heads = ['network', 'it adds here', `${this.unit} after it`, 'its strength', 'it is']
    const column = (text, i) => html('th', { scope: 'col', class: i > 0 && i < 4 ? 'number' : '' }, text)
    const head = html('tr', {}, ...heads.map(column))
    return [
      html('p', { class: 'focus-word' }, html('bdi', {}, word)),
      html(
        'p',
        { class: 'said' },
        'Its strength in people’s judgment: ',
        said ? html('b', {}, signed(said[0])) : 'not known.',
        said ? ` (${said[1]} phrases).` : null,
      ),
      html(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The selected word in every network' },
        html('table', { class: 'plain' }, html('thead', {}, head), html('tbody', {}, ...rows)),
      ),
    ]
  }
}

/** The largest change that each modifier makes to a word close by: with all of them, rows would be too high. */
function strongest(changes) {
  const size = ({ after, alone }) => Math.abs(after - alone)
  const near = changes.filter(({ from, to }) => to - from <= NEAR)
  return near.filter(one => near.every(other => other.from !== one.from || size(other) <= size(one)))
}
