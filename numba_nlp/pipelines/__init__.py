"""Pipelines: text in, plain results or arrays out, over a tokenizer, a model and kernels; one file a task."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
