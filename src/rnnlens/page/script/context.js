// How words change other words, computed by the network in the page: barcodes, decays and gains. The same quantities as
// in context/*.py, for any word.

import { dot } from './network.js'

const STEPS = 30

export class Context {
  /** about: { negates, changes, positive, negative: words }; arrays: { h_star, line, subspace? }. */
  constructor(network, vocabulary, about, { h_star, line, subspace }) {
    this.network = network
    this.vocabulary = vocabulary
    this.about = about
    this.hStar = Float64Array.from(h_star)
    this.line = line
    this.subspace = subspace
    const rows = words => words.map(word => vocabulary.token(word).row)
    this.probes = { positive: rows(about.positive), negative: rows(about.negative) }
    this.base = this.effects(this.hStar)
    this.baseContrast = mean(this.base.positive) - mean(this.base.negative)
    const [more, less] = [this.meanInput(this.probes.positive), this.meanInput(this.probes.negative)]
    this.contrast = more.map((x, j) => x - less[j])
    this.quiet = subspace ? network.without(subspace, this.hStar) : null
    this.cache = new Map()
  }

  meanInput(rows) {
    const { E, D } = this.network
    const found = new Float64Array(D)
    for (const row of rows) for (let j = 0; j < D; j++) found[j] += E[row * D + j] / rows.length
    return found
  }

  /** First-order effects of the probe words at a state. */
  effects(h) {
    const { E, D } = this.network
    const slope = this.network.slope(h)
    const on = rows => rows.map(row => dot(slope, E.subarray(row * D), D))
    return { positive: on(this.probes.positive), negative: on(this.probes.negative) }
  }

  /** The effect of the next word at a state, as a multiple of its effect at h*. */
  gain(h) {
    return dot(this.network.slope(h), this.contrast) / this.baseContrast
  }

  /** How a state changes the effect of each probe word, relative to h*. */
  barcode(h) {
    const now = this.effects(h)
    const change = side => now[side].map((x, i) => x - this.base[side][i])
    const positive = change('positive')
    const negative = change('negative')
    const means = [mean(positive), mean(negative)]
    const share = (means[0] - means[1]) / this.baseContrast
    return { positive, negative, means, share, kind: this.kind(share, ...means) }
  }

  kind(share, positive, negative) {
    if (Math.abs(share) < this.about.changes || positive * negative > 0) return 'none'
    return share > 0 ? 'intensifier' : share <= this.about.negates ? 'negator' : 'diminisher'
  }

  /** A word's barcode and its return to the line, both from h*. */
  word(word) {
    if (!this.cache.has(word)) {
      const { row, state } = this.vocabulary.token(word)
      const after = this.network.step(this.hStar, row)
      this.cache.set(
        word,
        state === 'known'
          ? { barcode: this.barcode(after), impulse: this.impulse(after), at: this.place(after) }
          : null,
      )
    }
    return this.cache.get(word)
  }

  /** Distance from the line under blank inputs, and a fitted exponential. */
  impulse(h) {
    const distance = []
    for (let t = 0; t <= STEPS; t++) {
      distance.push(this.distance(h))
      h = this.network.step(h)
    }
    return { distance, ...exponential(distance) }
  }

  /** Coordinates in the modifier subspace, relative to h*. */
  place(h) {
    if (!this.subspace) return null
    const away = h.map((x, i) => x - this.hStar[i])
    const N = h.length
    return Array.from({ length: this.subspace.length / N }, (_, r) => dot(this.subspace.subarray(r * N), away, N))
  }

  /** The distance of a state from the polyline through the line's knots. */
  distance(h) {
    const N = h.length
    let least = Infinity
    for (let from = 0; from + 2 * N <= this.line.length; from += N) {
      let length = 0
      let reach = 0
      let apart = 0
      for (let i = 0; i < N; i++) {
        const edge = this.line[from + N + i] - this.line[from + i]
        const away = h[i] - this.line[from + i]
        length += edge * edge
        reach += edge * away
        apart += away * away
      }
      const along = Math.min(1, Math.max(0, reach / (length || 1e-30)))
      least = Math.min(least, apart - 2 * along * reach + along * along * length)
    }
    return Math.sqrt(Math.max(0, least))
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
