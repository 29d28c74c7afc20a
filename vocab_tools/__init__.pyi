# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from .compiler import compile as compile
from .compiler import from_pairs as from_pairs
from .converting.api import Converted as Converted
from .converting.api import convert as convert
from .converting.table import Conversion as Conversion
from .converting.table import conversion_matrix as conversion_matrix

__all__ = ["Conversion", "Converted", "compile", "conversion_matrix", "convert", "from_pairs"]
