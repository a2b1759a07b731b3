// The card of a word, opened by a click on the word anywhere in the page.

import { byId, html, signed } from './elements.js'
import { badge, wordButton, wordFacts } from './facts.js'

/** A function that opens the card of a word, if the page has results about it. */
export function cards(words, tryIt) {
  const dialog = byId('card')
  dialog.addEventListener('click', event => {
    if (event.target === dialog) dialog.close()
  })

  const open = word => {
    if (!words.knows(word)) return false
    const row = words.row(word)
    const kind = words.kind(word)
    const near = words.nearest(word)
    const close = html('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Close')
    dialog.replaceChildren(
      html(
        'div',
        { class: 'card' },
        html('header', {}, html('h2', { id: 'card-word' }, html('bdi', {}, word)), close),
        html('p', {}, badge(kind)),
        row && html('dl', {}, ...entries(row, words)),
        ...wordFacts(words, word, 384),
        near.length ? html('h4', {}, 'Nearest words in the subspace') : null,
        near.length
          ? html('p', { class: 'near' }, ...near.map(other => wordButton(other, open, words.kind(other))))
          : null,
        tryIt
          ? html(
              'p',
              {},
              html(
                'button',
                {
                  type: 'button',
                  class: 'quiet',
                  onclick: () => {
                    dialog.close()
                    tryIt(word)
                  },
                },
                'Read it in a sentence',
              ),
            )
          : null,
      ),
    )
    if (!dialog.open) dialog.showModal()
    dialog.scrollTop = 0
    close.focus()
    return true
  }
  return open
}

function entries(row, words) {
  const facts = [
    [
      'strength',
      `${signed(row.strength)} ± ${row.error.toFixed(2)}, rank ${row.rank.toLocaleString('en')} of ${words.rank.length.toLocaleString('en')}`,
    ],
  ]
  const said = words.people.get(row.word)
  if (said) facts.push(['in people’s judgment', `${signed(said[0])} (${said[1].toLocaleString('en')} phrases)`])
  facts.push(['valence', `${signed(row.valence)} logits`])
  if (row.tau > 0) facts.push(['timescale τ', `${row.tau.toFixed(1)} words`])
  facts.push(['norm ‖ΔJ‖ (the paper’s)', row.norm.toPrecision(3)])
  if (row.counts !== undefined) facts.push(['seen in training', `${row.counts.toLocaleString('en')} times`])
  return facts.flatMap(([name, value]) => [html('dt', {}, name), html('dd', {}, value)])
}
