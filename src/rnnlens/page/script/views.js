// What the reader draws and says: of one logit, of several classes, or of a network that reads both ways.

import { bothChart, reachOf } from './bothchart.js'
import { readingChart } from './charts.js'
import { Palette, classChart, classLegend, drawnClasses, share, swatchOf } from './classchart.js'
import { byId, html, signed } from './elements.js'
import { shares } from './reading.js'

const sentence = (...parts) => html('p', { class: 'said' }, ...parts)
const strong = text => html('b', {}, text)

/** One logit: a line. */
export class LogitView {
  constructor({ unit, sides }) {
    Object.assign(this, { unit, sides })
  }

  /** Choose what is followed, before anything is drawn. first: the reading of the first sentence; readings: all;
   *  chosen: the name of a class, or null. */
  prepare(first, readings, chosen) {}

  /** The charts: [{ chart, point }], where point(t) marks a word. */
  charts(places, series, point) {
    return [readingChart(places, series.map(one => ({ ...one, logits: one.reading.logits })), this.unit, this.sides, t => point('a', t))]
  }

  /** What the sentence is read as. */
  verdict(reading) {
    return totalOf(reading, this.unit, this.sides)
  }

  /** The number below the word before t. */
  number(reading, t) {
    return signed(reading.logits[t], 1)
  }

  /** What the word at t does here. */
  moved(reading, t) {
    return [sentence(`Here it moves the ${this.unit} by `, strong(signed(reading.change(t))), `, to ${signed(reading.logits[t + 1])}.`)]
  }
}

function totalOf(reading, unit, sides) {
  const last = reading.total
  const probability = Math.round(100 / (1 + Math.exp(-Math.abs(last))))
  const side = last > 0 ? sides.above : sides.below
  const judged = unit !== 'logit' ? 'in total' : sides.sure ? `${side}, ${probability} % sure` : side
  return [html('b', { class: last > 0 ? 'up' : 'down' }, signed(last)), ` ${judged}`]
}

/** Several classes: stacked columns. One class is followed, by default the most probable one. */
export class ClassView {
  /** choose: called with the class to follow, null for the most probable one. */
  constructor({ classes, choose }) {
    Object.assign(this, { classes, choose })
    this.palette = new Palette(classes)
    const numbers = classes.names.map(Number)
    const isNumber = (value, k) => classes.names[k].trim() !== '' && Number.isFinite(value)
    /** The values of ordered classes: their own numbers, or 1, 2, … */
    this.values = numbers.every(isNumber) ? numbers : numbers.map((_, k) => k + 1)
  }

  prepare(first, readings, chosen) {
    const { names, ordered } = this.classes
    const k = ordered || chosen === null ? -1 : names.indexOf(chosen)
    this.chosen = k
    const last = first.lastScores
    this.followed = ordered ? null : k >= 0 ? k : last.indexOf(Math.max(...last))
    for (const reading of readings) reading.follow(this.followed)
  }

  charts(places, series, point) {
    const every = series.map(one => one.reading.scores.map(shares))
    const drawn = drawnClasses(every.flat(), this.classes.names.length)
    this.palette.assign(drawn)
    const tall = series.length > 1 ? 130 : 206
    const marked = this.chosen
    this.legend(every.at(series.length > 1 && series[0].look === 'before' ? 1 : 0).at(-1), drawn)
    return series.map((one, i) => {
      const onPoint = t => one.look !== 'before' && point(one.look, t)
      const how = { caption: series.length > 1 ? one.name : '', tall, onPoint, marked }
      const found = classChart(places, this.classes, this.palette, every[i], drawn, how)
      return one.look === 'before' ? { ...found, point: () => {} } : found
    })
  }

  legend(last, drawn) {
    const choose = this.classes.ordered ? null : k => this.choose(k === this.chosen ? null : this.classes.names[k])
    const rows = classLegend(this.classes, this.palette, last, drawn, { followed: this.chosen, choose })
    const place = byId('class-keys')
    const focused = [...place.children].indexOf(document.activeElement)
    place.replaceChildren(...rows)
    if (focused >= 0) place.children[focused]?.focus()
  }

  /** The expected value on the scale of ordered classes. */
  expected(scores) {
    return shares(scores).reduce((sum, value, k) => sum + value * this.values[k], 0)
  }

