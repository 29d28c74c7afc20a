"""Files of many rows: texts and ids read some rows at a time, results written whole or not at all.

:mod:`numba_nlp.commands` and :mod:`numba_nlp.integrations.shards` are made of this. What a folder of results says of
itself is theirs: ``docs/decisions/0022-two-folders.md``.
"""
