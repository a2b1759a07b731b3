"""`python -m rnnlens.cli`."""

from rnnlens.cli import main

main()
