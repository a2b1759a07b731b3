// Decodes the arrays of the page, which are stored as base64 without loss.

const TYPES = { f32: Float32Array, f64: Float64Array, i32: Int32Array, u8: Uint8Array }

/** { type, data } → a typed array; half precision becomes single. */
export function decoded({ type, data }) {
  const { buffer } = bytes(data)
  return type === 'f16' ? halves(new Uint16Array(buffer)) : new TYPES[type](buffer)
}

/** Every array of an object, by name. */
export function decodedAll(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, decoded(array)]))
}

export function bytes(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64)
  const text = atob(base64)
  const found = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i)
  return found
}

function halves(bits) {
  const scale = Float64Array.from({ length: 31 }, (_, exponent) => 2 ** (Math.max(1, exponent) - 25))
  const found = new Float32Array(bits.length)
  for (let i = 0; i < bits.length; i++) {
    const exponent = (bits[i] >> 10) & 31
    const fraction = bits[i] & 1023
    const size =
      exponent === 31 ? (fraction ? NaN : Infinity) : scale[exponent] * (exponent ? 1024 + fraction : fraction)
    found[i] = bits[i] & 32768 ? -size : size
  }
  return found
}
