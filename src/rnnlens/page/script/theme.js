// The light or dark theme: the system setting until the button is pressed.

import { byId } from './elements.js'

const dark = matchMedia('(prefers-color-scheme: dark)')

export function isDark() {
  const chosen = document.documentElement.dataset.theme
  return chosen ? chosen === 'dark' : dark.matches
}

/** Call `changed` whenever the theme changes. */
export function watchTheme(changed) {
  const button = byId('theme')
  const told = () => {
    button.textContent = isDark() ? 'Light' : 'Dark'
    button.setAttribute('aria-label', `Switch to the ${isDark() ? 'light' : 'dark'} theme`)
    changed()
  }
  button.hidden = false
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
    try {
      localStorage.setItem('rnnlens-theme', document.documentElement.dataset.theme)
    } catch {
      /* a private window */
    }
    told()
  })
  dark.addEventListener('change', told)
  told()
}

// Figures have the colors of the light theme; these are their colors in the dark theme.
const NIGHT = {
  '#1a202c': '#e8ebf0',
  black: '#f4f6f8',
  '#000000': '#f4f6f8',
  white: '#1b1e25',
  '#ffffff': '#1b1e25',
  '#4a5568': '#aab4c3',
  '#718096': '#93a1b5',
  '#a0aec0': '#6b788c',
  '#cbd5e0': '#4b5565',
  '#e2e8f0': '#343b48',
  '#edf2f7': '#2b313c',
  '#2b6cb0': '#6cb2f2',
  '#c05621': '#f0a35e',
  '#009e73': '#3fcf9f',
  '#762a83': '#c89bdb',
  '#af8dc3': '#a57bbd',
  '#c8c8c8': '#8a8f98',
  '#7fbf7b': '#6fae6b',
  '#1b7837': '#7ed28c',
  '#5aae61': '#58a860',
  '#cc79a7': '#e39ac1',
  '#ebf0f8': '#2b313c',
  '#2a3f5f': '#e8ebf0',
  '#c8d4e3': '#4b5565',
  '#dfe8f3': '#343b48',
  '#506784': '#93a1b5', // the template's
}
const HEX = new RegExp(
  Object.keys(NIGHT)
    .filter(colour => colour.startsWith('#'))
    .join('|'),
  'gi',
)

const COLOR = /color(scale|way)?$/ // names of attributes that are colors: marker.color, gridcolor, colorscale

/** A copy of a figure's data in the colors of the dark theme. isColor: whether the value is of such an attribute; in
 *  texts, where `white` is a word, only those of markup are changed. */
export function night(value, isColor = false) {
  if (Array.isArray(value)) return value.map(inner => night(inner, isColor))
  if (value && typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, night(inner, isColor || COLOR.test(name))]),
    )
  if (typeof value !== 'string') return value
  const repainted = text => text.replace(HEX, color => NIGHT[color.toLowerCase()])
  if (!isColor) return value.replace(/<span style="[^"<>]*">/g, repainted)
  if (/^rgba\(255, ?255, ?255/.test(value)) return value.replace(/255, ?255, ?255/, '27,30,37')
  return NIGHT[value.toLowerCase()] ?? repainted(value)
}
