# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from .compiler import compile as compile
from .compiler import from_pairs as from_pairs

__all__ = ["compile", "from_pairs"]
