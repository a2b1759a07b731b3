// The film of a training: a slider over its snapshots, curves of accuracy and strengths, and the slow points of each.

import { byId, html, signed, svg, ticks } from './elements.js'

const [TALL, APART] = [230, 24] // of a chart, and between two, in pixels
const EDGE = { left: 46, right: 84, top: 12, bottom: 26 }
const PAUSE = 260 // milliseconds for which a snapshot is shown
const calm = matchMedia('(prefers-reduced-motion: reduce)')
const grouped = number => number.toLocaleString('en-US')

/** Sets up the player. Returns { show, shown, playing }, for tests and the console. */
export function film(data) {
  const { steps } = data
  const slider = byId('film-step')
  const button = byId('film-play')
  const last = steps.length - 1
  const room = byId('film-charts')
  let parts = []
  let timer = null
  let now = last

  /** Draw the charts for the width that there is: two beside each other, or one on a phone. */
  function draw() {
    const whole = room.clientWidth
    if (!whole) return // the section is folded
    const wide = Math.floor(whole >= 2 * 380 + APART ? (whole - APART) / 2 : whole)
    parts = [accuracyChart, strengthChart, planeChart, readingsTable].map(part => part(data, wide))
    room.replaceChildren(...parts.map(part => part.element))
    show(now)
  }

  function show(at) {
    now = Math.max(0, Math.min(last, at))
    const said = `step ${grouped(steps[now])}`
    slider.value = String(now)
    slider.setAttribute('aria-valuetext', said)
    byId('film-at').textContent = said
    for (const part of parts) part.show(now)
  }

  function stop() {
    clearInterval(timer)
    timer = null
    button.textContent = calm.matches ? 'Next' : 'Play'
  }

  /** Play from here, or from the start at the end. With reduced motion the button shows the next snapshot only. */
  function pressed() {
    const next = now === last ? 0 : now + 1
    if (timer !== null) return stop()
    if (calm.matches) return show(next)
    show(next)
    button.textContent = 'Pause'
    timer = setInterval(() => (now === last ? stop() : show(now + 1)), PAUSE)
  }

  slider.addEventListener('input', () => {
    stop()
    show(Number(slider.value))
  })
  button.addEventListener('click', pressed)
  calm.addEventListener('change', stop)
  byId('film-player').hidden = false
  stop()
  show(last)
  addEventListener('beforeprint', draw) // a folded section was opened for the printer just now
  let width = 0
  new ResizeObserver(() => {
    if (room.clientWidth === width) return
    width = room.clientWidth
    draw()
  }).observe(room)
  return { show, shown: () => now, playing: () => timer !== null }
}

/** A chart with a caption: x places snapshots, y values between low and high. */
function panel(wide, caption, low, high, count, label) {
  const x = at => EDGE.left + ((wide - EDGE.left - EDGE.right) * at) / Math.max(1, count - 1)
  const y = value => EDGE.top + ((high - value) / (high - low || 1)) * (TALL - EDGE.top - EDGE.bottom)
  const chart = svg('svg', { viewBox: `0 0 ${wide} ${TALL}`, width: wide, height: TALL, role: 'img', class: 'own' })
  chart.setAttribute('aria-label', label)
  return { wide, x, y, chart, element: html('figure', {}, chart, html('figcaption', {}, caption)) }
}

/** Steps below a chart over snapshots, as many as fit. */
function stepTicks({ x, chart }, steps) {
  const [last, most] = [steps.length - 1, 5]
  for (const at of new Set(Array.from({ length: most + 1 }, (_, k) => Math.round((k * last) / most)))) {
    const text = { class: 'tick', x: x(at), y: TALL - 8, 'text-anchor': 'middle' }
    chart.append(svg('text', text, grouped(steps[at])))
  }
}

function valueTicks({ wide, y, chart }, low, high, said) {
  for (const tick of ticks(low, high, 4)) {
    const across = { x1: EDGE.left, x2: wide - EDGE.right, y1: y(tick), y2: y(tick) }
    chart.append(svg('line', { class: tick === 0 ? 'zero' : 'grid', ...across }))
    chart.append(svg('text', { class: 'tick', x: EDGE.left - 8, y: y(tick) + 4, 'text-anchor': 'end' }, said(tick)))
  }
}

/** A path through the values that are there. */
function path({ x, y }, values) {
  let [d, drawing] = ['', false]
  values.forEach((value, at) => {
    if (value !== null) d += `${drawing ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`
    drawing = value !== null
  })
  return d
}

/** Names at the right end of lines, moved down where two would overlap. */
function names(at, found) {
  let above = -Infinity
  for (const { name, value } of [...found].sort((a, b) => b.value - a.value)) {
    above = Math.max(at.y(value) + 4, above + 13)
    at.chart.append(svg('text', { class: 'side', x: at.wide - EDGE.right + 8, y: above }, name))
  }
}

function cursorOf({ chart }) {
  const cursor = svg('line', { class: 'cursor', y1: EDGE.top, y2: TALL - EDGE.bottom })
  chart.append(cursor)
  return place => {
    cursor.setAttribute('x1', place)
    cursor.setAttribute('x2', place)
  }
}

