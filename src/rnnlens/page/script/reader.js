// The live network: reads the typed sentence and draws what it reads after every word.

import { arcChart, modifications } from './arcs.js'
import { gainChart, placesOf } from './charts.js'
import { Dial } from './dial.js'
import { MODIFIERS, byId, html } from './elements.js'
import { showFocus } from './focus.js'
import { fromFragment, remember } from './link.js'
import { BothWays, readingOf } from './reading.js'
import { BothView, ClassView, LogitView } from './views.js'
import { PADS, WordList } from './wordlist.js'
import { PAD, shuffled } from './words.js'

const SHORT = 30 // words of a text whose arcs are drawn at every key press
const AT_ONCE = 100 // milliseconds of computing gains at a time, so that the page stays responsive

export class Reader {
  /** sides: { above, below: what a logit above and below 0 means, sure: whether σ(logit) is a probability, name: of the
   *  class that was analyzed }. */
  constructor({ network, vocabulary, split, context, words, open, unit, sides, kindsBySide, examples }) {
    this.bySide = kindsBySide && new Map(Object.entries(kindsBySide))
    Object.assign(this, { network, vocabulary, split, context, words, open, unit, sides })
    this.both = network instanceof BothWays
    this.view = this.viewOf(network)
    /** What a modifier changes: the backward reader reads the word before it next. */
    this.next = this.both && network.shown === 'backwards' ? 'the word before' : 'the next word'
    this.quiet = context?.quiet ? network.with(context.quiet) : null
    const gain = context ? h => context.gain(h) : undefined
    // One cache for each way of reading, so that a key press computes only what changed.
    this.readings = {}
    for (const name of ['a', 'b', 'before']) this.readings[name] = readingOf(network, gain)
    if (this.quiet) for (const name of ['a', 'b']) this.readings[name + ' off'] = readingOf(this.quiet, gain)
    this.state = { a: examples[0]?.text ?? '', b: null, off: false, gain: 1, shuffle: null, pads: false, chosen: null }
    this.dial = new Dial(network, context, gain, value => this.change('gain', value))
    this.lists = { a: new WordList(byId('words-a'), this), b: new WordList(byId('words-b'), this) }
    this.width = 600 // until the page is laid out
    this.pointed = null
    this.connect(examples)
    this.restore(location.hash)
    new ResizeObserver(([{ target }]) => {
      if (target.clientWidth && target.clientWidth !== this.width) this.show()
    }).observe(byId('reading'))
    addEventListener('hashchange', () => this.restore(location.hash))
  }

  viewOf({ classes }) {
    const choose = name => this.change('chosen', name)
    const of = classes && new ClassView({ classes, choose })
    if (this.both) return new BothView({ unit: this.unit, sides: this.sides, of })
    return of ?? new LogitView({ unit: this.unit, sides: this.sides })
  }

  /** The words of a text, each with what is read after it: [{ word, known, logit, … }]. */
  read(text, options = {}) {
    const { tokens, reading } = this.fresh(text, options)
    const known = state => state === 'known' || state === 'pad'
    return tokens.map(({ word, state }, t) => ({ word, known: known(state), ...reading.after(t) }))
  }

  /** The logits of a text: one, or one for each class. */
  logits(text, options = {}) {
    const { reading } = this.fresh(text, options)
    return Array.from(reading.lastScores ?? [reading.total])
  }

  fresh(text, { off = false, gain = 1, shuffle = null, pads = false }) {
    const { network } = this
    const steered = gain === 1 ? network : network.with(network.own.steered(this.context.subspace, gain))
    const tokens = this.tokens(text, { shuffle, pads })
    return { tokens, reading: readingOf(off ? this.quiet : steered).read(tokens.map(token => token.row)) }
  }

  tokens(text, { shuffle, pads }) {
    const plain = this.split(text).map(word => this.vocabulary.spelled(word))
    const words = shuffle === null ? plain : shuffled(plain, shuffle)
    if (this.network.backward) words.reverse()
    const found = words.map(word => this.vocabulary.token(word))
    if (pads) for (let i = 0; i < PADS; i++) found.push({ word: '<pad>', row: PAD, state: 'pad' })
    return found
  }

  change(name, value) {
    this.state = { ...this.state, [name]: value }
    this.show(true, name !== 'chosen')
  }

