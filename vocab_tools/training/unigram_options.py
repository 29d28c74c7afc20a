"""Options of SentencePiece training under the names of ``spm_train``, checked, and the pieces that they ask for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from numba_nlp._arguments import number, path, string, whole
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_USER_DEFINED
from vocab_tools.formats.normalization_rules import charsmap_by_name, charsmap_of, read_rules
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, NormalizerSpec
from vocab_tools.training._options import check_flags, check_list

__all__ = ["MetaPiece", "TrainingOptions", "meta_pieces", "normalizer_of"]

MODEL_TYPES = ("unigram", "word", "char")
#: Most characters of a piece; as in the reference.
MAX_LENGTH = 512
#: ``(piece, kind)``.
MetaPiece = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options as :func:`vocab_tools.training.unigram.train_unigram` explains them.

    Raises
    ------
    ValueError
        An option is out of its range; the message has its name, value and range.
    TypeError
        An option is of another type; the message says so too.
    """

    vocab_size: int = 8000
    model_type: str = "unigram"
    character_coverage: float = 0.9995
    seed_sentencepiece_size: int = 1_000_000
    shrinking_factor: float = 0.75
    num_sub_iterations: int = 2
    max_sentencepiece_length: int = 16
    max_sentence_length: int = 4192
    num_threads: int | None = None
    split_by_whitespace: bool = True
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_digits: bool = False
    treat_whitespace_as_suffix: bool = False
    allow_whitespace_only_pieces: bool = False
    byte_fallback: bool = False
    hard_vocab_limit: bool = True
    use_all_vocab: bool = False
    required_chars: str = ""
    control_symbols: Sequence[str] = ()
    user_defined_symbols: Sequence[str] = ()
    unk_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    pad_id: int = -1
    unk_piece: str = "<unk>"
    bos_piece: str = "<s>"
    eos_piece: str = "</s>"
    pad_piece: str = "<pad>"
    unk_surface: str = " \u2047 "
    normalization_rule_name: str = "nmt_nfkc"
    normalization_rule_tsv: str | os.PathLike[str] | None = None
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    input_sentence_size: int = 0
    shuffle_input_sentence: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model_type not in MODEL_TYPES:
            raise ValueError(f"`model_type` is {self.model_type!r}, known are {', '.join(MODEL_TYPES)}")
        self._check_whole("vocab_size", 1, 1 << 24)
        for name, low, high in (
            ("seed_sentencepiece_size", 1, 1 << 30),
            ("num_sub_iterations", 1, 1000),
            ("max_sentencepiece_length", 1, MAX_LENGTH),
            ("max_sentence_length", 1, 1 << 30),
            ("input_sentence_size", 0, 1 << 40),
            ("seed", 0, (1 << 63) - 1),
            ("unk_id", 0, self.vocab_size - 1),
            ("bos_id", -1, self.vocab_size - 1),
            ("eos_id", -1, self.vocab_size - 1),
            ("pad_id", -1, self.vocab_size - 1),
        ):
            self._check_whole(name, low, high)
        if self.num_threads is not None:
            self._set("num_threads", whole("num_threads", self.num_threads, 1))
        self._set("character_coverage", number("character_coverage", self.character_coverage, 0.98, 1.0))
        self._set("shrinking_factor", number("shrinking_factor", self.shrinking_factor, 0.5, 0.95))
        check_flags(**{field.name: getattr(self, field.name) for field in fields(self) if field.type == "bool"})
        for name in ("required_chars", "unk_surface", "normalization_rule_name"):
            string(name, getattr(self, name))
        if self.normalization_rule_tsv is not None:
            path("normalization_rule_tsv", self.normalization_rule_tsv)
        for name in ("control_symbols", "user_defined_symbols"):
            self._set(name, check_list(name, getattr(self, name)))
            for symbol in getattr(self, name):
                self._check_piece(name, symbol)
        for name in ("unk_piece", "bos_piece", "eos_piece", "pad_piece"):
            self._check_piece(name, getattr(self, name))

    def _set(self, name: str, value: object) -> None:
        """Put a value of Python in the place of one of NumPy that is equal."""
        object.__setattr__(self, name, value)

    def _check_whole(self, name: str, low: int, high: int) -> None:
        self._set(name, whole(name, getattr(self, name), low, high))

    def _check_piece(self, name: str, piece: Any) -> None:
        if not string(name, piece) or "\0" in piece:
            raise ValueError(f"`{name}` must be text without U+0000 that is not empty, got {piece!r}")

    def threads(self) -> int:
        """Number of threads to use."""
        return self.num_threads or os.cpu_count() or 1

    @classmethod
    def names(cls) -> list[str]:
        """Names of all options."""
        return [field.name for field in fields(cls)]


