// Text → words → rows of the embedding, with the pattern and rules of corpora/words.py.

export const PAD = -1 // the row of no input, x = 0

/** A function that splits text as Python does; the pattern and rules are in the page. lowered: for a vocabulary with
 * capitals, a pattern of the words that are lower-cased; else null. */
export function splitter({ word, rules, lowered }) {
  const pattern = new RegExp(word, 'gu')
  const steps = rules.map(([from, to]) => [new RegExp(from, 'gu'), to])
  const capitals = lowered && new RegExp(lowered, 'gu')
  return text => {
    let plain = text.toWellFormed() + ' '
    plain = capitals ? plain.replace(capitals, found => found.toLowerCase()) : plain.toLowerCase()
    for (const [from, to] of steps) plain = plain.replace(from, () => to)
    return plain.match(pattern) ?? []
  }
}

/** What may be meant by a typed word: as it is, or as it is split from a text, with a straight apostrophe. */
export function meant(typed, split) {
  const found = split(typed)
  return found.length === 1 ? [typed, found[0]] : [typed]
}

/** The vocabulary. `shipped`, if given, lists the ids whose embedding is in the page; other words are left out. */
export class Vocabulary {
  constructor({ words, unk, shipped, lowered, respelled }) {
    this.words = words
    this.cased = Boolean(lowered)
    this.respelled = new Map(Object.entries(respelled))
    this.ids = new Map(words.map((word, id) => [word, id]))
    this.rows = shipped && new Map(Array.from(shipped, (id, row) => [id, row]))
    this.unknown = unk < 0 ? PAD : this.row(unk)
  }

  row(id) {
    return this.rows ? (this.rows.get(id) ?? null) : id
  }

  /** A word as the vocabulary spells it: as it is, or else in lower case. */
  spelled(word) {
    const lowered = word.toLowerCase()
    const known = [word, lowered].find(one => this.ids.has(one) || this.respelled.has(one))
    if (known === undefined) return this.cased ? word : lowered
    return this.respelled.get(known) ?? known
  }

  /** The row of a word in the embedding, and whether it is known, a blank input, unknown, or left out of the page. */
  token(word) {
    const id = this.ids.get(word)
    if (id === undefined)
      return word === '<pad>' ? { word, row: PAD, state: 'pad' } : { word, row: this.unknown, state: 'unknown' }
    const row = this.row(id)
    return row === null ? { word, row: this.unknown, state: 'left out' } : { word, row, state: 'known' }
  }

  knows(word) {
    return this.token(word).state === 'known'
  }
}

/** The words in a random order given by the seed. */
export function shuffled(words, seed) {
  const found = [...words]
  const draw = chance(seed)
  for (let i = found.length - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1))
    ;[found[i], found[j]] = [found[j], found[i]]
  }
  return found
}

function chance(seed) {
  let state = seed >>> 0
  return () => {
    // A linear congruential generator (Numerical Recipes) with mixed low bits: good enough to shuffle a sentence.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return ((state ^ (state >>> 15)) >>> 0) / 2 ** 32
  }
}
