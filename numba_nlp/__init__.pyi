# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from . import errors as errors
from ._jit import warmup as warmup
from ._version import __version__ as __version__
from .ragged import Ragged as Ragged
from .text_rows import TextRows as TextRows
from .tokenizer import Tokenizer as Tokenizer
from .tokenizer import load_tokenizer as load_tokenizer
from .vocabulary import Vocabulary as Vocabulary

__all__ = [
    "Ragged",
    "TextRows",
    "Tokenizer",
    "Vocabulary",
    "__version__",
    "errors",
    "load_tokenizer",
    "warmup",
]
