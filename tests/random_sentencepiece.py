"""Random SentencePiece models of every type and option, beside the library that defines what they do."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

import sentencepiece

import numba_nlp as nlp
from numba_nlp.vocabulary import Vocabulary
from tests.sentencepiece_cases import CHARACTERS
from tests.unigram_cases import BYTE, CONTROL, NORMAL, SCORES, SPACE, UNKNOWN, UNUSED, USER_DEFINED
from vocab_tools.compiler.sentencepiece import build_arrays
from vocab_tools.formats.charsmap import encode_charsmap
from vocab_tools.formats.sentencepiece_model import parse
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

#: Texts and pieces are made of these.
ALPHABET = ("a", "b", "ab", " ", " ", "  ", "\n", SPACE, " a", "x", "\u00e9", "\u3000", "\u200b", "\U0001f600", "<s>")
#: Rules like those of nmt_nfkc, by what they may do to white space.
RULES = (
    {},
    {"\n": " ", "\t": " ", "\u3000": " ", "\u200b": ""},
    {"\n": " ", "\u3000": " ", "\u200b": "", "x": "ab", "e\u0301": "\u00e9", "\u00bd": "1\u20442"},
    {"\n": " ", "\n\u0301": "b", "b": " x ", "\U0001f600": "a  "},
    {" ": "\n", "ab": "b"},
)
TYPES = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}


class Model(NamedTuple):
    """One model twice, and the bytes of its file."""

    ours: nlp.Tokenizer
    reference: sentencepiece.SentencePieceProcessor
    content: bytes


def model_content(seed: int, kind: str = "unigram", *, usual: bool = False, scale: float = 1.0) -> bytes:
    """File of a random model.

    Parameters
    ----------
    seed : int
    kind : {"unigram", "bpe", "word", "char"}
    usual : bool
        With the options that nearly all models have, and the space as a piece, so that text is cut into chunks. Every
        third BPE model leaves text as it is but for the spaces.
    scale : float
        Of the scores: large ones make the running score start again within short texts.
    """
    r = random.Random(f"{seed} {kind} {usual}")
    model = ModelProto()
    score = SCORES[seed % len(SCORES)]
    symbols = [c.replace(" ", SPACE).replace("\n", "") for c in ALPHABET if c.strip()]
    texts = {"".join(r.choices(symbols, k=r.choice((1, 1, 1, 2, 2, 3, 4)))) for _ in range(r.choice((2, 6, 14, 30)))}
    texts |= {SPACE + "".join(r.choices(symbols, k=r.choice((1, 2)))) for _ in range(8)}
    if kind == "char":
        texts = {text[-1] for text in texts}
    if kind == "bpe":
        # what merging may make on the way; sorted, since a set has another order in every process
        texts |= {text[:n] for text in sorted(texts) for n in range(1, len(text)) if r.random() < 0.8}
        texts |= {character for text in sorted(texts) for character in text if r.random() < 0.8}
    if usual:
        texts = {text for text in texts if SPACE not in text[1:]} | {SPACE}
    fallback = seed % 4 == 1
    pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL)]
    kinds = (NORMAL,) * 8 + (USER_DEFINED, UNUSED)
    pieces += [(text, score(r) * scale, r.choice(kinds)) for text in sorted(texts - {"<unk>", "<s>"})]
    pieces.append(("zz", score(r) * scale, NORMAL))
    if fallback:
        pieces += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    numbers = {NORMAL: 1, UNKNOWN: 2, CONTROL: 3, USER_DEFINED: 4, UNUSED: 5, BYTE: 6}
    for text, value, piece_kind in pieces:
        number = numbers[NORMAL if usual and text == SPACE else piece_kind]
        model.pieces.add(piece=text.encode(), score=value, type=number)
    model.trainer_spec.model_type = TYPES[kind]
    model.trainer_spec.byte_fallback = fallback
    model.trainer_spec.treat_whitespace_as_suffix = not usual and r.random() < 0.2
    spec = model.normalizer_spec
    spec.name = b"made"
    rules = RULES[r.randrange(3 if usual else len(RULES))]
    only_escapes = kind == "bpe" and usual and seed % 3 == 0
    if only_escapes:
        rules = {}
    if rules:
        spec.precompiled_charsmap = encode_charsmap({key.encode(): text.encode() for key, text in rules.items()})
    spec.add_dummy_prefix = r.random() < 0.8
    spec.remove_extra_whitespaces = not only_escapes and (usual or r.random() < 0.7)
    spec.escape_whitespaces = usual or r.random() < 0.8
    return bytes(model.SerializeToString())


@lru_cache(maxsize=400)
def random_model(seed: int, kind: str = "unigram", *, usual: bool = False, scale: float = 1.0) -> Model:
    """A random model (arguments of :func:`model_content`)."""
    content = model_content(seed, kind, usual=usual, scale=scale)
    ours = nlp.Tokenizer(Vocabulary(*build_arrays(parse(content, name="made"))))
    return Model(ours, sentencepiece.SentencePieceProcessor(model_proto=content), content)


def random_texts(seed: int, n: int, most: int = 40) -> list[str]:
    """Texts over the alphabet, short ones mostly, some of few symbols."""
    r = random.Random(seed)
    found = []
    for _ in range(n):
        symbols = r.choices((*ALPHABET, *CHARACTERS), k=r.choice((1, 2, 4, 20)))
        found.append("".join(r.choices(symbols, k=int(most * r.random() ** 2) + 1)).replace("\0", ""))
    return found
