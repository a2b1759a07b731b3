// What is known of a word: its row of the table, its barcode, its decay, its neighbours. Live where the network runs
// here, else as stored.

import { barcodeChart, decayChart } from './wordcharts.js'
import { KIND_SAID, MARKS, html, percent } from './elements.js'

const STRONGEST = 300

export class Words {
  /** measured: columns of the table, by name; context: of the live network, or null; stored: barcodes and impulses. */
  constructor(words, measured, context, stored, about, kinds, threshold) {
    Object.assign(this, { words, measured, context, about, kinds, threshold })
    // Maps, not objects: `constructor` is a word too.
    this.barcodes = new Map(Object.entries(stored.barcodes ?? {}))
    this.impulses = new Map(Object.entries(stored.impulse ?? {}))
    this.place = new Map()
    measured?.ids.forEach((id, i) => this.place.set(words[id], i))
    this.rank = new Int32Array(measured ? measured.ids.length : 0)
    if (measured)
      this.order('score').forEach((i, k) => {
        this.rank[i] = k + 1
      })
  }

  /** Places in the table by the size of a measure, largest first. */
  order(column) {
    const size = this.measured[column].map(Math.abs)
    return Array.from(size.keys()).sort((a, b) => size[b] - size[a])
  }

  row(word) {
    const i = this.place.get(word)
    if (i === undefined) return null
    const found = { word, i, rank: this.rank[i], kind: this.kinds[this.measured.kinds[i]] }
    for (const name of ['counts', 'score', 'share', 'valence', 'norm_fixed']) found[name] = this.measured[name]?.[i]
    return found
  }

  /** Its kind, if it is a modifier: above the threshold, or, where there is none, by its barcode alone. */
  modifier(word) {
    const row = this.row(word)
    if (row) return Math.abs(row.score) > this.threshold ? row.kind : 'other'
    return this.measured ? 'other' : (this.seen(word)?.barcode.kind ?? 'other')
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

  /** The words nearest to one in the modifier subspace, of the `STRONGEST`: of others it is mostly chance. */
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

/** A word one can click. */
export function wordButton(word, open, kind = 'other') {
  return html(
    'button',
    { type: 'button', class: `word-link ${kind}`, onclick: () => open(word) },
    MARKS[kind] ? `${MARKS[kind]} ` : null,
    html('bdi', {}, word),
  )
}

/** A change of valence in words. */
function counted(share) {
  const size = `${Math.abs(100 * share).toFixed(0)} %`
  if (share < -1.05) return `the other way round (${percent(share)})`
  return share < 0 ? `${size} less` : `${size} more`
}

/** Sentences and charts about a word, each in a box of its own. */
export function wordFacts(words, word, width) {
  const seen = words.seen(word)
  if (!seen) return [html('p', { class: 'hint' }, 'Of this word only the row of the table is stored.')]
  const { barcode, impulse } = seen
  const found = [
    html(
      'div',
      { class: 'fact' },
      html('h4', {}, 'What it does to the next word'),
      barcodeChart(barcode, words.about, width),
      html(
        'p',
        { class: 'said' },
        'After it, valence words count ',
        html('b', {}, counted(barcode.share)),
        ' (to first order).',
      ),
    ),
  ]
  if (impulse) {
    const tau = impulse.tau ?? null
    found.push(
      html(
        'div',
        { class: 'fact' },
        html('h4', {}, 'How it fades'),
        decayChart({ ...impulse, tau }, barcode.kind, width),
        html(
          'p',
          { class: 'said' },
          'Its scope: ',
          html('b', {}, tau === null ? 'no single timescale fits' : `τ = ${tau.toFixed(1)} words`),
          ' back to the line.',
        ),
      ),
    )
  }
  return found
}
