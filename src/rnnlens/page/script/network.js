// The network: h' = F(h, E x), logit = w·output(h) + b. A state is a flat Float64Array, the layers' states one after
// another; a word is a row of E, a blank input PAD.

import { CELLS } from './cell.js'
import { PAD } from './words.js'

const sigmoidOf = x => 1 / (1 + Math.exp(-x))
const HEADS = { relu: x => Math.max(0, x), tanh: Math.tanh, sigmoid: sigmoidOf }

/** A layer: its state after an input is φ(h, d, u), with the drive d = W e + b and u = U h + c. */
class Layer {
  constructor({ arch, hidden, inputs, W, b, U, c, R }) {
    Object.assign(this, { W, b, U, c, R, H: hidden, D: inputs, cell: CELLS[arch] })
    /** The length of its output, which comes first in its state. */
    this.units = R ? R.length / hidden : hidden
    this.size = this.units + (this.cell.blocks - 1) * hidden
  }

  drive(e) {
    return affine(this.W, e, this.b, this.D)
  }

  recur(h) {
    return affine(this.U, h, this.c, this.units)
  }

  combine(h, d, u) {
    return this.cell.combine(h, d, u, this.H, this.R)
  }
}

export class Network {
  /** E: the embedding; the rest as page/packing.py packs it. */
  constructor(E, { layers, head, h0, w, bias, classes, backward = false }) {
    this.layers = layers.map(layer => new Layer(layer))
    this.D = this.layers[0].D
    this.starts = []
    this.layers.reduce((from, layer) => {
      this.starts.push(from)
      return from + layer.size
    }, 0)
    /** Whether it reads texts from their last word to their first. */
    this.backward = backward
    Object.assign(this, { E, head, w, h0: Float64Array.from(h0), bias: bias[0] })
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

  /** The drive of the first layer, W e + b, for a row of the embedding. */
  drive(row) {
    const [first] = this.layers
    return row === PAD ? first.b : first.drive(this.E.subarray(row * this.D, (row + 1) * this.D))
  }

  /** What each layer takes from its own state: U h + c. */
  recur(h) {
    return this.layers.map((layer, k) => layer.recur(this.part(h, k)))
  }

  /** The state after h, from the drive of the first layer and what `recur` gives for h. */
  combine(h, d, u) {
    if (this.layers.length === 1) return this.layers[0].combine(h, d, u[0])
    const found = new Float64Array(h.length)
    this.layers.forEach((layer, k) => {
      const part = layer.combine(this.part(h, k), d, u[k])
      found.set(part, this.starts[k])
      d = this.layers[k + 1]?.drive(part)
    })
    return found
  }

  part(h, k) {
    return this.layers.length === 1 ? h : h.subarray(this.starts[k], this.starts[k] + this.layers[k].size)
  }

  /** F: the state after a word. */
  step(h, row = PAD) {
    return this.combine(h, this.drive(row), this.recur(h))
  }

  /** What the readout reads: the last layer's output or, of a head with several layers, what comes before its last. */
  read(h) {
    const last = this.layers.length - 1
    let found = this.layers.length === 1 ? h : h.subarray(this.starts[last], this.starts[last] + this.layers[last].units)
    for (const { kind, W, b } of this.head)
      found = kind === 'linear' ? affine(W, found, b, W.length / b.length) : found.map(HEADS[kind])
    return found
  }

  /** The logit that was analyzed. */
  logit(h) {
    return dot(this.w, this.read(h), this.w.length) + this.bias
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

export function dot(a, b, n = a.length) {
  let sum = 0
  for (let i = 0; i < n; i++) sum += a[i] * b[i]
  return sum
}

function affine(A, x, b, columns) {
  const found = new Float64Array(b.length)
  for (let i = 0; i < b.length; i++) {
    const from = i * columns
    let sum = b[i]
    for (let j = 0; j < columns; j++) sum += A[from + j] * x[j]
    found[i] = sum
  }
  return found
}
