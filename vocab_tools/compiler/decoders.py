"""From descriptions of decoders to the array program of :mod:`numba_nlp.kernels.segment.decode_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment import decode_tokens
from vocab_tools.compiler.stages import Strings, literal_of
from vocab_tools.formats.stages import decoders

__all__ = ["CLEANUPS", "compile_decoders"]

#: What the clean-up of ``WordPiece`` replaces, in this order, within each token.
CLEANUPS = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
    (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


def compile_decoders(stages: Sequence[decoders.Decoder]) -> dict[str, NDArray[Any]]:
    """Compile decoders.

    Parameters
    ----------
    stages : sequence of decoders
        In the order in which they are applied; without one, tokens are joined by spaces.

    Returns
    -------
    dict of str to ndarray
        ``decoder_program, decoder_strings, decoder_string_offsets``.

    Raises
    ------
    UnsupportedFeatureError
        A regular expression, ``BPEDecoder`` without a suffix, or a decoder behind ``ByteLevel``.
    """
    program: list[tuple[int, ...]] = []
    strings = Strings()

    def replace(pattern: str, content: str, first: str | None = None, last: str | None = None) -> None:
        given = (content, content if first is None else first, content if last is None else last)
        program.append((decode_tokens.DECODE_REPLACE, *map(strings.number, (pattern, *given))))

    if not stages:
        program.append((decode_tokens.DECODE_JOIN, -1, strings.number(" ")))
    for place, stage in enumerate(stages):
        if isinstance(stage, decoders.ByteLevel):
            if any(not isinstance(later, decoders.Fuse) for later in stages[place + 1 :]):
                raise UnsupportedFeatureError("a decoder behind ByteLevel is not supported; put ByteLevel last")
            program.append((decode_tokens.DECODE_ALPHABET, -1))
        elif isinstance(stage, decoders.WordPiece):
            program.append((decode_tokens.DECODE_JOIN, strings.number(stage.prefix), strings.number(" ")))
            for written, wanted in CLEANUPS if stage.cleanup else ():
                replace(written, wanted)
        elif isinstance(stage, decoders.Metaspace):
            replace(stage.replacement, " ", first=" " if stage.keeps_first else "")
        elif isinstance(stage, decoders.BPEDecoder):
            if not stage.suffix:
                raise UnsupportedFeatureError("the decoder BPEDecoder with an empty suffix is not supported")
            replace(stage.suffix, " ", last="")
        elif isinstance(stage, decoders.ByteFallback):
            program.append((decode_tokens.DECODE_BYTES, -1))
        elif isinstance(stage, decoders.Fuse):
            program.append((decode_tokens.DECODE_FUSE, -1))
        elif isinstance(stage, decoders.Strip):
            # more than that often cannot be taken off
            start, stop = min(stage.start, 1 << 30), min(stage.stop, 1 << 30)
            program.append((decode_tokens.DECODE_STRIP, strings.number(stage.content), start, stop))
        else:
            literal = literal_of(stage.pattern)
            if literal is None:
                raise UnsupportedFeatureError(
                    f"the decoder Replace with the regular expression {stage.pattern.text!r} is not supported, only "
                    "with a string"
                )
            replace(literal, stage.content)
    width = decode_tokens.DECODE_STEP
    return {
        "decoder_program": np.array([(*step, 0, 0, 0, 0)[:width] for step in program], np.int32).reshape(-1),
        **strings.arrays("decoder"),
    }
