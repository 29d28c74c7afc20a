"""From the description of a vocabulary to flat arrays; :func:`compile` goes all the way from a source."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
