r"""Readers of ``vocab.json`` and ``merges.txt`` whose symbols are characters: GPT, CTRL, CLIP; and of CLIP's own file.

The files say nothing of how text is prepared, of special tokens or templates; the family does, as transformers'
``OpenAIGPTTokenizer`` (without ftfy and spaCy), ``CTRLTokenizer`` and ``CLIPTokenizer`` define them. CLIP's release
has one file, ``bpe_simple_vocab_16e6.txt.gz``, of which the first 48,894 merges count.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from numba_nlp.errors import SourceFormatError
from vocab_tools.formats import gpt2
from vocab_tools.formats.character_description import BertOptions, CharacterDescription
from vocab_tools.formats.description import (
    KIND_ABSENT,
    KIND_CONTROL,
    KIND_NORMAL,
    KIND_USER_DEFINED,
    MAX_IDS,
    TEXT_PLACE,
    AddedToken,
    Description,
)
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.piece_table import Place, check_ids, check_parts, quote
from vocab_tools.formats.reading import MAX_SOURCE_BYTES, digest_of, parse_json, read_source, read_text, split_lines
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = [
    "FAMILIES",
    "checked_kinds",
    "clip_description",
    "ctrl_description",
    "ctrl_merges",
    "parse_merges",
    "read",
    "read_clip",
]

#: Families of ``vocab.json`` and ``merges.txt`` that are character BPE.
FAMILIES = ("openai-gpt", "ctrl", "clip")
SUFFIX = "</w>"
SEPARATOR = "@@"
START_OF_TEXT, END_OF_TEXT = "<|startoftext|>", "<|endoftext|>"
UNKNOWN = "<unk>"
#: Ids of CLIP; besides the bytes, with and without the suffix, and two special tokens, they are merges.
CLIP_IDS = 49408
#: Most bytes that CLIP's file may be unpacked to.
_MAX_UNPACKED = 1 << 26
#: Characters of the byte alphabet in the order of CLIP's ids: printable ones first.
_CLIP_ORDER = sorted(BYTE_CHARACTERS, key=lambda character: (ord(character) >= 0x100, ord(character)))


def read(
    vocab_path: str | Path,
    merges_path: str | Path,
    *,
    family: str | None = None,
    name: str | None = None,
    allow_gaps: bool = False,
) -> Description | CharacterDescription:
    """Read ``vocab.json`` and ``merges.txt`` of any family.

    Parameters
    ----------
    vocab_path, merges_path : str or Path
    family : {"gpt2", "roberta", "openai-gpt", "ctrl", "clip"}, optional
        Whose special tokens, template and preparation of text; inferred where the vocabulary leaves no doubt.
    name : str, optional
        Name of the vocabulary; by default that of the family.
    allow_gaps : bool
        Accept ids that no token has.

    Returns
    -------
    Description or CharacterDescription

    Raises
    ------
    SourceFormatError
        A file breaks its format, or the family must be given.
    """
    vocab_path, merges_path = Path(vocab_path), Path(merges_path)
    if family in gpt2.FAMILIES:
        return gpt2.read(vocab_path, merges_path, family=family, name=name, allow_gaps=allow_gaps)
    vocab_text, vocab_digest = read_text(vocab_path)
    place = Place(vocab_path, vocab_text)
    vocab = check_ids(parse_json(vocab_path, vocab_text), place)
    chosen = family or _family_of(vocab)
    if chosen is None:
        return gpt2.read(vocab_path, merges_path, name=name, allow_gaps=allow_gaps)
    if chosen not in FAMILIES:
        known = ", ".join(map(repr, (*gpt2.FAMILIES, *FAMILIES)))
        raise SourceFormatError(f"family={chosen!r} is not known; pass one of {known}")
    text, merges_digest = read_text(merges_path)
    digest = digest_of([vocab_digest, merges_digest])
    if chosen == "ctrl":
        merges = ctrl_merges(text)
    else:
        merges = parse_merges(merges_path, text)
        check_parts(merges, vocab, lambda number: f"{merges_path}:{_line_of(text, merges[number])}:")
    if chosen == "clip":
        for token in (START_OF_TEXT, END_OF_TEXT):
            _need(vocab, token, vocab_path)
        return clip_description(vocab, merges, name or chosen, chosen, digest, allow_gaps, vocab_path)
    unknown = _need(vocab, UNKNOWN, vocab_path)
    added = (AddedToken(UNKNOWN, unknown),)
    kinds = checked_kinds(vocab, added, allow_gaps, vocab_path)
    if chosen == "ctrl":
        return ctrl_description(vocab, merges, name or chosen, digest, unknown, kinds, added)
    return CharacterDescription(
        name=name or chosen, source_format=chosen, source_digest=digest, reference="transformers", words="bert",
        vocabulary=vocab, kinds=kinds, merges=merges, unknown=unknown, suffix=SUFFIX,
        bert=BertOptions(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True),
        added_tokens=added,
    )  # fmt: skip


def ctrl_description(
    vocab: Mapping[str, int],
    merges: tuple[tuple[str, str], ...],
    name: str,
    digest: str,
    unknown: int,
    kinds: NDArray[np.uint8],
    added: tuple[AddedToken, ...],
) -> CharacterDescription:
    """CTRL as transformers' ``CTRLTokenizer`` has it."""
    return CharacterDescription(
        name=name, source_format="ctrl", source_digest=digest, reference="transformers", words="white",
        vocabulary=vocab, kinds=kinds, merges=merges, unknown=unknown, suffix=SUFFIX, separator=SEPARATOR,
        in_passes=True, newline_ends_word=True, decoder="separator", strips=True, added_tokens=added,
    )  # fmt: skip


