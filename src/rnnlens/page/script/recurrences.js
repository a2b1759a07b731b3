// The recurrences of today, one equation each: h' = a(c)∘h + b(c), as in networks/recurrences.py. c is the word, or what
// the layer's convolution gives.
//
//   enter(layer, x)                      { u: what enters the convolution, gate: of the output }, from the input alone
//   activate(c)                          after the convolution
//   gates(layer, c)                      what c alone gives
//   step(layer, h, c, gates, gate, next) the output y; h' is written to `next`, unless that is null

import { affine, sigmoid } from './vectors.js'

const softplus = x => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))
const silu = x => x * sigmoid(x)
const gelu = x => (x * (1 + erf(x / Math.SQRT2))) / 2
const same = c => c
const asItIs = (_, x) => ({ u: x, gate: null })

/** u = W_u x + b_u, and the gate of the output f(W_y x + b_y). */
const projected = f => (layer, x) => {
  const both = affine(layer.W, x, layer.b, layer.D)
  return { u: both.subarray(0, layer.H), gate: both.subarray(layer.H).map(f) }
}

/** What minGRU and minLSTM share: no projection, no gate on the output, all gates from one product. */
const bare = {
  expand: 1,
  gated: false,
  enter: asItIs,
  activate: same,
  gates: (layer, c) => affine(layer.W, c, layer.b, layer.C),
}

export const RECURRENCES = {
  /** z = σ(W_z c + b_z), h̃ = W_h c + b_h; h' = (1−z)∘h + z∘h̃. */
  mingru: {
    ...bare,
    step({ H }, h, c, d, gate, next = new Float64Array(H)) {
      for (let i = 0; i < H; i++) {
        const z = sigmoid(d[i])
        next[i] = (1 - z) * h[i] + z * d[H + i]
      }
      return next
    },
  },

  /** f, i = σ(d_f), σ(d_i), h̃ = d_h with d = W c + b; h' = (f∘h + i∘h̃)/(f + i), and f/(f + i) = σ(log f − log i). */
  minlstm: {
    ...bare,
    step({ H }, h, c, d, gate, next = new Float64Array(H)) {
      for (let i = 0; i < H; i++) {
        const kept = sigmoid(softplus(-d[H + i]) - softplus(-d[i]))
        next[i] = kept * h[i] + (1 - kept) * d[2 * H + i]
      }
      return next
    },
  },

  /** r, i = σ(U c + c); a = exp(−8 softplus(Λ)∘r); h' = a∘h + √(1−a²)∘i∘c; y = h'∘gelu(W_y x + b_y). */
  rglru: {
    expand: 1,
    gated: true,
    enter: projected(gelu),
    activate: same,
    gates: (layer, c) => affine(layer.U, c, layer.c, layer.C),
    step({ H, decay }, h, c, d, gate, next) {
      const y = new Float64Array(H)
      for (let i = 0; i < H; i++) {
        const logA = -8 * softplus(decay[i]) * sigmoid(d[i])
        const room = Math.max(1e-12, -Math.expm1(2 * logA))
        const value = Math.exp(logA) * h[i] + Math.sqrt(room) * sigmoid(d[H + i]) * c[i]
        if (next) next[i] = value
        y[i] = value * gate[i]
      }
      return y
    },
  },

  /** Δ = softplus(W_Δ V_Δ c + b_Δ), B, C = V c + v; a = exp(−Δ exp(A)); h' = a∘h + (Δ∘c) Bᵀ, with S numbers of each unit;
   *  y = (h' C + d∘c)∘silu(W_y x + b_y). */
  mamba: {
    expand: 16,
    gated: true,
    enter: projected(silu),
    activate: silu,
    /** Of the rows of V, the first are of Δ, then come S of B and S of C. */
    gates({ V, v, W_delta, b_delta, C }, c) {
      const rank = V.length / C - v.length
      const low = new Float64Array(rank + v.length)
      low.set(v, rank)
      const all = affine(V, c, low, C)
      return { delta: affine(W_delta, all, b_delta, rank).map(softplus), B: all.subarray(rank) }
    },
    step({ H, rates, d }, h, c, { delta, B }, gate, next) {
      const y = new Float64Array(H)
      const S = B.length / 2
      for (let i = 0; i < H; i++) {
        const written = delta[i] * c[i]
        let sum = d[i] * c[i]
        for (let s = 0, k = i * S; s < S; s++, k++) {
          const value = Math.exp(-delta[i] * rates[k]) * h[k] + written * B[s]
          if (next) next[k] = value
          sum += value * B[S + s]
        }
        y[i] = sum * gate[i]
      }
      return y
    },
  },
}

/** The error function, to 2e-7 (Abramowitz & Stegun 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x))
  const sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  return Math.sign(x) * (1 - sum * Math.exp(-x * x))
}
