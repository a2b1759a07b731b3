// Probabilities of classes: a stacked column after every word, and the legend by which a class is chosen.

import { LEFT, RIGHT, connected, letters } from './charts.js'
import { html, largest, svg } from './elements.js'

const MOST = 8 // classes with a color of their own: more colors would look alike
// As in figures/style.py; color-blind readers can tell them apart. Each with the color of text on it: dark or light.
const COLORS = [
  ['#2b6cb0', 'light'], ['#c05621', 'light'], ['#009e73', 'dark'], ['#cc79a7', 'dark'], ['#56b4e9', 'dark'],
  ['#e69f00', 'dark'], ['#b3a2d6', 'dark'], ['#f0e442', 'dark'],
]
const REST = ['#9aa3af', 'dark']
// Ordered classes: from purple over gray to green.
const SCALE = [[118, 42, 131], [194, 165, 207], [222, 222, 226], [166, 219, 160], [27, 120, 55]]

export const share = value => `${value > 0 && value < 0.005 ? '<1' : Math.round(100 * value)} %`

/** The colors of classes. Those of ordered ones follow the scale; of many classes, the drawn ones have a color. */
export class Palette {
  constructor({ names, ordered }) {
    this.ordered = ordered
    this.names = names
    this.slots = new Map(names.length <= COLORS.length ? names.map((_, k) => [k, k]) : [])
  }

  /** Give a color to these classes; those that had one keep it. */
  assign(drawn) {
    if (this.names.length <= COLORS.length || this.ordered) return
    for (const k of [...this.slots.keys()]) if (!drawn.includes(k)) this.slots.delete(k)
    const free = COLORS.map((_, slot) => slot).filter(slot => ![...this.slots.values()].includes(slot))
    for (const k of drawn) if (!this.slots.has(k)) this.slots.set(k, free.shift())
  }

  /** The color of class k, and of text on it; k = −1: of all classes that are not drawn. */
  of(k) {
    if (k < 0) return REST
    return this.ordered ? onScale(k / (this.names.length - 1)) : (COLORS[this.slots.get(k)] ?? REST)
  }
}

function onScale(at) {
  const place = at * (SCALE.length - 1)
  const low = Math.min(SCALE.length - 2, Math.floor(place))
  const color = SCALE[low].map((value, i) => Math.round(value + (place - low) * (SCALE[low + 1][i] - value)))
  const [r, g, b] = color
  return [`rgb(${color.join(' ')})`, 0.3 * r + 0.59 * g + 0.11 * b > 115 ? 'dark' : 'light']
}

/** Which classes are drawn by themselves, in order: all, or of many those that are most probable somewhere. */
export function drawnClasses(every, n) {
  if (n <= MOST) return Array.from({ length: n }, (_, k) => k)
  const peak = Array.from({ length: n }, (_, k) => largest(every.map(shares => shares[k])))
  const order = peak.map((_, k) => k).sort((a, b) => peak[b] - peak[a])
  return order.slice(0, MOST - 1).sort((a, b) => a - b)
}

/** Stacked columns, the first class at the top, or the highest. probabilities: after 0, 1, … words. caption: which sentence it is. */
export function classChart({ width, gap, x }, { names }, palette, probabilities, drawn, { caption, tall, onPoint, marked }) {
  const [top, height] = [caption ? 24 : 8, (caption ? 24 : 8) + tall + 20]
  const last = probabilities.at(-1)
  const best = last.indexOf(Math.max(...last))
  const label = `${caption ? `${caption}: ` : ''}after ${probabilities.length - 1} words ${names[best]} is most probable, ${share(last[best])}`
  const chart = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'own classes' })
  chart.setAttribute('aria-label', label)
  if (caption) chart.append(svg('text', { class: 'side', x: LEFT, y: 14 }, caption))
  for (const tick of [0, 0.5, 1]) {
    const y = top + tall * (1 - tick)
    chart.append(svg('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y, y2: y }))
    chart.append(svg('text', { class: 'tick', x: LEFT - 8, y: y + 4, 'text-anchor': 'end' }, `${100 * tick} %`))
  }
  chart.append(svg('text', { class: 'side', x: x(0), y: top + tall + 14, 'text-anchor': 'middle' }, 'start'))
  const column = gap < 8 ? gap : 0.84 * gap
  const upward = palette.ordered ? [...drawn].reverse() : drawn // the highest of ordered classes is at the top
  const parts = names.length > drawn.length ? [...upward, -1] : upward
  probabilities.forEach((shares, t) => {
    const wide = t ? column : Math.min(column, 0.46 * gap) // the first one stands at the axis
    const others = drawn.reduce((rest, k) => rest - shares[k], 1)
    let from = top
    const outlined = []
    for (const k of parts) {
      const high = tall * Math.max(0, k < 0 ? others : shares[k])
      const [fill, ink] = palette.of(k)
      const box = { x: (x(t) - wide / 2).toFixed(1), y: from.toFixed(1), width: wide.toFixed(1), height: high.toFixed(1) }
      if (high > 0.3) chart.append(svg('rect', { ...box, class: 'share', fill }))
      if (high > 0.3 && k === marked) outlined.push(svg('rect', { ...box, class: 'followed' }))
      const text = k < 0 ? 'others' : names[k]
      if (high >= 15 && letters(text, 11) < wide - 6)
        chart.append(svg('text', { class: `inside ${ink}`, x: x(t), y: from + high / 2 + 4, 'text-anchor': 'middle' }, text))
      from += high
    }
    chart.append(...outlined)
  })
  return connected(chart, x, gap, [top, top + tall], onPoint)
}

/** The classes by name, each with its color and its probability at the end. choose: called with a class; null if the
 *  names are not to be chosen from. */
export function classLegend({ names }, palette, last, drawn, { followed, choose }) {
  const rows = drawn.map(k => {
    const content = [
      swatchOf(palette.of(k)[0]),
      html('bdi', { class: 'class-name', title: names[k] }, names[k]),
      html('span', { class: 'class-share' }, share(last[k])),
    ]
    if (!choose) return html('span', { class: 'class-key' }, ...content)
    const pressed = String(k === followed)
    return html('button', { type: 'button', class: 'class-key', 'aria-pressed': pressed, onclick: () => choose(k) }, ...content)
  })
  if (names.length > drawn.length) {
    const rest = drawn.reduce((sum, k) => sum - last[k], 1)
    const said = `${names.length - drawn.length} others`
    rows.push(html('span', { class: 'class-key' }, swatchOf(REST[0]), said, html('span', { class: 'class-share' }, share(rest))))
  }
  return rows
}

export function swatchOf(color) {
  const box = html('span', { class: 'class-color', 'aria-hidden': 'true' })
  box.style.background = color
  return box
}
