// What each word adds from the left and from the right, in a network that reads both ways.

import { LEFT, RIGHT, connected } from './charts.js'
import { largest, signed, smallest, svg, ticks } from './elements.js'

/** What each word of a reading adds: [{ forwards, backwards }]. */
const addsOf = reading => Array.from({ length: reading.length }, (_, t) => reading.adds(t))

/** The range that charts of several readings share. */
export function reachOf(readings) {
  const values = readings.flatMap(reading => [
    reading.start,
    ...addsOf(reading).flatMap(({ forwards, backwards }) => [forwards, backwards, forwards + backwards]),
  ])
  return [smallest(values, -1) * 1.05, largest(values, 1) * 1.05]
}

/** A pair of bars for each word, and a mark at their sum; the first bar is what is there before any word. */
export function bothChart({ width, gap, x }, reading, unit, { caption, reach: [low, high], tall, onPoint }) {
  const top = caption ? 26 : 10
  const height = top + tall + 20
  const words = addsOf(reading)
  const y = value => top + ((high - value) / (high - low)) * tall
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'own both' })
  const [left, right] = [reading.forwards, reading.backwards].map(side => signed(side.total))
  chart.setAttribute('aria-label', `${caption || 'The sentence'}: ${unit} ${signed(reading.total)}, ${left} from the left and ${right} from the right`)
  if (caption) chart.append(svg('text', { class: 'side', x: LEFT, y: 14 }, caption))
  for (const tick of ticks(low, high, 5)) {
    chart.append(svg('line', { class: tick === 0 ? 'zero' : 'grid', x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }))
    const text = signed(tick, Number.isInteger(tick) ? 0 : 1)
    chart.append(svg('text', { class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' }, text))
  }
  chart.append(svg('text', { class: 'side', x: x(0), y: top + tall + 14, 'text-anchor': 'middle' }, 'start'))
  const wide = Math.max(1, Math.min(22, 0.36 * gap))
  const bar = (name, from, value) =>
    svg('rect', {
      class: `adds ${name}`,
      x: from.toFixed(1),
      y: Math.min(y(0), y(value)).toFixed(1),
      width: wide.toFixed(1),
      height: Math.max(1, Math.abs(y(value) - y(0))).toFixed(1),
    })
  chart.append(bar('start', x(0) - wide / 2, reading.start))
  words.forEach(({ forwards, backwards }, t) => {
    const at = x(t + 1)
    chart.append(bar('forwards', at - wide - 0.5, forwards), bar('backwards', at + 0.5, backwards))
    const sum = y(forwards + backwards)
    if (gap >= 6) chart.append(svg('path', { class: 'sum', d: `M${at - wide - 3} ${sum.toFixed(1)}h${2 * wide + 6}` }))
  })
  return connected(chart, x, gap, [top, top + tall], onPoint)
}
