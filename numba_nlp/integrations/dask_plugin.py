"""The plugin of a dask cluster that gives each worker, present and future, one tokenizer once.

A plugin, not scattered data: the scheduler keeps it and hands it to each worker that starts later, while scattered data
are gone with the last worker that held them.
"""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from numba_nlp.integrations.handles import TokenizerHandle, TokenizerMissingError, offer
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary

__all__ = ["TokenizerPlugin"]


class TokenizerPlugin(WorkerPlugin):
    """Holds a tokenizer in a worker, mapped from its file where that is there, else from the bytes that were sent.

    Parameters
    ----------
    tokenizer : Tokenizer
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._handle = TokenizerHandle(tokenizer)
        self._data: bytes | None = tokenizer.vocabulary.to_bytes()
        self._held: Tokenizer | None = None
        #: By which clusters tell plugins apart.
        self.name = plugin_name(tokenizer)

    def setup(self, worker: Any) -> None:
        """Called by the worker, also by one that starts in the place of another that died."""
        try:
            held = self._handle.tokenizer()
        except TokenizerMissingError:
            assert self._data is not None, "a plugin is set up once"
            held = Tokenizer(Vocabulary.from_bytes(self._data))
        self._held, self._data = offer(held), None

    def teardown(self, worker: Any) -> None:
        """Called when the worker closes, or the plugin is removed."""
        self._held = None


def plugin_name(tokenizer: Tokenizer) -> str:
    """Name of the plugin of a tokenizer."""
    return f"numba_nlp-{tokenizer.vocabulary.digest}"
