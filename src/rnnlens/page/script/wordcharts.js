// Small charts about one word: its barcode, its decay, and values side by side.

import { html, signed, svg, ticks } from './elements.js'

/** The barcode: a bar for each probe word, by how much a word changes its effect. */
export function barcodeChart(barcode, about, width, height = 118) {
  const sides = [
    ['positive', about.positive],
    ['negative', about.negative],
  ]
  const n = about.positive.length + about.negative.length
  const gapWide = Math.max(6, 0.05 * width)
  const gap = (width - 2 - gapWide) / n
  const reach = 1.08 * Math.max(1e-6, ...barcode.positive.map(Math.abs), ...barcode.negative.map(Math.abs))
  const [top, tall] = [6, height - 24]
  const y = value => top + ((reach - value) / (2 * reach)) * tall
  const [onPositive, onNegative] = barcode.means.map(value => signed(value))
  const label = `Barcode: positive words change by ${onPositive} on average, negative ones by ${onNegative}`
  const chart = svg('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
    class: 'own fit',
  })
  chart.append(svg('line', { class: 'zero', x1: 0, x2: width, y1: y(0), y2: y(0) }))
  const places = []
  let start = 1
  sides.forEach(([side, words], s) => {
    barcode[side].forEach((value, i) => {
      const at = start + gap * (i + 0.5)
      places.push({ at, word: words[i], value })
      const high = Math.min(y(value), y(0))
      chart.append(
        svg('rect', {
          class: `stick ${barcode.kind}`,
          x: at - 0.4 * gap,
          y: high,
          width: Math.max(0.8, 0.8 * gap),
          height: Math.max(0.5, Math.abs(y(value) - y(0))),
        }),
      )
    })
    const end = start + gap * words.length
    chart.append(svg('line', { class: 'mean', x1: start, x2: end, y1: y(barcode.means[s]), y2: y(barcode.means[s]) }))
    chart.append(
      svg(
        'text',
        { class: 'side', x: (start + end) / 2, y: height - 5, 'text-anchor': 'middle' },
        `${words.length} ${side} words`,
      ),
    )
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
  chart.addEventListener('pointerleave', () => {
    told.textContent = ''
  })
  return chart
}

/** The decay: distance from the line at every step after a word, and the fitted exponential. */
export function decayChart(impulse, kind, width, height = 112) {
  const T = impulse.distance.length
  const [left, top, tall] = [30, 8, height - 34]
  const high = 1.06 * Math.max(1e-6, ...impulse.distance, ...(impulse.fit ?? []))
  const x = t => left + ((width - left - 6) * t) / (T - 1)
  const y = value => top + (1 - value / high) * tall
  const said = impulse.tau === null ? 'no exponential decay' : `τ = ${impulse.tau.toFixed(1)} words`
  const chart = svg('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `Distance from the line after the word: ${said}`,
    class: 'own fit',
  })
  chart.append(svg('line', { class: 'zero', x1: left, x2: width - 6, y1: y(0), y2: y(0) }))
  for (const tick of ticks(0, high, 3).filter(value => value > 0)) {
    chart.append(svg('line', { class: 'grid', x1: left, x2: width - 6, y1: y(tick), y2: y(tick) }))
    chart.append(
      svg(
        'text',
        { class: 'tick', x: left - 5, y: y(tick) + 4, 'text-anchor': 'end' },
        String(Number(tick.toPrecision(2))),
      ),
    )
  }
  if (impulse.fit)
    chart.append(
      svg('path', {
        class: `line fit-line ${kind}`,
        d: impulse.fit.map((value, t) => `${t ? 'L' : 'M'}${x(t).toFixed(1)} ${y(value).toFixed(1)}`).join(''),
      }),
    )
  impulse.distance.forEach((value, t) =>
    chart.append(svg('circle', { class: `dot ${kind}`, cx: x(t), cy: y(value), r: 2.6 })),
  )
  if (impulse.tau !== null && impulse.tau < T - 1) {
    chart.append(svg('line', { class: 'cursor', x1: x(impulse.tau), x2: x(impulse.tau), y1: top, y2: y(0) }))
    chart.append(svg('text', { class: 'told', x: x(impulse.tau) + 5, y: top + 10 }, said))
  }
  for (const t of [0, 10, 20, 30].filter(t => t < T))
    chart.append(svg('text', { class: 'tick', x: x(t), y: height - 14, 'text-anchor': 'middle' }, String(t)))
  chart.append(
    svg(
      'text',
      { class: 'side', x: (left + width) / 2, y: height - 2, 'text-anchor': 'middle' },
      'blank inputs since the word',
    ),
  )
  return chart
}

/** Values as horizontal bars from a common zero, each with its name and number. */
export function bars(rows) {
  const reach = Math.max(1e-6, ...rows.map(row => Math.abs(row.value)))
  return html(
    'div',
    { class: 'bars' },
    ...rows.map(({ name, value }) => {
      const bar = html('span', { class: `bar ${value >= 0 ? 'up' : 'down'}` })
      bar.style.setProperty('--size', Math.abs(value) / reach)
      return html(
        'div',
        { class: 'bar-row' },
        html('span', { class: 'bar-name' }, name),
        html('span', { class: 'bar-room' }, bar),
        html('span', { class: 'bar-value' }, signed(value)),
      )
    }),
  )
}
