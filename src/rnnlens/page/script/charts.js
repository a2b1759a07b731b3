// The live part's own charts: small, drawn anew at every key. Colours are classes, so that themes are a matter of style.

import { html, signed, svg, ticks, times } from './elements.js'

const LEFT = 44
const RIGHT = 4
const WIDEST = 130 // pixels a word may take in a short sentence
const [LARGE, SMALL] = [16, 12.5] // sizes of words, in pixels

/** Where words stand: x(t) is the place after t words; aligned says whether the words themselves fit below it. */
export function placesOf(width, series) {
  const steps = Math.max(1, ...series.map(one => one.logits.length - 1))
  const gap = Math.min(WIDEST, (width - LEFT - RIGHT) / (steps + 0.75))
  const widest = Math.max(1, ...series.flatMap(one => one.words.map(wide)))
  const size = Math.min(LARGE, (LARGE * (gap - 14)) / widest)
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

/**
 * The reading after every word.
 * series: [{ name, logits, words, look }], logits[0] before the first word; look: a, b, or before (a control).
 */
export function readingChart({ width, gap, x }, series, unit, onPoint) {
  const named = series.filter(one => one.look !== 'before')
  const [top, tall, height] = [10, 210, 238]

  const every = series.flatMap(one => one.logits)
  const low = Math.min(-1, ...every) - 0.3
  const high = Math.max(1, ...every) + 0.3
  const y = value => top + ((high - value) / (high - low)) * tall
  const label = named.map(one => `${one.name}: ${unit} ${signed(one.logits.at(-1))} after ${one.words.length} words`).join('; ')
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, class: 'own' })
  const part = (...children) => chart.append(...children)

  part(svg('rect', { class: 'zone up', x: LEFT, y: top, width: width - LEFT - RIGHT, height: y(0) - top }))
  part(svg('rect', { class: 'zone down', x: LEFT, y: y(0), width: width - LEFT - RIGHT, height: top + tall - y(0) }))
  for (const tick of ticks(low, high, 5)) {
    part(svg('line', { class: tick === 0 ? 'zero' : 'grid', x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }))
    part(svg('text', { class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' }, signed(tick, Number.isInteger(tick) ? 0 : 1)))
  }
  const [above, below] = unit === 'logit' ? ['↑ positive', '↓ negative'] : ['↑ above 0', '↓ below 0']
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

/** How much the next word would count at every place, as a multiple of what it counts at h*. */
export function gainChart({ width, gap, x }, series, onPoint) {
  const named = series.filter(one => one.look !== 'before')
  const [top, tall, height] = [24, 56, 88]
  const values = named.flatMap(one => one.gains)
  const low = Math.min(0, ...values)
  const high = Math.max(2, ...values)
  const y = value => top + ((high - value) / (high - low)) * tall
  const label = named.map(one => `${one.name}: the next word would count ${times(one.gains.at(-1))}`).join('; ')
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, class: 'own' })
  chart.append(svg('text', { class: 'side', x: LEFT, y: top - 10 }, 'how much the next word would count, as a multiple'))
  for (const tick of new Set([0, 1, ...ticks(low, high, 2)])) {
    chart.append(svg('line', { class: tick === 1 ? 'zero' : 'grid', x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }))
    chart.append(svg('text', { class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' }, times(tick, Number.isInteger(tick) ? 0 : 1)))
  }
  const each = Math.max(1.5, Math.min(14 * named.length, gap * 0.7) / named.length)
  named.forEach((one, k) => {
    const bars = { more: '', less: '' }
    one.gains.forEach((gain, t) => {
      const [left, wide] = [x(t) + (k - named.length / 2) * each, Math.max(1, each - 1)]
      const [high, tall] = [Math.min(y(1), y(gain)), Math.max(1.5, Math.abs(y(gain) - y(1)))]
      bars[gain >= 1 ? 'more' : 'less'] += `M${left.toFixed(1)} ${high.toFixed(1)}h${wide.toFixed(1)}v${tall.toFixed(1)}h${-wide.toFixed(1)}z`
    })
    for (const [side, d] of Object.entries(bars)) if (d) chart.append(svg('path', { class: `gain ${side} ${one.look}`, d }))
  })
  return connected(chart, x, gap, [top - 4, top + tall], onPoint)
}

/** A chart over words with a line that follows the pointer. */
function connected(chart, x, gap, [y1, y2], onPoint) {
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

/** A square or a circle around a point, as part of a path. */
function mark(look, x, y, size) {
  const start = `M${(x - size).toFixed(1)} ${(look === 'b' ? y - size : y).toFixed(1)}`
  if (look === 'b') return `${start}h${2 * size}v${2 * size}h${-2 * size}z`
  return `${start}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0`
}

/** A stick for each probe word: by how much a word changes what it adds. */
export function barcodeChart(barcode, about, width, height = 118) {
  const sides = [['positive', about.positive], ['negative', about.negative]]
  const n = about.positive.length + about.negative.length
  const gapWide = Math.max(6, 0.05 * width)
  const gap = (width - 2 - gapWide) / n
  const reach = 1.08 * Math.max(1e-6, ...barcode.positive.map(Math.abs), ...barcode.negative.map(Math.abs))
  const [top, tall] = [6, height - 24]
  const y = value => top + ((reach - value) / (2 * reach)) * tall
  const label = `Barcode: positive words change by ${signed(barcode.means[0])} on average, negative ones by ${signed(barcode.means[1])}`
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, class: 'own fit' })
  chart.append(svg('line', { class: 'zero', x1: 0, x2: width, y1: y(0), y2: y(0) }))
  const places = []
  let start = 1
  sides.forEach(([side, words], s) => {
    barcode[side].forEach((value, i) => {
      const at = start + gap * (i + 0.5)
      places.push({ at, word: words[i], value })
      const high = Math.min(y(value), y(0))
      chart.append(svg('rect', { class: `stick ${barcode.kind}`, x: at - 0.4 * gap, y: high, width: Math.max(0.8, 0.8 * gap), height: Math.max(0.5, Math.abs(y(value) - y(0))) }))
    })
    const end = start + gap * words.length
    chart.append(svg('line', { class: 'mean', x1: start, x2: end, y1: y(barcode.means[s]), y2: y(barcode.means[s]) }))
    chart.append(svg('text', { class: 'side', x: (start + end) / 2, y: height - 5, 'text-anchor': 'middle' }, `${words.length} ${side} words`))
    start = end + gapWide
  })
  const told = svg('text', { class: 'told', x: 2, y: top + 8 })
  chart.append(told)
  chart.addEventListener('pointermove', event => {
    const box = chart.getBoundingClientRect()
    const x = ((event.clientX - box.left) / box.width) * width
    const near = places.reduce((best, place) => (Math.abs(place.at - x) < Math.abs(best.at - x) ? place : best))
    told.textContent = `then “${near.word}”: ${signed(near.value)}`
  })
  chart.addEventListener('pointerleave', () => { told.textContent = '' })
  return chart
}

/** The way back: distance from the line at every step after a word, and the exponential through it. */
export function decayChart(impulse, kind, width, height = 112) {
  const T = impulse.distance.length
  const [left, top, tall] = [30, 8, height - 34]
  const high = 1.06 * Math.max(1e-6, ...impulse.distance, ...(impulse.fit ?? []))
  const x = t => left + ((width - left - 6) * t) / (T - 1)
  const y = value => top + (1 - value / high) * tall
  const said = impulse.tau === null ? 'no exponential decay' : `τ = ${impulse.tau.toFixed(1)} words`
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Distance from the line after the word: ${said}`, class: 'own fit' })
  chart.append(svg('line', { class: 'zero', x1: left, x2: width - 6, y1: y(0), y2: y(0) }))
  for (const tick of ticks(0, high, 3).filter(value => value > 0)) {
    chart.append(svg('line', { class: 'grid', x1: left, x2: width - 6, y1: y(tick), y2: y(tick) }))
    chart.append(svg('text', { class: 'tick', x: left - 5, y: y(tick) + 4, 'text-anchor': 'end' }, String(Number(tick.toPrecision(2)))))
  }
  if (impulse.fit) chart.append(svg('path', { class: `line fit-line ${kind}`, d: impulse.fit.map((value, t) => `${t ? 'L' : 'M'}${x(t).toFixed(1)} ${y(value).toFixed(1)}`).join('') }))
  impulse.distance.forEach((value, t) => chart.append(svg('circle', { class: `dot ${kind}`, cx: x(t), cy: y(value), r: 2.6 })))
  if (impulse.tau !== null && impulse.tau < T - 1) {
    chart.append(svg('line', { class: 'cursor', x1: x(impulse.tau), x2: x(impulse.tau), y1: top, y2: y(0) }))
    chart.append(svg('text', { class: 'told', x: x(impulse.tau) + 5, y: top + 10 }, said))
  }
  for (const t of [0, 10, 20, 30].filter(t => t < T)) chart.append(svg('text', { class: 'tick', x: x(t), y: height - 14, 'text-anchor': 'middle' }, String(t)))
  chart.append(svg('text', { class: 'side', x: (left + width) / 2, y: height - 2, 'text-anchor': 'middle' }, 'words since (no input)'))
  return chart
}

/** Two or more amounts as bars from a common zero, each with its name and number. */
export function bars(rows) {
  const reach = Math.max(1e-6, ...rows.map(row => Math.abs(row.value)))
  return html('div', { class: 'bars' }, ...rows.map(({ name, value }) => {
    const bar = html('span', { class: `bar ${value >= 0 ? 'up' : 'down'}` })
    bar.style.setProperty('--size', Math.abs(value) / reach)
    return html('div', { class: 'bar-row' }, html('span', { class: 'bar-name' }, name), html('span', { class: 'bar-room' }, bar), html('span', { class: 'bar-value' }, signed(value)))
  }))
}
