// Decodes the arrays of the page, which are stored without loss: byte planes, deflated, as base64.

const TYPES = { f16: Uint16Array, f32: Float32Array, f64: Float64Array, i32: Int32Array, u8: Uint8Array }

/** { type, data } → a typed array; half precision becomes single. */
export async function decoded({ type, data }) {
  const planes = new Uint8Array(await unpacked(data, 'deflate').arrayBuffer())
  const size = TYPES[type].BYTES_PER_ELEMENT
  const n = planes.length / size
  const whole = new Uint8Array(planes.length)
  for (let k = 0; k < size; k++) for (let i = 0, from = k * n; i < n; i++) whole[i * size + k] = planes[from + i]
  const found = new TYPES[type](whole.buffer)
  return type === 'f16' ? halves(found) : found
}

/** Every array in an object or list, at any depth; other values stay. */
export async function decodedAll(found) {
  if (typeof found !== 'object' || found === null) return found
  if (Array.isArray(found)) return Promise.all(found.map(decodedAll))
  if (found.type in TYPES && typeof found.data === 'string') return decoded(found)
  const read = async ([name, value]) => [name, await decodedAll(value)]
  return Object.fromEntries(await Promise.all(Object.entries(found).map(read)))
}

/** What was compressed, as a response. */
export function unpacked(base64, format = 'gzip') {
  return new Response(new Blob([bytes(base64)]).stream().pipeThrough(new DecompressionStream(format)))
}

function bytes(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64)
  const text = atob(base64)
  const found = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i)
  return found
}

let values = null // of every number of half precision

function halves(bits) {
  values ??= Float32Array.from({ length: 65536 }, (_, half) => {
    const exponent = (half >> 10) & 31
    const fraction = half & 1023
    const size =
      exponent === 31 ? (fraction ? NaN : Infinity) : 2 ** (Math.max(1, exponent) - 25) * (exponent ? 1024 + fraction : fraction)
    return half & 32768 ? -size : size
  })
  const found = new Float32Array(bits.length)
  for (let i = 0; i < bits.length; i++) found[i] = values[bits[i]] // quicker than a callback for each
  return found
}
