// Charts of the sentence being read, redrawn at every key press. Colors are CSS classes, so that themes can set them.

import { largest, signed, smallest, svg, ticks, times } from './elements.js'

export const LEFT = 44
export const RIGHT = 4
const WIDEST = 130 // most pixels per word in a short sentence
const [LARGE, SMALL] = [16, 12.5] // sizes of words, in pixels

/** The places of words: x(t) is the place after t words; aligned: whether the words fit below the chart. */
export function placesOf(width, series) {
  const steps = Math.max(1, ...series.map(one => one.words.length))
  const gap = Math.min(WIDEST, (width - LEFT - RIGHT) / (steps + 0.75))
  const widest = largest(series.flatMap(one => one.words.map(wide)), 1)
  const size = Math.min(LARGE, (LARGE * (gap - 24)) / widest)
  return { width, gap, x: t => LEFT + gap * (t + 0.25), aligned: gap >= 30 && size >= SMALL, size }
}

let pen = null
const widths = new Map()

/** How wide a word is, in pixels, when it is written large. */
function wide(word) {
  if (!pen) {
    pen = document.createElement('canvas').getContext('2d')
    pen.font = `600 ${LARGE}px ${getComputedStyle(document.body).fontFamily}`
  }
  if (!widths.has(word)) widths.set(word, pen.measureText(word === '<pad>' ? '·' : word).width)
  return widths.get(word)
}

/** How wide a text is, in pixels, at a size. */
export const letters = (text, size) => (wide(text) * size) / LARGE

/**
 * The reading after every word.
 * series: [{ name, logits, words, look }], logits[0] before the first word; look: a, b, before (a control), or one of
 * several networks, n0, n1, …; sides: names of what is above and below 0
 */
export function readingChart({ width, gap, x }, series, unit, sides, onPoint) {
  const named = series.filter(one => one.look !== 'before')
  const [top, tall, height] = [10, 210, 238]

  const every = series.flatMap(one => one.logits)
  const low = smallest(every, -1) - 0.3
  const high = largest(every, 1) + 0.3
  const y = value => top + ((high - value) / (high - low)) * tall
  const label = named
    .map(one => `${one.name}: ${unit} ${signed(one.logits.at(-1))} after ${one.words.length} words`)
    .join('; ')
  const chart = svg('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
    class: 'own',
  })
  const part = (...children) => chart.append(...children)

  part(svg('rect', { class: 'zone up', x: LEFT, y: top, width: width - LEFT - RIGHT, height: y(0) - top }))
  part(svg('rect', { class: 'zone down', x: LEFT, y: y(0), width: width - LEFT - RIGHT, height: top + tall - y(0) }))
  for (const tick of ticks(low, high, 5)) {
    part(svg('line', { class: tick === 0 ? 'zero' : 'grid', x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }))
    part(
      svg(
        'text',
        { class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' },
        signed(tick, Number.isInteger(tick) ? 0 : 1),
      ),
    )
  }
  const [above, below] = [`↑ ${sides.above}`, `↓ ${sides.below}`]
  if (y(0) - top > 40) part(svg('text', { class: 'side', x: LEFT + 8, y: top + 16 }, above))
  if (top + tall - y(0) > 40) part(svg('text', { class: 'side', x: LEFT + 8, y: top + tall - 8 }, below))
  part(svg('text', { class: 'side', x: x(0), y: top + tall + 14, 'text-anchor': 'middle' }, 'start'))

  for (const one of series) {
    const path = one.logits.map((value, t) => `${t ? 'L' : 'M'}${x(t).toFixed(1)} ${y(value).toFixed(1)}`).join('')
    part(svg('path', { class: `line ${one.look}`, d: path }))
    if (one.look === 'before' || gap < 6) continue
    const marks = one.logits.map((value, t) => mark(one.look, x(t), y(value), t === one.logits.length - 1 ? 6 : 4))
    part(svg('path', { class: `mark ${one.look}`, d: marks.join('') }))
  }
  return connected(chart, x, gap, [top, top + tall], onPoint)
}

