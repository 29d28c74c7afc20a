"""Small valid files of every format that ``tools/fuzz_readers.py`` starts from, made of what the repository carries.

The vocabularies are those of the tests; SentencePiece models are trained on the carried text.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

import numba_nlp
import vocab_tools
from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from tests import checkpoint_folders, python_checkpoints, spm_folders, staged_tokenizers
from tests.vocab_tools import sources
from vocab_tools.formats.character_vocab import CLIP_IDS
from vocab_tools.formats.charsmap import encode_charsmap
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

__all__ = ["READERS", "Seed", "seeds_of"]

_BYTES = {bytes([byte]): byte for byte in range(256)}
_CODES = ["t h", "th e</w>", "i n", "in g</w>", "a n", "an d</w>", "q u", "o u", "e r", "er s</w>", "th er", "r e"]


@dataclass(frozen=True)
class Seed:
    """A valid source.

    Attributes
    ----------
    name : str
    files : dict of str to bytes
        Content by file name.
    paths : tuple of str
        Names that are given to the reader; empty: the folder.
    options : dict
        Of the reader; a Path is the name of one of the files.
    """

    name: str
    files: dict[str, bytes] = field(repr=False)
    paths: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def source(self, folder: Path) -> Path | list[Path]:
        """What the reader is given."""
        paths = [folder / name for name in self.paths]
        return folder if not paths else paths[0] if len(paths) == 1 else paths

    def given(self, folder: Path) -> dict[str, Any]:
        """Options of the reader."""
        return {key: folder / value if isinstance(value, Path) else value for key, value in self.options.items()}


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _of_folder(name: str, write: Callable[[Path], Any]) -> Seed:
    """A checkpoint folder that a function writes."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "checkpoint"
        folder.mkdir()
        write(folder)
        return Seed(name, {path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def _sentencepiece() -> Iterator[Seed]:
    kinds = ("unigram", "bpe", "bpe_llama", "unigram_spaces", "unigram_xlnet", "unigram_plain")
    for kind in kinds:
        yield Seed(kind, {"a.model": spm_folders.trained(kind)}, ("a.model",))
    with tempfile.TemporaryDirectory() as place:
        for model_type in ("word", "char"):
            path = Path(place) / f"{model_type}.model"
            python_checkpoints.train(path, python_checkpoints.HAMLET[:400], 200, model_type=model_type)
            yield Seed(model_type, {"a.model": path.read_bytes()}, ("a.model",))
    # a charsmap of few rules, so that damage meets the rules and not only their room
    small = ModelProto.FromString(spm_folders.trained("unigram_plain"))
    rules = {"é": "e", "e\u0301": "é", "\u00a0": " ", "A": "a", "\t": " ", "ﬁ": "fi"}
    small.normalizer_spec.precompiled_charsmap = encode_charsmap({a.encode(): b.encode() for a, b in rules.items()})
    small.denormalizer_spec.precompiled_charsmap = encode_charsmap({b"fi": "ﬁ".encode()})
    yield Seed("small charsmap", {"a.spm": small.SerializeToString()}, ("a.spm",))


def _tokenizer_json() -> Iterator[Seed]:
    def seed(name: str, value: Any) -> Seed:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Seed(name, {"tokenizer.json": text.encode()}, ("tokenizer.json",))

    for name in staged_tokenizers.NAMES:
        yield seed(name, staged_tokenizers.made(name).to_str())
    trained = json.loads(sources.train(300, special_tokens=["<s>", "</s>"]).to_str())
    yield seed("byte level", {**trained, "decoder": sources.BYTE_LEVEL})
    pieces = sources.vocabulary("th", "the", specials=["<mask>"])
    mask = sources.added("<mask>", 258, lstrip=True)
    yield seed("byte level template", sources.tokenizer_file(
        pieces, ["t h", "th e"], [mask],
        post_processor={"type": "RobertaProcessing", "sep": ["<mask>", 258], "cls": ["<mask>", 258],
                        "trim_offsets": True, "add_prefix_space": True},
    ))  # fmt: skip
    split = {
        "type": "Split",
        "pattern": {"Regex": r"\p{L}+|\p{N}{1,3}|\s+|[^\s]"},
        "behavior": "Isolated",
        "invert": False,
    }
    plain = {**sources.BYTE_LEVEL, "use_regex": False}
    yield seed("byte level regex", sources.tokenizer_file(
        pieces, ["t h", "th e"], [mask], pre_tokenizer={"type": "Sequence", "pretokenizers": [split, plain]}
    ))  # fmt: skip


def _merged(vocabulary: tuple[dict[str, int], list[tuple[str, str]]]) -> dict[str, bytes]:
    files = checkpoint_folders.merged_files(vocabulary)
    return {
        "vocab.json": json.dumps(files["vocab.json"], ensure_ascii=False).encode(),
        "merges.txt": files["merges.txt"].encode(),
    }


def _gpt2() -> Iterator[Seed]:
    both = ("vocab.json", "merges.txt")
    yield Seed("gpt2", _merged(checkpoint_folders.byte_level("<|endoftext|>")), both)
    yield Seed(
        "roberta",
        _merged(checkpoint_folders.byte_level("<s>", "<pad>", "</s>", "<unk>", "<mask>")),
        both,
        {"family": "roberta"},
    )
    yield Seed("clip", _merged(checkpoint_folders.end_of_word("<|startoftext|>", "<|endoftext|>")), both)
    yield Seed("openai-gpt", _merged(checkpoint_folders.end_of_word("<unk>")), both, {"family": "openai-gpt"})
    ctrl = _of_folder("ctrl", python_checkpoints.ctrl_folder)
    yield Seed("ctrl", {name: ctrl.files[name] for name in both}, both, {"family": "ctrl"})


def _tiktoken() -> Iterator[Seed]:
    with tempfile.TemporaryDirectory() as place:
        ranks = {
            **_BYTES,
            **{piece: 256 + number for number, piece in enumerate((b"th", b"the", b" the", b"in", b"ing"))},
        }
        content = sources.write_ranks(Path(place) / "a.tiktoken", ranks).read_bytes()
    files = {"a.tiktoken": content}
    yield Seed("gpt2", files, ("a.tiktoken",), {"pattern": "gpt2"})
    yield Seed(
        "gaps", files, ("a.tiktoken",), {"pattern": "o200k", "special_tokens": {"<|end|>": 300}, "allow_gaps": True}
    )
    yield Seed("regex", files, ("a.tiktoken",), {"pattern": r"\p{L}+|\s+|[^\s]"})


def _vocab_txt() -> Iterator[Seed]:
    files = {"vocab.txt": checkpoint_folders.bert_files()["vocab.txt"].encode()}
    yield Seed("lower", files, ("vocab.txt",))
    yield Seed("cased", files, ("vocab.txt",), {"do_lower_case": False, "max_input_chars_per_word": 5})


def _subword_nmt() -> Iterator[Seed]:
    words = _text(
        [f"{word} {count}" for count, word in enumerate(("the", "th@@", "in@@", "ing", "and", "q@@", "u@@"), 3)]
    )
    codes = {"codes.txt": _text(["#version: 0.2", *_CODES])}
    yield Seed("codes", codes, ("codes.txt",))
    yield Seed("old codes", {"codes.txt": _text(_CODES)}, ("codes.txt",), {"merges": 7, "separator": "##"})
    yield Seed(
        "vocabulary",
        {**codes, "words.txt": words},
        ("codes.txt",),
        {"vocabulary": Path("words.txt"), "vocabulary_threshold": 5},
    )


def _fastbpe() -> Iterator[Seed]:
    codes = {"a.codes": _text([f"{merge} {100 - number}" for number, merge in enumerate(_CODES)])}
    words = _text([f"{word} {count}" for count, word in enumerate(("the", "th@@", "in@@", "ing", "and"), 3)])
    yield Seed("codes", codes, ("a.codes",))
    yield Seed("vocabulary", {**codes, "words.txt": words}, ("a.codes",), {"vocabulary": Path("words.txt")})


def _clip() -> Iterator[Seed]:
    pairs = product(sorted(BYTE_CHARACTERS), repeat=2)
    lines = [f"{left} {right}" for left, right in islice(pairs, CLIP_IDS - 2 - 2 * 256)]
    packed = gzip.compress(_text(['"bpe_simple_vocab_16e6.txt#version: 0.2', *lines]), 6, mtime=0)
    yield Seed("clip", {"clip.txt.gz": packed}, ("clip.txt.gz",))


def _marian() -> Iterator[Seed]:
    yield _of_folder("one list", python_checkpoints.marian_folder)
    yield _of_folder(
        "two lists", lambda folder: python_checkpoints.marian_folder(folder, separate=True, model_type="bpe")
    )


def _checkpoints() -> Iterator[Seed]:
    config = {
        "added_tokens_decoder": {
            "1": {
                "content": "<x>",
                "lstrip": True,
                "rstrip": False,
                "single_word": False,
                "normalized": False,
                "special": True,
            }
        }
    }
    roberta = {
        **checkpoint_folders.merged_files(checkpoint_folders.byte_level("<s>", "<pad>", "</s>", "<unk>", "<mask>")),
        "tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True},
        "special_tokens_map.json": {"mask_token": {"content": "<mask>"}, "extra_special_tokens": ["<x>"]},
        "added_tokens.json": {"<new>": 270, "<x>": 271},
        "config.json": {"model_type": "roberta"},
    }  # fmt: skip
    bert = {
        **checkpoint_folders.bert_files(),
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": False, **config},
    }
    for name, files in (("roberta", roberta), ("bert", bert)):
        yield _of_folder(name, lambda folder, files=files: checkpoint_folders.write_folder(folder, files))
    fast = {"tokenizer.json": staged_tokenizers.made("unigram bytes").to_str(), "tokenizer_config.json": {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"}}  # fmt: skip
    yield _of_folder("fast", lambda folder: checkpoint_folders.write_folder(folder, fast))
    for name, kind, file, values in (
        ("T5Tokenizer", "unigram_t5", "spiece.model", {"extra_ids": 3}),
        ("LlamaTokenizer", "bpe_llama", "tokenizer.model", {"add_bos_token": True, "legacy": False}),
        ("XLMRobertaTokenizer", "unigram", "sentencepiece.bpe.model", {"additional_special_tokens": ["<x>"]}),
        ("MBartTokenizer", "unigram", "sentencepiece.bpe.model", {"src_lang": "en_XX", "tgt_lang": "ro_RO"}),
        ("AlbertTokenizer", "unigram_albert", "spiece.model", {"do_lower_case": True, "keep_accents": True}),
        ("XLNetTokenizer", "unigram_xlnet", "spiece.model", {"remove_space": True}),
    ):
        yield _of_folder(name, lambda folder, n=name, k=kind, f=file, v=values: spm_folders.folder_of(
            folder, n, k, f, tokenizer_config=v, added_tokens={"<new>": 500}, special_tokens_map={"unk_token": "<unk>"}
        ))  # fmt: skip
    yield _of_folder("m2m100", python_checkpoints.m2m100_folder)
    yield _of_folder("ctrl", python_checkpoints.ctrl_folder)


def _compiled() -> Iterator[Seed]:
    chosen = (
        *islice(_sentencepiece(), 3), *islice(_tokenizer_json(), 0, None, 3), *_gpt2(), *_tiktoken(),
        *islice(_vocab_txt(), 1), *islice(_subword_nmt(), 1), *islice(_marian(), 1),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        for number, seed in enumerate(chosen):
            folder = Path(place) / str(number)
            checkpoint_folders.write_folder(folder, {})
            for name, content in seed.files.items():
                (folder / name).write_bytes(content)
            made = vocab_tools.compile(seed.source(folder), **seed.given(folder), keep_source=number % 2 == 0)
            yield Seed(f"{number} {seed.name}", {"a.safetensors": made.to_bytes()}, ("a.safetensors",))


READERS: dict[str, Callable[[], Iterator[Seed]]] = {
    "sentencepiece": _sentencepiece,
    "tokenizer.json": _tokenizer_json,
    "merges.txt": _gpt2,
    "tiktoken": _tiktoken,
    "vocab.txt": _vocab_txt,
    "subword-nmt": _subword_nmt,
    "fastbpe": _fastbpe,
    "clip": _clip,
    "marian": _marian,
    "checkpoint": _checkpoints,
    "compiled": _compiled,
}


def seeds_of(reader: str) -> list[Seed]:
    """The seeds of a reader, each checked to load."""
    found = list(READERS[reader]())
    for seed in found:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for name, content in seed.files.items():
                (folder / name).write_bytes(content)
            numba_nlp.load_tokenizer(seed.source(folder), **seed.given(folder))
    return found