  connect(examples) {
    const change = (name, value) => this.change(name, value)
    for (const name of ['a', 'b'])
      byId('text-' + name).addEventListener('input', event => change(name, event.target.value))
    byId('off').addEventListener('change', event => change('off', event.target.checked))
    byId('pads').addEventListener('change', event => change('pads', event.target.checked))
    byId('shuffle').addEventListener('change', event => change('shuffle', event.target.checked ? 1 : null))
    byId('again').addEventListener('click', () => change('shuffle', this.state.shuffle + 1))
    byId('compare').addEventListener('click', () => {
      change('b', this.state.b === null ? this.counterpart(examples) : null)
      this.fill()
      if (this.state.b !== null) byId('text-b').focus()
    })
    byId('share').addEventListener('click', () => this.share())
    if (!this.quiet) byId('off-label').hidden = true
    const list = document.querySelector('.examples')
    for (const { text, note, right } of examples) {
      const mark = right === null ? null : html('span', { class: right ? 'right' : 'wrong' }, right ? '✓ ' : '✗ ')
      const choose = () => {
        change('a', text)
        this.fill()
        byId('shared').textContent = note ? `From the corpus: ${note}.` : ''
      }
      const said = note ? html('span', { class: 'away' }, ` (${note})`) : null
      const chip = { type: 'button', class: 'chip', title: note || null, onclick: choose }
      list.append(html('button', chip, mark, text.replaceAll('<pad> ', ''), said))
    }
  }

  /** A sentence to compare with: the same without its modifiers or, if it has none, another example. */
  counterpart(examples) {
    const { a } = this.state
    const tokens = this.tokens(a, { shuffle: null, pads: false })
    const plain = tokens.filter(token => !this.isModifier(token)).map(token => token.word)
    if (this.network.backward) plain.reverse()
    if (plain.length && plain.length < tokens.length) return plain.join(' ')
    return examples.find(({ text }) => text !== a)?.text ?? a
  }

  restore(fragment) {
    const state = fromFragment(fragment)
    if (state)
      this.state = { ...state, off: state.off && Boolean(this.quiet), gain: this.dial.allowed(state.gain) }
    this.fill()
    this.show()
  }

  /** Show a sentence with a word in it. */
  tryWord(word) {
    this.state = { ...this.state, a: `It was ${word} good.`, b: 'It was good.' }
    this.fill()
    this.show(true)
    byId('live').scrollIntoView()
    byId('text-a').focus({ preventScroll: true })
  }

  /** Set the inputs from the state. */
  fill() {
    byId('text-a').value = this.state.a
    byId('text-b').value = this.state.b ?? ''
    byId('off').checked = this.state.off
    byId('shuffle').checked = this.state.shuffle !== null
    byId('pads').checked = this.state.pads
  }

  /** typed: whether the last word is selected. */
  show(changed = false, typed = changed) {
    const { a, b, off, gain, shuffle, pads } = this.state
    const steered = gain !== 1 && !off
    const perturbed = off || steered || shuffle !== null || pads
    this.dial.show(gain, off)
    byId('other').hidden = b === null
    byId('again').hidden = shuffle === null
    byId('compare').setAttribute('aria-expanded', String(b !== null))
    byId('compare').textContent = b === null ? 'Compare two' : 'Only one'
    this.shown = {}
    const series = []
    for (const [name, text] of [
      ['a', a],
      ['b', b],
    ]) {
      if (text === null) continue
      const tokens = this.tokens(text, { shuffle, pads })
      const way = steered ? this.dial.reading(name, gain) : this.readings[off ? name + ' off' : name]
      const reading = way.read(tokens.map(token => token.row))
      this.shown[name] = { tokens, reading, padded: pads ? PADS : 0 }
      const called = name === 'b' ? 'second' : b === null ? 'changed' : 'first'
      series.push({ name: called, look: name, words: tokens.map(token => token.word), reading })
    }
    if (perturbed && b === null) {
      const plain = this.tokens(a, { shuffle: null, pads: false })
      const reading = this.readings.before.read(plain.map(token => token.row))
      series.unshift({ name: 'unchanged', look: 'before', words: plain.map(token => token.word), reading })
    }
    this.view.prepare(series.find(one => one.look === 'a').reading, series.map(one => one.reading), this.state.chosen)
    this.draw(series)
    this.tell(series)
    for (const name of ['a', 'b']) this.lists[name].show(this.shown[name] ?? null, name, this.places)
    byId('shared').textContent = ''
    // Done after a delay, so that typing stays fast.
    clearTimeout(this.saving)
    clearTimeout(this.pointing)
    if (changed) this.saving = setTimeout(() => remember(this.state), 60)
    // Arcs of a long text take a while, too.
    const short = series.every(one => one.words.length <= SHORT)
    if (short) this.connectWords()
    else {
      for (const name of ['a', 'b']) this.lists[name].underline([], [])
      clearTimeout(this.connecting)
      this.connecting = setTimeout(() => this.connectWords(), 60)
    }
    this.pointing = setTimeout(() => this.pointAgain(typed), changed ? 60 : 0)
  }

  /** Whether a word is a modifier. side: for which of the two readers, if there are two. */
  isModifier({ word, state }, side = this.network.shown) {
    if (state !== 'known') return false
    const known = this.bySide?.get(word)
    if (known) return MODIFIERS.includes(known[side === 'backwards' ? 1 : 0])
    return side === this.network.shown && MODIFIERS.includes(this.words.kind(word))
  }

