// Results about a word: its row of the table, barcode, decay and neighbors. Computed live if the network runs in the
// page, otherwise as stored.

import { barcodeChart, decayChart } from './wordcharts.js'
import { KIND_SAID, MARKS, MODIFIERS, html, percent, signed } from './elements.js'

const STRONGEST = 300

export class Words {
  /** measured: columns of the table, by name; context: of the live network, or null; stored: barcodes and impulses. */
  constructor(words, measured, context, stored, about, kinds, people = {}) {
    Object.assign(this, { words, measured, context, about, kinds })
    // Maps, not objects: `constructor` is a word too.
    this.barcodes = new Map(Object.entries(stored.barcodes ?? {}))
    this.people = new Map(Object.entries(people))
    this.impulses = new Map(Object.entries(stored.impulse ?? {}))
    this.place = new Map()
    measured?.ids.forEach((id, i) => this.place.set(words[id], i))
    this.rank = new Int32Array(measured ? measured.ids.length : 0)
    if (measured)
      this.order().forEach((i, k) => {
        this.rank[i] = k + 1
      })
  }

  /** The key by which words are ranked: |strength| minus two errors, with modifiers first and valence words last. */
  certain(i) {
    const kind = this.kinds[this.measured.kinds[i]]
    const place = MODIFIERS.includes(kind) ? 1 : kind === 'valence' ? -1 : 0
    return 100 * place + Math.abs(this.measured.strength[i]) - 2 * this.measured.error[i]
  }

  /** Places in the table, the most certain modifier first. */
  order() {
    const size = Float64Array.from(this.measured.ids, (_, i) => this.certain(i))
    return Array.from(size.keys()).sort((a, b) => size[b] - size[a])
  }

  row(word) {
    const i = this.place.get(word)
    if (i === undefined) return null
    const found = { word, i, rank: this.rank[i], kind: this.kinds[this.measured.kinds[i]] }
    for (const name of ['counts', 'strength', 'error', 'valence', 'norm', 'tau']) found[name] = this.measured[name]?.[i]
    return found
  }

  /** The kind of a word by its strength or, if no strengths were measured, by its barcode. */
  kind(word) {
    const row = this.row(word)
    if (row) return row.kind
    return this.measured ? 'none' : (this.seen(word)?.barcode.kind ?? 'none')
  }

  /** Barcode and impulse, or null. */
  seen(word) {
    const live = this.context?.word(word)
    if (live) return live
    const barcode = this.barcodes.get(word)
    if (!barcode) return null
    return {
      barcode: { ...barcode, means: [barcode.mean_positive, barcode.mean_negative] },
      impulse: this.impulses.get(word),
      at: null,
    }
  }

  knows(word) {
    return this.place.has(word) || this.seen(word) !== null
  }

  /** The nearest words in the modifier subspace among the `STRONGEST`; for weaker words nearness is mostly chance. */
  nearest(word, n = 8) {
    if (!this.measured?.places) return []
    const R = this.measured.rank
    const i = this.place.get(word)
    const at = i === undefined ? this.seen(word)?.at : Array.from(this.measured.places.subarray(i * R, (i + 1) * R))
    if (!at) return []
    const found = []
    for (let j = 0; j < this.rank.length; j++) {
      if (j === i || this.rank[j] > STRONGEST) continue
      let apart = 0
      for (let r = 0; r < R; r++) apart += (this.measured.places[j * R + r] - at[r]) ** 2
      found.push([apart, j])
    }
    return found
      .sort((a, b) => a[0] - b[0])
      .slice(0, n)
      .map(([, j]) => this.words[this.measured.ids[j]])
  }
}

export function badge(kind) {
  return html('span', { class: `kind ${kind}` }, `${MARKS[kind] || '○'} ${KIND_SAID[kind]}`)
}

/** A word as a button. */
export function wordButton(word, open, kind = 'none') {
  return html(
    'button',
    { type: 'button', class: `word-link ${kind}`, onclick: () => open(word) },
    MARKS[kind] ? `${MARKS[kind]} ` : null,
    html('bdi', {}, word),
  )
}

/** A strength in words. */
function counted(strength) {
  const size = `${Math.abs(100 * strength).toFixed(0)} %`
  if (strength < -1.05) return `with reversed sign (${percent(strength)})`
  return strength < 0 ? `${size} less` : `${size} more`
}

/** A sentence on how a word changes the next one, with its strength if it was measured. */
function changed(row) {
  if (!row) return html('p', { class: 'said' }, 'The bars are a first-order estimate; the strength was not measured.')
  return html(
    'p',
    { class: 'said' },
    'After it, valence words count ',
    html('b', {}, counted(row.strength)),
    ` (strength ${signed(row.strength)} ± ${row.error.toFixed(2)}). The bars are a first-order estimate.`,
  )
}

/** Sentences and charts about a word, each in its own box. */
export function wordFacts(words, word, width) {
  const seen = words.seen(word)
  if (!seen) return [html('p', { class: 'hint' }, 'Only the table row of this word is stored.')]
  const { barcode, impulse } = seen
  const found = [
    html(
      'div',
      { class: 'fact' },
      html('h4', {}, 'How it changes the next word'),
      barcodeChart(barcode, words.about, width),
      changed(words.row(word)),
    ),
  ]
  if (impulse) {
    const tau = impulse.tau ?? null
    found.push(
      html(
        'div',
        { class: 'fact' },
        html('h4', {}, 'How it fades'),
        decayChart({ ...impulse, tau }, words.kind(word), width),
        html(
          'p',
          { class: 'said' },
          'Return to the line: ',
          html('b', {}, tau === null ? 'no single timescale fits' : `τ = ${tau.toFixed(1)} words`),
          '.',
        ),
      ),
    )
  }
  return found
}
