"""What trainers give back: a vocabulary that can be written, described and compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import ConversionError, SourceFormatError
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler import byte_bpe, character_bpe, staged, wordpiece
from vocab_tools.compiler.api import AnyDescription
from vocab_tools.formats import subword_codes, tokenizer_json
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import BertOptions, CharacterDescription
from vocab_tools.formats.character_vocab import SUFFIX
from vocab_tools.formats.sentencepiece_model import SentencePieceModel
from vocab_tools.formats.sentencepiece_writer import serialize
from vocab_tools.formats.staged_json import StagedDescription
from vocab_tools.formats.writers.json_text import json_bytes, tokenizer_bytes
from vocab_tools.formats.writers.text_files import codes_bytes, merges_bytes, words_bytes
from vocab_tools.training import _documents
from vocab_tools.training._bpe_model import bpe_model_of

__all__ = ["TrainedBpe", "TrainedWordPiece"]


def _write(path: str | PathLike[str], content: bytes) -> None:
    with atomic_writer(path) as stream:
        stream.write(content)


class _Described:
    """What both have in common: the document of a ``tokenizer.json`` says everything."""

    name: str

    def document(self) -> dict[str, Any]:
        raise NotImplementedError

    def write_tokenizer_json(self, path: str | PathLike[str]) -> None:
        """Write a ``tokenizer.json``, whole or not at all."""
        _write(path, tokenizer_bytes(self.document()))

    def description(self) -> AnyDescription:
        """The neutral description that the compiler takes: what is read back from the file."""
        document = self.document()
        digest = hashlib.sha256(tokenizer_bytes(document)).hexdigest()
        return tokenizer_json.read_document(document, self.name, "", digest, name=self.name)

    def compile(self) -> Vocabulary:
        """Compile the vocabulary.

        Raises
        ------
        UnsupportedFeatureError
            Words are cut in a way that this kind of vocabulary cannot be compiled with.
        """
        described = self.description()
        if isinstance(described, StagedDescription):
            return Vocabulary(*staged.build_arrays(described))
        if isinstance(described, WordPieceDescription):
            return Vocabulary(*wordpiece.build_arrays(described))
        if isinstance(described, CharacterDescription):
            return Vocabulary(*character_bpe.build_arrays(described))
        return Vocabulary(*byte_bpe.build_arrays(described))  # type: ignore[arg-type]


@dataclass(frozen=True)
class TrainedBpe(_Described):
    """A BPE vocabulary made by :func:`vocab_tools.training.bpe.train_bpe`.

    Attributes
    ----------
    name : str
    kind : {"byte-level", "character", "subword-nmt", "sentencepiece"}
    vocabulary : Mapping of str to int
        Tokens, as files write them, and their ids: special tokens, user-defined symbols, characters, products.
    merges : tuple of (str, str)
        In order of rank.
    reached : bool
        Whether the size asked for was reached; else no pair was left, or none was frequent enough.
    special_tokens, user_defined_symbols : tuple of str
    cut : str or BertOptions
        How text is cut into words (:func:`vocab_tools.training.counts.count_words`).
    add_prefix_space, byte_fallback : bool
    unk_token : str or None
    continuing_subword_prefix, end_of_word_suffix : str
    """

    name: str
    kind: str
    vocabulary: Mapping[str, int] = field(repr=False)
    merges: tuple[tuple[str, str], ...] = field(repr=False)
    reached: bool
    special_tokens: tuple[str, ...] = ()
    user_defined_symbols: tuple[str, ...] = ()
    cut: str | BertOptions = "gpt2"
    add_prefix_space: bool = False
    byte_fallback: bool = False
    unk_token: str | None = None
    continuing_subword_prefix: str = ""
    end_of_word_suffix: str = ""

    def document(self) -> dict[str, Any]:
        """The content of a ``tokenizer.json``.

        Raises
        ------
        SourceFormatError
            Codes of subword-nmt have no ids, so that there is none.
        """
        if self.kind == "subword-nmt":
            raise SourceFormatError("codes of subword-nmt have no ids; use write_codes(path)")
        return _documents.document(
            _documents.added_tokens(self.vocabulary, self.special_tokens, self.user_defined_symbols),
            _documents.bpe_stages(
                self.kind,
                self.cut,
                add_prefix_space=self.add_prefix_space,
                suffix=self.end_of_word_suffix,
                byte_fallback=self.byte_fallback,
            ),
            _documents.bpe_model(
                self.vocabulary,
                self.merges,
                unk_token=self.unk_token,
                prefix=self.continuing_subword_prefix,
                suffix=self.end_of_word_suffix,
                byte_fallback=self.byte_fallback,
            ),
        )

    def write_gpt2_files(self, folder: str | PathLike[str]) -> tuple[Path, Path]:
        """Write ``vocab.json`` and ``merges.txt`` into a folder, which is made when it is not there.

        They hold neither the pattern nor other options: a reader has to know ``cut``, ``add_prefix_space`` and marks.
        :func:`vocab_tools.convert` of a ``tokenizer.json`` refuses what readers do not know.

        Raises
        ------
        ConversionError
            A merge holds white space, which ``merges.txt`` cannot write.
        """
        merges = merges_bytes(self.merges)
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        paths = place / "vocab.json", place / "merges.txt"
        _write(paths[0], json_bytes(dict(sorted(self.vocabulary.items(), key=lambda item: item[1]))))
        _write(paths[1], merges)
        return paths

    def sentencepiece_model(self) -> SentencePieceModel:
        """The vocabulary as a SentencePiece BPE model.

        A piece has the place at which it was made, negated, as its score. sentencepiece merges any two neighbours that
        make a piece, where tokenizers takes listed pairs only, so text that the corpus did not have may be cut
        otherwise than by :meth:`compile`; and a text that begins with a space gets another one before it.

        Raises
        ------
        ConversionError
            The kind is another, or there is no unknown token, which a ``.model`` needs.
        """
        if self.kind != "sentencepiece":
            raise ConversionError(f"a .model holds BPE of kind 'sentencepiece', this is {self.kind!r}")
        if self.unk_token is None:
            raise ConversionError("a .model needs an unknown piece; train with unk_token=, among special_tokens")
        return bpe_model_of(
            self.name,
            self.vocabulary,
            self.merges,
            unknown=self.unk_token,
            control=self.special_tokens,
            user_defined=self.user_defined_symbols,
            byte_fallback=self.byte_fallback,
        )

    def write_model(self, path: str | PathLike[str]) -> None:
        """Write a SentencePiece ``.model``, whole or not at all; see :meth:`sentencepiece_model`."""
        _write(path, serialize(self.sentencepiece_model()))

    def write_codes(self, path: str | PathLike[str]) -> None:
        """Write codes of subword-nmt.

        Raises
        ------
        ConversionError
            Pieces are not written as there, or hold white space.
        """
        if self.end_of_word_suffix != SUFFIX or self.kind not in ("subword-nmt", "character"):
            raise ConversionError(f"codes have {SUFFIX!r} at ends of words; train a vocabulary that has it")
        _write(path, codes_bytes(self.merges))

    def description(self) -> AnyDescription:
        """The neutral description that the compiler takes: what is read back from the file."""
        if self.kind != "subword-nmt":
            return super().description()
        return subword_codes.describe_codes(
            Path(self.name),
            tuple(dict.fromkeys(self.merges)),
            hashlib.sha256(codes_bytes(self.merges)).hexdigest(),
            "subword-nmt",
            separator="@@",
            vocabulary=None,
            vocabulary_threshold=None,
            name=self.name,
        )


@dataclass(frozen=True)
class TrainedWordPiece(_Described):
    """A WordPiece vocabulary made by :func:`vocab_tools.training.wordpiece.train_wordpiece`.

    Attributes
    ----------
    name : str
    vocabulary : Mapping of str to int
        Tokens and their ids: special tokens, characters, products.
    reached : bool
        Whether the size asked for was reached.
    special_tokens : tuple of str
    unk_token : str
    continuing_subword_prefix : str
    max_input_chars_per_word : int
        Longer words are unknown when text is encoded.
    options : BertOptions
        Of the normaliser.
    """

    name: str
    vocabulary: Mapping[str, int] = field(repr=False)
    reached: bool
    special_tokens: tuple[str, ...]
    unk_token: str
    continuing_subword_prefix: str
    max_input_chars_per_word: int
    options: BertOptions

    def document(self) -> dict[str, Any]:
        """The content of a ``tokenizer.json``."""
        prefix = self.continuing_subword_prefix
        return _documents.document(
            _documents.added_tokens(self.vocabulary, self.special_tokens, ()),
            _documents.wordpiece_stages(self.vocabulary, self.options, prefix),
            _documents.wordpiece_model(self.vocabulary, self.unk_token, prefix, self.max_input_chars_per_word),
        )

    def write_vocab_txt(self, path: str | PathLike[str]) -> None:
        """Write a ``vocab.txt``: one token a line, by id.

        It holds no options of the normaliser: a reader is given ``do_lower_case`` and its like.

        Raises
        ------
        ConversionError
            A token that no line can be, or a prefix other than that of BERT.
        """
        if self.continuing_subword_prefix != "##":
            raise ConversionError(
                f"a vocab.txt is read with the prefix '##' inside words, not {self.continuing_subword_prefix!r}; a "
                "tokenizer.json keeps it"
            )
        described = self.description()
        assert isinstance(described, WordPieceDescription)
        _write(path, words_bytes(described))
