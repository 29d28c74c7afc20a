"""``compile``: from source files to a compiled vocabulary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from numba_nlp._arguments import shown
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError, VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.checkpoints import hub
from vocab_tools.compiler import byte_bpe, character_bpe, renumbered_model, sentencepiece, staged, wordpiece
from vocab_tools.compiler.kept_source import keep_files
from vocab_tools.compiler.option_types import check_options
from vocab_tools.formats import (
    bert_vocab,
    character_vocab,
    fastbpe_codes,
    sentencepiece_model,
    subword_codes,
    tiktoken_file,
    tokenizer_json,
)
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import Description
from vocab_tools.formats.detect import detect
from vocab_tools.formats.renumbered_model import RenumberedModel
from vocab_tools.formats.sentencepiece_model import SentencePieceModel
from vocab_tools.formats.staged_json import StagedDescription

__all__ = [
    "AnyDescription",
    "OpenedSource",
    "build_arrays",
    "compile",
    "describe_source",
    "from_pairs",
    "open_source",
]

AnyDescription = (
    Description | StagedDescription | WordPieceDescription | CharacterDescription | SentencePieceModel | RenumberedModel
)
_POLICIES = ("raise", "match", "plain")
#: Reader of each format, and the options that only some formats have.
_READERS: dict[str, tuple[Callable[..., AnyDescription], tuple[str, ...]]] = {
    "gpt2": (character_vocab.read, ("family", "allow_gaps")),
    "clip": (character_vocab.read_clip, ()),
    "subword-nmt": (subword_codes.read, ("merges", "separator", "vocabulary", "vocabulary_threshold")),
    "fastbpe": (fastbpe_codes.read, ("merges", "vocabulary", "vocabulary_threshold")),
    "tokenizer.json": (tokenizer_json.read, ("ignore", "allow_gaps")),
    "tiktoken": (tiktoken_file.read, ("pattern", "special_tokens", "allow_gaps")),
    "vocab.txt": (
        bert_vocab.read,
        (
            "do_lower_case",
            "strip_accents",
            "tokenize_chinese_chars",
            "max_input_chars_per_word",
            "unk_token",
            "sep_token",
            "pad_token",
            "cls_token",
            "mask_token",
        ),
    ),
    "sentencepiece": (sentencepiece_model.read, ()),
}
#: Arguments of :func:`compile` that a checkpoint has no use for: its files decide.
_NOT_OF_CHECKPOINTS = (
    "family", "ignore", "max_input_chars_per_word", "merges", "pattern", "separator", "special_tokens", "vocabulary",
    "vocabulary_threshold",
)  # fmt: skip
#: Arguments of :func:`compile` that are None when they are not given.
_NAMED_OPTIONS = frozenset(
    (*_NOT_OF_CHECKPOINTS, "allow_gaps", *(option for _, options in _READERS.values() for option in options))
)


def compile(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    family: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    do_lower_case: bool | None = None,
    strip_accents: bool | None = None,
    tokenize_chinese_chars: bool | None = None,
    max_input_chars_per_word: int | None = None,
    unk_token: str | None = None,
    sep_token: str | None = None,
    pad_token: str | None = None,
    cls_token: str | None = None,
    mask_token: str | None = None,
    merges: int | None = None,
    separator: str | None = None,
    vocabulary: str | PathLike[str] | None = None,
    vocabulary_threshold: int | None = None,
    special: str | None = None,
    ignore: Sequence[str] | None = None,
    name: str | None = None,
    allow_gaps: bool = False,
    keep_source: bool = True,
    **settings: Any,
) -> Vocabulary:
    """Compile a vocabulary source.

    Parameters
    ----------
    source : path-like or iterable of path-like
        A ``tokenizer.json``, ``vocab.json`` and ``merges.txt``, a ``vocab.txt`` of BERT, a ``.tiktoken`` rank file,
        a SentencePiece ``.model``, codes of subword-nmt, or CLIP's ``bpe_simple_vocab_16e6.txt.gz``. Or a checkpoint: a
        folder, or its name on the Hugging Face hub, ``"name"`` or ``"owner/name"`` (``docs/checkpoints.md``).
    family : {"gpt2", "roberta", "openai-gpt", "ctrl", "clip"}, optional
        For ``vocab.json`` and ``merges.txt``: whose special tokens, template and spans; inferred where the vocabulary
        leaves no doubt.
    pattern : str, optional
        For ``.tiktoken``: name of the pre-token pattern, or a regular expression; known files need none.
    special_tokens : Mapping of str to int, optional
        For ``.tiktoken``: special tokens and their ids; those of known files are known.
    do_lower_case, tokenize_chinese_chars : bool, optional
        For ``vocab.txt``, as of transformers' ``BertTokenizer``: True by default. A vocabulary with case needs
        ``do_lower_case=False``.
    strip_accents : bool, optional
        For ``vocab.txt``: by default as ``do_lower_case``.
    max_input_chars_per_word : int, optional
        For ``vocab.txt``: longer words are unknown; 100 by default.
    unk_token, sep_token, pad_token, cls_token, mask_token : str, optional
        For ``vocab.txt``: the special tokens, ``"[UNK]"`` and its like by default.
    merges, separator : int, str, optional
        For codes of subword-nmt: how many of them to use, and what stands behind a token that others follow in its
        word (``"@@"`` by default).
    vocabulary, vocabulary_threshold : path-like, int, optional
        For codes of subword-nmt: tokens and their frequencies; merges that make others, or rarer ones, are taken back.
    special : {"raise", "match", "plain"}, optional
        What is done with special tokens written in the text; by default what the format's reference does.
    ignore : sequence of {"truncation", "padding"}, optional
        For ``tokenizer.json``: settings of the file to leave out instead of refusing it for them.
    name : str, optional
        Name of the vocabulary.
    allow_gaps : bool
        Accept ids that no piece has (in formats that write ids down); those of a checkpoint are always accepted.
    keep_source : bool
        Keep the files of the source, packed, in the vocabulary (about a tenth of its size more), so that
        :func:`vocab_tools.convert` can give them back.
    **settings
        For a checkpoint: keyword arguments of its tokenizer class, which count more than its files; of those named
        above ``do_lower_case``, ``unk_token`` and their like too. ``revision``, ``subfolder``, ``cache_dir``, ``token``
        and ``local_files_only`` say where it is taken from.

    Returns
    -------
    Vocabulary

    Raises
    ------
    FileNotFoundError
        A path does not exist.
    SourceFormatError
        A source breaks its format, or an option does not apply to it.
    TypeError
        A source is no path, or an option of another type.
    UnsupportedFeatureError
        A source asks for what this version cannot reproduce exactly.

    Examples
    --------
    >>> import vocab_tools
    >>> vocab_tools.compile("cl100k_base.tiktoken").save("cl100k_base.safetensors")  # doctest: +SKIP
    """
    options = {
        "family": family,
        "pattern": pattern,
        "special_tokens": special_tokens,
        "do_lower_case": do_lower_case,
        "strip_accents": strip_accents,
        "tokenize_chinese_chars": tokenize_chinese_chars,
        "max_input_chars_per_word": max_input_chars_per_word,
        "unk_token": unk_token,
        "sep_token": sep_token,
        "pad_token": pad_token,
        "cls_token": cls_token,
        "mask_token": mask_token,
        "merges": merges,
        "separator": separator,
        "vocabulary": vocabulary,
        "vocabulary_threshold": vocabulary_threshold,
        "ignore": ignore,
        "allow_gaps": None if allow_gaps is False else allow_gaps,
        **settings,
    }
    opened = open_source(source, special=special, name=name, **options)
    with _naming((str(source),) if opened.is_folder else opened.paths, opened.description.name):
        arrays, metadata = build_arrays(opened.description, special)
        if keep_source:
            kept_arrays, kept_metadata = keep_files(opened.paths, opened.is_folder, opened.options)
            arrays, metadata = {**arrays, **kept_arrays}, {**metadata, **kept_metadata}
        return Vocabulary(arrays, metadata)


def build_arrays(
    description: AnyDescription, special: str | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a description with the compiler of its kind.

    Parameters
    ----------
    description : Description or another of :data:`AnyDescription`
    special : str, optional
        What is done with control pieces written in the text; of a SentencePiece model, whose description has none.

    Returns
    -------
    arrays, metadata : dict, dict
        What :class:`numba_nlp.vocabulary.Vocabulary` takes.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`compile`.
    """
    if isinstance(description, SentencePieceModel):
        return sentencepiece.build_arrays(description, special or "plain")
    if isinstance(description, RenumberedModel):
        return renumbered_model.build_arrays(description)
    if isinstance(description, StagedDescription):
        return staged.build_arrays(description)
    if isinstance(description, WordPieceDescription):
        return wordpiece.build_arrays(description)
    if isinstance(description, CharacterDescription):
        return character_bpe.build_arrays(description)
    return byte_bpe.build_arrays(description)


