"""The tokenizer of the numbers model: its words, digits and letters, in the files of a Marian checkpoint.

Pieces are listed, not learnt: all words that numbers and dates are made of are known. Letters are there for words that
are not, so that no text is unknown because of a capital or a slip.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np

from numba_nlp._atomic import atomic_writer
from tools.model_training.number_pairs import CODES
from tools.model_training.number_words import MONTHS, cardinal, ordinal
from vocab_tools.formats.description import KIND_CONTROL, KIND_NORMAL
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, NormalizerSpec, SentencePieceModel
from vocab_tools.formats.sentencepiece_writer import serialize

__all__ = ["END", "PADDING", "UNKNOWN", "number_pieces", "sentencepiece_model", "token_ids", "write_tokenizer"]

END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"
#: Of words and of everything else: a word is one piece wherever it can be.
_WORD_SCORE, _CHARACTER_SCORE = -1.0, -10.0
_SPACE = "\u2581"


def _words() -> list[str]:
    numbers = [*range(20), *range(20, 100, 10)]
    scales = ["hundred", "thousand", "million", "billion"]
    words = [cardinal(number) for number in numbers] + scales + [ordinal(number) for number in numbers]
    return [*words, *(f"{scale}th" for scale in scales), "and", "of", "oh", "the", *MONTHS]


def number_pieces() -> dict[str, float]:
    """Pieces and their scores, without special tokens.

    Words stand with U+2581 before them; those of one digit also without, as they follow a hyphen.
    """
    after_hyphen = [of(number) for of in (cardinal, ordinal) for number in range(1, 10)]
    pieces = [*(_SPACE + word for word in _words()), *after_hyphen, "st", "nd", "rd", "th"]
    characters = [_SPACE, *string.digits, *",-./", *string.ascii_letters]
    return dict.fromkeys(pieces, _WORD_SCORE) | dict.fromkeys(characters, _CHARACTER_SCORE)


def sentencepiece_model() -> SentencePieceModel:
    """The pieces as a SentencePiece model of type unigram."""
    pieces = number_pieces()
    kinds = [KIND_UNKNOWN, KIND_CONTROL] + [KIND_NORMAL] * len(pieces)
    return SentencePieceModel(
        name="numbers",
        source_digest="",
        model_type="unigram",
        pieces=tuple(piece.encode() for piece in (UNKNOWN, END, *pieces)),
        scores=np.array([0.0, 0.0, *pieces.values()], np.float32),
        kinds=np.array(kinds, np.uint8),
        byte_fallback=False,
        unk_id=0,
        bos_id=-1,
        eos_id=1,
        pad_id=-1,
        unk_piece=UNKNOWN,
        bos_piece="<s>",
        eos_piece=END,
        pad_piece=PADDING,
        unk_surface=" \u2047 ".encode(),
        normalizer=NormalizerSpec(
            name="identity",
            charsmap=None,
            add_dummy_prefix=True,
            remove_extra_whitespaces=True,
            escape_whitespaces=True,
            whitespace_as_suffix=False,
        ),
        denormalizer=None,
        self_test=(),
    )


def token_ids() -> dict[str, int]:
    """The content of vocab.json: as in Marian's checkpoints the end comes first and the padding last."""
    return {token: number for number, token in enumerate((END, UNKNOWN, *CODES, *number_pieces(), PADDING))}


def write_tokenizer(folder: Path, *, longest: int) -> None:
    """Write what ``load_tokenizer`` and transformers' ``MarianTokenizer`` read.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    longest : int
        Positions of the model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = serialize(sentencepiece_model())
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": "en",
        "target_lang": "en",
        "eos_token": END,
        "unk_token": UNKNOWN,
        "pad_token": PADDING,
        "model_max_length": longest,
        "separate_vocabs": False,
    }
    contents = {
        "source.spm": model,
        "target.spm": model,
        "vocab.json": _json(token_ids()),
        "tokenizer_config.json": _json(settings),
    }
    for name, content in contents.items():
        with atomic_writer(folder / name) as stream:
            stream.write(content)


def _json(value: dict[str, int] | dict[str, object]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
