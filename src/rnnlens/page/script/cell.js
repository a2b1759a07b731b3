// The four architectures, one equation each: h' = φ(h, d, u), as in networks/cells.py. The input enters through the
// drive d = W e + b, the past through u = U h + c.
//
// combine(h, d, u, H) is φ; slope(h, d, u, w, H) is ∂(w·h')/∂d, what the readout sees of a change of the drive.

const sigmoid = x => 1 / (1 + Math.exp(-x))

export const CELLS = {
  /** h' = tanh(d + u), or ReLU in its place. */
  vanilla: {
    gates: 1,
    blocks: 1,
    combine: (h, d, u, H) => h.map((_, i) => Math.tanh(d[i] + u[i])),
    slope: (h, d, u, w, H) => h.map((_, i) => w[i] * (1 - Math.tanh(d[i] + u[i]) ** 2)),
  },
  relu: {
    gates: 1,
    blocks: 1,
    combine: (h, d, u, H) => h.map((_, i) => Math.max(0, d[i] + u[i])),
    slope: (h, d, u, w, H) => h.map((_, i) => (d[i] + u[i] > 0 ? w[i] : 0)),
  },

  /** c = tanh(a_c), g = σ(a_g), h' = g∘h + (1−g)∘c, with a = d + u. */
  ugrnn: {
    gates: 2,
    blocks: 1,
    combine(h, d, u, H) {
      return h.map((past, i) => {
        const c = Math.tanh(d[i] + u[i])
        const g = sigmoid(d[H + i] + u[H + i])
        return g * past + (1 - g) * c
      })
    },
    slope(h, d, u, w, H) {
      const found = new Float64Array(2 * H)
      for (let i = 0; i < H; i++) {
        const c = Math.tanh(d[i] + u[i])
        const g = sigmoid(d[H + i] + u[H + i])
        found[i] = w[i] * (1 - g) * (1 - c * c)
        found[H + i] = w[i] * (h[i] - c) * g * (1 - g)
      }
      return found
    },
  },

  /** r, z = σ(a_r), σ(a_z); n = tanh(d_n + r∘u_n); h' = (1−z)∘n + z∘h, with a = d + u. */
  gru: {
    gates: 3,
    blocks: 1,
    combine(h, d, u, H) {
      return h.map((past, i) => {
        const r = sigmoid(d[i] + u[i])
        const z = sigmoid(d[H + i] + u[H + i])
        const n = Math.tanh(d[2 * H + i] + r * u[2 * H + i])
        return (1 - z) * n + z * past
      })
    },
    slope(h, d, u, w, H) {
      const found = new Float64Array(3 * H)
      for (let i = 0; i < H; i++) {
        const r = sigmoid(d[i] + u[i])
        const z = sigmoid(d[H + i] + u[H + i])
        const n = Math.tanh(d[2 * H + i] + r * u[2 * H + i])
        const toN = w[i] * (1 - z) * (1 - n * n)
        found[i] = toN * u[2 * H + i] * r * (1 - r)
        found[H + i] = w[i] * (h[i] - n) * z * (1 - z)
        found[2 * H + i] = toN
      }
      return found
    },
  },

  /** i, f, o = σ(a_i), σ(a_f), σ(a_o); g = tanh(a_g); c' = f∘c + i∘g; h' = o∘tanh(c'). The flat state is (h, c). */
  lstm: {
    gates: 4,
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
    slope(h, d, u, w, H) {
      const found = new Float64Array(4 * H)
      for (let k = 0; k < H; k++) {
        const { i, f, g, o } = lstmGates(d, u, H, k)
        const s = Math.tanh(f * h[H + k] + i * g)
        const toC = w[k] * o * (1 - s * s)
        found[k] = toC * g * i * (1 - i)
        found[H + k] = toC * h[H + k] * f * (1 - f)
        found[2 * H + k] = toC * i * (1 - g * g)
        found[3 * H + k] = w[k] * s * o * (1 - o)
      }
      return found
    },
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
