// Elements and numbers. Text becomes text nodes, never markup.

const SVG = 'http://www.w3.org/2000/svg'

export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children)
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children)
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.filter(child => child !== null && child !== undefined))
  return element
}

export const byId = id => document.getElementById(id)

/** +1.02, −0.50, 0.00: a minus as wide as the plus. */
export function signed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits)
  return Number(text) === 0 ? text : (value < 0 ? '−' : '+') + text
}

export const percent = (share, digits = 0) => signed(100 * share, digits) + ' %'

/** ×1.50, ×−0.20 */
export const times = (factor, digits = 2) => '×' + factor.toFixed(digits).replace('-', '−')

/** Round numbers within a range, approximately as many as `about`. */
export function ticks(low, high, about = 4) {
  const rough = (high - low) / about || 1
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough)
  const found = []
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step)
  return found
}

/** The largest and the smallest of numbers. (Math.max(...values) fails for a hundred thousand of them.) */
export const largest = (values, least = -Infinity) => values.reduce((most, value) => Math.max(most, value), least)
export const smallest = (values, most = Infinity) => values.reduce((least, value) => Math.min(least, value), most)

/** Marks of the kinds of modifiers, which must not differ by color alone. */
export const MARKS = { negator: '◆', intensifier: '■', diminisher: '▼', valence: '', none: '', unclear: '' }
export const KIND_SAID = {
  negator: 'a negator',
  intensifier: 'an intensifier',
  diminisher: 'a diminisher',
  valence: 'a valence word',
  none: 'not a modifier',
  unclear: 'unclear: its strength may be 0',
}
export const MODIFIERS = ['negator', 'diminisher', 'intensifier']
