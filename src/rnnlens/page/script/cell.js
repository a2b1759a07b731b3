// The architectures, one equation each: h' = φ(h, d, u), as in networks/cells.py and lstmp.py. The input enters through
// the drive d = W e + b, the past through u = U h + c. combine(h, d, u, H) is φ; blocks: 2 if the state is (h, c).

import { sigmoid } from './vectors.js'

export const CELLS = {
  /** h' = tanh(d + u), or ReLU in its place. */
  vanilla: {
    blocks: 1,
    combine: (h, d, u, H) => h.map((_, i) => Math.tanh(d[i] + u[i])),
  },
  relu: {
    blocks: 1,
    combine: (h, d, u, H) => h.map((_, i) => Math.max(0, d[i] + u[i])),
  },

  /** c = tanh(a_c), g = σ(a_g), h' = g∘h + (1−g)∘c, with a = d + u. */
  ugrnn: {
    blocks: 1,
    combine(h, d, u, H) {
      return h.map((past, i) => {
        const c = Math.tanh(d[i] + u[i])
        const g = sigmoid(d[H + i] + u[H + i])
        return g * past + (1 - g) * c
      })
    },
  },

  /** r, z = σ(a_r), σ(a_z); n = tanh(d_n + r∘u_n); h' = (1−z)∘n + z∘h, with a = d + u. */
  gru: {
    blocks: 1,
    combine(h, d, u, H) {
      return h.map((past, i) => {
        const r = sigmoid(d[i] + u[i])
        const z = sigmoid(d[H + i] + u[H + i])
        const n = Math.tanh(d[2 * H + i] + r * u[2 * H + i])
        return (1 - z) * n + z * past
      })
    },
  },

  /** i, f, o = σ(a_i), σ(a_f), σ(a_o); g = tanh(a_g); c' = f∘c + i∘g; h' = o∘tanh(c'). The flat state is (h, c). */
  lstm: {
    blocks: 2,
    combine(h, d, u, H) {
      const found = new Float64Array(2 * H)
      for (let k = 0; k < H; k++) {
        const { i, f, g, o } = lstmGates(d, u, H, k)
        const c = f * h[H + k] + i * g
        found[k] = o * Math.tanh(c)
        found[H + k] = c
      }
      return found
    },
  },
}

/** The LSTM whose output is projected: h' = R (o∘tanh(c')). The flat state is (h, c), with fewer numbers of h. */
CELLS.lstmp = {
  blocks: 2,
  combine(h, d, u, H, R) {
    const P = h.length - H
    const whole = new Float64Array(2 * H)
    whole.set(h.subarray(P), H)
    const next = CELLS.lstm.combine(whole, d, u, H)
    const found = new Float64Array(P + H)
    for (let p = 0; p < P; p++) for (let k = 0; k < H; k++) found[p] += R[p * H + k] * next[k]
    found.set(next.subarray(H), P)
    return found
  },
}

function lstmGates(d, u, H, k) {
  return {
    i: sigmoid(d[k] + u[k]),
    f: sigmoid(d[H + k] + u[H + k]),
    g: Math.tanh(d[2 * H + k] + u[2 * H + k]),
    o: sigmoid(d[3 * H + k] + u[3 * H + k]),
  }
}
