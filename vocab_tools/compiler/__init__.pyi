# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from .api import compile as compile
from .api import describe_source as describe_source
from .api import from_pairs as from_pairs

__all__ = ["compile", "describe_source", "from_pairs"]
