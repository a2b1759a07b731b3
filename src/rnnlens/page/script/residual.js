// Layers of recurrences (recurrences.js) as one cell: a residual stream, with norms between the layers, as in
// networks/layers.py and residual.py.

import { RECURRENCES } from './recurrences.js'
import { affine } from './vectors.js'

const EPSILON = 1e-5

/** A layer. Its state is (buffer, h): the last K − 1 inputs of the convolution, oldest first, then h. */
class RecurrentLayer {
  constructor({ arch, hidden, inputs, kernel, A, ...weights }) {
    Object.assign(this, weights, { H: hidden, D: inputs, K: kernel, cell: RECURRENCES[arch] })
    this.C = this.cell.gated ? hidden : inputs // channels of the convolution
    this.buffer = (kernel - 1) * this.C
    this.size = this.buffer + this.cell.expand * hidden
    this.rates = A && Float64Array.from(A, Math.exp)
  }

  /** What an input alone gives: without a convolution also the gates. */
  enter(x) {
    const { u, gate } = this.cell.enter(this, x)
    if (this.K > 1) return { u, gate }
    const c = u.map(this.cell.activate)
    return { u, gate, c, gates: this.cell.gates(this, c) }
  }

  /** What the buffer alone adds to the convolution, with its bias. */
  past(h) {
    if (this.K === 1) return null
    const found = Float64Array.from(this.conv_b)
    for (let k = 0; k < this.buffer; k++) found[k % this.C] += this.conv_w[k] * h[k]
    return found
  }

  /** The output y after a state h and an input; the next state is written to `next`, if that is given. */
  advance(h, entered, past, next) {
    let { c, gates } = entered
    if (past) {
      const { u } = entered
      const { activate } = this.cell
      c = past.map((sum, i) => activate(sum + this.conv_w[this.buffer + i] * u[i]))
      gates = this.cell.gates(this, c)
      if (next) {
        next.set(h.subarray(this.C, this.buffer))
        next.set(u, this.buffer - this.C)
      }
    }
    return this.cell.step(this, h.subarray(this.buffer), c, gates, entered.gate, next?.subarray(this.buffer))
  }
}

export class ResidualStack {
  constructor({ layers, norms, O }) {
    this.layers = layers.map(layer => new RecurrentLayer(layer))
    const { D, H } = this.layers[0]
    Object.assign(this, { D, H, norms, O, zeros: new Float64Array(D) })
    this.slot = this.layers.at(-1).cell.gated ? H : 0 // the last layer's output, if it is no part of its state
    this.blank = this.drive(this.zeros)
  }

  /** What an input alone gives: itself, and what the first layer makes of it. */
  drive(e) {
    return { e, entered: this.layers[0].enter(e) }
  }

  /** What the state alone gives: the convolutions of what was read before. */
  recur(h) {
    let from = 0
    return this.layers.map(layer => layer.past(h.subarray(from, (from += layer.size))))
  }

  /** The state after h, from what `drive` gives for the input and `recur` for h. */
  combine(h, d, u) {
    const next = new Float64Array(h.length)
    const y = this.outputAfter(h, d, u, next)
    if (this.slot) next.set(y, h.length - this.slot)
    return next
  }

  /** The last layer's output after h; the layers' states are written to `next`, if that is given. */
  outputAfter(h, { e, entered }, u, next) {
    let x = e
    let y = null
    let from = 0
    this.layers.forEach((layer, k) => {
      if (k > 0) {
        x = affine(this.O[k - 1], y, x, this.H)
        entered = layer.enter(normalized(x, this.norms[k - 1]))
      }
      const to = from + layer.size
      y = layer.advance(h.subarray(from, to), entered, u[k], next?.subarray(from, to))
      from = to
    })
    return y
  }

  /** The part of a state that the readout reads. */
  output(h) {
    return h.subarray(h.length - this.H)
  }
}

/** RMSNorm. */
function normalized(x, weights) {
  let sum = 0
  for (const value of x) sum += value * value
  const scale = 1 / Math.sqrt(sum / x.length + EPSILON)
  return x.map((value, i) => value * scale * weights[i])
}
