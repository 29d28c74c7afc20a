"""Random SentencePiece models whose pieces a list of tokens numbers."""

from __future__ import annotations

import random
from functools import lru_cache

import numba_nlp as nlp
from numba_nlp.vocabulary import Vocabulary
from tests.random_sentencepiece import ALPHABET, model_content
from vocab_tools.compiler import renumbered_model
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.renumbered_model import RenumberedModel
from vocab_tools.formats.sentencepiece_model import parse


@lru_cache(maxsize=100)
def renumbered(seed: int, kind: str, usual: bool) -> tuple[nlp.Tokenizer, dict[str, int]]:
    """A random model with a list of ids that lacks some pieces and has other tokens."""
    model = parse(model_content(seed, kind, usual=usual), name="made")
    choose = random.Random(seed)
    pieces = [piece.decode() for piece in model.pieces if choose.random() < 0.8]
    others = [symbol * n for symbol in ALPHABET if symbol.strip() for n in (1, 2)]
    tokens = list(dict.fromkeys(["<unk>", *pieces, *others, "\u2581é", "x\U0001f600", "é\U0001f600"]))
    choose.shuffle(tokens)
    ids = {token: number for number, token in enumerate(tokens, start=3)}
    described = RenumberedModel(
        name="made", source_format="marian", source_digest=model.source_digest, model=model, ids=ids,
        unknown=ids["<unk>"], decoding=model, tokens=[None, None, None, *tokens], special=frozenset(),
        skipped=frozenset(), added_tokens=(), language_codes=False, special_suffix="", marks_are_spaces=False,
        inputs=InputSettings(),
    )  # fmt: skip
    return nlp.Tokenizer(Vocabulary(*renumbered_model.build_arrays(described))), ids
