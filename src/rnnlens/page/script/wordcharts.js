// Small charts about one word: its barcode, its decay, and values side by side.

import { letters } from './charts.js'
import { html, signed, svg, ticks } from './elements.js'

/** The barcode: a bar for each probe word, by how much a word changes its effect, in logits. scale: the end of the axis,
 * the same for all words; bars that are longer end there. */
export function barcodeChart(barcode, about, scale, width, height = 118) {
  const sides = [
    ['positive', about.positive, about.names[0]],
    ['negative', about.negative, about.names[1]],
  ]
  const n = about.positive.length + about.negative.length
  const left = 30
  const gapWide = Math.max(6, 0.05 * width)
  const gap = (width - left - 2 - gapWide) / n
  const reach = scale ?? 1.08 * Math.max(1e-6, ...barcode.positive.map(Math.abs), ...barcode.negative.map(Math.abs))
  const [top, tall] = [6, height - 24]
  const y = value => top + ((reach - Math.max(-reach, Math.min(reach, value))) / (2 * reach)) * tall
  const [onPositive, onNegative] = barcode.means.map(value => signed(value))
  const label = `Barcode: ${about.names[0]} change by ${onPositive} on average, ${about.names[1]} by ${onNegative}`
  const chart = svg('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
    class: 'own fit',
  })
  for (const tick of ticks(-reach, reach, 5)) {
    chart.append(svg('line', { class: tick ? 'grid' : 'zero', x1: left, x2: width, y1: y(tick), y2: y(tick) }))
    const number = signed(tick, Number.isInteger(tick) ? 0 : 1)
    chart.append(svg('text', { class: 'tick', x: left - 5, y: y(tick) + 4, 'text-anchor': 'end' }, number))
  }
  const places = []
  let start = left + 1
  sides.forEach(([side, words, named], s) => {
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
    const long = `${words.length} ${named}` // names of classes may be too long
    const text = letters(long, 11) < end - start ? long : `${words.length} words ${s ? '↓' : '↑'}`
    chart.append(svg('line', { class: 'mean', x1: start, x2: end, y1: y(barcode.means[s]), y2: y(barcode.means[s]) }))
    chart.append(
      svg(
        'text',
        { class: 'side', x: (start + end) / 2, y: height - 5, 'text-anchor': 'middle' },
        text,
      ),
    )
    start = end + gapWide
  })
  const told = svg('text', { class: 'told', x: left + 4, y: top + 8 })
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

/** Values after 0, 1, … blank inputs, and the fitted exponential. range: what the axis shows at least. */
export function decayChart(values, { fit, tau, range }, kind, width, height = 118) {
  const T = values.length
  const [left, top, tall] = [30, 8, height - 40]
  const every = [...values, ...(fit ?? [])].filter(Number.isFinite)
  const [low, high] = [Math.min(range[0], ...every), Math.max(range[1], 1e-6, ...every)]
  const x = t => left + ((width - left - 6) * t) / (T - 1)
  const y = value => top + ((high - value) / (high - low)) * tall
  const said = tau > 0 ? `τ = ${tau.toFixed(1)} words` : 'no exponential decay'
  const chart = svg('svg', {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `After the word and 0, 1, … blank inputs: ${said}`,
    class: 'own fit',
  })
  for (const tick of ticks(low, high, 3)) {
    chart.append(svg('line', { class: tick ? 'grid' : 'zero', x1: left, x2: width - 6, y1: y(tick), y2: y(tick) }))
    const number = low < 0 ? signed(tick, Number.isInteger(tick) ? 0 : 1) : String(Number(tick.toPrecision(2)))
    chart.append(svg('text', { class: 'tick', x: left - 5, y: y(tick) + 4, 'text-anchor': 'end' }, number))
  }
  if (fit)
    chart.append(
      svg('path', {
        class: `line fit-line ${kind}`,
        d: fit.map((value, t) => `${t ? 'L' : 'M'}${x(t).toFixed(1)} ${y(value).toFixed(1)}`).join(''),
      }),
    )
  values.forEach((value, t) => chart.append(svg('circle', { class: `dot ${kind}`, cx: x(t), cy: y(value), r: 2.6 })))
  if (tau > 0 && tau < T - 1) {
    chart.append(svg('line', { class: 'cursor', x1: x(tau), x2: x(tau), y1: top, y2: top + tall }))
    chart.append(svg('text', { class: 'told', x: x(tau) + 5, y: top + (low < 0 ? tall - 4 : 10) }, said))
  }
  for (const t of ticks(0, T - 1, 4))
    chart.append(svg('text', { class: 'tick', x: x(t), y: height - 16, 'text-anchor': 'middle' }, String(t)))
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
