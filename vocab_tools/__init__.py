"""Everything that makes or changes vocabularies; :func:`compile` turns a source into a compiled vocabulary."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
