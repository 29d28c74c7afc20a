"""The kernels: compiled functions over flat arrays, to be called from compiled functions of your own.

``DIGEST`` names the machine code of this version on this machine; ``docs/kernels.md`` says what it is good for.
"""

from numba_nlp._jit import DIGEST as DIGEST

__all__ = ["DIGEST"]
