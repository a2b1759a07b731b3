// Sets up the page. `window.rnnlens.read(text)` runs the live network from the console.

import { decodedAll } from './arrays.js'
import { cards } from './card.js'
import { Context } from './context.js'
import { byId } from './elements.js'
import { Words } from './facts.js'
import { Figures } from './figures.js'
import { picker } from './picker.js'
import { openNetwork } from './reading.js'
import { Reader } from './reader.js'
import { wordTable } from './table.js'
import { follow, watchFolds } from './folds.js'
import { watchSections } from './sections.js'
import { watchTheme } from './theme.js'
import { Vocabulary, splitter } from './words.js'

const data = JSON.parse(byId('data').textContent)
const { live } = data
const [measured, stored, analyzed] = await Promise.all([live.measured, live.network, live.analysis].map(decodedAll))

const split = live.word && splitter(live)
let context = null
let parts = null
if (stored) {
  const network = openNetwork(stored)
  const vocabulary = new Vocabulary({ ...live, shipped: stored.shipped })
  context = analyzed && new Context(network.own, vocabulary, live.about, analyzed)
  parts = { network, vocabulary, split, context }
}
const words = new Words(live.words, measured, context, live.stored, live.about, live.kinds, live.people)
let reader = null
const open = cards(words, parts && (word => reader.tryWord(word)))
if (parts) reader = new Reader({ ...parts, words, open, unit: data.unit, sides: data.sides, kindsBySide: live.kinds_by_side, examples: data.examples })
if (context && byId('picker')) picker(context, words, split)
if (measured && byId('words-table')) wordTable(words, open, split)
watchFolds()
follow()
setTimeout(follow) // again, once the reader above has its height
const figures = new Figures(data.template, word => word !== undefined && open(word))
watchTheme(() => figures.redraw())
watchSections()

window.rnnlens = {
  version: document.querySelector('meta[name=generator]').content,
  read: (text, options) => reader?.read(text, options) ?? null,
  logits: (text, options) => reader?.logits(text, options) ?? null,
  shown: () => reader?.shown ?? null,
  card: open,
  word: name => words.seen(name),
  nearest: (name, n) => words.nearest(name, n),
}
document.documentElement.dataset.ready = String(Math.round(performance.now()))
