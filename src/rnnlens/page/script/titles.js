// Titles of panels in figures: those that the edges of the figure would cut are broken into lines.

/** A figure's layout, and its height, for a width. */
export function fitted(figure, height, width) {
  const layout = structuredClone(figure.layout)
  if (layout.scene) return { layout, height }
  const margin = { l: 60, r: 20, t: 14, b: 60, ...layout.margin }
  const lines = 15 * brokenAtEdges(layout, width)
  return { layout: { ...layout, margin: { ...margin, l: margin.l + 14, t: margin.t + lines } }, height: height + lines }
}

/** Break the titles of panels that the edges of a figure would cut. Returns the number of additional lines. */
function brokenAtEdges(layout, width) {
  const lines = panelsOf(layout).map(({ x, title }) => {
    if (title?.xanchor !== 'center') return 0
    const [from, to] = layout[x].domain ?? [0, 1]
    return broken(title, width * Math.min(from + to, 2 - from - to))
  })
  return Math.max(0, ...lines)
}

/** The x axis of each panel, and its title, if any. */
function panelsOf(layout) {
  const titles = layout.annotations?.filter(note => note.xref === 'paper' && note.yref === 'paper') ?? []
  return Object.keys(layout)
    .filter(name => /^xaxis\d*$/.test(name))
    .map(x => {
      const y = layout[x].anchor ? `yaxis${layout[x].anchor.slice(1)}` : `yaxis${x.slice(5)}`
      const [across, up] = [layout[x].domain ?? [0, 1], layout[y]?.domain ?? [0, 1]]
      const middle = (across[0] + across[1]) / 2
      return { x, title: titles.find(note => Math.abs(note.x - middle) < 0.02 && Math.abs(note.y - up[1]) < 0.02) }
    })
}

/** Break a long title into lines. Returns the number of additional lines. */
function broken(title, width) {
  const lines = ['']
  for (const word of (title.text ?? '').split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (longer.replace(/<[^>]*>/g, '').length * 6.4 > width && lines.at(-1)) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  title.text = lines.join('<br>')
  return lines.length - 1
}
