// Marks the section in view in the list of sections.

export function watchSections() {
  const links = new Map([...document.querySelectorAll('nav a')].map(link => [link.hash.slice(1), link]))
  const seen = new IntersectionObserver(
    entries => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue
        for (const [id, link] of links) {
          if (id === target.id) link.setAttribute('aria-current', 'true')
          else link.removeAttribute('aria-current')
        }
      }
    },
    { rootMargin: '-20% 0px -70% 0px' },
  )
  for (const id of links.keys()) seen.observe(document.getElementById(id))
}
