"""The one room that goes around Numba's dispatcher: addresses, Python objects, numpy's C interface.

Why: a kernel call through the dispatcher costs about 4 us with a tuple of arrays and more with a ``str``, which is
ten times what encoding a short sentence takes. Here

* the arrays of a tokenizer are reached through one *control block*, an int64 array of addresses and lengths;
* ``Family.rows`` encode rows with the GIL released, called through ``ctypes`` with that block;
* :func:`text_function` takes a ``str`` object and gives back a numpy array, made by numpy's own C function,
  ``encode_few`` takes a few of them, and :func:`give_method` makes a method of a class of the same;
* where a text is normalized and cut before the model, ``texts.encode_text`` stands in the place of the row encoder
  (imported by those tokenizers only);
* a pre-token that is not in the cache is encoded by ``Family.unseen``, which is compiled once and called through its
  address by the row encoders of all patterns: the hot loops stay small, and nothing is compiled twice.

Everything here has a plain way beside it (``numba_nlp/_encoders``) with the same results; ``AVAILABLE`` says
whether this room works on the running interpreter, tested once on import. It does not with the JIT disabled, under
``NUMBA_BOUNDSCHECK=1`` or ``NUMBA_NLP_PLAIN=1``, on interpreters other than CPython, and without a GIL.
"""

from __future__ import annotations

from numba_nlp._fastcall.control import SINGLE_LIMIT, ControlBlock, Family
from numba_nlp._fastcall.few import MOST_FEW, encode_few
from numba_nlp._fastcall.interpreter import Direct, Holder, has_vector_calls, is_available
from numba_nlp._fastcall.methods import bound, give_method, text_function
from numba_nlp._fastcall.strings import NOTHING_WATCHED, Watched, bytes_at, gather_strings, locate_strings, watch_tokens

__all__ = [
    "AVAILABLE",
    "HAS_METHODS",
    "MOST_FEW",
    "NOTHING_WATCHED",
    "SINGLE_LIMIT",
    "ControlBlock",
    "Direct",
    "Family",
    "Holder",
    "Watched",
    "bound",
    "bytes_at",
    "encode_few",
    "gather_strings",
    "give_method",
    "locate_strings",
    "text_function",
    "watch_tokens",
]

AVAILABLE = is_available()
#: Whether methods of classes can be compiled functions.
HAS_METHODS = AVAILABLE and has_vector_calls()
