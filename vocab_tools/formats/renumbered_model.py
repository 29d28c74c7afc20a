"""The neutral description of a SentencePiece model whose pieces another file numbers: Marian, M2M100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vocab_tools.formats.description import AddedToken
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.sentencepiece_model import SentencePieceModel

__all__ = ["RenumberedModel"]


@dataclass(frozen=True)
class RenumberedModel:
    """A SentencePiece model, and the ids that its pieces have in a list of tokens.

    Attributes
    ----------
    name : str
    source_format : {"marian", "m2m100"}
    source_digest : str
        sha256 (hex) of the digests of the files.
    model : SentencePieceModel
        Cuts text into pieces.
    ids : Mapping of str to int
        Ids of pieces and of other tokens.
    unknown : int
        Id of a piece that is not among them.
    decoding : SentencePieceModel
        Joins pieces to text; may be another one.
    tokens : sequence of (str or None)
        By id: what it is when it is decoded; None for an id that is nothing.
    special : frozenset of str
        Tokens that are written as they are.
    skipped : frozenset of int
        Ids of those that are left out where special tokens are skipped.
    added_tokens : tuple of AddedToken
        Looked for in the text before it is cut.
    language_codes : bool
        A text may begin with a code such as ``>>fra<<``, which is one token.
    special_suffix : str
        Written behind each special token.
    marks_are_spaces : bool
        Whether U+2581 becomes a space in tokens that are no pieces of the decoding model.
    clean_up : bool
        Whether spaces before punctuation and English endings go from decoded text.
    inputs : InputSettings
    special_policy : {"raise", "match", "plain"}
    """

    name: str
    source_format: str
    source_digest: str
    model: SentencePieceModel = field(repr=False)
    ids: Mapping[str, int] = field(repr=False)
    unknown: int
    decoding: SentencePieceModel = field(repr=False)
    tokens: Sequence[str | None] = field(repr=False)
    special: frozenset[str] = field(repr=False)
    skipped: frozenset[int] = field(repr=False)
    added_tokens: tuple[AddedToken, ...] = field(repr=False)
    language_codes: bool
    special_suffix: str
    marks_are_spaces: bool
    inputs: InputSettings
    clean_up: bool = False
    special_policy: str = "match"
