"""How the library that a format belongs to encodes texts with files of that format; for checking conversions.

Every function takes the files and the options that :func:`vocab_tools.convert` gave for them, and returns a function
from lines to ids (or tokens), and the special tokens that the library looks for in texts.
"""

from __future__ import annotations

import io
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.references import read_ranks

__all__ = ["FASTBPE", "REFERENCES", "Reference"]

#: The program of fastBPE (``g++ -std=c++11 -pthread -O3 fastBPE/main.cc -IfastBPE -o fast``), where it is.
FASTBPE = os.environ.get("NUMBA_NLP_FASTBPE")

#: Half a unit of the last bit of a float32, relative to it: what one addition may be off.
_FLOAT32 = 2.0**-24


class Reference(NamedTuple):
    """An encoder of a library.

    Attributes
    ----------
    encode : callable
        From lines to rows of ids, or of tokens.
    special : frozenset of str
        Texts that it does not treat as plain text.
    tied : callable or None
        Whether two rows of ids spell the same text and have, as far as float32 can tell, the same sum of scores: then
        the order of the additions decides which one a library takes.
    known : frozenset of str or None
        Of rows of tokens: those that have an id; others are compared as unknown.
    """

    encode: Callable[[Sequence[str]], list[Any]]
    special: frozenset[str]
    tied: Callable[[Sequence[int], Sequence[int]], bool] | None = None
    known: frozenset[str] | None = None


def _sentencepiece(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    from sentencepiece import SentencePieceProcessor

    del options
    processor = SentencePieceProcessor(model_file=str(paths[0]))
    special = {processor.id_to_piece(i) for i in range(len(processor)) if processor.is_control(i)}
    special.add(processor.id_to_piece(processor.unk_id()))

    def tied(first: Sequence[int], second: Sequence[int]) -> bool:
        texts = ["".join(map(processor.id_to_piece, ids)) for ids in (first, second)]
        sums = [math.fsum(map(processor.get_score, ids)) for ids in (first, second)]
        return texts[0] == texts[1] and abs(sums[0] - sums[1]) <= len(first) * _FLOAT32 * abs(sums[0])

    return Reference(lambda lines: processor.encode(list(lines)), frozenset(special), tied)


def _of_tokenizers(tokenizer: Any) -> Reference:
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(lines: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in tokenizer.encode_batch_fast(list(lines), add_special_tokens=False)]

    return Reference(encode, frozenset(token.content for token in tokenizer.get_added_tokens_decoder().values()))


def _tokenizer_json(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    from tokenizers import Tokenizer

    del options
    return _of_tokenizers(Tokenizer.from_file(str(paths[0])))


def _merges(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    """As transformers' classes of the family build it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    gpt = options.get("family") == "openai-gpt"
    marks = {"end_of_word_suffix": "</w>", "unk_token": "<unk>"} if gpt else {}
    tokenizer = Tokenizer(models.BPE.from_file(*map(str, paths), **marks))
    special = ["<|endoftext|>"]
    if gpt:
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        special = ["<unk>"]
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        if options.get("family") == "roberta":
            special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.add_special_tokens(special)
    return _of_tokenizers(tokenizer)


def _tiktoken(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    import tiktoken

    from vocab_tools.formats.tiktoken_file import read

    described = read(paths[0], **options)
    special = {token.content: token.id for token in described.added_tokens}
    encoding = tiktoken.Encoding(
        "checked", pat_str=described.pattern_regex, mergeable_ranks=read_ranks(paths[0]), special_tokens=special
    )
    return Reference(lambda lines: encoding.encode_ordinary_batch(list(lines)), frozenset(special))


def _bert(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    from transformers import BertTokenizer

    return _of_tokenizers(BertTokenizer(str(paths[0]), **options)._tokenizer)


def _tokens(row: str) -> list[str]:
    """What spaces part; other white space may be a token. Line ends around a row are none."""
    return [token for token in row.strip("\r\n ").split(" ") if token]


def _subword_nmt(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    from subword_nmt.apply_bpe import BPE, read_vocabulary

    vocabulary = None
    if "vocabulary" in options:
        with open(options["vocabulary"], encoding="utf-8") as stream:
            vocabulary = read_vocabulary(stream, options.get("vocabulary_threshold"))
    encoder = BPE(io.StringIO(paths[0].read_text(encoding="utf-8")), vocab=vocabulary)

    def encode(lines: Sequence[str]) -> list[list[str]]:
        return [_tokens(encoder.process_line(line)) for line in lines]

    return Reference(encode, frozenset())


def _fastbpe(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    assert FASTBPE, "asked before"

    def encode(lines: Sequence[str]) -> list[list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            text, made = Path(folder) / "text", Path(folder) / "made"
            # a line end is the end of a row here
            text.write_bytes("".join(f"{line}\n" for line in lines).encode())
            vocabulary = [str(options["vocabulary"])] if "vocabulary" in options else []
            subprocess.run([FASTBPE, "applybpe", made, text, paths[0], *vocabulary], check=True, capture_output=True)
            rows = made.read_bytes().decode().split("\n")
        return [_tokens(row) for row in rows[: len(lines)]]

    return Reference(encode, frozenset())


def _marian(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    from transformers import MarianTokenizer

    del options
    tokenizer = MarianTokenizer.from_pretrained(str(paths[0].parent))
    special = frozenset(tokenizer.all_special_tokens)
    return Reference(lambda lines: [tokenizer.encode(line, add_special_tokens=False) for line in lines], special)


def _compiled(paths: Sequence[Path], options: dict[str, Any]) -> Reference:
    """This package; its result is what is checked."""
    from numba_nlp import load_tokenizer

    del options
    tokenizer = load_tokenizer(paths[0])

    def encode(lines: Sequence[str]) -> list[list[int]]:
        return [row.tolist() for row in tokenizer.encode_batch(list(lines))]

    if tokenizer.vocabulary.metadata["source_format"] not in ("subword-nmt", "fastbpe"):
        return Reference(encode, frozenset())
    tokens = [tokenizer.id_to_token(number) for number in range(tokenizer.vocab_size)]
    return Reference(
        lambda lines: [[tokens[i] for i in row] for row in encode(lines)], frozenset(), None, frozenset(tokens)
    )


REFERENCES: dict[str, Callable[[Sequence[Path], dict[str, Any]], Reference]] = {
    "sentencepiece": _sentencepiece,
    "tokenizer.json": _tokenizer_json,
    "merges.txt": _merges,
    "tiktoken": _tiktoken,
    "vocab.txt": _bert,
    "subword-nmt": _subword_nmt,
    "fastbpe": _fastbpe,
    "marian": _marian,
    "compiled": _compiled,
}