/** The gain: how much the next word would count at every place, as a multiple of its effect at h*. */
export function gainChart({ width, gap, x }, series, onPoint) {
  const named = series.filter(one => one.look !== 'before')
  const [top, tall, height] = [8, 56, 72]
  const values = named.flatMap(one => one.reading.gains).filter(Number.isFinite)
  const low = smallest(values, 0)
  const high = largest(values, 2)
  const y = value => top + ((high - value) / (high - low)) * tall
  const label = named.map(one => `${one.name}: the next word would count ${times(one.reading.gains.at(-1))}`).join('; ')
  const chart = svg('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
    class: 'own',
  })
  for (const tick of new Set([0, 1, ...ticks(low, high, 2)])) {
    chart.append(
      svg('line', { class: tick === 1 ? 'zero' : 'grid', x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
    )
    chart.append(
      svg(
        'text',
        { class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' },
        times(tick, Number.isInteger(tick) ? 0 : 1),
      ),
    )
  }
  const each = Math.max(1.5, Math.min(14 * named.length, gap * 0.7) / named.length)
  named.forEach((one, k) => {
    const bars = { more: '', less: '' }
    one.reading.gains.forEach((gain, t) => {
      if (!Number.isFinite(gain)) return
      const [left, wide] = [x(t) + (k - named.length / 2) * each, Math.max(1, each - 1)]
      const [high, tall] = [Math.min(y(1), y(gain)), Math.max(1.5, Math.abs(y(gain) - y(1)))]
      bars[gain >= 1 ? 'more' : 'less'] +=
        `M${left.toFixed(1)} ${high.toFixed(1)}h${wide.toFixed(1)}v${tall.toFixed(1)}h${-wide.toFixed(1)}z`
    })
    for (const [side, d] of Object.entries(bars))
      if (d) chart.append(svg('path', { class: `gain ${side} ${one.look}`, d }))
  })
  return connected(chart, x, gap, [top - 4, top + tall], onPoint)
}

/** A chart over words with a line that follows the pointer. */
export function connected(chart, x, gap, [y1, y2], onPoint) {
  const cursor = svg('line', { class: 'cursor', y1, y2, x1: -9, x2: -9 })
  chart.append(cursor)
  chart.addEventListener('pointermove', event => {
    onPoint(Math.round((event.clientX - chart.getBoundingClientRect().left - LEFT) / gap - 0.25) - 1)
  })
  const point = t => {
    cursor.setAttribute('x1', t < 0 ? -9 : x(t + 1))
    cursor.setAttribute('x2', t < 0 ? -9 : x(t + 1))
  }
  return { chart, point }
}

/** The look of a line as a small picture, for a legend. */
export function swatch(look) {
  const size = { width: 34, height: 14, viewBox: '0 0 34 14' }
  const picture = svg('svg', { ...size, class: 'own swatch', 'aria-hidden': 'true' })
  picture.append(svg('path', { class: `line ${look}`, d: 'M1 7H33' }))
  picture.append(svg('path', { class: `mark ${look}`, d: mark(look, 17, 7, 4) }))
  return picture
}

const SHAPES = { b: 'square', n1: 'square', n2: 'up', n3: 'diamond', n4: 'down', n5: 'cross' }
const OUTLINES = {
  square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  up: [[0, -1.2], [1.2, 0.9], [-1.2, 0.9]],
  down: [[0, 1.2], [1.2, -0.9], [-1.2, -0.9]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  cross: [[-1.3, -1.3], [0, -0.5], [1.3, -1.3], [0.5, 0], [1.3, 1.3], [0, 0.5], [-1.3, 1.3], [-0.5, 0]],
}

/** A mark around a point, as part of a path: a circle unless its look has corners. */
function mark(look, x, y, size) {
  const at = ([right, down]) => `${(x + size * right).toFixed(1)} ${(y + size * down).toFixed(1)}`
  const corners = OUTLINES[SHAPES[look]]
  if (corners) return `M${corners.map(at).join('L')}z`
  return `M${at([-1, 0])}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0`
}
