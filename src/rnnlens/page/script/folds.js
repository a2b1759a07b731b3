// Folded sections: a link to one opens it, a printer gets them all.

const folds = () => [...document.querySelectorAll('details.fold')]

/** Open the folded section that an element is in. */
export function unfold(element) {
  const fold = element?.closest('details') ?? element?.querySelector?.(':scope > details')
  if (fold) fold.open = true
}

export function watchFolds() {
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1))
    const found = id && !id.includes('=') ? document.getElementById(id) : null
    if (!found) return
    unfold(found)
    found.scrollIntoView()
  }
  // Also if the address is there already, which gives no hashchange.
  document.addEventListener('click', event => {
    const link = event.target.closest?.('a[href^="#"]')
    if (link) unfold(document.getElementById(link.hash.slice(1)))
  })
  addEventListener('hashchange', follow)
  const all = document.getElementById('unfold')
  if (all) {
    all.hidden = false
    all.addEventListener('click', () => {
      const open = folds().some(fold => !fold.open)
      for (const fold of folds()) fold.open = open
      all.textContent = open ? 'Fold all' : 'Unfold all'
    })
  }
  let closed = []
  addEventListener('beforeprint', () => {
    closed = folds().filter(fold => !fold.open)
    for (const fold of closed) fold.open = true
  })
  addEventListener('afterprint', () => {
    for (const fold of closed) fold.open = false
  })
  follow()
}