  verdict(reading) {
    const { names, ordered } = this.classes
    const last = shares(reading.lastScores)
    const best = last.indexOf(Math.max(...last))
    const name = html('bdi', { class: 'class-name', title: names[best] }, names[best])
    if (ordered) {
      const scale = this.values.every((value, k) => String(value) === names[k].trim())
      const value = this.expected(reading.lastScores).toFixed(1)
      return [strong(value), scale ? ' expected' : ` expected, of ${names.length}`, '; most probable: ', name, `, ${share(last[best])}`]
    }
    return [swatchOf(this.palette.of(best)[0]), html('b', { class: 'class-best' }, name), ` ${share(last[best])}`]
  }

  number(reading, t) {
    const scores = reading.scores[t]
    return this.classes.ordered ? this.expected(scores).toFixed(1) : share(shares(scores)[this.followed])
  }

  moved(reading, t) {
    const [before, after] = [shares(reading.scores[t]), shares(reading.scores[t + 1])]
    if (this.classes.ordered) {
      const [from, to] = [t, t + 1].map(i => this.expected(reading.scores[i]).toFixed(1))
      return [sentence('Here it moves the expected class from ', strong(from), ' to ', strong(to), '.'), this.table(before, after)]
    }
    const name = html('bdi', {}, this.classes.names[this.followed])
    const change = signed(reading.change(t))
    return [sentence('Here it adds ', strong(change), ' to the evidence of ', name, '.'), this.table(before, after)]
  }

  /** The classes that a word moves most, each with its probability before and after it. */
  table(before, after) {
    const size = k => Math.abs(after[k] - before[k]) + 1e-6 * after[k]
    const rows = after
      .map((_, k) => k)
      .sort((a, b) => size(b) - size(a))
      .slice(0, 4)
      .map(k =>
        html(
          'li',
          {},
          swatchOf(this.palette.of(k)[0]),
          html('bdi', { class: 'class-name', title: this.classes.names[k] }, this.classes.names[k]),
          html('span', { class: 'class-share' }, `${share(before[k])} → `, strong(share(after[k]))),
        ),
      )
    return html('ul', { class: 'class-moves' }, ...rows)
  }
}

/** A network that reads both ways: what each word adds from either side. of: a ClassView, if it has several classes. */
export class BothView {
  constructor({ unit, sides, of }) {
    Object.assign(this, { unit, sides, of })
  }

  prepare(first, readings, chosen) {
    this.of?.prepare(first, readings, chosen)
  }

  get what() {
    if (!this.of || this.of.classes.ordered) return [this.of ? 'the scale' : `the ${this.unit}`]
    return ['the ', ...this.evidence]
  }

  /** Of the class that is followed: the most probable one of another sentence may be another. */
  get evidence() {
    return ['evidence of ', html('bdi', {}, this.of.classes.names[this.of.followed])]
  }

  charts(places, series, point) {
    if (this.of) {
      const last = shares(series.find(one => one.look === 'a').reading.lastScores)
      const drawn = drawnClasses([last], this.of.classes.names.length)
      this.of.palette.assign(drawn)
      this.of.legend(last, drawn)
    }
    const reach = reachOf(series.map(one => one.reading))
    const tall = series.length > 1 ? 150 : 200
    return series.map(one => {
      const onPoint = t => one.look !== 'before' && point(one.look, t)
      const caption = series.length > 1 ? one.name : ''
      const found = bothChart(places, one.reading, this.unit, { caption, reach, tall, onPoint })
      return one.look === 'before' ? { ...found, point: () => {} } : found
    })
  }

  verdict(reading) {
    const parts = [
      [reading.forwards.total, 'from the left'],
      [reading.backwards.total, 'from the right'],
      [reading.bias, 'bias'],
    ]
    const sum = parts.map(([value, name]) => `${signed(value)} ${name}`).join(', ')
    if (!this.of) return [...totalOf(reading, this.unit, this.sides), `: ${sum}`]
    const what = this.of.classes.ordered ? ['on the scale'] : this.evidence
    return [...this.of.verdict(reading), '; ', ...what, ` ${signed(reading.total)}: ${sum}`]
  }

  number(reading, t) {
    return t ? signed(reading.change(t - 1), 1) : signed(reading.start, 1)
  }

  moved(reading, t) {
    const { forwards, backwards } = reading.adds(t)
    return [
      sentence('To ', ...this.what, ' it adds ', strong(signed(forwards)), ' from the left and ', strong(signed(backwards)), ` from the right, together ${signed(forwards + backwards)}.`),
    ]
  }
}
