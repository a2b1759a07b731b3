// The live network: reads the typed sentence and draws the logit after every word.

import { arcChart, looks, modifications, modifiedBy } from './arcs.js'
import { gainChart, placesOf, readingChart } from './charts.js'
import { Dial } from './dial.js'
import { MODIFIERS, byId, html, signed, times } from './elements.js'
import { badge, wordFacts } from './facts.js'
import { fromFragment, remember } from './link.js'
import { Reading } from './network.js'
import { PADS, SAID, WordList } from './wordlist.js'
import { PAD, shuffled } from './words.js'

const SHORT = 30 // words of a text whose arcs are drawn at every key press

export class Reader {
  constructor({ network, vocabulary, split, context, words, open, unit, examples }) {
    Object.assign(this, { vocabulary, split, context, words, open, unit })
    const gain = context ? h => context.gain(h) : undefined
    // One cache for each way of reading, so that a key press computes only what changed.
    this.readings = {}
    for (const name of ['a', 'b', 'before']) this.readings[name] = new Reading(network, gain)
    if (context?.quiet) for (const name of ['a', 'b']) this.readings[name + ' off'] = new Reading(context.quiet, gain)
    this.state = { a: examples[0]?.text ?? '', b: null, off: false, gain: 1, shuffle: null, pads: false }
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

  /** The words of a text with the logit after each: [{ word, logit, known }]. */
  read(text, { off = false, gain = 1, shuffle = null, pads = false } = {}) {
    const plain = this.readings.a.network
    const steered = gain === 1 ? plain : plain.steered(this.context.subspace, gain)
    const reading = new Reading(off ? this.context.quiet : steered)
    const tokens = this.tokens(text, { shuffle, pads })
    const { logits } = reading.read(tokens.map(token => token.row))
    return tokens.map(({ word, state }, t) => ({
      word,
      logit: logits[t + 1],
      known: state === 'known' || state === 'pad',
    }))
  }

  tokens(text, { shuffle, pads }) {
    const plain = this.split(text).map(word => this.vocabulary.spelled(word))
    const words = shuffle === null ? plain : shuffled(plain, shuffle)
    const found = words.map(word => this.vocabulary.token(word))
    if (pads) for (let i = 0; i < PADS; i++) found.push({ word: '<pad>', row: PAD, state: 'pad' })
    return found
  }

  change(name, value) {
    this.state = { ...this.state, [name]: value }
    this.show(true)
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
    if (!this.context?.quiet) byId('off-label').hidden = true
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
    const plain = tokens.filter(token => !this.isModifier(token))
    if (plain.length && plain.length < tokens.length) return plain.map(token => token.word).join(' ')
    return examples.find(({ text }) => text !== a)?.text ?? a
  }

  restore(fragment) {
    const state = fromFragment(fragment)
    if (state)
      this.state = { ...state, off: state.off && Boolean(this.context?.quiet), gain: this.dial.allowed(state.gain) }
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

  show(changed = false) {
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
      series.push({
        name: called,
        look: name,
        words: tokens.map(token => token.word),
        logits: reading.logits,
        gains: reading.gains,
      })
    }
    if (perturbed && b === null) {
      const plain = this.tokens(a, { shuffle: null, pads: false })
      const { logits } = this.readings.before.read(plain.map(token => token.row))
      series.unshift({ name: 'unchanged', look: 'before', words: plain.map(token => token.word), logits, gains: [] })
    }
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
    this.pointing = setTimeout(() => this.pointAgain(changed), changed ? 60 : 0)
  }

  isModifier(token) {
    return token.state === 'known' && MODIFIERS.includes(this.words.kind(token.word))
  }

  /** Arcs from modifiers to the words that they modify, and lines under those words. */
  connectWords() {
    for (const name of ['a', 'b']) {
      const shown = this.shown[name]
      const place = byId('arcs-' + name)
      if (shown && this.context)
        shown.changes = modifications(shown.tokens, shown.reading, token => this.isModifier(token), this.context.unit)
      const chart =
        shown?.changes && this.places.aligned
          ? arcChart(this.places, shown.changes, shown.tokens, t => this.point(name, t))
          : null
      place.replaceChildren(...(chart ? [chart] : []))
      this.lists[name].underline(shown?.changes ?? [], shown?.tokens ?? [])
    }
  }

  draw(series) {
    this.width = byId('reading').clientWidth || this.width
    this.places = placesOf(this.width, series)
    const point = t => this.point('a', t)
    const reading = readingChart(this.places, series, this.unit, point)
    const gain = this.context && gainChart(this.places, series, point)
    this.cursors = [reading.point, ...(gain ? [gain.point] : [])]
    byId('reading').replaceChildren(reading.chart)
    byId('gains').replaceChildren(...(gain ? [gain.chart] : []))
  }

  tell(series) {
    const parts = series
      .filter(one => one.words.length)
      .map(one => {
        const last = one.logits.at(-1)
        const name = series.length > 1 ? html('span', { class: `key ${one.look}` }, one.name) : null
        const probability = Math.round(100 / (1 + Math.exp(-last)))
        const judged =
          this.unit === 'logit'
            ? `${last > 0 ? 'positive' : 'negative'}, ${last > 0 ? probability : 100 - probability} % sure`
            : 'in total'
        return html(
          'span',
          { class: 'total' },
          name,
          html('b', { class: last > 0 ? 'up' : 'down' }, signed(last)),
          ` ${judged}`,
        )
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
    if (token) this.focus(token, this.shown[name], t)
    else byId('focus').replaceChildren()
  }

  focus(token, { tokens, reading, changes = [] }, t) {
    const change = reading.logits[t + 1] - reading.logits[t]
    const known = token.state === 'known'
    const kind = this.words.kind(token.word)
    byId('focus').replaceChildren(
      html(
        'div',
        { class: 'fact' },
        html('p', { class: 'focus-word' }, html('bdi', {}, token.word)),
        html('p', {}, known ? badge(kind) : html('span', { class: 'kind' }, SAID[token.state])),
        html(
          'p',
          { class: 'said' },
          `Here it moves the ${this.unit} by `,
          html('b', {}, signed(change)),
          `, to ${signed(reading.logits[t + 1])}.`,
        ),
        ...modifiedBy(changes, tokens, t),
        ...(known && this.context ? this.strengthHere(token.word, reading, t) : []),
        known
          ? html(
              'p',
              { class: 'said' },
              html('button', { type: 'button', class: 'quiet', onclick: () => this.open(token.word) }, 'Open its card'),
            )
          : null,
      ),
      ...(known && this.context ? wordFacts(this.words, token.word, Math.min(360, this.width - 8)) : []),
    )
  }

  /** Its strength, which is measured on the line, and what it does here, where earlier words act as well. */
  strengthHere(word, reading, t) {
    const row = this.words.row(word)
    const [before, after] = [reading.gains[t], reading.gains[t + 1]]
    const said = []
    if (row)
      said.push(
        html(
          'p',
          { class: 'said' },
          'Strength ',
          html('b', {}, `${signed(row.strength)} ± ${row.error.toFixed(2)}`),
          `: read on the line, the next word counts ${times(1 + row.strength)}.`,
        ),
      )
    if (Number.isFinite(after))
      said.push(
        html(
          'p',
          { class: 'said' },
          'Here the next word would count ',
          html('b', {}, times(after)),
          `; before this word it was ${times(before)}${Math.abs(before - 1) > 0.25 ? ', because of what was read earlier' : ''}.`,
        ),
      )
    return said
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
