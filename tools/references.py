"""The outside libraries that ids are compared with, built from files on disk: tiktoken and Hugging Face tokenizers.

tiktoken's own definitions (pattern, special tokens, expected digests) are used as they are; only the download of the
rank files is answered from disk, so what is compared with is the published encoding or nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tools.blingfire_words import read_words, words_file
from tools.files import find_file, made_folder
from tools.tiktoken_to_tokenizer_json import PATTERNS, convert_ranks, tokenizer_json

__all__ = [
    "CHARACTER_BPE",
    "GPT2_BEGINNINGS",
    "SENTENCEPIECE_MODELS",
    "STAGED",
    "VOCABULARIES",
    "WORDPIECE",
    "family_of",
    "hf_tokenizer",
    "rank_file",
    "read_ranks",
    "sentencepiece_file",
    "sentencepiece_processor",
    "source_path",
    "tiktoken_encoding",
    "tokenizer_json_path",
    "untemplated_json_path",
    "vocabulary_size",
]

#: Short name -> tiktoken's name (None where tiktoken has no such encoding).
VOCABULARIES: dict[str, str | None] = {
    "gpt2": "gpt2",
    "cl100k": "cl100k_base",
    "o200k": "o200k_base",
    "p50k": "p50k_base",
    "roberta": None,
    "bert_uncased": None,
    "bert_cased": None,
    "bert_chinese": None,
    "bert_multilingual": None,
    "flan_t5": None,
    "xlnet_json": None,
    "mistral03": None,
    "barthez_json": None,
}
#: ``tokenizer.json`` files with Unigram, or BPE over characters, behind general stages: name in the data folder.
STAGED: dict[str, str] = {
    "flan_t5": "vocab/t5/flan_t5_tokenizer.json",
    "xlnet_json": "vocab/xlnet/tokenizer.json",
    "mistral03": "vocab/mistral/mistral03.json",
    "barthez_json": "vocab/barthez/tokenizer.json",
}
#: WordPiece vocabularies: carried name, name in the data folder, and whether they are of lower case. The multilingual
#: one comes with the package blingfire.
WORDPIECE: dict[str, tuple[str | None, str | None, bool]] = {
    "bert_uncased": ("vocab.txt", "vocab/bert/uncased_vocab.txt", True),
    "bert_cased": (None, "vocab/bert/cased_vocab.txt", False),
    "bert_chinese": (None, "vocab/bert/chinese_vocab.txt", True),
    "bert_multilingual": (None, None, False),
}

#: Short name -> SentencePiece model in the data folder.
SENTENCEPIECE_MODELS: dict[str, str] = {
    "t5": "vocab/t5/spiece.model",
    "xlnet": "vocab/xlnet/spiece.model",
    "albert": "vocab/albert/30k-clean.model",
    "xlmr": "vocab/xlm_roberta/sentencepiece.bpe.model",
    "marian": "vocab/marian/opus-mt-uk-en/source.spm",
    "mistral_v1": "vocab/mistral/tokenizer.model.v1",
    "mistral_v3": "vocab/mistral/mistral_instruct_tokenizer_240323.model.v3",
    "barthez": "vocab/barthez/sentencepiece.bpe.model",
}
#: Those of them that merge pairs; the others are Unigram.
_SENTENCEPIECE_BPE = ("mistral_v1", "mistral_v3", "barthez")

#: Character BPE: files in the data folder.
CHARACTER_BPE: dict[str, tuple[str, ...]] = {
    "gpt": ("vocab/openai_gpt/encoder_bpe_40000.json", "vocab/openai_gpt/vocab_40000.bpe"),
    "clip": ("vocab/clip/bpe_simple_vocab_16e6.txt.gz",),
    "subword_nmt": ("vocab/subword_nmt/bpe.ref",),
}

#: Short name -> so many of the first merges of GPT-2, to see what the size of a vocabulary costs.
GPT2_BEGINNINGS = {"gpt2_1k": 1000, "gpt2_4k": 4000, "gpt2_16k": 16_000}

#: Last part of the address that tiktoken asks for -> (carried name, name in the data folder).
_FILES = {
    "vocab.bpe": ("merges.txt", "vocab/gpt2/merges.txt"),
    "encoder.json": ("vocab.json", "vocab/gpt2/vocab.json"),
    "cl100k_base.tiktoken": (None, "vocab/tiktoken/cl100k_base.tiktoken"),
    "o200k_base.tiktoken": (None, "vocab/tiktoken/o200k_base.tiktoken"),
    "p50k_base.tiktoken": (None, "vocab/tiktoken/p50k_base.tiktoken"),
}


def family_of(vocabulary: str) -> str:
    """Name of the family that a vocabulary is measured in.

    ``"byte_bpe"``, ``"unigram"``, ``"sentencepiece_bpe"``, ``"wordpiece"``, ``"character_bpe"``, or ``"staged"`` for a
    published ``tokenizer.json`` with general stages.

    Raises
    ------
    KeyError
        No vocabulary of that name is measured.
    """
    if vocabulary in WORDPIECE:
        return "wordpiece"
    if vocabulary in CHARACTER_BPE:
        return "character_bpe"
    if vocabulary in SENTENCEPIECE_MODELS:
        return "sentencepiece_bpe" if vocabulary in _SENTENCEPIECE_BPE else "unigram"
    if vocabulary in STAGED:
        return "staged"
    if vocabulary in VOCABULARIES or vocabulary in GPT2_BEGINNINGS:
        return "byte_bpe"
    raise KeyError(vocabulary)


def _file(name: str) -> Path:
    carried, shared = _FILES[name]
    return find_file(carried=carried, shared=shared)


def _read_local(address: str, expected_hash: str | None = None) -> bytes:
    """Stand-in for tiktoken's cached download: the local copy, if it is the file that tiktoken expects."""
    path = _file(address.rsplit("/", 1)[-1])
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if expected_hash is not None and digest != expected_hash:
        raise ValueError(f"{path}: sha256 {digest}, but tiktoken expects {expected_hash} for {address}")
    return content


