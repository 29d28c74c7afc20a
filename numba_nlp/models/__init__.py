"""Transformer models in plain torch, equal to those of transformers, loaded from checkpoint folders as they are."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
