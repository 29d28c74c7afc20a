"""A ``tokenizer.json`` with BPE over marked characters and the stages of GPT or CLIP."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from vocab_tools.formats.character_description import BertOptions, CharacterDescription
from vocab_tools.formats.character_vocab import checked_kinds
from vocab_tools.formats.description import AddedToken
from vocab_tools.formats.marked_bpe import MARKS, read_marked_options
from vocab_tools.formats.model_inputs import InputSettings, settings_of_file
from vocab_tools.formats.piece_table import check_parts
from vocab_tools.formats.stages.decoders import BPEDecoder, ByteLevel, read_decoders
from vocab_tools.formats.stages.normalizers import BertNormalizer, CharacterMap, NormalForm, Replace, read_normalizers
from vocab_tools.formats.stages.patterns import Pattern
from vocab_tools.formats.stages.post_processors import read_post_processors
from vocab_tools.formats.stages.pre_tokenizers import BertPreTokenizer, Split, read_pre_tokenizers
from vocab_tools.formats.stages.pre_tokenizers import ByteLevel as ByteLevelWords
from vocab_tools.formats.stages.stage import Stage

__all__ = ["is_known", "read"]

_CLIP_PATTERN = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"  # CLIP's, as it is
)
_CLIP_NORMALIZERS = (NormalForm("NFC"), Replace(Pattern(r"\s+", True), " "), CharacterMap("lowercase"))
_CLIP_WORDS = (Split(Pattern(_CLIP_PATTERN, True), "Removed", True), ByteLevelWords(False, True))


def is_known(root: Stage, added: Sequence[AddedToken]) -> bool:
    """Whether a file has GPT's or CLIP's stages, which one kernel does together, and no others.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        A stage is not known.
    """
    model = root.below("model")
    if model.option("ignore_merges", default=False):
        return False
    words, found, decoders = (
        read_pre_tokenizers(_stage(root, "pre_tokenizer")),
        read_normalizers(_stage(root, "normalizer")),
        read_decoders(_stage(root, "decoder")),
    )
    if words == _CLIP_WORDS and not model.value.get(MARKS[0]):
        return found == _CLIP_NORMALIZERS and decoders == (ByteLevel(),)
    suffix = model.value.get(MARKS[1])
    return (
        words == (BertPreTokenizer(),)
        and (not found or (len(found) == 1 and isinstance(found[0], BertNormalizer)))
        and not (found and any(token.normalized for token in added))
        and bool(suffix)
        and decoders == (BPEDecoder(suffix),)
    )


def read(
    root: Stage,
    vocab: dict[str, int],
    merges: list[tuple[str, str]],
    added: tuple[AddedToken, ...],
    *,
    name: str,
    source_digest: str,
    allow_gaps: bool,
) -> CharacterDescription:
    """Read a parsed ``tokenizer.json`` for which :func:`is_known` holds.

    Parameters
    ----------
    root : Stage
        The whole file.
    vocab : dict of str to int
        Pieces of the model.
    merges : list of (str, str)
        In order of rank.
    added : tuple of AddedToken
    name, source_digest : str
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    CharacterDescription

    Raises
    ------
    SourceFormatError
        The file breaks its format.
    UnsupportedFeatureError
        A stage or an option that is not reproduced exactly.
    """
    assert is_known(root, added), "other stages are those of a StagedDescription"
    options = read_marked_options(root.below("model"), vocab)
    check_parts(merges, vocab, lambda number: f"{root.file}: model.merges[{number}]:", prefix=options.prefix)
    post = read_post_processors(_stage(root, "post_processor"))
    if post.trim_offsets:
        _stage(root, "post_processor").refuse(
            "spans without the spaces at their ends are not supported with this model"
        )
    kinds = checked_kinds(vocab, added, allow_gaps, root.file)
    inputs: InputSettings = settings_of_file(post, _stage(root, "padding"), added, len(kinds))
    # of a pair that is listed twice the later rank counts
    last = {pair: rank for rank, pair in enumerate(merges)}
    described = CharacterDescription(
        name=name,
        source_format="tokenizer.json",
        source_digest=source_digest,
        reference="tokenizers",
        words="bert",
        vocabulary=vocab,
        kinds=kinds,
        merges=tuple(sorted(last, key=last.__getitem__)),
        unknown=vocab[options.unknown],
        fuse_unknown=options.fuse_unknown,
        prefix=options.prefix,
        suffix=options.suffix,
        added_tokens=added,
        template_single=inputs.template_single,
        inputs=inputs,
    )
    if read_pre_tokenizers(_stage(root, "pre_tokenizer")) == (BertPreTokenizer(),):
        return _as_gpt(described, root)
    return _as_clip(described, root)


def _as_gpt(described: CharacterDescription, root: Stage) -> CharacterDescription:
    """BERT's words, and no or BERT's normalizer."""
    found = read_normalizers(_stage(root, "normalizer"))
    options = BertOptions(**dataclasses.asdict(found[0])) if found else BertOptions()
    return dataclasses.replace(described, bert=options)


def _as_clip(described: CharacterDescription, root: Stage) -> CharacterDescription:
    """CLIP's stages, each as it is in CLIP's file."""
    for number, token in enumerate(described.added_tokens):
        content = token.content
        plain = content.isascii() and content == content.lower() and not any(map(str.isspace, content))
        if token.normalized and (not plain or token.lstrip or token.rstrip):
            _stage(root, "added_tokens").below(number).refuse(
                "of added tokens that are matched in normalized text, only ASCII in lower case without white space is "
                "supported with this model, without lstrip and rstrip",
                "set its field normalized to false",
            )
    return dataclasses.replace(described, words="clip", byte_characters=True, decoder="bytes", normalized=True)


def _stage(root: Stage, key: str) -> Stage:
    return Stage(root.file, key, root.value.get(key))
