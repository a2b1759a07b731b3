// Figures on a phone: panels are stacked instead of side by side; long titles and names in legends are broken into lines.

const NARROW = 640
const EDGES = 90 // pixels beside a panel, for its ticks
const [GAP, TURNED] = [76, 132] // pixels between panels, for axis names and titles; more with vertical tick labels

/** A figure's layout, and its height, for a width. Long names in the figure's legend are broken into lines. */
export function fitted(figure, height, width) {
  const layout = structuredClone(figure.layout)
  const margin = { l: 60, r: 20, t: 14, b: 60, ...layout.margin }
  if (layout.scene) return inSpace(layout, height, width)
  if (width >= NARROW) {
    const lines = 15 * brokenAtEdges(layout, width)
    return { layout: { ...layout, margin: { ...margin, l: margin.l + 14, t: margin.t + lines } }, height: height + lines }
  }
  const panels = panelsOf(layout)
  const rows = new Set(panels.map(panel => panel.top)).size || 1
  const turned = panels.some(({ x }) => layout[x].tickangle === -90)
  const lines = panels.some(({ x }) => layout[x].ticktext?.some(text => text.includes('<br>')))
  const titles = Math.max(0, ...panels.map(({ title }) => (title ? broken(title, width) : 0)))
  const gap = turned ? TURNED : GAP + (lines ? 16 : 0) + 15 * titles
  const tall = (height - margin.t - margin.b) / rows
  const stacked = panels.length > rows
  const each = stacked ? Math.max(130, Math.min(tall, 260)) : tall
  const count = stacked ? panels.length : rows
  const room = stacked ? count * each + (count - 1) * gap : rows * tall
  if (stacked) stack(layout, panels, each, gap, room)
  const names = Math.max(0, ...panels.map(({ x }) => (layout[x].title ? broken(layout[x].title, width) : 0)))
  const below = (turned ? 116 : 56) + (lines ? 16 : 0) + 15 * names
  margin.t += 15 * titles
  Object.assign(margin, { l: 54, r: margin.r < 40 ? 10 : 56, b: below + legendHeight(figure, layout, width) })
  if (layout.legend)
    layout.legend = { ...layout.legend, y: -below / room, yanchor: 'top', x: 0, entrywidth: 0, font: { size: 12 } }
  for (const note of layout.annotations ?? []) {
    note.font = { ...note.font, size: Math.min(12, note.font?.size ?? 12) }
    if (note.xref?.endsWith('domain') && broken(note, width)) note.align = 'left' // above a panel, as wide as it
  }
  layout.font = { ...layout.font, size: 12 }
  for (const axis of axesOf(layout)) if (layout[axis].title) layout[axis].title.font = { size: 12 }
  return { layout: { ...layout, margin }, height: room + margin.t + margin.b }
}

/** A figure in three dimensions: nothing is stacked; in a narrow one the camera stands further away. */
function inSpace(layout, height, width) {
  if (width >= NARROW) return { layout, height }
  const far = Math.min(1.6, NARROW / width)
  const eye = Object.entries(layout.scene.camera?.eye ?? {}).map(([axis, at]) => [axis, at * far])
  layout.scene.camera = { ...layout.scene.camera, eye: Object.fromEntries(eye) }
  return { layout, height: Math.min(height, 1.5 * width) }
}

/** Pairs of axes from top to bottom and left to right, each with its position and its title, if any. */
function panelsOf(layout) {
  const titles = layout.annotations?.filter(note => note.xref === 'paper' && note.yref === 'paper') ?? []
  return axesOf(layout, 'x')
    .map(x => {
      const y = layout[x].anchor ? `yaxis${layout[x].anchor.slice(1)}` : `yaxis${x.slice(5)}`
      const [across, up] = [layout[x].domain ?? [0, 1], layout[y]?.domain ?? [0, 1]]
      const middle = (across[0] + across[1]) / 2
      const title = titles.find(note => Math.abs(note.x - middle) < 0.02 && Math.abs(note.y - up[1]) < 0.02)
      return { x, y, title, left: across[0], top: up[1] }
    })
    .sort((a, b) => b.top - a.top || a.left - b.left)
}

function stack(layout, panels, each, gap, room) {
  panels.forEach(({ x, y, title }, k) => {
    const high = 1 - (k * (each + gap)) / room
    if (title) Object.assign(title, { x: 0.5, y: high })
    layout[x] = { ...layout[x], domain: [0, 1], title: layout[x].title ?? layout[panels.at(-1).x].title }
    layout[y] = { ...layout[y], domain: [Math.max(0, high - each / room), high], showticklabels: true }
  })
}

/** Break a long title into lines. Returns the number of additional lines. */
function broken(title, width) {
  const lines = ['']
  for (const word of (title.text ?? '').split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (plain(longer).length * 6.4 > width - EDGES && lines.at(-1)) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  title.text = lines.join('<br>')
  return lines.length - 1
}

/** Break the titles of panels that the edges of a wide figure would cut. Returns the number of additional lines. */
function brokenAtEdges(layout, width) {
  const lines = panelsOf(layout).map(({ x, title }) => {
    if (title?.xanchor !== 'center') return 0
    const [from, to] = layout[x].domain ?? [0, 1]
    return broken(title, width * Math.min(from + to, 2 - from - to) + EDGES)
  })
  return Math.max(0, ...lines)
}

/** Break long names of the legend into lines. Returns its height. */
function legendHeight({ data }, layout, width) {
  if (layout.showlegend === false) return 0
  let lines = 0
  const entries = data
    .filter(trace => trace.showlegend !== false && trace.name)
    .map(trace => {
      const name = { text: trace.name }
      lines += broken(name, width)
      trace.name = name.text
      return 44 + 6.6 * Math.max(...name.text.split('<br>').map(line => plain(line).length))
    })
  let rows = entries.length ? 1 : 0
  let used = 0
  for (const wide of entries) {
    if (used && used + wide > width - 70) {
      rows++
      used = 0
    }
    used += wide
  }
  return rows * 20 + 15 * lines + 12
}

const axesOf = (layout, which = '[xy]') =>
  Object.keys(layout).filter(name => new RegExp(`^${which}axis\\d*$`).test(name))

const plain = text => text.replace(/<[^>]*>/g, '')