  /** Arcs from modifiers to the words that they modify, and lines under those words. */
  connectWords() {
    for (const name of ['a', 'b']) {
      const shown = this.shown[name]
      const place = byId('arcs-' + name)
      if (shown && this.context) shown.changes = this.modifications(shown)
      const chart =
        shown?.changes && this.places.aligned
          ? arcChart(this.places, shown.changes, shown.tokens, t => this.point(name, t))
          : null
      place.replaceChildren(...(chart ? [chart] : []))
      this.lists[name].underline(shown?.changes ?? [], shown?.tokens ?? [])
    }
  }

  /** What modifiers do to words after them; those of a backward reader, to words before them. */
  modifications({ tokens, reading }) {
    const { unit } = this.context
    if (!this.both) return modifications(tokens, reading, token => this.isModifier(token), unit)
    const last = tokens.length - 1
    const left = modifications(tokens, reading.forwards, token => this.isModifier(token, 'forwards'), unit)
    const reversed = [...tokens].reverse()
    const right = modifications(reversed, reading.backwards, token => this.isModifier(token, 'backwards'), unit)
    return [...left, ...right.map(change => ({ ...change, from: last - change.from, to: last - change.to }))]
  }

  draw(series) {
    this.width = byId('reading').clientWidth || this.width
    this.places = placesOf(this.width, series)
    const charts = this.view.charts(this.places, series, (name, t) => this.point(name, t))
    this.cursors = charts.map(chart => chart.point)
    byId('reading').replaceChildren(...charts.map(({ chart }) => chart))
    clearTimeout(this.counting)
    if (this.context) this.drawGains(series)
  }

  /** The chart of gains: of a long text they are computed a few at a time. */
  drawGains(series) {
    const title = `how much ${this.next} would count${this.sides.name ? ` for ${this.sides.name}` : ''}, as a multiple`
    const until = performance.now() + AT_ONCE
    if (!series.every(one => one.look === 'before' || one.reading.prepare(until))) {
      byId('gains').replaceChildren(html('p', { class: 'hint' }, `Computing ${title} …`))
      this.counting = setTimeout(() => this.drawGains(series))
      return
    }
    const gain = gainChart(this.places, series, t => this.point('a', t))
    this.cursors.push(gain.point)
    byId('gains').replaceChildren(html('p', { class: 'caption' }, title), gain.chart)
    if (this.pointed?.name === 'a') gain.point(this.pointed.t)
  }

  tell(series) {
    const parts = series
      .filter(one => one.words.length)
      .map(one => {
        const name = series.length > 1 ? html('span', { class: `key ${one.look}` }, one.name) : null
        return html('span', { class: 'total' }, name, ...this.view.verdict(one.reading))
      })
    byId('verdict').replaceChildren(
      ...(parts.length ? parts : [html('span', { class: 'hint' }, 'Nothing read yet: type some words.')]),
    )
  }

  /** Select a word after a change: the last one if typed, else the one selected before, else the strongest modifier. */
  pointAgain(typed) {
    const tokens = this.shown.a.tokens.filter(token => token.state !== 'pad')
    if (!tokens.length) return this.point(null)
    const strength = token =>
      this.isModifier(token) ? (this.words.row(token.word)?.strength ?? this.words.seen(token.word).barcode.share) : 0
    const negates = tokens.some(token => strength(token) < 0)
    const size = token => (negates ? -strength(token) : Math.abs(strength(token)))
    const strongest = tokens.reduce((best, token, t) => (size(token) > size(tokens[best]) ? t : best), 0)
    const t = typed ? tokens.length - 1 : (this.pointed?.t ?? strongest)
    return this.point('a', Math.min(t, tokens.length - 1))
  }

  /** Mark a word of a sentence in all charts, and show its facts. */
  point(name, t = -1) {
    const token = this.shown[name]?.tokens[t]
    if (name && !token) return
    clearTimeout(this.pointing)
    this.pointed = token ? { name, t } : null
    for (const cursor of this.cursors) cursor(token ? t : -1)
    for (const list of Object.values(this.lists)) list.mark(token ? t : -1, list === this.lists[name])
    for (const arc of document.querySelectorAll('.arc')) {
      const mine = token && arc.closest(`#arcs-${name}`) && [arc.dataset.from, arc.dataset.to].includes(String(t))
      arc.classList.toggle('pointed', Boolean(mine))
    }
    if (token) showFocus(this, token, this.shown[name], t)
    else byId('focus').replaceChildren()
  }

  async share() {
    remember(this.state)
    try {
      await navigator.clipboard.writeText(location.href)
      byId('shared').textContent = 'The link to this page with these sentences is copied.'
    } catch {
      byId('shared').textContent = 'The address of this page now contains these sentences: copy it from the address bar.'
    }
  }
}
