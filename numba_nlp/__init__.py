"""An NLP engine on flat arrays: exact tokenizers, compiled by Numba.

Every name is loaded on first use, so that ``import numba_nlp`` costs next to nothing and pulls in neither Numba nor
any optional package.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
