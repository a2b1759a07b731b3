// The network: h' = F(h, E x), logit = w·output(h) + b. A state is a flat Float64Array, the layers' states one after
// another; a word is a row of E, a blank input PAD.

import { ResidualStack } from './residual.js'
import { Stack } from './stack.js'
import { affine, dot, doubled, sigmoid } from './vectors.js'
import { PAD } from './words.js'

const HEADS = { relu: x => Math.max(0, x), tanh: Math.tanh, sigmoid }

export class Network {
  /** E: the embedding; the rest as page/packing.py packs it. */
  constructor(E, { backward = false, ...stored }) {
    const { layers, norms, O, head, h0, w, bias, classes } = doubled(stored)
    this.cell = norms ? new ResidualStack({ layers, norms, O }) : new Stack({ layers })
    this.D = this.cell.D
    /** Whether it reads texts from their last word to their first. */
    this.backward = backward
    Object.assign(this, { E, head, w, h0, bias: bias[0] })
    /** { names, ordered, w, b } of several classes, else null. */
    this.classes = classes && { ...classes, b: inOrder(classes) }
  }

  /** The reader that was analyzed: a network that reads both ways has two. */
  get own() {
    return this
  }

  /** The network with another reader in place of that one. */
  with(reader) {
    return reader
  }

  /** What a row of the embedding alone gives to a step, such as W e + b. */
  drive(row) {
    return row === PAD ? this.cell.blank : this.cell.drive(doubled(this.E.subarray(row * this.D, (row + 1) * this.D)))
  }

  /** What a state alone gives to a step, such as U h + c. */
  recur(h) {
    return this.cell.recur(h)
  }

  /** The state after h, from what `drive` gives for a word and `recur` for h. */
  combine(h, d, u) {
    return this.cell.combine(h, d, u)
  }

  /** F: the state after a word. */
  step(h, row = PAD) {
    return this.combine(h, this.drive(row), this.recur(h))
  }

  /** What the readout reads: the output or, of a head with several layers, what comes before its last. */
  read(h) {
    return this.headed(this.cell.output(h))
  }

  headed(output) {
    for (const { kind, W, b } of this.head)
      output = kind === 'linear' ? affine(W, output, b, W.length / b.length) : output.map(HEADS[kind])
    return output
  }

  /** The logit that was analyzed. */
  logit(h) {
    return dot(this.w, this.read(h), this.w.length) + this.bias
  }

  /** The logit at the state that `combine` gives; the state itself need not be computed. */
  logitAfter(h, d, u) {
    return dot(this.w, this.headed(this.cell.outputAfter(h, d, u)), this.w.length) + this.bias
  }

  /** The logits of all classes; of ordered classes, the logarithms of their probabilities. */
  scores(h) {
    const { names, ordered, w, b } = this.classes
    const read = this.read(h)
    if (ordered) return orderedScores(dot(w, read, w.length), b)
    const n = w.length / names.length
    return Float64Array.from(names, (_, k) => dot(w.subarray(k * n), read, n) + b[k])
  }

  /** What a word adds to the next logit beyond what a blank input would: w·[F(h, x) − F(h, 0)]. */
  effect(h, row) {
    return this.logit(this.step(h, row)) - this.logit(this.step(h))
  }

  /** The same network with its state projected at every step to the coordinates of `at` along the rows of V. */
  without(V, at) {
    const R = V.length / at.length
    const held = Array.from({ length: R }, (_, r) => dot(V.subarray(r * at.length), at, at.length))
    const project = h => {
      const away = held.map((value, r) => dot(V.subarray(r * h.length), h, h.length) - value)
      return h.map((value, i) => value - away.reduce((sum, x, r) => sum + x * V[r * h.length + i], 0))
    }
    const other = Object.create(this)
    other.h0 = project(this.h0)
    other.step = (h, row = PAD) => project(this.step(h, row))
    return other
  }

  /** The same network with `gain` times what words write along the orthonormal rows of V, beyond a blank input. */
  steered(V, gain) {
    const other = Object.create(this)
    other.step = (h, row = PAD) => {
      const u = this.recur(h)
      const after = this.combine(h, this.drive(row), u)
      if (row === PAD || gain === 1) return after
      const blank = this.combine(h, this.drive(PAD), u)
      const written = after.map((value, i) => value - blank[i])
      for (let from = 0; from < V.length; from += h.length) {
        const more = (gain - 1) * dot(V.subarray(from), written, h.length)
        for (let i = 0; i < h.length; i++) after[i] += more * V[from + i]
      }
      return after
    }
    return other
  }
}

/** The biases of classes, or the thresholds of ordered ones from the lowest on. */
export const inOrder = ({ ordered, b }) => (ordered ? Float64Array.from(b).sort() : b)

/** The logarithms of the probabilities of ordered classes: P(class > k) = σ(score − θ_k), as in networks/readouts.py. */
export function orderedScores(score, thresholds) {
  const logSigmoid = x => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)))
  const n = thresholds.length
  return Float64Array.from({ length: n + 1 }, (_, k) => {
    if (k === 0) return logSigmoid(thresholds[0] - score)
    const above = logSigmoid(score - thresholds[k - 1])
    if (k === n) return above
    const apart = Math.max(1e-6, thresholds[k] - thresholds[k - 1])
    return above + logSigmoid(thresholds[k] - score) + Math.log(-Math.expm1(-apart))
  })
}
