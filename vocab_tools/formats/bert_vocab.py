"""Reader of BERT's ``vocab.txt``: one token a line, its id the number of the line.

The rules are those of tokenizers' ``WordPiece.from_file``, which transformers' ``BertTokenizer`` calls: lines end at
LF, white space at the end of a line (Unicode's White_Space, so CR too) does not belong to the token, an empty line
takes an id, and of equal tokens the last one counts. The file says nothing of how text is prepared: that is asked for
by options, with transformers' defaults, and the special tokens are those of transformers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.description import (
    KIND_ABSENT,
    KIND_CONTROL,
    KIND_NORMAL,
    MAX_IDS,
    TEXT_PLACE,
    AddedToken,
)
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.reading import read_text
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["TRAILING_SPACE", "WordPieceDescription", "parse_lines", "read"]

#: White space at the end of a line.
TRAILING_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$")


@dataclass(frozen=True)
class WordPieceDescription:
    """A WordPiece vocabulary as its files state it, with nothing derived yet.

    Attributes
    ----------
    name : str
    source_format : {"vocab.txt", "tokenizer.json"}
    source_digest : str
        sha256 (hex) of the source.
    reference : {"transformers", "tokenizers"}
        The library whose results are reproduced.
    pieces : list of (str or None)
        By id: the token as the vocabulary writes it; None for ids that no token of the model has.
    kinds : uint8[V]
        By id: one of the ``KIND_*`` constants of :mod:`vocab_tools.formats.description`.
    unknown : int
        Id of a word that the vocabulary cannot make.
    added_tokens : tuple of AddedToken
    prefix : str
        What tokens that go on within a word begin with.
    max_input_chars_per_word : int
        Longer words, in characters after normalisation, are unknown.
    clean_text, handle_chinese_chars, lowercase : bool
        Options of ``BertNormalizer``.
    strip_accents : bool or None
        As well; None means as ``lowercase``.
    decoder_prefix : str
        What the decoder takes away to join a token to the one before.
    cleanup : bool
        Whether the decoder removes spaces before punctuation and in English contractions.
    special_policy : {"raise", "match", "plain"}
        What is done with special tokens written in the text.
    template_single : tuple of int
        Ids that make up one encoded text when special tokens are asked for, ``TEXT_PLACE`` for the text itself.
    inputs : InputSettings or None
        What the source says about model inputs.
    clean_up : bool
        Decoded text loses the spaces before punctuation and English endings (transformers'
        ``clean_up_tokenization_spaces``).
    """

    name: str
    source_format: str
    source_digest: str
    reference: str
    pieces: list[str | None] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    unknown: int
    added_tokens: tuple[AddedToken, ...] = field(repr=False)
    prefix: str = "##"
    max_input_chars_per_word: int = 100
    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True
    decoder_prefix: str = "##"
    cleanup: bool = True
    special_policy: str = "match"
    template_single: tuple[int, ...] = ()
    inputs: InputSettings | None = None
    clean_up: bool = False


def parse_lines(path: Path, text: str) -> list[str]:
    """Tokens of a ``vocab.txt``, one a line.

    Raises
    ------
    SourceFormatError
        There are too many.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) > MAX_IDS:
        raise SourceFormatError(f"{path}: {len(lines)} lines, more than the {MAX_IDS} ids that a vocabulary may have")
    return [TRAILING_SPACE.sub("", line) for line in lines]


def read(
    path: str | Path,
    *,
    do_lower_case: bool = True,
    tokenize_chinese_chars: bool = True,
    strip_accents: bool | None = None,
    max_input_chars_per_word: int = 100,
    unk_token: str = "[UNK]",  # noqa: S107  no password
    sep_token: str = "[SEP]",  # noqa: S107  no password
    pad_token: str = "[PAD]",  # noqa: S107  no password
    cls_token: str = "[CLS]",  # noqa: S107  no password
    mask_token: str = "[MASK]",  # noqa: S107  no password
    name: str | None = None,
) -> WordPieceDescription:
    """Read a ``vocab.txt`` as transformers' ``BertTokenizer`` does.

    Parameters
    ----------
    path : str or Path
    do_lower_case, tokenize_chinese_chars : bool
        As of transformers: a vocabulary of lower case needs the first, one with case must not have it.
    strip_accents : bool, optional
        None strips them together with lower-casing.
    max_input_chars_per_word : int
        Longer words are unknown; transformers always takes 100.
    unk_token, sep_token, pad_token, cls_token, mask_token : str
        The special tokens. Those that the file lacks get the next ids, in this order.
    name : str, optional
        Name of the vocabulary; by default the file's stem.

    Returns
    -------
    WordPieceDescription

    Raises
    ------
    SourceFormatError
        The file breaks its format, has no token for unknown words, has too many lines, or an option has no sense.
    """
    if type(max_input_chars_per_word) is not int or max_input_chars_per_word < 0:
        raise SourceFormatError(
            f"max_input_chars_per_word must be a whole number of at least 0, got {max_input_chars_per_word!r}"
        )
    path = Path(path)
    text, digest = read_text(path)
    lines = parse_lines(path, text)
    ids = {line: number for number, line in enumerate(lines)}
    if unk_token not in ids:
        raise SourceFormatError(
            f"{path}: no line is {unk_token!r}, the token of unknown words; is this a vocab.txt of BERT? "
            "Pass unk_token= with the token that the file has for them"
        )
    pieces: list[str | None] = [None] * len(lines)
    for piece, number in ids.items():
        pieces[number] = piece

    added: dict[str, AddedToken] = {}
    contents = {
        "unk_token": unk_token, "sep_token": sep_token, "pad_token": pad_token, "cls_token": cls_token,
        "mask_token": mask_token,
    }  # fmt: skip
    for option, content in contents.items():
        if not content:
            raise SourceFormatError(f"{path}: a special token is empty ({option}=''), which would match everywhere")
        if content in added:
            continue
        place = ids.get(content)
        if place is None:
            # transformers gives the number of tokens there are, which equal lines make smaller than the next free id
            place = len(ids) + sum(token.id >= len(lines) for token in added.values())
            if place < len(pieces):
                raise SourceFormatError(
                    f"{path}: there is no line {content!r}, and since some tokens stand twice the reference would give "
                    f"it the id {place} of {pieces[place]!r}; append the line to the file"
                )
            pieces.append(None)
        added[content] = AddedToken(content, place)
    kinds = np.array([KIND_ABSENT if piece is None else KIND_NORMAL for piece in pieces], np.uint8)
    kinds[[token.id for token in added.values()]] = KIND_CONTROL
    first, last = added[cls_token].id, added[sep_token].id
    inputs = InputSettings(
        Template((first, TEXT_PLACE, last), (0, 0, 0)),
        Template((first, TEXT_PLACE, last, PAIR_PLACE, last), (0, 0, 0, 1, 1)),
        pad_id=added[pad_token].id,
        model_input_names=("input_ids", "token_type_ids", "attention_mask"),
    )
    return WordPieceDescription(
        name=name or path.stem,
        source_format="vocab.txt",
        source_digest=digest,
        reference="transformers",
        pieces=pieces,
        kinds=kinds,
        unknown=ids[unk_token],
        added_tokens=tuple(added.values()),
        max_input_chars_per_word=max_input_chars_per_word,
        handle_chinese_chars=tokenize_chinese_chars,
        strip_accents=strip_accents,
        lowercase=do_lower_case,
        template_single=inputs.template_single,
        inputs=inputs,
    )
