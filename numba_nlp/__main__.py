"""``python -m numba_nlp``: the ``numba-nlp`` command."""

from numba_nlp.cli import main

main()
