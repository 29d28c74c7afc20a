"""SentencePiece models made for tests, and the characters on which normalisation has to be careful."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from vocab_tools.compiler.charsmap import normalizer_tables
from vocab_tools.formats.charsmap import Charsmap, decode_charsmap, encode_charsmap
from vocab_tools.formats.sentencepiece_model import NormalizerSpec

#: One to four bytes, spaces of several kinds, U+2581 itself, combining marks, and U+0000.
CHARACTERS = ["a", "b", "e", " ", "\n", "\x00", "\x7f", "é", "\u0301", "\u00a0", "\u2581", "あ", "\u3000", "😀"]

texts = st.lists(st.sampled_from(CHARACTERS), max_size=12).map("".join)
#: Keys and symbols hold no U+0000: it ends them in a double array.
_parts = st.lists(st.sampled_from([c for c in CHARACTERS if c != "\x00"]), min_size=1, max_size=3).map("".join)
_replacements = st.one_of(
    st.sampled_from(["", " ", "  ", " a", "a ", "\u2581", "x\u2581"]),
    st.lists(st.sampled_from(["a", " ", "é", "あ"]), max_size=4).map("".join),
)
rules = st.dictionaries(_parts, _replacements, max_size=6)
symbols = st.lists(_parts, max_size=3, unique=True)


def charsmap_of(rules: dict[str, str]) -> Charsmap | None:
    """Checked charsmap of rules given as text; None for no rules."""
    encoded = {key.encode(): text.encode() for key, text in rules.items()}
    return decode_charsmap(encode_charsmap(encoded)) if rules else None


def spec_of(rules: dict[str, str], flags: int) -> NormalizerSpec:
    """Normaliser with some rules and the kernel's flags."""
    return NormalizerSpec(
        name="made",
        charsmap=charsmap_of(rules),
        add_dummy_prefix=bool(flags & 1),
        remove_extra_whitespaces=bool(flags & 2),
        escape_whitespaces=bool(flags & 4),
        whitespace_as_suffix=bool(flags & 8),
    )


def run_normalize(module, tables, text: bytes, *, edges=3, aligned=True, room=None, before=b"", behind=b""):
    """Result of a ``normalize``: (bytes, from_starts, from_ends), or a negative status."""
    data = np.frombuffer(before + text + behind, np.uint8)
    room = int(module.normalized_room(tables, len(text))) if room is None else room
    out = np.zeros(room, np.uint8)
    starts, ends = (np.full(room if aligned else 0, -9, np.int32) for _ in range(2))
    n = module.normalize(tables, data, len(before), len(before) + len(text), edges, out, starts, ends)
    if n < 0:
        return int(n)
    return out[:n].tobytes(), starts[:n].tolist(), ends[:n].tolist()


def tables_of(rules: dict[str, str], symbols: list[str], flags: int):
    """Kernel tables of rules and symbols given as text."""
    return normalizer_tables(spec_of(rules, flags), [symbol.encode() for symbol in symbols])


def model_of(pieces: list[tuple[str, int]]):
    """Message of a unigram model with some pieces, given with the file's numbers of their kinds; scores 0, -1, ..."""
    from vocab_tools.formats.sentencepiece_pb2 import ModelProto

    model = ModelProto()
    for i, (piece, kind) in enumerate(pieces):
        model.pieces.add(piece=piece.encode(), score=-float(i), type=kind)
    model.trainer_spec.model_type = 1
    model.normalizer_spec.name = b"identity"
    return model
