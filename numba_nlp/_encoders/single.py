"""Single texts that pass through stages before the model."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._fastcall.control import ControlBlock
from numba_nlp._fastcall.texts import CAPACITY, TextStages, encode_text, remember
from numba_nlp._stages.cutter import Cutter
from numba_nlp._stages.normalizer import Normalizer

__all__ = ["SingleStages"]

#: What texts pass through is completed by one thread at a time.
_COMPLETING = threading.Lock()


class SingleStages:
    """What single texts pass through before the model, as far as it is compiled, and the texts encoded lately.

    Parameters
    ----------
    forms : Mapping of bytes to int
        Added tokens that are looked for in normalized text, as they are there, and their ids.
    normalizer : Normalizer or None
    cutter : Cutter or None
    prefix_space : bool
        Whether a space is put before the normalized text.
    leaves_ascii : bool
        Whether text of ASCII does not go through the normalizer.
    runs : bool
        Whether the stages can be run by one call: there are no regular expressions.
    """

    def __init__(
        self,
        forms: Mapping[bytes, int],
        normalizer: Normalizer | None = None,
        cutter: Cutter | None = None,
        *,
        prefix_space: bool = False,
        leaves_ascii: bool = False,
        runs: bool = True,
    ) -> None:
        self._texts = TextStages(tuple(forms), prefix_space)
        self._normalizer = normalizer
        self._cutter = cutter
        self._form_ids = np.array(list(forms.values()), np.int32)
        self._runs = runs
        for stage in (normalizer, cutter):
            self._runs &= stage is None or stage.is_one_program
        #: Whether the normalizer waits for the first text that needs it: compiling it takes seconds.
        self._waits = self._runs and normalizer is not None and leaves_ascii
        self._address = 0
        if self._runs and (leaves_ascii or normalizer is None):
            self._texts.leave(everything=normalizer is None)
        elif self._runs:
            self._complete()

    def _complete(self) -> None:
        normalizer, cutter = self._normalizer, self._cutter
        assert normalizer is not None
        self._texts.use(
            normalizer.program(),
            None if cutter is None else cutter.program(),
            cutter is not None and cutter.rewrites,
            cutter is not None and cutter.needs_alignment,
        )
        self._waits = False

    def put_before(self, control: ControlBlock, ids_per_byte: int) -> None:
        """Let single texts pass through here before they come to a row encoder."""
        control.put_before(encode_text, self._texts, CAPACITY, ids_per_byte)
        self._address = control.address

    def learn(self, text: Any, ids: NDArray[np.int32]) -> None:
        """Take note of a text that had to go the plain way, and of its ids.

        Parameters
        ----------
        text : str or bytes
        ids : int32[n]
            By the policy of the vocabulary for special tokens.
        """
        if not isinstance(text, str):
            return
        if self._waits and not text.isascii():
            with _COMPLETING:
                if self._waits:
                    self._complete()
        elif not self._runs and ids.size <= CAPACITY and not np.isin(ids, self._form_ids).any():
            # without a token that was looked for in normalized text, all policies give these ids
            remember.call(self._address, text, ids.ctypes.data, ids.size)
