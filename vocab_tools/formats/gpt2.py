"""Reader of GPT-2 style vocabularies: ``vocab.json`` (pieces and ids) and ``merges.txt`` (merges in order of rank).

The two files say nothing about special tokens, templates or spans; the family does, as transformers'
``GPT2TokenizerFast`` and ``RobertaTokenizerFast`` define them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from numba_nlp.errors import SourceFormatError
from vocab_tools.compiler.patterns import BYTE_LEVEL_REGEX
from vocab_tools.formats.description import MAX_IDS, TEXT_PLACE, AddedToken, Description
from vocab_tools.formats.model_inputs import InputSettings, pad_among
from vocab_tools.formats.piece_table import Place, check_ids, lay_out, merge_ids, quote
from vocab_tools.formats.reading import digest_of, parse_json, read_text, split_lines
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["FAMILIES", "read"]


class _Family(NamedTuple):
    """What a family adds to the two files: special tokens, templates, handling of spans.

    In a template a number stands for a text. Types are 0, but 1 for the second text where nothing is added.
    """

    special_tokens: tuple[str, ...]
    takes_left_space: frozenset[str]
    single: tuple[str | int, ...]
    pair: tuple[str | int, ...]
    trim_offsets: bool


FAMILIES = {
    "gpt2": _Family(("<|endoftext|>",), frozenset(), (TEXT_PLACE,), (TEXT_PLACE, PAIR_PLACE), False),
    # RobertaProcessing trims spans itself; "<mask>" takes the space before it.
    "roberta": _Family(
        ("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
        frozenset({"<mask>"}),
        ("<s>", TEXT_PLACE, "</s>"),
        ("<s>", TEXT_PLACE, "</s>", "</s>", PAIR_PLACE, "</s>"),
        True,
    ),
}


def read(
    vocab_path: str | Path,
    merges_path: str | Path,
    *,
    family: str | None = None,
    name: str | None = None,
    allow_gaps: bool = False,
) -> Description:
    """Read ``vocab.json`` and ``merges.txt``.

    Parameters
    ----------
    vocab_path, merges_path : str or Path
    family : {"gpt2", "roberta"}, optional
        Chooses special tokens, template and the trimming of spans; inferred where the vocabulary leaves no doubt.
    name : str, optional
        Name of the vocabulary; by default that of the family.
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    Description

    Raises
    ------
    SourceFormatError
        A file breaks its format (the message has the file and the line), or the family must be given.
    """
    vocab_path, merges_path = Path(vocab_path), Path(merges_path)
    vocab_text, vocab_digest = read_text(vocab_path)
    place = Place(vocab_path, vocab_text)
    vocab = check_ids(parse_json(vocab_path, vocab_text), place)
    merges_text, merges_digest = read_text(merges_path)
    pairs, where = _parse_merges(merges_path, merges_text)
    chosen = _choose_family(vocab, family, vocab_path)
    added = _added_tokens(vocab, FAMILIES[chosen], place)
    table = lay_out(vocab, added, place, allow_gaps=allow_gaps, strict=True)
    inputs = _input_settings(FAMILIES[chosen], added)
    return Description(
        name=name or chosen,
        source_format="gpt2",
        source_digest=digest_of([vocab_digest, merges_digest]),
        reference="tokenizers",
        pieces=table.pieces,
        decoded=table.decoded,
        kinds=table.kinds,
        merges=merge_ids(pairs, vocab, where, place),
        added_tokens=added,
        pattern="gpt2",
        pattern_regex=BYTE_LEVEL_REGEX,
        trim_offsets=FAMILIES[chosen].trim_offsets,
        special_policy="match",
        template_single=inputs.template_single,
        inputs=inputs,
    )


def _input_settings(family: _Family, added: tuple[AddedToken, ...]) -> InputSettings:
    ids = {token.content: token.id for token in added}
    single, pair = (
        tuple(part if isinstance(part, int) else ids[part] for part in parts) for parts in (family.single, family.pair)
    )
    if len(single) == 1:
        return InputSettings(pad_id=pad_among(added))
    types = (0,) * len(single), (0,) * len(pair)
    return InputSettings(Template(single, types[0]), Template(pair, types[1]), pad_id=pad_among(added))


def _choose_family(vocab: dict[str, int], family: str | None, path: Path) -> str:
    known = " or ".join(f'family="{name}"' for name in FAMILIES)
    if family is not None:
        if family not in FAMILIES:
            raise SourceFormatError(f"family={family!r} is not known; pass {known}")
        return family
    if "<|endoftext|>" in vocab and "<s>" not in vocab:
        return "gpt2"
    if all(token in vocab for token in ("<s>", "</s>", "<pad>", "<mask>")):
        return "roberta"
    raise SourceFormatError(
        f"{path}: the family cannot be told from its special tokens (GPT-2 has '<|endoftext|>' and no '<s>', RoBERTa "
        f"has '<s>', '</s>', '<pad>' and '<mask>'); pass {known}"
    )


def _added_tokens(vocab: dict[str, int], family: _Family, place: Place) -> tuple[AddedToken, ...]:
    """Special tokens of the family; those that the vocabulary lacks get the ids that tokenizers gives them."""
    added: list[AddedToken] = []
    following = len(vocab)
    taken = set(vocab.values())
    for content in family.special_tokens:
        number = vocab.get(content)
        if number is None:
            number = following
            following += 1
            if number in taken or number >= MAX_IDS:
                raise SourceFormatError(
                    f"{place.path}: the special token {content!r} is not in the vocabulary and would get the id "
                    f"{number}, the number of pieces, which is taken; close the gaps in the ids or add the token"
                )
        added.append(AddedToken(content, number, lstrip=content in family.takes_left_space))
    return tuple(added)


def _parse_merges(path: Path, text: str) -> tuple[list[tuple[str, str]], list[str]]:
    lines = split_lines(text)
    skipped = 1 if lines and lines[0].startswith("#version") else 0
    pairs: list[tuple[str, str]] = []
    where: list[str] = []
    for number, line in enumerate(lines[skipped:], start=skipped + 1):
        parts = line.split(" ")
        if len(parts) != 2 or not parts[0] or not parts[1]:
            raise SourceFormatError(
                f"{path}:{number}: a merge is two pieces with one space between them, got {quote(line)}"
            )
        if line.startswith("#version"):
            # tokenizers skips such a line wherever it stands, so as a merge it would not count either.
            raise SourceFormatError(f"{path}:{number}: {quote(line)} reads as a version line, which must come first")
        pairs.append((parts[0], parts[1]))
        where.append(f"{path}:{number}:")
    return pairs, where
