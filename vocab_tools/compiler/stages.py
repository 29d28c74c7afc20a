"""From descriptions of normalizers and pre-tokenizers to array programs and the tables that they need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._stages.cutter import CUT_REGEX
from numba_nlp._stages.normalizer import OP_REGEX
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment import cut_program, normalize_program
from numba_nlp.kernels.segment.cut_items import BEHAVIORS, NUMERIC, PUNCTUATION, REMOVED, SPACE
from numba_nlp.kernels.segment.normalize_edits import ANY_WHITE_SPACE
from numba_nlp.kernels.segment.normalize_forms import NFC, NFD, NFKC, NFKD
from numba_nlp.kernels.segment.normalize_maps import BLOCKS
from numba_nlp.regex_split import RegexSplitter
from vocab_tools.compiler.bert_maps import Table, bert_steps
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.normalization import normalization_tables
from vocab_tools.formats.stages import normalizers, pre_tokenizers
from vocab_tools.formats.stages.patterns import Pattern

__all__ = ["CompiledStages", "Strings", "compile_normalizers", "compile_pre_tokenizers", "literal_of"]

_FORMS = {"NFD": NFD, "NFKD": NFKD, "NFC": NFC, "NFKC": NFKC}
_FORM_FIELDS = ("pages", "blocks", "flags", "classes", "offsets", "parts", "pairs", "composed")
_EMPTY: dict[str, NDArray[Any]] = {
    "form_pages": np.zeros(0, np.uint16),
    "form_blocks": np.zeros(0, np.uint16),
    "form_flags": np.zeros(0, np.uint8),
    "form_classes": np.zeros(0, np.uint8),
    "form_offsets": np.zeros(1, np.int32),
    "form_parts": np.zeros(0, np.int32),
    "form_pairs": np.zeros(0, np.int64),
    "form_composed": np.zeros(0, np.int32),
    "map_pages": np.zeros(0, np.uint16),
    "map_blocks": np.zeros(0, np.uint16),
    "map_offsets": np.zeros(1, np.int32),
    "map_text": np.zeros(0, np.uint8),
    "charsmap_units": np.zeros(0, np.uint32),
    "charsmap_text": np.zeros(0, np.uint8),
    "cluster_pages": np.zeros(0, np.uint16),
    "cluster_blocks": np.zeros(0, np.uint8),
}
#: A run of one character or of white space, at least so many: ``x+``, ``x{2,}``, ``\s+``.
_RUN = re.compile(r"(\\s|\\?[^\\\w()\[\]{}.*+?^$|]|[^\W_])(\+|\{([1-9][0-9]{0,8}),\})", re.DOTALL)
#: Characters that mean themselves wherever they stand.
_LITERAL = re.compile(r"[^\\()\[\]{}.*+?^$|#]+", re.DOTALL)


class CompiledStages(NamedTuple):
    """An array program.

    Attributes
    ----------
    arrays : dict of str to ndarray
        As the schema of normalizers, or of pre-tokenizers, lists them.
    regexes : tuple of str
        Regular expressions that the program names by number; for the metadata.
    """

    arrays: dict[str, NDArray[Any]]
    regexes: tuple[str, ...]


class Strings:
    """Strings of a program, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Number of a string."""
        return self._numbers.setdefault(text, len(self._numbers))

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The strings one behind the other, and where they begin."""
        contents = [text.encode() for text in self._numbers]
        offsets = np.concatenate(([0], np.cumsum([len(content) for content in contents]))).astype(np.int64)
        return {
            f"{prefix}_strings": np.frombuffer(b"".join(contents), np.uint8),
            f"{prefix}_string_offsets": offsets,
        }


def compile_normalizers(stages: Sequence[normalizers.Normalizer]) -> CompiledStages:
    """Compile normalizers.

    Parameters
    ----------
    stages : sequence of normalizers
        In the order in which they are applied.

    Raises
    ------
    UnsupportedFeatureError
        Two charsmaps, or a regular expression that cannot be reproduced exactly.
    """
    builder = _Normalizers()
    for stage in stages:
        builder.add(stage)
    return builder.compiled()


