"""Reader of Hugging Face ``tokenizer.json`` files with a BPE, Unigram or WordPiece model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.formats import character_json, serde_numbers, staged_json, wordpiece_json
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import MAX_IDS, AddedToken, Description
from vocab_tools.formats.marked_bpe import is_marked_bpe
from vocab_tools.formats.model_inputs import settings_of_file
from vocab_tools.formats.piece_table import Place, check_ids, lay_out, merge_ids, quote
from vocab_tools.formats.reading import parse_json, read_text
from vocab_tools.formats.staged_json import StagedDescription
from vocab_tools.formats.stages.post_processors import read_post_processors
from vocab_tools.formats.tokenizer_stages import (
    Stage,
    read_decoder,
    read_normalizer,
    read_pre_tokenizer,
)
from vocab_tools.formats.wordpiece_model import is_wordpiece, read_vocab

__all__ = ["IGNORABLE", "read", "read_document"]

#: Stages that a caller may have left out: they shape model inputs, not the ids of a text.
IGNORABLE = ("truncation", "padding")
_FIELDS = (
    "version",
    *IGNORABLE,
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
)
_ADDED_TOKEN_OPTIONS = ("special", "lstrip", "rstrip", "single_word", "normalized")


def read(
    path: str | Path, *, name: str | None = None, ignore: Sequence[str] = (), allow_gaps: bool = False
) -> Description | StagedDescription | WordPieceDescription | CharacterDescription:
    """Read a ``tokenizer.json``.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Name of the vocabulary; by default the file's stem, or its folder's name for a file called
        ``tokenizer.json``.
    ignore : sequence of {"truncation", "padding"}
        Settings of the file to leave out instead of refusing it for them.
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    Description, StagedDescription, WordPieceDescription or CharacterDescription

    Raises
    ------
    SourceFormatError
        The file breaks its format.
    UnsupportedFeatureError
        A stage or an option that is not reproduced exactly; the message has its path in the JSON, its value and the
        way out.
    """
    path = Path(path)
    for stage_name in ignore:
        if stage_name not in IGNORABLE:
            raise SourceFormatError(f"ignore= takes {' and '.join(map(repr, IGNORABLE))}, got {stage_name!r}")
    text, digest = read_text(path)
    name = name or (path.resolve().parent.name if path.stem == "tokenizer" else path.stem)
    document = parse_json(path, text, serde_numbers.read_float)
    return read_document(document, path, text, digest, name=name, ignore=ignore, allow_gaps=allow_gaps)


def read_document(
    document: Any,
    path: object,
    text: str,
    digest: str,
    *,
    name: str,
    ignore: Sequence[str] = (),
    allow_gaps: bool = False,
) -> Description | StagedDescription | WordPieceDescription | CharacterDescription:
    """Read what a ``tokenizer.json`` holds.

    Parameters
    ----------
    document : object
        The parsed JSON.
    path : object
        What errors call it.
    text : str
        The JSON, in which errors look lines up; may be empty.
    digest : str
        sha256 (hex) of the source.
    name, ignore, allow_gaps
        As :func:`read`.

    Returns
    -------
    Description, StagedDescription or WordPieceDescription

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`read`.
    """
    root = Stage(path, "", document)
    model = root.need("model")
    model.expect(dict, "an object")

    def stage(key: str) -> Stage:
        return Stage(path, key, root.value.get(key))

    of_words, of_likelihood = is_wordpiece(model), staged_json.is_unigram(model)
    of_characters = staged_json.is_character_bpe(model, stage("pre_tokenizer"))
    if not of_words and not of_likelihood:
        _check_model_type(model)
    root.only(*_FIELDS)

    if stage("version").value not in (None, "1.0"):
        stage("version").refuse("only version '1.0' of tokenizer.json is known")
    for key in IGNORABLE:
        if stage(key).value is not None and key not in ignore:
            stage(key).refuse(f"{key} set inside the file is not applied", f'pass ignore=("{key}",) to leave it out')
    place = Place(path, text, "model.vocab")
    if of_words:
        words = read_vocab(model, place)
        added = _read_added_tokens(stage("added_tokens"), words)
        options: Any = {"name": name, "source_digest": digest, "allow_gaps": allow_gaps}
        if wordpiece_json.is_plain(root, added):
            return wordpiece_json.read(root, words, added, place, **options)
        return staged_json.read(root, words, None, added, place, **options)
    if is_marked_bpe(model):
        marked = check_ids(model.need("vocab").value, place)
        added = _read_added_tokens(stage("added_tokens"), marked)
        merges = _read_merges(model.need("merges"))
        options = {"name": name, "source_digest": digest, "allow_gaps": allow_gaps}
        if character_json.is_known(root, added):
            return character_json.read(root, marked, merges, added, **options)
        return staged_json.read(root, marked, merges, added, place, **options)
    if of_likelihood or of_characters:
        known = staged_json.read_vocab(model, place)
        added = _read_added_tokens(stage("added_tokens"), known)
        ranked = None if of_likelihood else _read_merges(model.need("merges"))
        return staged_json.read(
            root, known, ranked, added, place, name=name, source_digest=digest, allow_gaps=allow_gaps
        )
    staged_json.refuse_without_unknown(root)
    _read_model_options(model)
    normalizers = read_normalizer(stage("normalizer"))
    cutting = read_pre_tokenizer(stage("pre_tokenizer"))
    read_decoder(stage("decoder"))
    post = read_post_processors(stage("post_processor"))

    vocab = check_ids(model.need("vocab").value, place)
    added = _read_added_tokens(stage("added_tokens"), vocab)
    for number, token in enumerate(added if normalizers and post.trim_offsets else ()):
        if token.normalized:
            stage("added_tokens").below(number).refuse(
                "an added token that is matched in normalized text is not supported together with trimmed spans",
                "set its field normalized to false",
            )
    ignore_merges = model.value.get("ignore_merges", False)
    if ignore_merges:
        _refuse_whole_single_words(added, vocab, model.below("ignore_merges"))
    table = lay_out(vocab, added, place, allow_gaps=allow_gaps, strict=False)
    inputs = settings_of_file(post, stage("padding"), added, len(table.decoded))
    return Description(
        name=name,
        source_format="tokenizer.json",
        source_digest=digest,
        reference="tokenizers",
        pieces=table.pieces,
        decoded=table.decoded,
        kinds=table.kinds,
        merges=merge_ids(_read_merges(model.need("merges")), vocab, None, Place(path, text, "model.merges")),
        added_tokens=added,
        pattern=cutting.pattern.name,
        pattern_regex=cutting.pattern.regex,
        add_prefix_space=cutting.add_prefix_space,
        trim_offsets=post.trim_offsets,
        trim_keeps_prefix_space=post.trim_keeps_prefix_space,
        ignore_merges=ignore_merges,
        normalizers=normalizers,
        special_policy="match",
        template_single=inputs.template_single,
        inputs=inputs,
    )


def _check_model_type(model: Stage) -> None:
    """Accept BPE; old files leave the type out, and then the fields tell."""
    if "type" in model.value:
        if model.value["type"] != "BPE":
            model.below("type").refuse("this version knows BPE, Unigram and WordPiece models")
    elif "merges" not in model.value:
        raise UnsupportedFeatureError(
            f"{model}: a model without a type, and without the fields of BPE, Unigram or WordPiece, is not supported"
        )


def _read_model_options(model: Stage) -> None:
    model.only(
        "type",
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
        "vocab",
        "merges",
    )
    # unk_token, fuse_unk and byte_fallback act on characters without a piece; every byte has one (lay_out checks it).
    if not isinstance(model.value.get("unk_token"), str | None):
        model.below("unk_token").expect(str, "a token or null")
    for key in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if key in model.value:
            model.below(key).expect(bool, "true or false")
    if model.value.get("dropout") not in (None, 0, 0.0):
        model.below("dropout").refuse(
            "a vocabulary file does not decide that texts are encoded at random",
            "set it to null and pass dropout= to Tokenizer.encode or encode_batch",
        )
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.value.get(key) not in (None, ""):
            model.below(key).refuse("pieces marked by a prefix or suffix are not byte-level BPE")


def _read_merges(stage: Stage) -> list[tuple[str, str]]:
    """Merges in both forms that files have: ``"a b"`` and ``["a", "b"]``."""
    merges: list[tuple[str, str]] = []
    for number, merge in enumerate(stage.expect(list, "an array")):
        parts: Any = merge.split(" ") if type(merge) is str else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(type(part) is str and part for part in parts):
            raise SourceFormatError(f"{stage.below(number)}: a merge is two pieces, got {quote(merge)}")
        merges.append((parts[0], parts[1]))
    return merges


def _read_added_tokens(stage: Stage, vocab: dict[str, int]) -> tuple[AddedToken, ...]:
    """Read the added tokens and check that their ids are those that tokenizers gives them.

    When tokenizers loads a file it takes the id of an added token from the model's vocabulary, and numbers the others
    on from the number of pieces; the id written in the file is not used.
    """
    if stage.value is None:
        return ()
    added: dict[str, AddedToken] = {}
    holders = {number: piece for piece, number in vocab.items()}
    for entry in stage.each():
        entry.only("id", "content", *_ADDED_TOKEN_OPTIONS)
        content = entry.need("content").expect(str, "the text of a token")
        number = entry.need("id").expect(int, "an id")
        options = {key: entry.need(key).expect(bool, "true or false") for key in _ADDED_TOKEN_OPTIONS}
        if not content:
            raise SourceFormatError(f"{entry}: the content is empty, which would match everywhere")
        if content in added:
            raise SourceFormatError(f"{entry}: the token {quote(content)} is already listed")
        highest = max((token.id for token in added.values()), default=-1)
        given = vocab.get(content, max(len(vocab), highest + 1))
        if number != given:
            raise SourceFormatError(
                f"{entry}: {quote(content)} has the id {number} here, but tokenizers gives it {given} when it loads "
                "the file; write that id into the file (models trained with other ids need other pieces first)"
            )
        other = holders.setdefault(given, content)
        if other != content or given >= MAX_IDS:
            raise SourceFormatError(f"{entry}: the id {given} of {quote(content)} is taken by {quote(other)}")
        added[content] = AddedToken(content, given, **options)
    return tuple(added.values())


def _refuse_whole_single_words(added: Sequence[AddedToken], vocab: dict[str, int], stage: Stage) -> None:
    """Refuse added tokens that the model could give too, as a whole pre-token where the added token does not match."""
    for token in added:
        if token.single_word and token.content in vocab:
            stage.refuse(
                f"ignore_merges with the added token {quote(token.content)}, which is single_word and a piece of the "
                "model as well, is not supported",
                "set one of the two to false",
            )
