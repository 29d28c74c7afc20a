"""What one tokenizer class of transformers is here: its files, its defaults and how its tokenizer.json looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vocab_tools.checkpoints.document import Document
    from vocab_tools.checkpoints.files import Folder
    from vocab_tools.checkpoints.settings import Settings

__all__ = ["DirectFamily", "Family", "Native"]


@dataclass(frozen=True)
class Native:
    """What a class is built from: parts of a tokenizer.json, or of the vocabulary files that stand in for it."""

    vocab: dict[str, int] | list[tuple[str, float]] | None = None
    """Tokens and their ids, or (Unigram) pieces and their scores in the order of their ids."""
    merges: list[tuple[str, str]] | None = None
    charsmap: bytes | None = None
    """The precompiled character map of a SentencePiece model."""
    post_processor: dict[str, Any] | None = None
    """The post-processor of the tokenizer.json, for classes that keep it."""


@dataclass(frozen=True)
class Family:
    """One tokenizer class: all that the folder of a checkpoint does not say."""

    names: tuple[str, ...]
    """Names of the class in tokenizer_config.json, without "Fast"."""
    files: Mapping[str, str]
    """Argument of the class -> file name, ``{"vocab_file": "spiece.model", "tokenizer_file": "tokenizer.json"}``."""
    model: str | None
    """Kind of the model, ``"Unigram"``, ``"BPE"`` or ``"WordPiece"``; None when the file is taken as it is."""
    defaults: Mapping[str, Any]
    """Keyword arguments of the class with their defaults."""
    build: Callable[[dict[str, Any], Native], dict[str, Any]]
    """Options (the defaults with the settings over them; may be changed in place) and parts -> ``model``,
    ``normalizer``, ``pre_tokenizer``, ``decoder`` and perhaps ``post_processor`` of a tokenizer.json."""
    finish: Callable[[Document, dict[str, Any]], None] | None = None
    """Called when the tokens are added: what needs their ids, such as a template."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the description that the class sets otherwise than its tokenizer.json says."""


@dataclass(frozen=True)
class DirectFamily:
    """A tokenizer class that is no pipeline of tokenizers: it gives its description itself."""

    names: tuple[str, ...]
    """As of :class:`Family`."""
    files: Mapping[str, str]
    """As of :class:`Family`."""
    defaults: Mapping[str, Any]
    """As of :class:`Family`."""
    describe: Callable[[Folder, Settings, dict[str, Any]], Any]
    """Folder, settings, and options (the defaults with ``settings.values`` over them) -> a description that a compiler
    takes. Name, digest, the policy for special tokens and model inputs without a template are filled in afterwards."""