@cache
def tiktoken_encoding(name: str) -> Any:
    """tiktoken's ``Encoding`` of that name (``"gpt2"``, ``"cl100k_base"`` ...), without the network.

    Raises
    ------
    FileNotFoundError
        The rank file is not on this machine.
    """
    import tiktoken
    import tiktoken.load
    from tiktoken_ext import openai_public

    with mock.patch.object(tiktoken.load, "read_file_cached", _read_local):
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())


def read_ranks(path: Path) -> dict[bytes, int]:
    """Pieces and ranks of a ``.tiktoken`` file."""
    ranks = {}
    for line in path.read_bytes().splitlines():
        piece, rank = line.split()
        ranks[base64.b64decode(piece)] = int(rank)
    return ranks


def rank_file(vocabulary: str) -> Path:
    """The ``.tiktoken`` file of a vocabulary.

    GPT-2's is written from its two files, and is then the published ``r50k_base.tiktoken`` byte for byte.
    """
    if vocabulary != "gpt2":
        return _file(f"{VOCABULARIES[vocabulary]}.tiktoken")
    path = made_folder() / "r50k_base.tiktoken"
    if not path.exists():
        ranks = tiktoken_encoding("gpt2")._mergeable_ranks
        lines = [base64.b64encode(piece) + b" %d\n" % rank for piece, rank in sorted(ranks.items(), key=lambda x: x[1])]
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(b"".join(lines))
        unfinished.replace(path)
    return path


def source_path(vocabulary: str) -> Path | tuple[Path, Path]:
    """The original file(s) of a vocabulary: ``.tiktoken``, ``vocab.txt``, ``.model``, codes, vocabulary and merges."""
    if vocabulary in STAGED:
        return find_file(shared=STAGED[vocabulary])
    if vocabulary in SENTENCEPIECE_MODELS:
        return sentencepiece_file(vocabulary)
    if vocabulary in CHARACTER_BPE:
        files = [find_file(shared=name) for name in CHARACTER_BPE[vocabulary]]
        return files[0] if len(files) == 1 else (files[0], files[1])
    if vocabulary == "bert_multilingual":
        path = made_folder() / f"{vocabulary}.vocab.txt"
        if not path.exists():
            _write(path, "\n".join(read_words(words_file())) + "\n")
        return path
    if vocabulary in WORDPIECE:
        carried, shared, _ = WORDPIECE[vocabulary]
        return find_file(carried=carried, shared=shared)
    if vocabulary == "gpt2" or vocabulary in GPT2_BEGINNINGS:
        return _file("encoder.json"), _file("vocab.bpe")
    if vocabulary == "roberta":
        return (
            find_file(shared="vocab/roberta_bart/vocab.json"),
            find_file(shared="vocab/roberta_bart/merges.txt"),
        )
    return rank_file(vocabulary)


def _read_gpt2_files(vocab: Path, merges: Path) -> tuple[dict[str, int], list[list[str]]]:
    lines = merges.read_text(encoding="utf-8").splitlines()
    if lines and lines[0].startswith("#version"):
        lines = lines[1:]
    return json.loads(vocab.read_text(encoding="utf-8")), [line.split(" ") for line in lines if line]


def _first_merges(
    vocab: dict[str, int], merges: list[list[str]], n_merges: int
) -> tuple[dict[str, int], list[list[str]]]:
    """GPT-2 with so many merges: its ids are 256 bytes, what the merges give in their order, and the end of text."""
    last = 256 + n_merges
    kept = {token: number for token, number in vocab.items() if number < last}
    return {**kept, "<|endoftext|>": last}, merges[:n_merges]


