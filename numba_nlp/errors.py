"""The exception tree, and the status codes that kernels return.

Kernels never raise (an exception that leaves a compiled function leaks the arrays it owned,
numba#1549); they return a negative status and the wrapper raises what the status means.
"""

from __future__ import annotations

__all__ = [
    "AlignmentError",
    "ConversionError",
    "InvalidTextError",
    "MissingRowError",
    "NumbaNlpError",
    "RowError",
    "SourceFormatError",
    "SpecialTokenError",
    "UnknownIdError",
    "UnknownTokenError",
    "UnsupportedFeatureError",
    "VocabularyFormatError",
]

STATUS_OK = 0
#: The bytes are not valid UTF-8; the wrapper knows the row and the byte.
STATUS_INVALID_UTF8 = -1
#: An id outside ``[0, vocab_size)``, or one that the vocabulary leaves unused.
STATUS_UNKNOWN_ID = -2
#: The output array is too small (the wrapper sizes it, so this means a bug in a caller's own kernel).
STATUS_OUTPUT_FULL = -3
#: The pieces of a row's ids do not tile its text: the ids belong to another text, vocabulary or option.
STATUS_NOT_TILING = -4


class NumbaNlpError(Exception):
    """Base of every error that this package raises on purpose."""


#: Characters of the longest message about a file.
_LONGEST_MESSAGE = 2000


class _FileError(NumbaNlpError, ValueError):
    """Quotes a file, whose names and values may be of any length; its message keeps both ends."""

    def __init__(self, message: str) -> None:
        if len(message) > _LONGEST_MESSAGE:
            half = _LONGEST_MESSAGE // 2 - 30
            left_out = len(message) - 2 * half
            message = f"{message[:half]} ... ({left_out} characters left out) ... {message[-half:]}"
        super().__init__(message)


class VocabularyFormatError(_FileError):
    """A compiled vocabulary file is damaged, foreign, or of another version."""


class SourceFormatError(_FileError):
    """A source file of a vocabulary (``vocab.json``, ``.tiktoken`` ...) or of a model breaks its format."""


class UnsupportedFeatureError(_FileError):
    """A source asks for a stage or option that cannot be reproduced exactly yet, named in the message."""


class ConversionError(_FileError):
    """A vocabulary cannot be written in another format without a loss; the message says what would be lost."""


class InvalidTextError(NumbaNlpError, ValueError):
    """Text that is not valid Unicode (bad UTF-8, lone surrogates); names the row and the byte.

    Attributes
    ----------
    row : int or None
        Row of the batch, 0 for a single text.
    byte : int
        Offset of the first bad byte within that row's UTF-8 bytes.
    """

    def __init__(self, message: str, row: int | None = None, byte: int = 0) -> None:
        super().__init__(message)
        self.row = row
        self.byte = byte


class MissingRowError(NumbaNlpError, ValueError):
    """A row is missing (None, NaN, Arrow null) and ``nulls="error"``."""


class RowError(NumbaNlpError, ValueError):
    """A row of a pipeline's inputs is not what the task takes, or does not fit into the model.

    Attributes
    ----------
    row : int
        Its number among all inputs of the call.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type[RowError], tuple[str, int]]:
        return (RowError, (str(self), self.row))


class UnknownIdError(NumbaNlpError, ValueError):
    """An id that a model does not have: its ids are from 0 to ``size - 1``.

    Attributes
    ----------
    name : str
        What the ids are called.
    id, size : int
    row, position : int
        Where it stands.
    """

    def __init__(self, name: str, id: int, size: int, row: int, position: int) -> None:
        super().__init__(
            f"`{name}` must be from 0 to {size - 1}, the model has no {id} (row {row}, position {position})"
        )
        self.name, self.id, self.size, self.row, self.position = name, id, size, row, position

    def of_row(self, number: int) -> RowError:
        """The same of an input of a call, of which the row of a batch was made."""
        return RowError(
            f"row {number}: `{self.name}` must be from 0 to {self.size - 1}, the model has no {self.id}; take the "
            "tokenizer that belongs to the model",
            number,
        )

    def __reduce__(self) -> tuple[type[UnknownIdError], tuple[str, int, int, int, int]]:
        return (UnknownIdError, (self.name, self.id, self.size, self.row, self.position))


class SpecialTokenError(NumbaNlpError, ValueError):
    """The text contains a special token and the policy is ``special="raise"``."""


class AlignmentError(NumbaNlpError, RuntimeError):
    """Ids that the text does not give, so that places in it cannot be told.

    The vocabulary contradicts itself, as only a damaged one does that was loaded without its digest; the text was
    changed by another thread meanwhile; or it is a fault of this package, which please report with the text.
    """


class UnknownTokenError(NumbaNlpError, KeyError):
    """A token or an id that the vocabulary does not hold."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
