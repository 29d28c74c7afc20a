"""Tokenizers that several tests share, each beside the ``tokenizers`` object that gives the same ids."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as ReferenceTokenizer

import numba_nlp as nlp
import vocab_tools
from tests.vocab_tools.sources import train

REPOSITORY = Path(__file__).resolve().parent.parent
GPT2_FILES = [REPOSITORY / "examples/data/gpt2" / name for name in ("vocab.json", "merges.txt")]
BERT_FILE = REPOSITORY / "examples/data/bert/vocab.txt"
HAMLET = REPOSITORY / "examples/data/hamlet_gut.txt"
END = "<|endoftext|>"

#: Short texts of every kind; none holds a special token.
TEXTS = [
    "",
    "a",
    " ",
    "\n",
    "\x00",
    "To be, or not to be: that is the question.",
    "  two  spaces\t\ttabs\r\nline ends\n\n",
    "naïve café, Ζεύς και Ήρα, 日本語の本を読む",
    "👩\u200d👩\u200d👧 and 🇬🇧 and 😀😀",
    "e\u0301 \ufeff \u00a0\u3000\u2028",
    "\U0010ffff\ufffd\u0378",
    "I'll they'D we've 12345 1/2 x_y <| |> <",
    "def f(x):\n    return [x for x in range(10)]\n",
    "abcdefghijklmnopqrstuvwxyz" * 30,
]


class Pair(NamedTuple):
    """One tokenizer twice."""

    ours: nlp.Tokenizer
    reference: ReferenceTokenizer


@lru_cache(maxsize=1)
def gpt2() -> Pair:
    """GPT-2 from the files that the repository carries."""
    reference = ReferenceTokenizer(models.BPE.from_file(*map(str, GPT2_FILES)))
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    reference.decoder = decoders.ByteLevel()
    reference.post_processor = processors.ByteLevel(trim_offsets=False)
    reference.add_special_tokens([END])
    return Pair(nlp.load_tokenizer(GPT2_FILES), reference)


@lru_cache(maxsize=2)
def gpt2_that(special: str) -> nlp.Tokenizer:
    """GPT-2 with another policy for special tokens."""
    return nlp.Tokenizer(vocab_tools.compile(GPT2_FILES, special=special))


@lru_cache(maxsize=4)
def roberta_like(*, prefix_space: bool = False, trim_offsets: bool = True) -> Pair:
    """A small RoBERTa: template ``<s> ... </s>``, spans trimmed, ``<mask>`` takes the space before it."""
    reference = train(400, special_tokens=["<s>", "</s>", "<pad>"])
    reference.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    reference.decoder = decoders.ByteLevel()
    reference.post_processor = processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=trim_offsets, add_prefix_space=prefix_space
    )
    return _compiled(reference)


@lru_cache(maxsize=1)
def regex_cut() -> Pair:
    """A pattern without a hand-written scanner."""
    reference = train(400, special_tokens=["<cut>"])
    split = pre_tokenizers.Split(
        Regex(r"[\p{Lu}\p{Lt}]?\p{Ll}+|\p{L}+|\p{N}{1,2}|\s+|[^\s\p{L}\p{N}]"), behavior="isolated"
    )
    reference.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    reference.decoder = decoders.ByteLevel()
    reference.post_processor = processors.ByteLevel(trim_offsets=False)
    return _compiled(reference)


@lru_cache(maxsize=2)
def bert(*, lowercase: bool = True) -> Pair:
    """BERT from the vocabulary that the repository carries (made for lower case)."""
    reference = ReferenceTokenizer(models.WordPiece.from_file(str(BERT_FILE), unk_token="[UNK]"))
    reference.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    reference.decoder = decoders.WordPiece()
    reference.add_special_tokens(["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"])
    reference.post_processor = processors.BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    return Pair(nlp.load_tokenizer(BERT_FILE, do_lower_case=lowercase), reference)


def _compiled(reference: ReferenceTokenizer) -> Pair:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        reference.save(str(path))
        return Pair(nlp.load_tokenizer(path), ReferenceTokenizer.from_file(str(path)))


def spans_of(reference: ReferenceTokenizer, text: str, *, add_special_tokens: bool = False) -> list[tuple[int, int]]:
    """Offsets that ``tokenizers`` gives, in characters."""
    return reference.encode(text, add_special_tokens=add_special_tokens).offsets