def vocabulary_size(vocabulary: str) -> int:
    """Number of ids of GPT-2, or of one of :data:`GPT2_BEGINNINGS`."""
    return 256 + GPT2_BEGINNINGS.get(vocabulary, 50_000) + 1


def _write(path: Path, text: str) -> None:
    """Write a made file so that it is never there in part."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _character_json(vocabulary: str) -> Any:
    """As transformers writes it for GPT and CLIP."""
    from transformers import CLIPTokenizer, OpenAIGPTTokenizer

    source = source_path(vocabulary)
    if vocabulary == "gpt":
        from tokenizers.models import BPE

        assert isinstance(source, tuple)
        vocab, merges = BPE.read_file(*map(str, source))
        made = OpenAIGPTTokenizer(vocab=vocab, merges=merges)
    elif vocabulary == "clip":
        from vocab_tools.formats.character_vocab import read_clip

        assert isinstance(source, Path)
        described = read_clip(source)
        made = CLIPTokenizer(vocab=dict(described.vocabulary), merges=list(described.merges))
    else:
        raise ValueError(f"{vocabulary!r} has no tokenizer.json")
    return json.loads(made.backend_tokenizer.to_str())


def tokenizer_json_path(vocabulary: str) -> Path:
    """A ``tokenizer.json`` of the vocabulary, made once from its original files.

    Special tokens: those of tiktoken's definition; for ``roberta`` the five of its own vocabulary. Those of WordPiece
    are written by transformers' ``BertTokenizer``; those of :data:`STAGED` are the published files; those of
    :data:`SENTENCEPIECE_MODELS` are converted and keep the ids of the model.
    """
    if vocabulary in STAGED:
        return find_file(shared=STAGED[vocabulary])
    path = made_folder() / f"{vocabulary}.tokenizer.json"
    if path.exists():
        return path
    source = source_path(vocabulary)
    if vocabulary in WORDPIECE:
        from transformers import BertTokenizer

        made = json.loads(BertTokenizer(str(source), do_lower_case=WORDPIECE[vocabulary][2])._tokenizer.to_str())
    elif vocabulary in SENTENCEPIECE_MODELS:
        # imports of this project's wait: benchmarks of today measure commits that do not have all of it
        from tools.sentencepiece_to_tokenizer_json import convert_model

        made = convert_model(sentencepiece_file(vocabulary))
    elif vocabulary in CHARACTER_BPE:
        made = _character_json(vocabulary)
    elif isinstance(source, tuple):
        vocab, merges = _read_gpt2_files(*source)
        if vocabulary in GPT2_BEGINNINGS:
            vocab, merges = _first_merges(vocab, merges, GPT2_BEGINNINGS[vocabulary])
        names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if vocabulary == "roberta" else ["<|endoftext|>"]
        special = {name: vocab[name] for name in names}
        made = tokenizer_json(vocab, merges, special, None, ignore_merges=False, roberta=vocabulary == "roberta")
    else:
        name = VOCABULARIES[vocabulary]
        if name not in PATTERNS:
            raise ValueError(f"no hub spelling of the split pattern of {name!r} is known; known: {sorted(PATTERNS)}")
        made = convert_ranks(read_ranks(source), tiktoken_encoding(name)._special_tokens, PATTERNS[name])
    _write(path, json.dumps(made, ensure_ascii=False))
    return path


def untemplated_json_path(vocabulary: str) -> Path:
    """The same without a post-processor, for libraries that cannot be told to add no special tokens."""
    path = made_folder() / f"{vocabulary}.untemplated.tokenizer.json"
    if not path.exists():
        made = json.loads(tokenizer_json_path(vocabulary).read_text(encoding="utf-8"))
        _write(path, json.dumps({**made, "post_processor": None}, ensure_ascii=False))
    return path


@cache
def hf_tokenizer(vocabulary: str) -> Any:
    """Hugging Face ``Tokenizer`` of the vocabulary, from :func:`tokenizer_json_path`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_json_path(vocabulary)))
    # what a file may say of the lengths of model inputs
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def sentencepiece_file(vocabulary: str) -> Path:
    """The ``.model`` file of a vocabulary."""
    shared = SENTENCEPIECE_MODELS[vocabulary]
    return find_file(carried=shared.rpartition("/")[2] if vocabulary == "mistral_v3" else None, shared=shared)


@cache
def sentencepiece_processor(vocabulary: str) -> Any:
    """sentencepiece's processor of the vocabulary."""
    from sentencepiece import SentencePieceProcessor

    return SentencePieceProcessor(model_file=str(sentencepiece_file(vocabulary)))
