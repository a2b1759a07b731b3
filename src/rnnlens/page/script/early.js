try {
  const theme = localStorage.getItem('rnnlens-theme')
  if (theme) document.documentElement.dataset.theme = theme
} catch {}