def meta_pieces(options: TrainingOptions) -> dict[int, MetaPiece]:
    """Pieces that come from options, not from the corpus, by their ids.

    Those with an id of their own first, then control symbols, user-defined symbols and bytes where ids are free.

    Raises
    ------
    ValueError
        Two have the same id or are the same piece; there are more than ``vocab_size``.
    """
    made: dict[int, MetaPiece] = {}
    own = {
        "unk": (options.unk_id, options.unk_piece, KIND_UNKNOWN),
        "bos": (options.bos_id, options.bos_piece, KIND_CONTROL),
        "eos": (options.eos_id, options.eos_piece, KIND_CONTROL),
        "pad": (options.pad_id, options.pad_piece, KIND_CONTROL),
    }
    ids: dict[str, int] = {}
    for name, (place, piece, kind) in own.items():
        if place < 0:
            continue
        if place in made:
            raise ValueError(f"`{name}_id` is {place}, which {made[place][0]!r} has already")
        if piece in ids:
            raise ValueError(f"`{name}_piece` is {piece!r}, which has id {ids[piece]} already")
        made[place] = piece, kind
        ids[piece] = place
    following = 0
    seen: set[str] = set()
    symbols = [(symbol, KIND_CONTROL, "control_symbols") for symbol in options.control_symbols]
    symbols += [(symbol, KIND_USER_DEFINED, "user_defined_symbols") for symbol in options.user_defined_symbols]
    if options.byte_fallback:
        symbols += [(f"<0x{byte:02X}>", KIND_BYTE, "byte_fallback") for byte in range(256)]
    for piece, kind, name in symbols:
        if piece == options.unk_piece:
            raise ValueError(f"`{name}` holds {piece!r}, which is the unknown piece")
        if piece in seen:
            raise ValueError(f"`{name}` holds {piece!r}, which is defined already")
        seen.add(piece)
        if piece in ids:  # bos, eos or pad: keeps its id, takes the new kind
            made[ids[piece]] = piece, kind
            continue
        while following in made:
            following += 1
        made[following] = piece, kind
        ids[piece] = following
    if len(made) > options.vocab_size or max(made) >= options.vocab_size:
        raise ValueError(
            f"`vocab_size` is {options.vocab_size:,}, but unknown, control, user-defined and byte pieces alone are "
            f"{len(made):,}"
        )
    return made


def normalizer_of(options: TrainingOptions) -> NormalizerSpec:
    """What is done to text before it is segmented.

    Raises
    ------
    ValueError
        There are no rules of that name.
    SourceFormatError
        The table of rules is broken.
    """
    name = options.normalization_rule_name
    if options.normalization_rule_tsv is not None:
        name = "user_defined"
        charsmap = charsmap_of(read_rules(Path(options.normalization_rule_tsv)))
    else:
        charsmap = charsmap_by_name(name)
    return NormalizerSpec(
        name=name,
        charsmap=charsmap,
        add_dummy_prefix=options.add_dummy_prefix,
        remove_extra_whitespaces=options.remove_extra_whitespaces,
        escape_whitespaces=True,
        whitespace_as_suffix=options.treat_whitespace_as_suffix,
    )
