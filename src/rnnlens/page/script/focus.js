// The facts about the selected word: what it does here, and what was measured of it.

import { modifiedBy } from './arcs.js'
import { byId, html, signed, times } from './elements.js'
import { badge, wordFacts } from './facts.js'
import { SAID } from './wordlist.js'

/** Show a word of the sentence. reader: has the words, their context, and a function that opens cards. */
export function showFocus(reader, token, { tokens, reading, changes = [] }, t) {
  const known = token.state === 'known'
  const card = html('button', { type: 'button', class: 'quiet', onclick: () => reader.open(token.word) }, 'Open its card')
  byId('focus').replaceChildren(
    html(
      'div',
      { class: 'fact' },
      html('p', { class: 'focus-word' }, html('bdi', {}, token.word)),
      html('p', {}, known ? badge(reader.words.kind(token.word)) : html('span', { class: 'kind' }, SAID[token.state])),
      ...reader.view.moved(reading, t),
      ...modifiedBy(changes, tokens, t),
      ...(known && reader.context ? strengthHere(reader, token.word, reading.gainsAt(t)) : []),
      known ? html('p', { class: 'said' }, card) : null,
    ),
    ...(known && reader.context ? wordFacts(reader.words, token.word, Math.min(360, reader.width - 8)) : []),
  )
}

/** Its strength, which is measured on the line, and what it does here, where earlier words act as well. */
function strengthHere({ words, sides, next }, word, [before, after]) {
  const row = words.row(word)
  const said = []
  if (row)
    said.push(
      html(
        'p',
        { class: 'said' },
        'Strength ',
        html('b', {}, `${signed(row.strength)} ± ${row.error.toFixed(2)}`),
        ...(sides.name ? [' for ', html('bdi', {}, sides.name)] : []),
        `: read on the line, ${next} counts ${times(1 + row.strength)}.`,
      ),
    )
  if (Number.isFinite(after)) {
    const earlier = Math.abs(before - 1) > 0.25 ? ', because of what was read earlier' : ''
    said.push(
      html(
        'p',
        { class: 'said' },
        `Here ${next} would count `,
        html('b', {}, times(after)),
        `; before this word it was ${times(before)}${earlier}.`,
      ),
    )
  }
  return said
}