@contextmanager
def _naming(paths: Sequence[str | Path], name: str) -> Iterator[None]:
    """Let errors of what is derived from a source begin with its path, instead of the vocabulary's name."""
    place = ", ".join(map(str, paths))
    try:
        yield
    except VocabularyFormatError as error:
        raise SourceFormatError(
            f"{place}: what the source states makes no sound vocabulary; is it damaged? ({error})"
        ) from error
    except (SourceFormatError, UnsupportedFeatureError) as error:
        message = str(error).removeprefix(f"{name}: ")
        if any(str(path) in message for path in paths):
            raise
        raise type(error)(f"{place}: {message}") from error


class OpenedSource(NamedTuple):
    """A source that was read.

    Attributes
    ----------
    format : str
        As :func:`vocab_tools.formats.detect.detect` calls it; of a checkpoint the ``source_format`` of its description.
    paths : tuple of Path
        Files that were read; a file of tokens and their frequencies is the last one.
    is_folder : bool
        A checkpoint.
    options : dict
        Options that were given.
    description : Description or another of :data:`AnyDescription`
    """

    format: str
    paths: tuple[Path, ...]
    is_folder: bool
    options: dict[str, Any]
    description: AnyDescription


def describe_source(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    special: str | None = None,
    name: str | None = None,
    **options: Any,
) -> AnyDescription:
    """Read a vocabulary source without compiling it.

    Parameters
    ----------
    source, special, name
        As :func:`compile`.
    **options
        The other arguments of :func:`compile`; those that are None are left to the format.

    Returns
    -------
    Description, StagedDescription, WordPieceDescription, CharacterDescription or SentencePieceModel
        The last one without the policy for special tokens.

    Raises
    ------
    FileNotFoundError, SourceFormatError, UnsupportedFeatureError
        As :func:`compile`.
    """
    return open_source(source, special=special, name=name, **options).description


