// The figures of the paper, drawn by plotly.js when they come into view.

import { unpacked } from './arrays.js'
import { byId, html } from './elements.js'
import { isDark, night } from './theme.js'
import { fitted } from './titles.js'

const CONFIG = {
  responsive: false,
  displaylogo: false,
  plotlyServerURL: '',
  showSendToCloud: false,
  modeBarButtonsToRemove: ['sendChartToCloud', 'lasso2d', 'select2d', 'autoScale2d'],
}

const PAPER = 700 // width of a printed page in pixels

let loading = null

/** plotly.js is in the page, compressed; it is unpacked when first needed. */
function plotly() {
  loading ??= (async () => {
    const script = document.createElement('script')
    script.textContent = await unpacked(byId('plotly').textContent).text()
    document.head.append(script)
    return window.Plotly
  })()
  return loading
}

export class Figures {
  /** open: what to do with a clicked word. */
  constructor(template, open) {
    this.figures = null
    this.template = template
    this.open = open
    this.plots = [...document.querySelectorAll('.plot')]
    this.drawn = new Map()
    this.printing = false
    const seen = new IntersectionObserver(
      entries => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue
          seen.unobserve(target)
          this.draw(target)
        }
      },
      { rootMargin: '500px 0px' },
    )
    const resized = new ResizeObserver(entries => {
      for (const { target } of entries)
        if (this.drawn.has(target) && this.drawn.get(target) !== target.clientWidth) this.draw(target)
    })
    for (const plot of this.plots) {
      seen.observe(plot)
      resized.observe(plot)
    }
    addEventListener('beforeprint', () => {
      this.printing = true
      this.redraw(this.plots)
    })
    addEventListener('afterprint', () => {
      this.printing = false
      this.redraw(this.plots)
    })
    // Unpacked in idle time, so that neither the first figure nor a printer has to wait.
    const soon = globalThis.requestIdleCallback ?? (task => setTimeout(task, 300))
    if (this.plots.length) soon(() => Promise.all([plotly(), this.load()]))
  }

  redraw(plots = [...this.drawn.keys()]) {
    for (const plot of plots) this.draw(plot)
  }

  /** The figures by name, unpacked once. */
  async load() {
    this.loading ??= unpacked(byId('figures').textContent).json()
    this.figures = await this.loading
  }

  /** A figure as Plotly takes it: a copy, because Plotly changes what it draws. */
  figure(plot) {
    return structuredClone(this.figures[plot.dataset.figure])
  }

  async draw(plot) {
    // Without waiting once both are there: a printer does not wait.
    if (!window.Plotly || !this.figures) await Promise.all([plotly().catch(() => null), this.load()])
    const { Plotly } = window
    if (!Plotly)
      return plot.replaceChildren(html('p', { class: 'note' }, 'This browser is too old to draw the figures.'))
    const figure = this.figure(plot)
    const width = this.printing ? PAPER : plot.clientWidth
    const { layout, height } = fitted(figure, Number(plot.dataset.height), width)
    const phone = innerWidth < 640
    const dark = isDark() && !this.printing
    const looks = dark ? night : value => value
    const clear = 'rgba(0,0,0,0)'
    const shown = looks({ ...layout, template: this.template })
    shown.legend = { ...shown.legend, font: { size: 13, ...shown.legend?.font } }
    Object.assign(shown, {
      width,
      height,
      paper_bgcolor: clear,
      plot_bgcolor: clear,
      dragmode: phone ? false : 'zoom',
    })
    shown.font = { ...shown.font, color: dark ? '#e8ebf0' : '#1a202c' }
    shown.hoverlabel = dark
      ? { bgcolor: '#0f1115', font: { color: '#e8ebf0' } }
      : { bgcolor: '#ffffff', bordercolor: '#4a5568', font: { color: '#1a202c' } }
    // In three dimensions, dragging turns the figure.
    if (shown.scene) shown.scene = { ...shown.scene, dragmode: phone ? false : 'orbit' }
    const turns = plot.closest('figure')?.querySelector('.turns')
    if (turns) turns.hidden = phone || this.printing
    plot.style.height = `${height}px`
    const fresh = !this.drawn.has(plot)
    this.drawn.set(plot, width)
    const config = {
      ...CONFIG,
      displayModeBar: phone ? false : 'hover',
      toImageButtonOptions: { format: 'svg', filename: plot.dataset.figure },
    }
    await Plotly.react(plot, looks(figure.data), shown, config)
    plot.querySelector('.main-svg')?.setAttribute('aria-hidden', 'true')
    if (fresh) this.connect(plot)
  }

  /** A click on a word in a figure opens its card. */
  connect(plot) {
    const word = ({ points }) =>
      points?.map(point => point.customdata).find(found => typeof found === 'string' && found)
    plot.on('plotly_click', event => this.open(word(event)))
    plot.on('plotly_clickannotation', ({ annotation }) => this.open(annotation.name))
    plot.on('plotly_hover', event => plot.classList.toggle('over-word', Boolean(word(event))))
    plot.on('plotly_unhover', () => plot.classList.remove('over-word'))
  }
}
