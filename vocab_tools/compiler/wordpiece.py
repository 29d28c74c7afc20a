"""From the description of a WordPiece vocabulary to the flat arrays that the kernels read.

The arrays and the metadata are those of ``docs/data_contracts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import FORMAT_VERSION
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment.wordpiece_memory import FURTHER, FURTHER_BYTE, MAX_CHARACTERS, UNKNOWN
from numba_nlp.kernels.tables.double_array import ROOT, step
from vocab_tools.compiler.bert_characters import bert_characters, recorded_library_version, strip_option
from vocab_tools.compiler.double_array import build_double_array
from vocab_tools.compiler.flat_arrays import flatten, special_arrays
from vocab_tools.formats.bert_vocab import WordPieceDescription

__all__ = ["MAX_PIECE_BYTES", "build_arrays", "build_trie", "decoded_forms", "wordpiece_arrays"]

ALGORITHM = "wordpiece"
#: The longest pieces in use have some tens of bytes.
MAX_PIECE_BYTES = 1 << 14
#: Most characters of a word: more do not fit into the lists of the kernels.
_MOST_CHARACTERS = (1 << 31) - 1
#: What the decoder's clean-up replaces, in this order, within each token.
_CLEANUPS = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
    (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


def build_arrays(description: WordPieceDescription) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compile a description.

    Parameters
    ----------
    description : WordPieceDescription

    Returns
    -------
    arrays : dict of str to ndarray
        One-dimensional, C-contiguous, as ``docs/data_contracts.md`` lists them.
    metadata : dict
        JSON values; without ``payload_digest``, which belongs to the file.

    Raises
    ------
    SourceFormatError
        A piece longer than ``MAX_PIECE_BYTES``.
    UnsupportedFeatureError
        More pieces than the trie can hold.
    """
    vocab = {piece: number for number, piece in enumerate(description.pieces) if piece is not None}
    units, constants = wordpiece_arrays(
        vocab, description.prefix, description.unknown, description.max_input_chars_per_word, description.name
    )
    written = list(description.pieces)
    for token in description.added_tokens:
        written[token.id] = token.content
    texts = [piece or "" for piece in written]
    forms = [decoded_forms(text, description.decoder_prefix, description.cleanup) for text in texts]
    pieces = flatten([text.encode() for text in texts])
    decoded = flatten([form.encode() for form in (*(form[1] for form in forms), *(form[0] for form in forms))])
    characters = bert_characters(
        clean_text=description.clean_text,
        handle_chinese_chars=description.handle_chinese_chars,
        strip_accents=description.strip_accents,
        lowercase=description.lowercase,
    )
    arrays: dict[str, NDArray[Any]] = {
        "piece_bytes": pieces.data,
        "piece_offsets": pieces.offsets,
        "piece_kinds": description.kinds,
        "decoded_bytes": decoded.data,
        "decoded_offsets": decoded.offsets,
        "trie_units": units,
        "wordpiece": constants,
        **characters._asdict(),
        **special_arrays(description.added_tokens),
        "template_single": np.array(description.template_single, dtype=np.int32),
    }
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "algorithm": ALGORITHM,
        "name": description.name,
        "source_format": description.source_format,
        "source_digest": description.source_digest,
        "reference": description.reference,
        # its stages follow different versions, those of the libraries that this version of tokenizers is built from
        "unicode_version": f"as tokenizers {recorded_library_version()}",
        "prefix": description.prefix,
        "clean_text": description.clean_text,
        "handle_chinese_chars": description.handle_chinese_chars,
        "strip_accents": strip_option(description.strip_accents, description.lowercase),
        "lowercase": description.lowercase,
        "decoder_prefix": description.decoder_prefix,
        "cleanup": description.cleanup,
        "special_policy": description.special_policy,
        **({"clean_up": True} if description.clean_up else {}),
        **({} if description.inputs is None else description.inputs.metadata()),
    }
    return arrays, metadata


def wordpiece_arrays(
    vocab: Mapping[str, int], prefix: str, unknown: int, max_characters: int, name: str
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """What words are looked up in.

    Parameters
    ----------
    vocab : Mapping of str to int
        Pieces and their ids.
    prefix : str
        What pieces that go on within a word begin with.
    unknown : int
        Id of unknown words.
    max_characters : int
        Longer words are unknown.
    name : str
        Of the vocabulary, for errors.

    Returns
    -------
    trie_units, wordpiece : uint32[m], int64[3]

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`build_arrays`.
    """
    first: dict[bytes, int] = {}
    further: dict[bytes, int] = {}
    for piece, number in vocab.items():
        content = piece.encode()
        if len(content) > MAX_PIECE_BYTES:
            raise SourceFormatError(
                f"{name}: the piece with id {number} has {len(content)} bytes, more than the {MAX_PIECE_BYTES} that a "
                "piece may have; is the file a vocabulary?"
            )
        # a piece without bytes stands for nothing
        if content:
            first[content] = number
        if piece.startswith(prefix) and len(piece) > len(prefix):
            further[content[len(prefix.encode()) :]] = number
    units, node = build_trie(first, further, name)
    constants = np.zeros(3, np.int64)
    constants[UNKNOWN] = unknown
    constants[MAX_CHARACTERS] = min(max_characters, _MOST_CHARACTERS)
    constants[FURTHER] = node
    return units, constants


def build_trie(first: Mapping[bytes, int], further: Mapping[bytes, int], name: str) -> tuple[NDArray[np.uint32], int]:
    """Put the pieces that begin a word, and those that go on in it, into one double array.

    Parameters
    ----------
    first, further : Mapping of bytes to int
        Pieces, without a prefix, and their ids.
    name : str
        Of the vocabulary, for errors.

    Returns
    -------
    units, node : uint32[m], int
        See :mod:`numba_nlp.kernels.tables.double_array`; the node is the one below which ``further`` lies.

    Raises
    ------
    UnsupportedFeatureError
        The pieces have more different beginnings than the array can number.
    """
    mark = bytes([FURTHER_BYTE])
    # the mark itself is a key so that the node is there
    ids = {**first, mark: 0, **{mark + piece: number for piece, number in further.items()}}
    keys = sorted(ids)
    try:
        units = build_double_array(keys, [ids[key] for key in keys])
    except ValueError as error:
        raise UnsupportedFeatureError(f"{name}: {error}; compile a smaller vocabulary") from error
    return units, int(step(units, ROOT, FURTHER_BYTE))


def decoded_forms(token: str, prefix: str, cleanup: bool) -> tuple[str, str]:
    """What the decoder makes of a token at the beginning of a text, and of the same token after others.

    Parameters
    ----------
    token : str
        As the vocabulary writes it.
    prefix : str
        Taken away from a token after others, which is joined to the one before; other tokens get a space.
    cleanup : bool
        As of tokenizers' ``decoders.WordPiece``.

    Returns
    -------
    first, later : str, str
    """
    first, later = token, token[len(prefix) :] if token.startswith(prefix) else f" {token}"
    for old, new in _CLEANUPS if cleanup else ():
        first, later = first.replace(old, new), later.replace(old, new)
    return first, later
