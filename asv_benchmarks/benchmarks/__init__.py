"""Benchmarks of numba_nlp and its peers, for asv and for ``python -m asv_benchmarks.report``.

The repository's root goes to the END of the search path: ``tools`` is found there, while ``numba_nlp`` stays the one
that is installed (asv installs the commit it measures).
"""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])
if _ROOT not in sys.path:
    sys.path.append(_ROOT)
