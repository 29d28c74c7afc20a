"""``python -m vocab_tools``: the ``vocab-tools`` command."""

from vocab_tools.cli import main

main()
