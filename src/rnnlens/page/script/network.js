// The network: h' = F(h, E x), logit = w·h + b. A state is a flat Float64Array, a word a row of E, a blank input PAD.

import { CELLS } from './cell.js'
import { PAD } from './words.js'

export class Network {
  constructor({ arch, hidden, inputs }, { E, W, b, U, c, h0, w, bias }) {
    Object.assign(this, { E, W, b, U, c, w, H: hidden, D: inputs, cell: CELLS[arch] })
    this.h0 = Float64Array.from(h0)
    this.bias = bias[0]
  }

  /** W e + b for a row of the embedding. */
  drive(row) {
    return row === PAD ? this.b : affine(this.W, this.E.subarray(row * this.D, (row + 1) * this.D), this.b, this.D)
  }

  recur(h) {
    return affine(this.U, h, this.c, this.H)
  }

  /** F: the state after a word. */
  step(h, row = PAD) {
    return this.cell.combine(h, this.drive(row), this.recur(h), this.H)
  }

  logit(h) {
    return dot(this.w, h, this.H) + this.bias
  }

  /** What each coordinate of an input would add to the next logit, to first order: wᵀ J_inp(h), (D,). */
  slope(h) {
    const onDrive = this.cell.slope(h, this.b, this.recur(h), this.w, this.H)
    const found = new Float64Array(this.D)
    for (let i = 0; i < onDrive.length; i++) {
      const from = i * this.D
      for (let j = 0; j < this.D; j++) found[j] += onDrive[i] * this.W[from + j]
    }
    return found
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
      const after = this.cell.combine(h, this.drive(row), u, this.H)
      if (row === PAD || gain === 1) return after
      const blank = this.cell.combine(h, this.b, u, this.H)
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

/** The reading of a sentence. After a change, only the steps from the first changed word on are computed again. */
export class Reading {
  constructor(network, gain = () => NaN) {
    this.network = network
    this.gain = gain
    this.rows = []
    this.states = [network.h0]
    this.logits = [network.logit(network.h0)]
    this.gains = [gain(network.h0)]
  }

  read(rows) {
    let same = 0
    while (same < rows.length && rows[same] === this.rows[same]) same++
    this.states.length = this.logits.length = this.gains.length = same + 1
    for (let t = same; t < rows.length; t++) {
      const h = this.network.step(this.states[t], rows[t])
      this.states.push(h)
      this.logits.push(this.network.logit(h))
      this.gains.push(this.gain(h))
    }
    this.rows = [...rows]
    return this
  }
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