def read_clip(path: str | Path, *, name: str | None = None) -> CharacterDescription:
    """Read CLIP's ``bpe_simple_vocab_16e6.txt.gz``.

    Raises
    ------
    SourceFormatError
        The file is damaged, or another compressed file.
    """
    path = Path(path)
    content = read_source(path)
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(content, _MAX_UNPACKED).decode()
    except (zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise SourceFormatError(f"{path}: cannot be unpacked to text: {error}") from error
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise SourceFormatError(f"{path}: is cut, or unpacks to more than {min(_MAX_UNPACKED, MAX_SOURCE_BYTES)} bytes")
    first, *lines = split_lines(text) or [""]
    n_merges = CLIP_IDS - 2 - 2 * len(_CLIP_ORDER)
    if "#version" not in first or len(lines) < n_merges:
        raise SourceFormatError(
            f"{path}: expected CLIP's file of merges, a line with '#version' and at least {n_merges} merges, got "
            f"{quote(first)} and {len(lines)} lines"
        )
    merges = _pairs(path, enumerate(lines[:n_merges], start=2))
    tokens = [*_CLIP_ORDER, *(f"{token}{SUFFIX}" for token in _CLIP_ORDER), *(a + b for a, b in merges)]
    tokens += [START_OF_TEXT, END_OF_TEXT]
    vocab = {token: number for number, token in enumerate(tokens)}
    if len(vocab) != CLIP_IDS:
        raise SourceFormatError(f"{path}: two merges make the same token; CLIP's file has {CLIP_IDS} different ones")
    return clip_description(vocab, merges, name or "clip", "clip", hashlib.sha256(content).hexdigest(), False, path)


def clip_description(
    vocab: dict[str, int],
    merges: tuple[tuple[str, str], ...],
    name: str,
    source_format: str,
    digest: str,
    allow_gaps: bool,
    path: Path,
) -> CharacterDescription:
    """CLIP as transformers' ``CLIPTokenizer`` has it."""
    start, end = vocab[START_OF_TEXT], vocab[END_OF_TEXT]
    added = (AddedToken(START_OF_TEXT, start), AddedToken(END_OF_TEXT, end))
    around = InputSettings(
        Template((start, TEXT_PLACE, end), (0, 0, 0)),
        Template((start, TEXT_PLACE, end, end, PAIR_PLACE, end), (0,) * 6),
        pad_id=end,
    )
    return CharacterDescription(
        name=name, source_format=source_format, source_digest=digest, reference="transformers", words="clip",
        vocabulary=vocab, kinds=checked_kinds(vocab, added, allow_gaps, path), merges=merges, unknown=end,
        suffix=SUFFIX, byte_characters=True, decoder="bytes", strips=True, spaces_suffix=True, normalized=True,
        added_tokens=added, template_single=around.template_single, inputs=around,
    )  # fmt: skip


def _family_of(vocab: dict[str, int]) -> str | None:
    """The character family that a vocabulary is of beyond doubt."""
    if START_OF_TEXT in vocab and END_OF_TEXT in vocab and f"a{SUFFIX}" in vocab:
        return "clip"
    if UNKNOWN in vocab and sum(token.endswith(SUFFIX) for token in vocab) * 4 > len(vocab):
        return "openai-gpt"
    if UNKNOWN in vocab and sum(token.endswith(SEPARATOR) for token in vocab) * 4 > len(vocab):
        return "ctrl"
    return None


def _need(vocab: dict[str, int], token: str, path: Path) -> int:
    if token not in vocab:
        raise SourceFormatError(f"{path}: the vocabulary has no token {token!r}, which this family needs")
    return vocab[token]


def checked_kinds(
    vocab: dict[str, int], added: Iterable[AddedToken], allow_gaps: bool, path: object
) -> NDArray[np.uint8]:
    """Kinds by id.

    Raises
    ------
    SourceFormatError
        Ids that nothing has, without ``allow_gaps``.
    """
    added = tuple(added)
    kinds = np.full(1 + max([*vocab.values(), *(token.id for token in added)]), KIND_ABSENT, np.uint8)
    assert kinds.size <= MAX_IDS + len(added)
    kinds[list(vocab.values())] = KIND_NORMAL
    for token in added:
        kinds[token.id] = KIND_CONTROL if token.special else KIND_USER_DEFINED
    gaps = np.flatnonzero(kinds == KIND_ABSENT)
    if gaps.size and not allow_gaps:
        raise SourceFormatError(
            f"{path}: {gaps.size} of the ids below {kinds.size} belong to no token, such as {int(gaps[0])}; if that is "
            "meant, pass allow_gaps=True"
        )
    return kinds


def parse_merges(path: Path, text: str) -> tuple[tuple[str, str], ...]:
    """Merges of a ``merges.txt``, one a line, behind a version line if there is one.

    Raises
    ------
    SourceFormatError
        A line that is no merge, or a merge twice.
    """
    lines = list(enumerate(split_lines(text), start=1))
    return _pairs(path, (line for line in lines if not line[1].startswith("#version")))


def _pairs(path: Path, lines: Iterable[tuple[int, str]]) -> tuple[tuple[str, str], ...]:
    pairs: dict[tuple[str, str], int] = {}
    for number, line in lines:
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise SourceFormatError(
                f"{path}:{number}: a merge is two tokens with one space between them, got {quote(line)}"
            )
        first = pairs.setdefault((parts[0], parts[1]), number)
        if first != number:
            raise SourceFormatError(f"{path}:{number}: the merge {quote(line)} is already listed on line {first}")
    return tuple(pairs)


def _line_of(text: str, merge: tuple[str, str]) -> int:
    """Number of the line that a merge stands on."""
    return split_lines(text).index(" ".join(merge)) + 1


def ctrl_merges(text: str) -> tuple[tuple[str, str], ...]:
    """Merges as CTRL reads them.

    Without the first line and what stands behind the last line end; a pair that is listed twice has the later rank,
    and a line that is no pair never merges.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[1:-1]
    ranks = {tuple(line.split()): number for number, line in enumerate(lines)}
    ordered = sorted((pair for pair in ranks if len(pair) == 2), key=ranks.__getitem__)
    return tuple((pair[0], pair[1]) for pair in ordered)
