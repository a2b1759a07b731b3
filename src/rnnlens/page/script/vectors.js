// Functions of vectors and numbers that all networks share.

export const sigmoid = x => 1 / (1 + Math.exp(-x))

export function dot(a, b, n = a.length) {
  let sum = 0
  for (let i = 0; i < n; i++) sum += a[i] * b[i]
  return sum
}

/** A x + b, with the rows of A one after another. */
export function affine(A, x, b, columns) {
  const found = new Float64Array(b.length)
  for (let i = 0; i < b.length; i++) {
    const from = i * columns
    let sum = b[i]
    for (let j = 0; j < columns; j++) sum += A[from + j] * x[j]
    found[i] = sum
  }
  return found
}
