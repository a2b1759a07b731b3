// The dial: how strongly words write into the modifier subspace, from 0, not at all, over 1, as the network is, to 2.

import { byId } from './elements.js'
import { readingOf } from './reading.js'

const LARGEST_GAIN = 2
const STEPS_PER_GAIN = 20

/** The nearest gain that the dial has; 1 for anything that is not a number. */
export function gainOf(value) {
  const gain = value === '' ? NaN : Number(value)
  if (!Number.isFinite(gain)) return 1
  return Math.min(LARGEST_GAIN, Math.max(0, Math.round(gain * STEPS_PER_GAIN) / STEPS_PER_GAIN))
}

export class Dial {
  /** context: has the modifier subspace, and the accuracies `doses` if they were measured; else there is no dial.
   *  multiple: of a state, for its readings. change: called with a new gain. */
  constructor(network, context, multiple, change) {
    Object.assign(this, { network, subspace: context?.subspace, multiple, gain: 1, readings: {} })
    this.measured = context?.about.doses ?? null
    byId('dial').hidden = !this.subspace
    if (!this.subspace) return
    byId('gain').addEventListener('input', event => change(gainOf(event.target.value)))
    for (const [id, event] of [
      ['gain', 'dblclick'],
      ['gain-reset', 'click'],
    ])
      byId(id).addEventListener(event, () => {
        change(1)
        byId('gain').focus()
      })
  }

  /** A gain that can be shown: 1 if there is no subspace. */
  allowed(gain) {
    return this.subspace ? gain : 1
  }

  /** The reading of a sentence, `a` or `b`, at a gain; it keeps its states until the gain changes. */
  reading(name, gain) {
    if (gain !== this.gain) [this.gain, this.readings] = [gain, {}]
    this.readings[name] ??= readingOf(this.network.with(this.network.own.steered(this.subspace, gain)), this.multiple)
    return this.readings[name]
  }

  /** Set the slider and its texts. off: without its subspace a network has nothing to turn. */
  show(gain, off) {
    if (!this.subspace) return
    const slider = byId('gain')
    if (gainOf(slider.value) !== gain) slider.value = String(gain)
    slider.disabled = off
    byId('gain-value').textContent = gain.toFixed(2)
    byId('gain-said').hidden = gain === 1 || off
    byId('gain-hint').textContent = this.hint(gain)
  }

  /** The accuracy at the nearest gain that was measured, and at 1. */
  hint(gain) {
    const doses = this.measured?.doses ?? []
    if (!doses.length) return 'Words write this many times as much into the modifier subspace.'
    const near = to => doses.reduce((best, dose) => (Math.abs(dose[0] - to) < Math.abs(best[0] - to) ? dose : best))
    const percent = share => `${(100 * share).toFixed(1)} %`
    const [at, accuracy] = near(gain)
    const [, usual] = near(1)
    return at === 1
      ? `At gain 1, the nearest that was measured, it reads ${percent(usual)} of ${this.measured.read} right.`
      : `At gain ${at} it reads ${percent(accuracy)} of ${this.measured.read} right, at 1 ${percent(usual)}.`
  }
}