class _Normalizers:
    """Collects steps and tables."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, ...]] = []
        self.strings = Strings()
        self.regexes: list[str] = []
        #: Maps of characters by name.
        self.maps: dict[str, Table] = {}
        self.arrays = dict(_EMPTY)
        self.ascii_stays = True

    def add(self, stage: normalizers.Normalizer) -> None:
        keeps_ascii = False
        if isinstance(stage, normalizers.NormalForm):
            self._step(normalize_program.OP_FORM, _FORMS[stage.form])
            self._take("form", _FORM_FIELDS)
            keeps_ascii = True
        elif isinstance(stage, normalizers.CharacterMap):
            shipped = normalization_tables().arrays
            fields = ("pages", "blocks", "offsets", "text")
            self._add_map(stage.name, {field: shipped[f"{stage.name}_{field}"] for field in fields})
            keeps_ascii = stage.name == "strip_accents"
        elif isinstance(stage, normalizers.Strip):
            self._step(normalize_program.OP_STRIP, int(stage.left), int(stage.right))
        elif isinstance(stage, normalizers.Prepend):
            self._step(normalize_program.OP_PREPEND, self.strings.number(stage.content))
            keeps_ascii = not stage.content
        elif isinstance(stage, normalizers.Replace):
            keeps_ascii = self._add_replace(stage)
        elif isinstance(stage, normalizers.ByteLevel):
            self._step(normalize_program.OP_SPELL_BYTES)
        elif isinstance(stage, normalizers.Precompiled):
            self._add_charsmap(stage)
        else:
            keeps_ascii = self._add_bert(stage)
        self.ascii_stays &= keeps_ascii

    def _step(self, *numbers: int) -> None:
        self.steps.append((*numbers, 0, 0, 0)[: normalize_program.STEP])

    def _take(self, prefix: str, fields: Sequence[str]) -> None:
        shipped = normalization_tables().arrays
        self.arrays.update({f"{prefix}_{field}": shipped[f"{prefix}_{field}"] for field in fields})

    def _add_map(self, name: str, table: Table) -> None:
        self._step(normalize_program.OP_MAP, self._map_number(name, table))

    def _map_number(self, name: str, table: Table) -> int:
        self.maps.setdefault(name, table)
        return list(self.maps).index(name)

    def _add_bert(self, stage: normalizers.BertNormalizer) -> bool:
        steps = bert_steps(stage)
        if steps.cleaning is not None:
            self._add_map(f"cleaning {stage}", steps.cleaning)
        if steps.chinese is not None:
            number = self._map_number("chinese", steps.chinese)
            self._step(normalize_program.OP_SURROUND, number, self.strings.number(" "))
        if steps.decomposes:
            self.add(normalizers.NormalForm("NFD"))
        if steps.after is not None:
            self._add_map(f"after {stage}", steps.after)
        return not (stage.clean_text or stage.lowercase)

    def _add_replace(self, stage: normalizers.Replace) -> bool:
        content = self.strings.number(stage.content)
        run = _run_of(stage.pattern)
        literal = literal_of(stage.pattern)
        if literal is not None:
            self._step(normalize_program.OP_REPLACE, self.strings.number(literal), content)
            return not literal.isascii()
        if run is not None:
            self._step(normalize_program.OP_REPLACE_RUNS, *run, content)
            return run[0] > 0x7F
        classes = class_tables("tokenizers")
        # refuses what cannot be reproduced exactly now, not when the first text comes
        RegexSplitter(stage.pattern.text, classes.class_index, classes.class_blocks, "tokenizers")
        if stage.pattern.text not in self.regexes:
            self.regexes.append(stage.pattern.text)
        self._step(OP_REGEX, self.regexes.index(stage.pattern.text), content)
        return False

    def _add_charsmap(self, stage: normalizers.Precompiled) -> None:
        units = np.frombuffer(stage.units, "<u4").astype(np.uint32)
        text = np.frombuffer(stage.text, np.uint8)
        known = self.arrays["charsmap_units"]
        if known.size and not (np.array_equal(known, units) and np.array_equal(self.arrays["charsmap_text"], text)):
            raise UnsupportedFeatureError("two different Precompiled normalizers are not supported; keep one of them")
        self.arrays.update(charsmap_units=units, charsmap_text=text)
        self._take("cluster", ("pages", "blocks"))
        self._step(normalize_program.OP_CHARSMAP)

    def compiled(self) -> CompiledStages:
        if self.maps:
            self.arrays.update(_joined_maps(list(self.maps.values())))
        program = np.array(self.steps, np.int32).reshape(-1)
        arrays: dict[str, NDArray[Any]] = {
            "normalizer_program": program,
            "normalizer_ascii_stays": np.array([self.ascii_stays], np.int64),
            **self.strings.arrays("normalizer"),
            **self.arrays,
        }
        return CompiledStages(arrays, tuple(self.regexes))


def _joined_maps(tables: Sequence[Table]) -> dict[str, NDArray[Any]]:
    """Several character maps as one table."""
    indices, blocks, offsets, texts = [], [], [np.zeros(1, np.int32)], []
    n_blocks = n_entries = n_bytes = 0
    for own in tables:
        assert own["pages"].size == BLOCKS
        indices.append(own["pages"] + np.uint16(n_blocks))
        # entry 0, a character that stays, is the same in all
        blocks.append(np.where(own["blocks"] > 0, own["blocks"] + np.uint16(n_entries), 0).astype(np.uint16))
        offsets.append(own["offsets"][1:] + np.int32(n_bytes))
        texts.append(own["text"])
        n_blocks += own["blocks"].size // 128
        n_entries += own["offsets"].size - 1
        n_bytes += own["text"].size
    joined = [np.concatenate(parts) for parts in (indices, blocks, offsets, texts)]
    return dict(zip(("map_pages", "map_blocks", "map_offsets", "map_text"), joined, strict=True))


def literal_of(pattern: Pattern) -> str | None:
    """The string that a pattern is, if it is one."""
    if pattern.is_regex and not _LITERAL.fullmatch(pattern.text):
        return None
    return pattern.text


def _run_of(pattern: Pattern) -> tuple[int, int] | None:
    """Character (or ``ANY_WHITE_SPACE``) and least length of the runs that an expression matches."""
    found = _RUN.fullmatch(pattern.text) if pattern.is_regex else None
    if found is None:
        return None
    member = ANY_WHITE_SPACE if found[1] == r"\s" else ord(found[1][-1])
    return member, int(found[3] or 1)


def compile_pre_tokenizers(stages: Sequence[pre_tokenizers.PreTokenizer]) -> CompiledStages:
    """Compile pre-tokenizers.

    ``ByteLevel`` is its cut here: bytes stay bytes, for the alphabet is the model's business.

    Parameters
    ----------
    stages : sequence of pre-tokenizers
        In the order in which they are applied.

    Raises
    ------
    UnsupportedFeatureError
        ``ByteLevel`` with a prefix space, or a regular expression that cannot be reproduced exactly.
    """
    steps: list[tuple[int, ...]] = []
    strings = Strings()
    regexes: list[str] = []
    schemes = {"never": cut_program.NEVER, "always": cut_program.ALWAYS, "first": cut_program.FIRST}
    for stage in stages:
        if isinstance(stage, pre_tokenizers.Whitespace):
            steps.append((cut_program.CUT_WORDS, 0, 0, 0))
        elif isinstance(stage, pre_tokenizers.WhitespaceSplit):
            steps.append((cut_program.CUT_CLASS, SPACE, REMOVED, 0))
        elif isinstance(stage, pre_tokenizers.CharDelimiterSplit):
            steps.append((cut_program.CUT_STRING, strings.number(stage.delimiter), REMOVED, 0))
        elif isinstance(stage, pre_tokenizers.Digits):
            behavior = BEHAVIORS.index("Isolated" if stage.individual else "Contiguous")
            steps.append((cut_program.CUT_CLASS, NUMERIC, behavior, 0))
        elif isinstance(stage, pre_tokenizers.Punctuation):
            steps.append((cut_program.CUT_CLASS, PUNCTUATION, BEHAVIORS.index(stage.behavior), 0))
        elif isinstance(stage, pre_tokenizers.Metaspace):
            number = strings.number(stage.replacement)
            steps.append((cut_program.CUT_METASPACE, number, schemes[stage.scheme], int(stage.split)))
        elif isinstance(stage, pre_tokenizers.Split):
            behavior, literal = BEHAVIORS.index(stage.behavior), literal_of(stage.pattern)
            if literal is not None:
                steps.append((cut_program.CUT_STRING, strings.number(literal), behavior, int(stage.invert)))
            else:
                classes = class_tables("tokenizers")
                RegexSplitter(stage.pattern.text, classes.class_index, classes.class_blocks, "tokenizers")
                regexes.append(stage.pattern.text)
                steps.append((CUT_REGEX, len(regexes) - 1, behavior, int(stage.invert)))
        elif isinstance(stage, pre_tokenizers.BertPreTokenizer):
            steps.append((cut_program.CUT_CLASS, SPACE, REMOVED, 0))
            steps.append((cut_program.CUT_CLASS, PUNCTUATION, BEHAVIORS.index("Isolated"), 0))
        else:
            if stage.add_prefix_space:
                raise UnsupportedFeatureError("ByteLevel with add_prefix_space is not supported among other stages")
            if stage.use_regex:
                steps.append((cut_program.CUT_GPT2, 0, 0, 0))
    shipped, classes = normalization_tables().arrays, class_tables("tokenizers")
    arrays = {
        "cut_program": np.array(steps, np.int32).reshape(-1),
        **strings.arrays("cut"),
        "cut_pages": shipped["cut_pages"],
        "cut_blocks": shipped["cut_blocks"],
        "class_index": classes.class_index,
        "class_blocks": classes.class_blocks,
    }
    return CompiledStages(arrays, tuple(regexes))