def open_source(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    special: str | None = None,
    name: str | None = None,
    **options: Any,
) -> OpenedSource:
    """Read a source and say which files it has; arguments and errors as :func:`describe_source`."""
    policy: Any = special
    if policy is not None and not (isinstance(policy, str) and policy in _POLICIES):
        raise SourceFormatError(f"special must be one of {', '.join(map(repr, _POLICIES))}, got {shown(special)}")
    check_options({"name": name})
    if isinstance(source, str) and not source:
        raise SourceFormatError("`source` is an empty path; give that of a file or of a checkpoint's folder")
    if isinstance(source, str | PathLike) and (Path(source).is_dir() or hub.is_hub_name(source)):
        return _open_checkpoint(source, special, name, options)
    found = detect(source)
    given = {option: value for option, value in options.items() if value is not None}
    reader, known = _READERS[found.format]
    for option in given:
        if option not in known:
            takers = [kind for kind, (_, accepted) in _READERS.items() if option in accepted]
            if option in hub.HUB_OPTIONS:
                raise TypeError(f"{option}= is for names of checkpoints on the hub; {found.paths[0]} is a file")
            if not takers:
                raise TypeError(f"{option!r} is no option of any source")
            raise SourceFormatError(
                f"{option}= does not apply to {found.paths[0]} (format {found.format!r}), only to "
                f"{' and '.join(map(repr, takers))}"
            )
    check_options(given)
    description = reader(*found.paths, name=name, **given)
    if special is not None and not isinstance(description, SentencePieceModel):
        description = dataclasses.replace(description, special_policy=special)
    paths = found.paths if "vocabulary" not in given else (*found.paths, Path(given["vocabulary"]))
    return OpenedSource(found.format, paths, False, given, description)


def _open_checkpoint(
    source: str | PathLike[str], special: str | None, name: str | None, options: dict[str, Any]
) -> OpenedSource:
    from vocab_tools.checkpoints.describe import describe

    given = {option: value for option, value in options.items() if value is not None or option not in _NAMED_OPTIONS}
    for option in _NOT_OF_CHECKPOINTS:
        if option in given:
            raise SourceFormatError(f"{option}= does not apply to {source}, which is a checkpoint")
    given.pop("allow_gaps", None)
    place = {option: given.pop(option) for option in hub.HUB_OPTIONS if option in given}
    folder = hub.open_folder(source, place)
    description: Any = describe(folder, given, name=name)
    described: AnyDescription = (
        description if special is None else dataclasses.replace(description, special_policy=special)
    )
    return OpenedSource(described_format(described), folder.paths_read, True, given, described)


def described_format(description: AnyDescription) -> str:
    """``source_format`` of a description."""
    return "sentencepiece" if isinstance(description, SentencePieceModel) else description.source_format


def from_pairs(
    pairs: Mapping[str, float] | Mapping[tuple[str, str], float],
    *,
    end_of_word: str = "",
    unknown: str = "<unk>",
    name: str = "pairs",
) -> Vocabulary:
    """Compile a character BPE vocabulary from pairs and their frequencies.

    Words are what white space parts. In each, from its characters on, the adjacent pair with the highest frequency
    merges first, the leftmost among equals, until no pair is listed.

    Parameters
    ----------
    pairs : Mapping of str or (str, str) to number
        ``"l o"`` or ``("l", "o")``.
    end_of_word : str
        What the last character of a word has behind it in the pairs, such as ``"</w>"``.
    unknown : str
        Token of characters that are in no pair; its id is 0.
    name : str
        Name of the vocabulary.

    Returns
    -------
    Vocabulary

    Raises
    ------
    SourceFormatError
        A key that is no pair, a pair twice, or a frequency that is no number.

    Examples
    --------
    >>> import numba_nlp, vocab_tools
    >>> pairs = {"e r": 25, "h e": 12, "l l": 11, "l o": 10, "he ll": 4, "lo w": 3, "hell o": 2}
    >>> tokenizer = numba_nlp.Tokenizer(vocab_tools.from_pairs(pairs))
    >>> [tokenizer.id_to_token(i) for i in tokenizer.encode("lower hello")]
    ['low', 'er', 'hello']
    """
    described = subword_codes.describe_pairs(pairs, end_of_word=end_of_word, unknown=unknown, name=name)
    return Vocabulary(*character_bpe.build_arrays(described))
