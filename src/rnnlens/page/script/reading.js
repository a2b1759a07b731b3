// Readings of a sentence: states and logits after every word, from one end or from both.

import { Network, inOrder, orderedScores } from './network.js'

/** The probabilities of logits. */
export function shares(scores) {
  const most = Math.max(...scores)
  const each = Array.from(scores, score => Math.exp(score - most))
  const sum = each.reduce((total, one) => total + one, 0)
  return each.map(one => one / sum)
}

/** The evidence of class k: its logit minus the mean of the others. */
export function evidence(scores, k) {
  let sum = 0
  for (const score of scores) sum += score
  return scores[k] - (sum - scores[k]) / (scores.length - 1)
}

/** The reading of a sentence. After a change, only the steps from the first changed word on are computed again. */
export class Reading {
  /** gain: of a state, how much the next word would count. */
  constructor(network, gain = () => NaN) {
    this.network = network
    this.gain = gain
    this.rows = []
    this.followed = null
    this.states = [network.h0]
    this.scores = network.classes ? [network.scores(network.h0)] : null
    this.logits = [network.logit(network.h0)]
    this.multiples = [] // the gains that are computed so far
  }

  read(rows) {
    let same = 0
    while (same < rows.length && rows[same] === this.rows[same]) same++
    this.states.length = this.logits.length = this.multiples.length = same + 1
    if (this.scores) this.scores.length = same + 1
    for (let t = same; t < rows.length; t++) {
      const h = this.network.step(this.states[t], rows[t])
      this.states.push(h)
      this.scores?.push(this.network.scores(h))
      this.logits.push(this.logit(h))
    }
    this.rows = [...rows]
    return this
  }

  /** The logit at a state: the evidence of the class that is followed, or the one that was analyzed. */
  logit(h) {
    return this.followed === null ? this.network.logit(h) : evidence(this.network.scores(h), this.followed)
  }

  /** Let `logits` be the evidence of class k; null for the logit that was analyzed. */
  follow(k) {
    if (k === this.followed) return
    this.followed = k
    this.logits = this.states.map(h => this.logit(h))
  }

  /** By how much the word at t moves the logit. */
  change(t) {
    return this.logits[t + 1] - this.logits[t]
  }

  /** How much the word read next would count, before and after the word at t is read. */
  gainsAt(t) {
    return [this.gainAt(t), this.gainAt(t + 1)]
  }

  /** How much the next word would count after the first k words. */
  gainAt(k) {
    return (this.multiples[k] ??= this.gain(this.states[k]))
  }

  get gains() {
    return this.states.map((_, k) => this.gainAt(k))
  }

  /** Compute gains, which takes long, until a time; whether all are known. */
  prepare(until) {
    for (let k = 0; k < this.states.length; k++) {
      if (this.multiples[k] === undefined && performance.now() > until) return false
      this.gainAt(k)
    }
    return true
  }

  /** What is read after the word at t, as plain data. */
  after(t) {
    return { logit: this.logits[t + 1], ...(this.scores ? { classes: shares(this.scores[t + 1]) } : {}) }
  }

  get total() {
    return this.logits.at(-1)
  }

  /** The logits of the classes at the end. */
  get lastScores() {
    return this.scores?.at(-1) ?? null
  }
}

/** A network that reads from both ends: logit = forwards + backwards + bias. */
export class BothWays {
  /** stored: as live.py packs it, with the shown reader, which was analyzed, as the network itself. */
  constructor(E, { both, ...stored }) {
    const own = new Network(E, stored)
    const other = new Network(both.E ?? E, both.other)
    this.shown = both.shown
    Object.assign(this, both.shown === 'forwards' ? { forwards: own, backwards: other } : { forwards: other, backwards: own })
    this.bias = both.bias[0]
    /** { names, ordered, b } of several classes, else null. */
    this.classes = both.classes && { ...both.classes, b: inOrder(both.classes) }
  }

  /** The reader that was analyzed. */
  get own() {
    return this[this.shown]
  }

  /** The same with another reader in place of the one that was analyzed. */
  with(reader) {
    const other = Object.create(this)
    other[this.shown] = reader
    return other
  }
}

/** The reading of a sentence from both ends. */
export class BothReading {
  constructor(network, gain) {
    this.network = network
    this.followed = null
    for (const side of ['forwards', 'backwards'])
      this[side] = new Reading(network[side], side === network.shown ? gain : undefined)
  }

  read(rows) {
    this.forwards.read(rows)
    this.backwards.read([...rows].reverse())
    this.length = rows.length
    return this
  }

  follow(k) {
    this.forwards.follow(k)
    this.backwards.follow(k)
    this.followed = k
  }

  /** What the word at t adds from either side. */
  adds(t) {
    return { forwards: this.forwards.change(t), backwards: this.backwards.change(this.length - 1 - t) }
  }

  change(t) {
    const { forwards, backwards } = this.adds(t)
    return forwards + backwards
  }

  after(t) {
    return this.adds(t)
  }

  gainsAt(t) {
    return this[this.network.shown].gainsAt(this.network.shown === 'forwards' ? t : this.length - 1 - t)
  }

  get bias() {
    const { followed, network } = this
    return followed === null ? network.bias : evidence(network.classes.b, followed)
  }

  /** What is there before any word is read. */
  get start() {
    return this.forwards.logits[0] + this.backwards.logits[0] + this.bias
  }

  get total() {
    return this.forwards.total + this.backwards.total + this.bias
  }

  get lastScores() {
    const { classes } = this.network
    if (!classes) return null
    if (classes.ordered) return orderedScores(this.forwards.total + this.backwards.total, classes.b)
    const right = this.backwards.lastScores
    return this.forwards.lastScores.map((score, k) => score + right[k] + classes.b[k])
  }

  prepare(until) {
    return this[this.network.shown].prepare(until)
  }

  /** How much the word read next by the analyzed reader would count, at each word; index 0 is the start. */
  get gains() {
    const { gains } = this[this.network.shown]
    return this.network.shown === 'forwards' ? gains : [NaN, ...gains.slice(1).reverse()]
  }
}

/** A network of the page. stored: as page/live.py packs it, decoded. */
export function openNetwork(stored) {
  return stored.both ? new BothWays(stored.E, stored) : new Network(stored.E, stored)
}

/** A new reading by a network of either kind. */
export function readingOf(network, gain) {
  return network instanceof BothWays ? new BothReading(network, gain) : new Reading(network, gain)
}
