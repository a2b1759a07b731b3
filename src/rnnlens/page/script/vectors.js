// Functions of vectors and numbers that all networks share.

export const sigmoid = x => 1 / (1 + Math.exp(-x))

export function dot(a, b, n = a.length) {
  let sum = 0
  for (let i = 0; i < n; i++) sum += a[i] * b[i]
  return sum
}

/** The same objects and lists with every typed array in double precision: engines are quick with one type only. */
export function doubled(found) {
  if (ArrayBuffer.isView(found)) return Float64Array.from(found)
  if (typeof found !== 'object' || found === null) return found
  if (Array.isArray(found)) return found.map(doubled)
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, doubled(value)]))
}

/** A x + b, with the rows of A one after another. */
export function affine(A, x, b, columns) {
  const rows = b.length
  const found = new Float64Array(rows)
  const even = columns - (columns % 4)
  for (let i = 0, at = 0; i < rows; i++) {
    // Four sums at a time do not wait for one another.
    let p = b[i]
    let q = 0
    let r = 0
    let s = 0
    let j = 0
    for (; j < even; j += 4, at += 4) {
      p += A[at] * x[j]
      q += A[at + 1] * x[j + 1]
      r += A[at + 2] * x[j + 2]
      s += A[at + 3] * x[j + 3]
    }
    for (; j < columns; j++, at++) p += A[at] * x[j]
    found[i] = p + q + (r + s)
  }
  return found
}
