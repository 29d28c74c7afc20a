"""Reader of SentencePiece ``.model`` files (``.spm``, ``spiece.model``): what all its model types share."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from numba_nlp.kernels.segment.unigram_memory import MAX_SCORE
from vocab_tools.formats.charsmap import Charsmap, CharsmapError, decode_charsmap
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, MAX_IDS
from vocab_tools.formats.reading import read_source

if TYPE_CHECKING:
    from vocab_tools.formats.sentencepiece_pb2 import ModelProto

__all__ = [
    "KIND_UNKNOWN",
    "KIND_UNUSED",
    "MODEL_TYPES",
    "UNK_SURFACE",
    "NormalizerSpec",
    "SentencePieceModel",
    "message_of",
    "parse",
    "read",
]

KIND_UNKNOWN = 1
#: In the file, but never given to a text.
KIND_UNUSED = 4
#: By their number in the file.
MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
#: Kinds by their number in the file.
_KINDS = {1: KIND_NORMAL, 2: KIND_UNKNOWN, 3: KIND_CONTROL, 4: KIND_USER_DEFINED, 5: KIND_UNUSED, 6: KIND_BYTE}
#: Kinds that the reference keeps apart from the others when it looks for two pieces of one spelling (not for BPE).
_RESERVED = (KIND_UNKNOWN, KIND_CONTROL, KIND_BYTE)
#: Pieces of this many bytes are refused, as the reference does.
_TOO_LONG = 8000
#: What the unknown piece decodes to where a file does not say.
UNK_SURFACE = " \u2047 ".encode()
_BYTE_PIECES = {b"<0x%02X>" % byte: byte for byte in range(256)}


@dataclass(frozen=True)
class NormalizerSpec:
    """What is done to text before it is segmented (normaliser) or after it was joined (denormaliser).

    Attributes
    ----------
    name : str
        Name of the rules in the file, such as "nmt_nfkc"; nothing depends on it.
    charsmap : Charsmap or None
        None: characters stay as they are.
    add_dummy_prefix : bool
        A space is put before the text (behind it with ``whitespace_as_suffix``).
    remove_extra_whitespaces : bool
        Spaces at the ends go, several between words become one.
    escape_whitespaces : bool
        A space is written as U+2581.
    whitespace_as_suffix : bool
        The space of ``add_dummy_prefix`` comes behind the text.
    """

    name: str
    charsmap: Charsmap | None
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    whitespace_as_suffix: bool


@dataclass(frozen=True)
class SentencePieceModel:
    """A SentencePiece model as its file states it, checked.

    Attributes
    ----------
    name : str
        The file's stem, or its folder's name for the usual file names.
    source_digest : str
        sha256 (hex) of the file.
    model_type : {"unigram", "bpe", "word", "char"}
    pieces : tuple of bytes
        By id: the piece as it is written in the file, valid UTF-8; byte pieces are written ``<0x0A>``.
    scores : float32[V]
    kinds : uint8[V]
        0 normal, 1 unknown, 2 control, 3 user-defined, 4 unused, 5 byte.
    byte_fallback : bool
        Characters without a piece are written as their bytes' pieces instead of the unknown piece.
    unk_id, bos_id, eos_id, pad_id : int
        -1 where the model has none.
    unk_piece, bos_piece, eos_piece, pad_piece : str
        What these are called, whether or not the model has them.
    unk_surface : bytes
        What the unknown piece decodes to.
    normalizer : NormalizerSpec
    denormalizer : NormalizerSpec or None
    self_test : tuple of (bytes, bytes)
        Texts, and the pieces that they must give, joined by spaces. See ``sentencepiece_self_test.py``.
    """

    name: str
    source_digest: str
    model_type: str
    pieces: tuple[bytes, ...] = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    byte_fallback: bool
    unk_id: int
    bos_id: int
    eos_id: int
    pad_id: int
    unk_piece: str
    bos_piece: str
    eos_piece: str
    pad_piece: str
    unk_surface: bytes
    normalizer: NormalizerSpec
    denormalizer: NormalizerSpec | None
    self_test: tuple[tuple[bytes, bytes], ...] = field(repr=False)

    def user_defined(self) -> list[bytes]:
        """Pieces that are kept as they are written, also by the normaliser."""
        return [self.pieces[i] for i in np.flatnonzero(self.kinds == KIND_USER_DEFINED).tolist()]

    def ids(self) -> dict[bytes, int]:
        """Ids by piece, as the reference looks them up: unknown, control and byte pieces before others."""
        found = {piece: i for i, piece in enumerate(self.pieces)}
        found.update({self.pieces[i]: i for i in np.flatnonzero(np.isin(self.kinds, _RESERVED)).tolist()})
        return found


def read(path: str | Path, *, name: str | None = None) -> SentencePieceModel:
    """Read a ``.model`` file.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Name of the vocabulary; by default the file's stem, or its folder's name for the usual file names.

    Returns
    -------
    SentencePieceModel

    Raises
    ------
    SourceFormatError
        As :func:`parse`.
    """
    path = Path(path)
    usual = ("spiece", "sentencepiece.bpe", "sentencepiece", "tokenizer", "source", "target")
    return parse(
        read_source(path), name=name or (path.resolve().parent.name if path.stem in usual else path.stem), where=path
    )


def parse(content: bytes, *, name: str, where: str | Path = "the model") -> SentencePieceModel:
    """Read the bytes of a ``.model`` file.

    Parameters
    ----------
    content : bytes
    name : str
        Name of the vocabulary.
    where : str or Path
        What error messages call the source.

    Returns
    -------
    SentencePieceModel

    Raises
    ------
    SourceFormatError
        The bytes are no such file, are cut, or state a model that does not work: no pieces, no or two unknown pieces,
        pieces that are empty, doubled, too long or not UTF-8, scores that are no numbers, byte pieces that are
        missing, malformed or not asked for, a model type or a kind of piece that is not known, a broken charsmap.
    """
    model = message_of(content, where)
    type_number = model.trainer_spec.model_type
    if type_number not in MODEL_TYPES:
        known = ", ".join(f"{number} ({name})" for number, name in MODEL_TYPES.items())
        raise SourceFormatError(f"{where}: trainer_spec.model_type is {type_number}, known are {known}")
    trainer = model.trainer_spec
    pieces = _Pieces(where, [piece.piece for piece in model.pieces], trainer.byte_fallback)
    kinds = pieces.kinds([piece.type for piece in model.pieces], is_bpe=MODEL_TYPES[type_number] == "bpe")
    scores = np.array([piece.score for piece in model.pieces], np.float32)
    for i in np.flatnonzero(~(np.abs(scores) <= MAX_SCORE)).tolist():
        raise SourceFormatError(
            f"{where}: pieces[{i}] ({pieces.shown(i)}): the score is {scores[i]:g}, expected a number up to "
            f"{MAX_SCORE:g}; the file is damaged, fetch it again"
        )
    kinds.flags.writeable = scores.flags.writeable = False

    suffix = bool(trainer.treat_whitespace_as_suffix)
    denormalizer = None
    # Without rules of its own the reference does nothing, whatever the other settings say.
    if model.HasField("denormalizer_spec") and model.denormalizer_spec.precompiled_charsmap:
        denormalizer = _normalizer(model.denormalizer_spec, f"{where}: denormalizer_spec", False)
    names = {
        key: _text(getattr(trainer, key) or default, f"{where}: trainer_spec.{key}")
        for key, default in (
            ("unk_piece", b"<unk>"),
            ("bos_piece", b"<s>"),
            ("eos_piece", b"</s>"),
            ("pad_piece", b"<pad>"),
        )
    }
    unk_surface = trainer.unk_surface if trainer.HasField("unk_surface") else UNK_SURFACE
    _text(unk_surface, f"{where}: trainer_spec.unk_surface")
    made = SentencePieceModel(
        name=name,
        source_digest=hashlib.sha256(content).hexdigest(),
        model_type=MODEL_TYPES[type_number],
        pieces=tuple(pieces.pieces),
        scores=scores,
        kinds=kinds,
        byte_fallback=trainer.byte_fallback,
        unk_id=int(np.flatnonzero(kinds == KIND_UNKNOWN)[0]),
        bos_id=-1,
        eos_id=-1,
        pad_id=-1,
        **names,
        unk_surface=unk_surface,
        normalizer=_normalizer(model.normalizer_spec, f"{where}: normalizer_spec", suffix),
        denormalizer=denormalizer,
        self_test=tuple((sample.input, sample.expected) for sample in model.self_test_data.samples),
    )
    return _with_control_ids(made)


def message_of(content: bytes, where: str | Path) -> ModelProto:
    """Parse the protocol buffer, and see that it is a whole model.

    Raises
    ------
    SourceFormatError
    """
    from google.protobuf.message import DecodeError

    from vocab_tools.formats.sentencepiece_pb2 import ModelProto

    if not content:
        raise SourceFormatError(f"{where}: the file is empty; was its download interrupted?")
    if content.startswith(b"version https://git-lfs"):
        raise SourceFormatError(
            f"{where}: this is a pointer of Git LFS, not the file itself; fetch it with `git lfs pull`"
        )
    try:
        model: ModelProto = ModelProto.FromString(content)
    except DecodeError as error:
        raise SourceFormatError(
            f"{where}: neither a whole SentencePiece model nor another protocol buffer ({error}); the file is of "
            "another kind, damaged, or its download was interrupted"
        ) from error
    if not model.pieces:
        raise SourceFormatError(f"{where}: holds no pieces, so it is no SentencePiece model")
    if len(model.pieces) > MAX_IDS:
        raise SourceFormatError(
            f"{where}: holds {len(model.pieces):,} pieces, {MAX_IDS:,} is the most that is accepted"
        )
    # Both stand behind the pieces and in every model that was trained; without them a cut file would load as another
    # model, with the settings' defaults.
    for key in ("trainer_spec", "normalizer_spec"):
        if not model.HasField(key):
            raise SourceFormatError(f"{where}: {len(model.pieces):,} pieces, but no {key}: the file is cut behind them")
    return model


class _Pieces:
    """The checks of the list of pieces.

    Parameters
    ----------
    where : str or Path
    pieces : list of bytes
        As the file has them.
    byte_fallback : bool
    """

    def __init__(self, where: str | Path, pieces: list[bytes], byte_fallback: bool) -> None:
        self.pieces = pieces
        self._where = where
        self._byte_fallback = byte_fallback

    def shown(self, i: int) -> str:
        """A piece for a message."""
        return repr(self.pieces[i].decode(errors="backslashreplace")[:80])

    def _refuse(self, i: int, reason: str) -> SourceFormatError:
        return SourceFormatError(f"{self._where}: pieces[{i}] ({self.shown(i)}): {reason}")

    def kinds(self, types: list[int], *, is_bpe: bool) -> NDArray[np.uint8]:
        """Kinds of all pieces, after every check."""
        made = np.empty(len(types), np.uint8)
        for i, number in enumerate(types):
            if number not in _KINDS:
                raise self._refuse(i, f"the type is {number}, known are 1 to 6")
            made[i] = self._check_spelling(i, _KINDS[number])
        self._check_doubles(made, is_bpe)
        unknown = np.flatnonzero(made == KIND_UNKNOWN).tolist()
        if not unknown:
            raise SourceFormatError(f"{self._where}: no piece is the unknown piece (type 2)")
        if len(unknown) > 1:
            raise self._refuse(unknown[1], f"a second unknown piece (type 2), the first is pieces[{unknown[0]}]")
        self._check_bytes(made)
        return made

    def _check_spelling(self, i: int, kind: int) -> int:
        piece = self.pieces[i]
        if not piece:
            raise self._refuse(i, "the piece is empty")
        if len(piece) >= _TOO_LONG:
            raise self._refuse(i, f"the piece has {len(piece):,} bytes, {_TOO_LONG - 1:,} is the most")
        if 0 in piece:
            # One such piece is in models in use (InternLM2's); the reference lets it be as long as a byte piece
            # stands for that character.
            if piece == b"\0" and self._byte_fallback:
                return KIND_UNUSED if kind in (KIND_NORMAL, KIND_USER_DEFINED) else kind
            raise self._refuse(i, "the piece holds the character U+0000")
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            raise self._refuse(i, f"byte {error.start} is not valid UTF-8 ({error.reason})") from error
        return kind

    def _check_doubles(self, kinds: NDArray[np.uint8], is_bpe: bool) -> None:
        reserved = np.zeros(len(kinds), np.bool_) if is_bpe else np.isin(kinds, _RESERVED)
        seen: dict[tuple[bytes, bool], int] = {}
        for i, key in enumerate(zip(self.pieces, reserved.tolist(), strict=True)):
            first = seen.setdefault(key, i)
            if first != i:
                raise self._refuse(i, f"the same piece as pieces[{first}]")

    def _check_bytes(self, kinds: NDArray[np.uint8]) -> None:
        found = set()
        for i in np.flatnonzero(kinds == KIND_BYTE).tolist():
            if not self._byte_fallback:
                raise self._refuse(i, "a byte piece (type 6), although trainer_spec.byte_fallback is false")
            if self.pieces[i] not in _BYTE_PIECES:
                raise self._refuse(i, "a byte piece (type 6) must be written <0x00> to <0xFF>")
            found.add(self.pieces[i])
        missing = [piece.decode() for piece in _BYTE_PIECES if piece not in found]
        if self._byte_fallback and missing:
            raise SourceFormatError(
                f"{self._where}: trainer_spec.byte_fallback is true, but {len(missing)} of the 256 byte pieces are "
                f"missing, the first is {missing[0]}"
            )


def _text(value: bytes, where: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise SourceFormatError(
            f"{where}: byte {error.start} of {value!r} is not valid UTF-8 ({error.reason})"
        ) from error


def _normalizer(spec: Any, where: str, whitespace_as_suffix: bool) -> NormalizerSpec:
    charsmap = None
    if spec.precompiled_charsmap:
        try:
            charsmap = decode_charsmap(spec.precompiled_charsmap)
        except CharsmapError as error:
            raise SourceFormatError(f"{where}.precompiled_charsmap: {error}") from error
    return NormalizerSpec(
        name=_text(spec.name, f"{where}.name"),
        charsmap=charsmap,
        add_dummy_prefix=spec.add_dummy_prefix,
        remove_extra_whitespaces=spec.remove_extra_whitespaces,
        escape_whitespaces=spec.escape_whitespaces,
        whitespace_as_suffix=whitespace_as_suffix,
    )


def _with_control_ids(model: SentencePieceModel) -> SentencePieceModel:
    """Set the ids of the control pieces: the piece of that name, if it is a control piece."""
    ids = model.ids()

    def control(piece: str) -> int:
        found = ids.get(piece.encode(), -1)
        return found if found >= 0 and model.kinds[found] == KIND_CONTROL else -1

    return replace(
        model,
        bos_id=control(model.bos_piece),
        eos_id=control(model.eos_piece),
        pad_id=control(model.pad_piece),
    )
