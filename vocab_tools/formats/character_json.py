"""A ``tokenizer.json`` with BPE over marked characters, as GPT and CLIP have it; what differs is refused by name."""

from __future__ import annotations

import dataclasses

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.character_description import BertOptions, CharacterDescription
from vocab_tools.formats.character_vocab import checked_kinds
from vocab_tools.formats.description import AddedToken
from vocab_tools.formats.model_inputs import InputSettings, settings_of_file
from vocab_tools.formats.piece_table import quote
from vocab_tools.formats.stages.decoders import BPEDecoder, ByteLevel, read_decoders
from vocab_tools.formats.stages.normalizers import BertNormalizer, CharacterMap, NormalForm, Replace, read_normalizers
from vocab_tools.formats.stages.patterns import Pattern
from vocab_tools.formats.stages.post_processors import read_post_processors
from vocab_tools.formats.stages.pre_tokenizers import BertPreTokenizer, Split, read_pre_tokenizers
from vocab_tools.formats.stages.pre_tokenizers import ByteLevel as ByteLevelWords
from vocab_tools.formats.stages.stage import Stage

__all__ = ["is_marked_bpe", "read"]

_MARKS = ("continuing_subword_prefix", "end_of_word_suffix")
_MODEL_FIELDS = (
    "type", "dropout", "unk_token", *_MARKS, "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges",
)  # fmt: skip
_CLIP_PATTERN = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"  # CLIP's, as it is
)
_CLIP_NORMALIZERS = (NormalForm("NFC"), Replace(Pattern(r"\s+", True), " "), CharacterMap("lowercase"))
_CLIP_WORDS = (Split(Pattern(_CLIP_PATTERN, True), "Removed", True), ByteLevelWords(False, True))


def is_marked_bpe(model: Stage) -> bool:
    """Whether a model is BPE whose pieces are marked by a prefix or a suffix."""
    is_bpe = model.value.get("type", "BPE") == "BPE" and "merges" in model.value
    return is_bpe and any(model.value.get(key) not in (None, "") for key in _MARKS)


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
    """Read a parsed ``tokenizer.json``.

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
    model = root.below("model")
    prefix, suffix = _read_marks(model)
    unknown = _read_options(model, vocab)
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
        unknown=unknown,
        fuse_unknown=model.option("fuse_unk", default=False),
        prefix=prefix,
        suffix=suffix,
        added_tokens=added,
        template_single=inputs.template_single,
        inputs=inputs,
    )
    if read_pre_tokenizers(_stage(root, "pre_tokenizer")) == (BertPreTokenizer(),):
        return _as_gpt(described, root)
    return _as_clip(described, root)


def _as_gpt(described: CharacterDescription, root: Stage) -> CharacterDescription:
    """BERT's words, and no or BERT's normalizer."""
    normalizer = _stage(root, "normalizer")
    found = read_normalizers(normalizer)
    options = BertOptions()
    if found:
        if len(found) > 1 or not isinstance(found[0], BertNormalizer):
            normalizer.refuse(
                "with pieces marked by a prefix or suffix and BertPreTokenizer, only one BertNormalizer is supported"
            )
        options = BertOptions(**dataclasses.asdict(found[0]))
    decoder = _stage(root, "decoder")
    decoders = read_decoders(decoder)
    if len(decoders) != 1 or not isinstance(decoders[0], BPEDecoder):
        decoder.refuse(
            "with pieces marked by a prefix or suffix and BertPreTokenizer, only one BPEDecoder is supported"
        )
    if decoders[0].suffix != described.suffix or not described.suffix:
        decoder.below("suffix").refuse("a decoder with another suffix than the model's is not supported")
    for number, token in enumerate(described.added_tokens):
        if token.normalized:
            _stage(root, "added_tokens").below(number).refuse(
                "an added token that is matched in normalized text is not supported with this model",
                "set its field normalized to false",
            )
    return dataclasses.replace(described, bert=options)


def _as_clip(described: CharacterDescription, root: Stage) -> CharacterDescription:
    """CLIP's stages, each as it is in CLIP's file."""
    words, normalizer, decoder = (_stage(root, key) for key in ("pre_tokenizer", "normalizer", "decoder"))
    if read_pre_tokenizers(words) != _CLIP_WORDS:
        words.refuse("with pieces marked by a prefix or suffix, only BertPreTokenizer and CLIP's words are supported")
    if read_normalizers(normalizer) != _CLIP_NORMALIZERS:
        normalizer.refuse(
            "with CLIP's words, only its normalizers NFC, Replace of white space and Lowercase are supported"
        )
    if read_decoders(decoder) != (ByteLevel(),):
        decoder.refuse("with CLIP's words, only the decoder ByteLevel is supported")
    if described.prefix:
        root.below("model").below(_MARKS[0]).refuse("a prefix is not supported with CLIP's words")
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


def _read_marks(model: Stage) -> tuple[str, str]:
    marks = []
    for key in _MARKS:
        mark = model.value.get(key)
        if not isinstance(mark, str | None):
            model.below(key).expect(str, "a string or null")
        marks.append(mark or "")
    if not marks[0].isascii():
        model.below(_MARKS[0]).refuse("a prefix with other characters than ASCII is not supported")
    return marks[0], marks[1]


def _read_options(model: Stage, vocab: dict[str, int]) -> int:
    """Check the options of the model; the id of unknown text."""
    model.only(*_MODEL_FIELDS)
    if model.value.get("dropout") not in (None, 0, 0.0):
        model.below("dropout").refuse(
            "a vocabulary file does not decide that texts are encoded at random",
            "set it to null and pass dropout= to Tokenizer.encode or encode_batch",
        )
    for key in ("byte_fallback", "ignore_merges"):
        if model.option(key, default=False):
            model.below(key).refuse("this is not supported with pieces marked by a prefix or suffix", "set it to false")
    unknown = Stage(model.file, "model.unk_token", model.value.get("unk_token"))
    if unknown.value is None:
        unknown.refuse("text without a piece has no id then, which is not supported", "set it to a token")
    token = unknown.expect(str, "a token")
    if token not in vocab:
        raise SourceFormatError(f"{unknown}: {quote(token)} is no piece of model.vocab")
    return vocab[token]