function accuracyChart({ steps, accuracy, shuffled, chance }, wide) {
  const every = [...accuracy, ...shuffled, chance]
  const [low, high] = [Math.min(...every) - 0.02, Math.max(...every) + 0.02]
  const caption = html('span', {}, 'Accuracy, and accuracy with the words in random order (dashed)')
  const at = panel(wide, caption, low, high, steps.length, 'Accuracy over the steps of the training')
  valueTicks(at, low, high, tick => `${Math.round(100 * tick)} %`)
  stepTicks(at, steps)
  const across = { x1: EDGE.left, x2: wide - EDGE.right, y1: at.y(chance), y2: at.y(chance) }
  at.chart.append(svg('line', { class: 'none', ...across }))
  at.chart.append(svg('path', { class: 'line a', d: path(at, accuracy) }))
  at.chart.append(svg('path', { class: 'line b', d: path(at, shuffled) }))
  const ends = [['as written', accuracy.at(-1)], ['shuffled', shuffled.at(-1)], ['constant', chance]]
  names(at, ends.map(([name, value]) => ({ name, value })))
  const move = cursorOf(at)
  return { element: at.element, show: now => move(at.x(now)) }
}

/** Lines of one kind differ by their dashes. */
const LOOKS = ['', ' second', ' third']

function strengthChart({ steps, words }, wide) {
  const every = words.flatMap(([, rows]) => rows.filter(Boolean).map(([strength]) => strength))
  const [low, high] = [Math.min(-0.5, ...every) - 0.1, Math.max(0.5, ...every) + 0.1]
  const caption = html('span', {}, 'Strengths: −1 takes the effect of the next word away, +1 doubles it')
  const at = panel(wide, caption, low, high, steps.length, 'Strengths of well-known words over the steps of the training')
  valueTicks(at, low, high, tick => signed(tick, 1))
  stepTicks(at, steps)
  const seen = { negator: 0, intensifier: 0, control: 0 }
  const ends = []
  for (const [word, rows] of words) {
    const end = rows.filter(Boolean).at(-1)
    if (!end) continue
    const clear = Math.abs(end[0]) > Math.max(0.1, 2 * end[1])
    const kind = clear ? (end[0] < 0 ? 'negator' : 'intensifier') : 'control'
    const look = LOOKS[seen[kind]++ % LOOKS.length]
    at.chart.append(svg('path', { class: `line ${kind}${look}`, d: path(at, rows.map(row => row && row[0])) }))
    ends.push({ name: word, value: end[0] })
  }
  names(at, ends)
  const [move, errors] = [cursorOf(at), svg('g')]
  at.chart.append(errors)
  function show(now) {
    move(at.x(now))
    const bars = words
      .map(([, rows]) => rows[now])
      .filter(Boolean)
      .map(([strength, error]) => {
        const ends = [strength + 2 * error, strength - 2 * error].map(end => at.y(Math.max(low, Math.min(high, end))))
        return svg('line', { class: 'bar', x1: at.x(now), x2: at.x(now), y1: ends[0], y2: ends[1] })
      })
    errors.replaceChildren(...bars)
  }
  return { element: at.element, show }
}

function planeChart({ points, explained }, wide) {
  const [xs, ys] = [0, 1].map(axis => points.flatMap(found => (found ? found[axis] : [])))
  const range = values => [Math.min(0, ...values), Math.max(0, ...values)]
  const [[left, right], [low, high]] = [range(xs), range(ys)]
  const largest = Math.max(1e-9, ...points.flatMap(found => (found ? found[2].map(Math.abs) : [])))
  const caption = html('span')
  const at = panel(wide, caption, low, high, 2, 'Slow points on a plane, circles: positive readings, squares: negative ones')
  const x = value => EDGE.left + ((value - left) / (right - left || 1)) * (wide - EDGE.left - 16)
  const dots = svg('g')
  at.chart.append(dots)
  function show(now) {
    const [across, up, logits] = points[now] ?? [[], [], []]
    const marks = logits.map((logit, k) => {
      const look = { class: `dot ${logit < 0 ? 'down' : 'up'}`, 'fill-opacity': 0.25 + (0.75 * Math.abs(logit)) / largest }
      const [cx, cy] = [x(across[k]), at.y(up[k])]
      return logit < 0
        ? svg('rect', { ...look, x: cx - 4, y: cy - 4, width: 8, height: 8 })
        : svg('circle', { ...look, cx, cy, r: 4.5 })
    })
    dots.replaceChildren(...marks)
    const share = explained[now]
    const one = share === null ? '' : `; a curve explains ${Math.round(100 * Math.max(0, share))} % of their variance`
    caption.textContent = `${logits.length} slow points${one}. Circles: positive readings, squares: negative ones`
  }
  return { element: at.element, show }
}

function readingsTable({ readings }) {
  const cells = readings.map(() => html('td', { class: 'number' }))
  const rows = readings.map(([text], k) => html('tr', {}, html('th', { scope: 'row' }, text), cells[k]))
  const table = html('table', {}, html('tbody', {}, ...rows))
  const element = html('figure', {}, table, html('figcaption', {}, 'Logits of example sentences; above 0 is positive'))
  function show(now) {
    readings.forEach(([, logits], k) => {
      cells[k].textContent = logits[now] === null ? '–' : signed(logits[now])
    })
  }
  return { element, show }
}
