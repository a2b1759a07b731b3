// Layers of cells (cell.js), each on the output of the one before, as one cell.

import { CELLS } from './cell.js'
import { affine } from './vectors.js'

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

export class Stack {
  constructor({ layers }) {
    this.layers = layers.map(layer => new Layer(layer))
    this.D = this.layers[0].D
    this.starts = []
    this.layers.reduce((from, layer) => {
      this.starts.push(from)
      return from + layer.size
    }, 0)
    /** The drive of a blank input. */
    this.blank = this.layers[0].b
  }

  /** What an input alone gives: the drive of the first layer, W e + b. */
  drive(e) {
    return this.layers[0].drive(e)
  }

  /** What the state alone gives: U h + c of each layer. */
  recur(h) {
    return this.layers.map((layer, k) => layer.recur(this.part(h, k)))
  }

  /** The state after h, from what `drive` gives for the input and `recur` for h. */
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

  /** The part of a state that the readout reads: the last layer's output. */
  output(h) {
    const last = this.layers.length - 1
    return last === 0 ? h : h.subarray(this.starts[last], this.starts[last] + this.layers[last].units)
  }

  /** The output of the state that `combine` gives. */
  outputAfter(h, d, u) {
    return this.output(this.combine(h, d, u))
  }
}
