// The words of a sentence as buttons, each with a bar for the change of the logit.

import { looks, toldOf } from './arcs.js'
import { KIND_SAID, MARKS, html, signed } from './elements.js'

export const PADS = 50 // as in the paper
export const SAID = {
  pad: 'blank input',
  unknown: 'unknown to the network',
  'left out': 'known to the network, not carried by this page',
}

const LABELS = { a: 'Words of the sentence', b: 'Words of the other sentence' }

/** Keeps its nodes from one key press to the next and updates only what changed. */
export class WordList {
  constructor(place, reader) {
    this.place = place
    this.reader = reader
    this.items = []
    this.list = html('div', { class: 'words', role: 'group' })
    this.list.addEventListener('keydown', event => this.move(event))
    this.padded = html('p', { class: 'hint padded', hidden: true })
    place.append(this.list, this.padded)
  }

  /** What is written below a word: by default the logit after it. */
  number(reading, t) {
    return this.reader.view?.number(reading, t) ?? signed(reading.logits[t], 1)
  }

  show(shown, name, { aligned, gap, x, size }, label = LABELS[name]) {
    this.name = name
    this.list.classList.toggle('aligned', aligned)
    this.list.style.setProperty('--gap', `${gap}px`)
    this.list.style.setProperty('--size', `${size}px`)
    this.list.style.setProperty('--from', `${x(1) - gap / 2}px`)
    this.place.hidden = shown === null
    const read = shown?.tokens ?? []
    const tokens = read.slice(0, read.length - (shown?.padded ?? 0))
    this.padded.hidden = tokens.length === read.length
    if (shown) this.padded.textContent = `+ ${PADS} blank inputs: ${this.number(shown.reading, read.length)}`
    this.list.setAttribute('aria-label', label)
    while (this.items.length > tokens.length) this.items.pop().button.remove()
    let reach = 0.5
    tokens.forEach((token, t) => {
      const item = this.items[t] ?? this.add(t)
      const number = this.number(shown.reading, t + 1)
      const change = shown.reading.change(t)
      reach = Math.max(reach, Math.abs(change))
      this.set(item, token, number, change)
    })
    this.list.style.setProperty('--reach', reach)
    for (const { button, change } of this.items)
      button.style.setProperty('--tint', `${Math.round((34 * Math.abs(change)) / reach)}%`)
  }

  add(t) {
    const bar = html('span', { class: 'change' })
    const text = html('bdi', {})
    const name = html('span', { class: 'name' }, text)
    const number = html('span', { class: 'logit' })
    const more = html('span', { class: 'away' })
    const by = html('span', { class: 'away' })
    const point = () => this.reader.point(this.name, t)
    const button = html(
      'button',
      {
        type: 'button',
        class: 'word',
        tabindex: t ? -1 : 0,
        onpointerenter: point,
        onfocus: point,
        onclick: () => this.reader.open(this.items[t].word),
      },
      html('span', { class: 'room' }, bar),
      name,
      ' ',
      number,
      more,
      by,
    )
    const item = { button, bar, name, text, number, more, by }
    this.items.push(item)
    this.list.append(button)
    return item
  }

  set(item, { word, state }, number, change) {
    const same = item.word === word && item.state === state
    if (same && item.shown === number && item.change === change) return
    if (!same) {
      const kind = state === 'known' ? this.reader.words.kind(word) : 'none'
      item.text.textContent = word
      item.button.className = `word ${kind} ${state.replace(' ', '-')}`
      item.name.dataset.mark = state === 'known' ? MARKS[kind] : state === 'pad' ? '' : '?'
      item.said = state === 'known' ? (!MARKS[kind] ? '' : `, ${KIND_SAID[kind]}`) : `, ${SAID[state]}`
    }
    Object.assign(item, { word, state, shown: number, change })
    item.bar.className = `change ${change >= 0 ? 'up' : 'down'}`
    item.bar.style.setProperty('--by', Math.abs(change))
    item.button.style.setProperty('--adds', `var(--${change >= 0 ? 'up' : 'down'})`)
    item.number.textContent = number
    item.more.textContent = `${item.said}, changed by ${signed(change)}`
  }

  /** Underline the words that others modify, in the color of the kind of change, and say so. */
  underline(changes, tokens) {
    this.items.forEach((item, t) => {
      const mine = changes.filter(change => change.to === t)
      const most = mine.reduce((best, one) => (Math.abs(one.share) > Math.abs(best?.share ?? 0) ? one : best), null)
      if (most) item.name.dataset.modified = looks(most.share)
      else delete item.name.dataset.modified
      item.by.textContent = mine.map(one => `; ${toldOf(one, tokens)}`).join('')
    })
  }

  mark(t, here) {
    this.items.forEach((item, i) => item.button.classList.toggle('pointed', here && i === t))
  }

  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key]
    if (!step) return
    const from = this.items.findIndex(item => item.button === document.activeElement)
    const to = Math.min(this.items.length - 1, Math.max(0, from + step))
    this.items.forEach((item, i) => {
      item.button.tabIndex = i === to ? 0 : -1
    })
    this.items[to].button.focus()
    event.preventDefault()
  }
}
