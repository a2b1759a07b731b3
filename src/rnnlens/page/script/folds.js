// Folded sections: a link to one opens it, a printer gets them all.

const folds = () => [...document.querySelectorAll('details.fold')]

/** Open the folded section that an element is in. */
function unfold(element) {
  const fold = element?.closest('details') ?? element?.querySelector?.(':scope > details')
  if (fold) fold.open = true
}

/** The element that an address names; null if it names sentences, or nothing. */
function named(fragment) {
  const id = fragment.slice(1)
  if (!id || id.includes('=')) return null
  try {
    return document.getElementById(decodeURIComponent(id))
  } catch {
    return null
  }
}

/** Go to the section that the address names, and open it. */
export function follow() {
  const found = named(location.hash)
  if (!found) return
  unfold(found)
  found.scrollIntoView({ behavior: 'instant' })
}

export function watchFolds() {
  // Also if the address is there already, which gives no hashchange.
  document.addEventListener('click', event => {
    const link = event.target.closest?.('a[href^="#"]')
    if (link) unfold(named(link.hash))
  })
  addEventListener('hashchange', follow)
  const all = document.getElementById('unfold')
  if (all) {
    const anyClosed = () => folds().some(fold => !fold.open)
    const label = () => {
      all.textContent = anyClosed() ? 'Unfold all' : 'Fold all'
    }
    all.hidden = false
    all.addEventListener('click', () => {
      const open = anyClosed()
      for (const fold of folds()) fold.open = open
    })
    for (const fold of folds()) fold.addEventListener('toggle', label)
  }
  let closed = []
  addEventListener('beforeprint', () => {
    closed = folds().filter(fold => !fold.open)
    for (const fold of closed) fold.open = true
  })
  addEventListener('afterprint', () => {
    for (const fold of closed) fold.open = false
  })
}
