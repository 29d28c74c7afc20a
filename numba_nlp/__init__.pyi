# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from . import errors as errors
from ._jit import warmup as warmup
from ._version import __version__ as __version__
from .inputs import ModelInputs as ModelInputs
from .inputs import encode_padded as encode_padded
from .loading import load_tokenizer as load_tokenizer
from .models import load_model as load_model
from .pipelines import pipeline as pipeline
from .ragged import Ragged as Ragged
from .text_rows import TextRows as TextRows
from .tokenizer import Tokenizer as Tokenizer
from .vocabulary import Vocabulary as Vocabulary

__all__ = [
    "ModelInputs",
    "Ragged",
    "TextRows",
    "Tokenizer",
    "Vocabulary",
    "__version__",
    "encode_padded",
    "errors",
    "load_model",
    "load_tokenizer",
    "pipeline",
    "warmup",
]
