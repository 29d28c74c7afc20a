"""Arrays of a SentencePiece model whose pieces have ids of their own, given by another file (Marian, M2M100)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp._schemas.fields import ArrayField, Arrays, fail
from numba_nlp.kernels.tables import double_array

__all__ = ["RENUMBERED_ARRAYS", "check_renumbered", "number_of_ids"]

#: Values of ``token_kinds``: a piece of the model that joins them (text, the unknown one, a byte, a silent one); a
#: special token, left out on demand or not; no piece of that model; nothing.
TEXT, UNKNOWN, SPECIAL, KEPT, FOREIGN, BYTE, SILENT, ABSENT = 0, 1, 2, 3, 4, 5, 6, 255

RENUMBERED_ARRAYS = (
    ArrayField("piece_ids", "int32", length="pieces", low=0, high="ids"),
    ArrayField("unknown_units", "uint32"),
    ArrayField("code_units", "uint32"),
    ArrayField("token_bytes", "uint8"),
    ArrayField("token_offsets", "int64", offsets_into="token_bytes"),
    ArrayField("token_kinds", "uint8", length="ids", among=(0, 1, 2, 3, 4, 5, 6, 255)),
)
_DROPS = range(3)


def number_of_ids(arrays: Arrays) -> int:
    """Ids that texts are given: those of the tokens, where pieces have other ids than in the model."""
    offsets = arrays["token_offsets" if "token_offsets" in arrays else "piece_offsets"]
    return int(offsets.size) - 1


def check_renumbered(file: str, arrays: Arrays, metadata: Mapping[str, Any], n_ids: int) -> None:
    """Check what the declarations of the arrays cannot say; nothing for a vocabulary without them.

    Raises
    ------
    VocabularyFormatError
    """
    if "piece_ids" not in arrays:
        return
    for name in ("unknown_units", "code_units"):
        units = arrays[name]
        if units.size and double_array.check_units(units, n_ids) != double_array.UNITS_SOUND:
            fail(file, f"array `{name}` is no sound double array of ids")
    content, offsets = arrays["token_bytes"], arrays["token_offsets"]
    for number in (arrays["token_kinds"] == BYTE).nonzero()[0].tolist():
        piece = content[offsets[number] : offsets[number + 1]].tobytes()
        if len(piece) != len(b"<0x00>"):
            fail(file, f"array `token_kinds` makes {piece!r} a byte, expected '<0x00>' to '<0xFF>'")
    for name, kind in (
        ("unknown_token_id", int),
        ("decoder_drop", int),
        ("language_codes", bool),
        ("special_suffix", str),
        ("marks_are_spaces", bool),
    ):
        if type(metadata.get(name)) is not kind:
            fail(file, f"metadata `{name}` is {metadata.get(name)!r:.80}, expected {kind.__name__}")
    if not 0 <= metadata["unknown_token_id"] < n_ids:
        fail(file, f"metadata `unknown_token_id` is {metadata['unknown_token_id']}, expected an id below {n_ids}")
    if metadata["decoder_drop"] not in _DROPS:
        fail(file, f"metadata `decoder_drop` is {metadata['decoder_drop']}, expected 0, 1 or 2")
