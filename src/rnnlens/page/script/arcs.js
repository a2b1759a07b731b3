// Which word modifies which in a sentence, and the arcs that show it.

import { html, signed, svg } from './elements.js'

const REACH = 6 // words after a modifier that are looked at
const LEAST = 0.2 // smallest change, as a share, that is shown
const EACH = 2 // arcs of one modifier, at most
const LONGEST = 200 // words of a text that is looked at

/**
 * What modifiers do to the words after them: the effect of each word in the sentence, and its effect if the modifier
 * were a blank input. share: the change as a share, the same scale as strengths.
 * unit: the mean size of a probe word's effect; words with a small effect are left out.
 */
export function modifications(tokens, reading, isModifier, unit) {
  const { states } = reading
  const read = tokens.slice(0, LONGEST)
  return read.flatMap((token, t) => {
    if (!isModifier(token)) return []
    const next = read.slice(t + 1, t + 1 + REACH)
    // A state is kept while the words before it stay: then only the words after it can have changed.
    const key = `${reading.followed} ${next.map(({ row, state }) => `${row} ${state}`).join()}`
    const last = known.get(states[t + 1])
    const found = last?.key === key ? last.found : changesAfter(next, reading, t, unit)
    known.set(states[t + 1], { key, found })
    return found.map(change => ({ ...change, from: t, to: t + change.by }))
  })
}

const known = new WeakMap()

/** The strongest changes that the word at t makes to the next words; by: how many words later. */
function changesAfter(next, reading, t, unit) {
  const { network, states, logits } = reading
  const found = []
  let h = network.step(states[t])
  next.forEach(({ row, state }, k) => {
    const after = network.step(h, row)
    if (state === 'known') {
      const alone = reading.logit(after) - reading.logit(network.step(h))
      const here = logits[t + k + 2] - reading.logit(network.step(states[t + k + 1]))
      const share = here / alone - 1
      if (Math.abs(alone) >= unit / 3 && Math.abs(share) >= LEAST)
        found.push({ by: k + 1, alone, after: here, share })
    }
    h = after
  })
  return found.sort((a, b) => Math.abs(b.after - b.alone) - Math.abs(a.after - a.alone)).slice(0, EACH)
}

export const looks = share => (share > 0 ? 'intensifier' : share <= -0.5 ? 'negator' : 'diminisher')

/** A modification in words. */
export function toldOf({ from, to, alone, after, share }, tokens) {
  return `${tokens[from].word} changes ${tokens[to].word} by ${signed(share)}: it adds ${signed(after)} instead of ${signed(alone)}`
}

/** Arcs from modifiers to the words that they modify, above the words; null if there are none. */
export function arcChart({ width, x }, changes, tokens, point) {
  if (!changes.length) return null
  const tall = ({ from, to }) => 8 + 18 * Math.abs(to - from)
  const height = 16 + Math.max(...changes.map(tall))
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, class: 'own arcs', role: 'group' })
  chart.setAttribute('aria-label', 'Which word modifies which')
  // Long arcs first: the numbers of short ones lie above them.
  for (const change of [...changes].sort((a, b) => tall(b) - tall(a))) {
    const inward = change.to > change.from ? 4 : -4 // a backward reader changes words before
    const [left, right] = [x(change.from + 1) + inward, x(change.to + 1) - inward]
    const top = height - tall(change)
    const told = toldOf(change, tokens)
    const show = () => point(change.to)
    chart.append(
      svg(
        'g',
        {
          class: `arc ${looks(change.share)}`,
          tabindex: 0,
          role: 'img',
          'aria-label': told,
          'data-to': change.to,
          'data-from': change.from,
          onpointerenter: show,
          onfocus: show,
          onclick: show,
        },
        svg('title', {}, told),
        svg('path', {
          d: `M${left.toFixed(1)} ${height}C${left.toFixed(1)} ${top} ${right.toFixed(1)} ${top} ${right.toFixed(1)} ${height - 2}`,
        }),
        svg('path', { class: 'tip', d: `M${(right - 4).toFixed(1)} ${height - 7}L${right.toFixed(1)} ${height}L${(right + 4).toFixed(1)} ${height - 7}z` }),
        svg('text', { x: (left + right) / 2, y: top + 0.25 * (height - top) + 12, 'text-anchor': 'middle' }, signed(change.share)),
      ),
    )
  }
  return chart
}

/** Sentences on how a word is modified here. */
export function modifiedBy(changes, tokens, t) {
  return changes
    .filter(change => change.to === t)
    .map(({ from, share, alone, after }) =>
      html(
        'p',
        { class: 'said' },
        html('bdi', {}, tokens[from].word),
        ' changes it here by ',
        html('b', {}, signed(share)),
        `: it adds ${signed(after)} instead of ${signed(alone)}.`,
      ),
    )
}
