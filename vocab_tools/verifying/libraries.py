"""The libraries that the formats belong to, as encoders of rows; imported when they are asked for."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numba_nlp.errors import UnsupportedFeatureError
from vocab_tools.compiler.api import OpenedSource
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import Description
from vocab_tools.formats.reading import read_source

__all__ = ["Library", "library_of"]


class Library(NamedTuple):
    """An encoder of a library.

    Attributes
    ----------
    name : str
        Name and version.
    encode : callable
        From texts to rows of ids, or of tokens where the library has no ids.
    gives_tokens : bool
    """

    name: str
    encode: Callable[[Sequence[str]], list[list[Any]]]
    gives_tokens: bool = False


def library_of(source: OpenedSource) -> Library:
    """The library of a source's format, with its files.

    Parameters
    ----------
    source : OpenedSource

    Returns
    -------
    Library

    Raises
    ------
    UnsupportedFeatureError
        The library is not installed, or the format's is no library that encodes by itself (checkpoint folders, CTRL,
        CLIP, fastBPE).
    """
    description = source.description
    if not source.is_folder:
        if source.format == "sentencepiece":
            return _sentencepiece(source)
        if source.format == "tokenizer.json":
            return _of_tokenizers(_library("tokenizers").Tokenizer.from_file(str(source.paths[0])))
        if isinstance(description, WordPieceDescription):
            return _bert(source, description)
        if source.format == "tiktoken" and isinstance(description, Description):
            return _tiktoken(description)
        if source.format == "gpt2" and isinstance(description, Description):
            return _merges(source, description)
        if source.format == "gpt2" and isinstance(description, CharacterDescription) and description.words == "bert":
            return _merges(source, description)
        if source.format == "subword-nmt":
            return _subword_nmt(source)
    what = "a checkpoint folder" if source.is_folder else f"the format {source.format!r}"
    raise UnsupportedFeatureError(
        f"{', '.join(map(str, source.paths))}: {what} has no library that encodes by itself, so there is nothing to "
        "compare with; without a corpus the other checks are made"
    )


def _library(name: str, package: str | None = None) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UnsupportedFeatureError(
            f"comparing with {name} needs it, and it is not installed: pip install {package or name}"
        ) from None


def _versioned(name: str) -> str:
    from importlib.metadata import version

    return f"{name} {version(name)}"


def _sentencepiece(source: OpenedSource) -> Library:
    module = _library("sentencepiece")
    processor = module.SentencePieceProcessor(model_proto=read_source(source.paths[0]))
    return Library(_versioned("sentencepiece"), lambda texts: [processor.encode(text) for text in texts])


def _of_tokenizers(tokenizer: Any) -> Library:
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    return Library(_versioned("tokenizers"), encode)


def _merges(source: OpenedSource, description: Description | CharacterDescription) -> Library:
    """As transformers' classes of the families build it."""
    module = _library("tokenizers")
    paths = [str(path) for path in source.paths]
    if isinstance(description, CharacterDescription):
        names = {number: token for token, number in description.vocabulary.items()}
        model = module.models.BPE.from_file(
            *paths, unk_token=names[description.unknown], end_of_word_suffix=description.suffix
        )
        tokenizer = module.Tokenizer(model)
        tokenizer.normalizer = module.normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = module.pre_tokenizers.BertPreTokenizer()
    else:
        tokenizer = module.Tokenizer(module.models.BPE.from_file(*paths))
        tokenizer.pre_tokenizer = module.pre_tokenizers.ByteLevel(add_prefix_space=False)
    _add(module, tokenizer, description)
    return _of_tokenizers(tokenizer)


def _bert(source: OpenedSource, description: WordPieceDescription) -> Library:
    """As transformers' ``BertTokenizer`` builds it."""
    module = _library("tokenizers")
    unknown = description.pieces[description.unknown]
    tokenizer = module.Tokenizer(
        module.models.WordPiece.from_file(
            str(source.paths[0]),
            unk_token=unknown,
            max_input_chars_per_word=description.max_input_chars_per_word,
        )
    )
    tokenizer.normalizer = module.normalizers.BertNormalizer(
        clean_text=description.clean_text,
        handle_chinese_chars=description.handle_chinese_chars,
        strip_accents=description.strip_accents,
        lowercase=description.lowercase,
    )
    tokenizer.pre_tokenizer = module.pre_tokenizers.BertPreTokenizer()
    _add(module, tokenizer, description)
    return _of_tokenizers(tokenizer)


def _add(module: Any, tokenizer: Any, description: Any) -> None:
    """Special tokens of a family, which its files do not hold."""
    tokens = [
        module.AddedToken(
            token.content,
            lstrip=token.lstrip,
            rstrip=token.rstrip,
            single_word=token.single_word,
            normalized=token.normalized,
            special=True,
        )
        for token in description.added_tokens
    ]
    tokenizer.add_special_tokens(tokens)


def _tiktoken(description: Description) -> Library:
    module = _library("tiktoken")
    of_added = {token.id for token in description.added_tokens}
    encoding = module.Encoding(
        description.name,
        pat_str=description.pattern_regex,
        mergeable_ranks={
            piece: number
            for number, piece in enumerate(description.pieces)
            if piece is not None and number not in of_added
        },
        special_tokens={token.content: token.id for token in description.added_tokens},
    )
    return Library(_versioned("tiktoken"), lambda texts: [encoding.encode_ordinary(text) for text in texts])


def _subword_nmt(source: OpenedSource) -> Library:
    module = _library("subword_nmt.apply_bpe", "subword-nmt")
    options = source.options
    vocabulary = None
    if "vocabulary" in options:
        with open(options["vocabulary"], encoding="utf-8") as stream:
            vocabulary = module.read_vocabulary(stream, options.get("vocabulary_threshold"))
    encoder = module.BPE(
        io.StringIO(read_source(source.paths[0]).decode()),
        merges=options.get("merges", -1),
        separator=options.get("separator", "@@"),
        vocab=vocabulary,
    )

    def encode(texts: Sequence[str]) -> list[list[str]]:
        return [encoder.process_line(text).split() for text in texts]

    return Library(_versioned("subword-nmt"), encode, gives_tokens=True)
