// Two words to choose: the effect of the second, alone and after the first.

import { bars } from './wordcharts.js'
import { byId, html, percent } from './elements.js'
import { meant } from './words.js'

const OFFERED = 300

export function picker(context, words, split) {
  byId('picker').hidden = false
  const { network, vocabulary, hStar, about } = context
  const known = wanted => wanted.find(word => vocabulary.knows(word))
  byId('first').value = known(['not', 'very']) ?? known(vocabulary.words) ?? ''
  byId('second').value = known(['great', 'good', about.positive[0]])

  const offer = () => {
    const offered = words.measured
      ? words
          .order()
          .slice(0, OFFERED)
          .map(i => words.words[words.measured.ids[i]])
      : vocabulary.words.slice(0, OFFERED)
    byId('vocabulary').append(
      ...[...new Set([...offered, ...about.positive, ...about.negative])].map(value => html('option', { value })),
    )
  }

  const typed = id => {
    const spelled = meant(byId(id).value.trim(), split).map(word => vocabulary.spelled(word))
    return known(spelled) ?? spelled[0]
  }

  const show = () => {
    const [first, second] = ['first', 'second'].map(typed)
    const missing = [first, second].find(word => !vocabulary.knows(word))
    if (missing !== undefined) {
      byId('picked').replaceChildren(
        html('p', { class: 'hint' }, missing ? `This page does not know “${missing}”.` : 'Type two words.'),
      )
      return
    }
    const row = vocabulary.token(second).row
    const alone = network.effect(hStar, row)
    const after = network.effect(network.step(hStar, vocabulary.token(first).row), row)
    const change =
      Math.abs(alone) < 0.02
        ? 'Alone it has almost no effect.'
        : `The first word changes its effect by ${percent((after - alone) / alone)}.`
    byId('picked').replaceChildren(
      bars([
        { name: `“${second}” alone`, value: alone },
        { name: `after “${first}”`, value: after },
      ]),
      html(
        'p',
        { class: 'hint' },
        `Exact effect of the word on the logit (no linearization), read at h*. ${change}`,
      ),
    )
  }
  for (const id of ['first', 'second']) byId(id).addEventListener('input', show)
  // The rest when it comes into view: it is folded at first.
  new IntersectionObserver(([{ isIntersecting }], seen) => {
    if (!isIntersecting) return
    seen.disconnect()
    offer()
    show()
  }).observe(byId('picker'))
}
