// Keeps the sentences and switches in the address, so that a link to the page shows the same.

import { gainOf } from './dial.js'

const NAMES = { a: 'read', b: 'with', off: 'off', gain: 'gain', shuffle: 'shuffle', pads: 'pads', chosen: 'class' }

/** The state in a fragment, or null if the fragment is the anchor of a section. */
export function fromFragment(fragment) {
  const found = new URLSearchParams(fragment.replace(/^#/, ''))
  if (!found.has(NAMES.a)) return null
  return {
    a: found.get(NAMES.a),
    b: found.get(NAMES.b),
    off: found.has(NAMES.off),
    gain: gainOf(found.get(NAMES.gain) ?? 1),
    shuffle: found.has(NAMES.shuffle) ? Number(found.get(NAMES.shuffle)) || 1 : null,
    pads: found.has(NAMES.pads),
    chosen: found.get(NAMES.chosen),
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

export function toFragment({ a, b, off, gain, shuffle, pads, chosen }) {
  const found = new URLSearchParams({ [NAMES.a]: a })
  if (b !== null) found.set(NAMES.b, b)
  if (off) found.set(NAMES.off, '1')
  if (gain !== 1) found.set(NAMES.gain, String(gain))
  if (shuffle !== null) found.set(NAMES.shuffle, String(shuffle))
  if (pads) found.set(NAMES.pads, '50')
  if (chosen !== null) found.set(NAMES.chosen, chosen)
  return '#' + found
}
