// Sets up the page of several networks. `window.rnnlens.read(text)` runs all of them from the console.

import { decodedAll } from './arrays.js'
import { swatch } from './charts.js'
import { byId } from './elements.js'
import { Figures } from './figures.js'
import { watchFolds } from './folds.js'
import { openNetwork } from './reading.js'
import { watchSections } from './sections.js'
import { Reads, SideBySide } from './sidebyside.js'
import { watchTheme } from './theme.js'
import { Vocabulary, splitter } from './words.js'

const data = JSON.parse(byId('data').textContent)

/** A network of the page, ready to read; null if it cannot run in a browser. */
async function opened({ network: packed, measured, ...own }, k) {
  if (!packed) return null
  const [stored, strengths] = await Promise.all([decodedAll(packed), decodedAll(measured)])
  const vocabulary = new Vocabulary({ ...own, shipped: stored.shipped })
  const parts = { network: openNetwork(stored), vocabulary, split: splitter(own), measured: strengths }
  return new Reads({ name: own.name, look: `n${k}`, effect: own.effect, kinds: data.kinds, ...parts })
}

const networks = (await Promise.all(data.networks.map(opened))).filter(Boolean)
for (const name of document.querySelectorAll('.network')) name.prepend(swatch(name.dataset.look))
const reader = networks.length ? new SideBySide(networks, data.people, data.unit, data.sides, data.examples) : null
watchFolds()
const figures = new Figures(data.template, word => word !== undefined && reader?.tryWord(word))
watchTheme(() => figures.redraw())
watchSections()

window.rnnlens = {
  version: document.querySelector('meta[name=generator]').content,
  read: text => networks.map(network => ({ name: network.name, words: network.read(text) })),
  shown: () => reader?.shown ?? null,
}
document.documentElement.dataset.ready = String(Math.round(performance.now()))
