// How words change other words, computed by the network in the page: strengths, barcodes and decays. The same quantities
// as in context/*.py, for any word and at any state.

import { dot } from './vectors.js'
import { PAD } from './words.js'

const LAGS = 10 // as in context/strength.py

export class Context {
  /** about: { negates, changes, positive, negative: words, many, few: places of
   * the probes that measure strengths, and how they fade }; arrays: { h_star, subspace? }. */
  constructor(network, vocabulary, about, { h_star, subspace }) {
    this.network = network
    this.vocabulary = vocabulary
    this.about = about
    this.hStar = Float64Array.from(h_star)
    this.subspace = subspace
    this.driven = new Map()
    const drives = (side, places) => places[side].map(place => this.drive(about[side][place]))
    const some = places => ({ positive: drives('positive', places), negative: drives('negative', places) })
    this.many = some(about.many)
    this.few = some(about.few)
    const { positive, negative } = this.effects(this.hStar, this.many)
    this.baseContrast = mean(positive) - mean(negative)
    /** The mean size of a probe word's effect at h*. */
    this.unit = mean([...positive, ...negative].map(Math.abs))
    this.quiet = subspace ? network.without(subspace, this.hStar) : null
    this.cache = new Map()
  }

  drive(word) {
    if (!this.driven.has(word)) this.driven.set(word, this.network.drive(this.vocabulary.token(word).row))
    return this.driven.get(word)
  }

  /** The drives and effects at h* of all probe words: computed when a word is first looked at. */
  get probes() {
    if (!this.all) {
      const on = side => this.about[side].map(word => this.drive(word))
      const drives = { positive: on('positive'), negative: on('negative') }
      this.all = { drives, base: this.effects(this.hStar, drives) }
    }
    return this.all
  }

  /** What each probe word adds to the logit at a state, beyond a blank input. */
  effects(h, { positive, negative }) {
    const { network } = this
    const u = network.recur(h)
    const after = drive => network.logitAfter(h, drive, u)
    const blank = after(network.drive(PAD))
    const on = drives => drives.map(drive => after(drive) - blank)
    return { positive: on(positive), negative: on(negative) }
  }

  /** The mean effect of positive probe words at a state minus that of negative ones. */
  contrast(h, drives = this.many) {
    const { positive, negative } = this.effects(h, drives)
    return mean(positive) - mean(negative)
  }

  /** How much the next word would count at a state, as a multiple of its effect at h*. After a word that was read at h*
   * it is 1 + the strength of that word. */
  gain(h) {
    return this.contrast(h) / this.baseContrast
  }

  /** How a state changes the effect of each probe word, relative to h*. */
  barcode(h) {
    const { drives, base } = this.probes
    const now = this.effects(h, drives)
    const change = side => now[side].map((x, i) => x - base[side][i])
    const positive = change('positive')
    const negative = change('negative')
    const share = this.gain(h) - 1
    return { positive, negative, means: [mean(positive), mean(negative)], share, kind: this.kind(share) }
  }

  kind(share) {
    if (Math.abs(share) < this.about.changes) return 'none'
    return share > 0 ? 'intensifier' : share <= this.about.negates ? 'negator' : 'diminisher'
  }

  /** A word's barcode and how its strength fades, both from h*. */
  word(word) {
    if (!this.cache.has(word)) {
      const { row, state } = this.vocabulary.token(word)
      const after = this.network.step(this.hStar, row)
      this.cache.set(
        word,
        state === 'known'
          ? { barcode: this.barcode(after), fade: this.fade(after), at: this.place(after) }
          : null,
      )
    }
    return this.cache.get(word)
  }

  /** The strength after 0, 1, … blank inputs, from the state right after a word, and a fitted exponential. */
  fade(h) {
    const strength = []
    let plain = this.hStar
    for (let t = 0; t <= LAGS; t++) {
      strength.push(this.contrast(h, this.few) / this.contrast(plain, this.few) - 1)
      h = this.network.step(h)
      plain = this.network.step(plain)
    }
    return { strength, ...exponential(strength) }
  }

  /** Coordinates in the modifier subspace, relative to h*. */
  place(h) {
    if (!this.subspace) return null
    const away = h.map((x, i) => x - this.hStar[i])
    const N = h.length
    return Array.from({ length: this.subspace.length / N }, (_, r) => dot(this.subspace.subarray(r * N), away, N))
  }
}

/** Fit a·exp(−t/τ) + c as `fit_exponential` does: a fine grid of τ, with a and c in closed form. */
export function exponential(y, shortest = 0.2, steps = 200) {
  const T = y.length
  const level = mean(y)
  const spread = y.reduce((sum, value) => sum + (value - level) ** 2, 0)
  let best = { score: -1 }
  for (let k = 0; k < steps; k++) {
    const tau = shortest * (T / shortest) ** (k / (steps - 1))
    const basis = y.map((_, t) => Math.exp(-t / tau))
    const middle = mean(basis)
    let along = 0
    let size = 0
    for (let t = 0; t < T; t++) {
      along += (y[t] - level) * (basis[t] - middle)
      size += (basis[t] - middle) ** 2
    }
    if (along ** 2 / size > best.score) {
      const a = along / size
      best = { score: along ** 2 / size, k, tau, a, c: level - a * middle }
    }
  }
  const { k, tau, a, c, score } = best
  const r2 = spread > 0 ? score / spread : 0
  const decays = k > 0 && k < steps - 1 && r2 >= 0.5 && Math.abs(a) > Math.abs(c)
  return { r2, tau: decays ? tau : null, fit: decays ? y.map((_, t) => a * Math.exp(-t / tau) + c) : null }
}

export function mean(values) {
  let sum = 0
  for (const value of values) sum += value
  return sum / values.length
}
