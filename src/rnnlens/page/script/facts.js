// Results about a word: its row of the table, barcode, decay and neighbors. Computed live if the network runs in the
// page, otherwise as stored.

import { barcodeChart, decayChart } from './wordcharts.js'
import { KIND_SAID, MARKS, MODIFIERS, html, signed } from './elements.js'

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

  /** The end of the axis of all barcodes: a negator of strength −2 changes a probe word by twice its effect. */
  get reach() {
    if (!this.context) return null
    const { positive, negative } = this.context.probes.base
    const sizes = [...positive, ...negative].map(Math.abs).sort((a, b) => a - b)
    return 2 * sizes[Math.floor(0.9 * (sizes.length - 1))]
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

  /** Barcode and fading or, if the network does not run in the page, impulse; or null. */
  seen(word) {
    const live = this.context?.word(word)
    if (live) return live
    const barcode = this.barcodes.get(word)
    if (!barcode) return null
    return {
      barcode: { ...barcode, means: [barcode.mean_positive, barcode.mean_negative] },
      impulse: this.impulses.get(word) ?? null,
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

/** A sentence on how a word changes the next one, with its strength if it was measured. */
function changed(row, live) {
  const bars = live ? 'Each bar is a probe word.' : 'The bars are a first-order estimate.'
  if (!row) return html('p', { class: 'said' }, `${bars} Its strength was not measured with its error.`)
  return html(
    'p',
    { class: 'said' },
    'Strength ',
    html('b', {}, `${signed(row.strength)} ± ${row.error.toFixed(2)}`),
    `. ${bars}`,
  )
}

/** Sentences and charts about a word, each in its own box. */
export function wordFacts(words, word, width) {
  const seen = words.seen(word)
  if (!seen) return [html('p', { class: 'hint' }, 'Only the table row of this word is stored.')]
  const row = words.row(word)
  const fact = (title, ...content) => html('div', { class: 'fact' }, html('h4', {}, title), ...content)
  const told = (said, tau) =>
    html('p', { class: 'said' }, said, html('b', {}, tau > 0 ? `τ = ${tau.toFixed(1)} words` : 'no single timescale fits'), '.')
  const found = [
    fact(
      'How it changes what the next word adds',
      barcodeChart(seen.barcode, words.about, words.reach, width),
      changed(row, Boolean(seen.fade)),
    ),
  ]
  if (seen.fade) {
    const tau = row?.tau > 0 ? row.tau : seen.fade.tau
    const chart = decayChart(seen.fade.strength, { fit: seen.fade.fit, tau, range: [-1.5, 0.75] }, words.kind(word), width)
    found.push(fact('How its strength fades', chart, told('Timescale: ', tau)))
  } else if (seen.impulse) {
    const { distance, fit, tau } = seen.impulse
    const chart = decayChart(distance, { fit, tau: tau ?? null, range: [0, 0] }, words.kind(word), width)
    found.push(fact('How the state returns to the line', chart, told('Return to the line: ', tau)))
  }
  return found
}
