# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from .comparing.api import Comparison as Comparison
from .comparing.api import compare as compare
from .compiler import compile as compile
from .compiler import from_pairs as from_pairs
from .converting.api import Converted as Converted
from .converting.api import convert as convert
from .converting.table import Conversion as Conversion
from .converting.table import conversion_matrix as conversion_matrix
from .editing.api import Extended as Extended
from .editing.api import Pruned as Pruned
from .editing.api import extend as extend
from .editing.api import prune as prune
from .verifying.api import Verification as Verification
from .verifying.api import verify as verify

__all__ = [
    "Comparison",
    "Conversion",
    "Converted",
    "Extended",
    "Pruned",
    "Verification",
    "compare",
    "compile",
    "conversion_matrix",
    "convert",
    "extend",
    "from_pairs",
    "prune",
    "verify",
]
