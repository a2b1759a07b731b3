// Keeps the sentences and switches in the address, so that a link to the page shows the same.

const NAMES = { a: 'read', b: 'with', off: 'off', shuffle: 'shuffle', pads: 'pads' }

/** The state in a fragment, or null if the fragment is the anchor of a section. */
export function fromFragment(fragment) {
  const found = new URLSearchParams(fragment.replace(/^#/, ''))
  if (!found.has(NAMES.a)) return null
  return {
    a: found.get(NAMES.a),
    b: found.get(NAMES.b),
    off: found.has(NAMES.off),
    shuffle: found.has(NAMES.shuffle) ? Number(found.get(NAMES.shuffle)) || 1 : null,
    pads: found.has(NAMES.pads),
  }
}

/** Put the state into the address; some browsers do not allow replaceState for files. */
export function remember(state) {
  try {
    history.replaceState(null, '', toFragment(state))
  } catch {
    location.hash = toFragment(state)
  }
}

export function toFragment({ a, b, off, shuffle, pads }) {
  const found = new URLSearchParams({ [NAMES.a]: a })
  if (b !== null) found.set(NAMES.b, b)
  if (off) found.set(NAMES.off, '1')
  if (shuffle !== null) found.set(NAMES.shuffle, String(shuffle))
  if (pads) found.set(NAMES.pads, '50')
  return '#' + found
}
