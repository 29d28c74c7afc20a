"""Named tuples of arrays in int64 words: address and length of each array, one behind the other."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from numba_nlp._fastcall.values import array_at, load
from numba_nlp._jit import inlined

__all__ = ["defined", "enter", "make_reader", "n_words"]


@cache
def n_words(cls: Any) -> int:
    """Words that a named tuple of arrays takes; its fields may be such tuples themselves."""
    return sum(n_words(kind) if hasattr(kind, "_fields") else 2 for kind in _kinds(cls))


def enter(block: NDArray[np.int64], first: int, arrays: tuple[Any, ...]) -> int:
    """Write addresses and lengths of the arrays of a named tuple; gives the place behind them.

    Parameters
    ----------
    block : int64[n]
        Written from ``first`` on.
    first : int
    arrays : tuple of arrays, or of such tuples
    """
    for array in arrays:
        if isinstance(array, tuple):
            first = enter(block, first, array)
        else:
            block[first], block[first + 1] = array.ctypes.data, array.size
            first += 2
    return first


def make_reader(cls: Any, first: int, name: str) -> Any:
    """Compile ``block address -> cls`` for a named tuple that stands in a block from word ``first`` on.

    Parameters
    ----------
    cls : type
        Named tuple whose fields are annotated ``NDArray[np.<dtype>]`` or with another such type.
    first : int
    name : str
        Name of the function.
    """
    namespace: dict[str, Any] = {"array_at": array_at, "load": load}
    source = _construction(cls, namespace, count(first, 2))
    return inlined(defined(f"def {name}(block):\n    return {source}\n", name, namespace, __name__))


def defined(source: str, name: str, namespace: dict[str, Any], module: str) -> Any:
    """A function from its source; a closure would do the same but cannot be cached by Numba across processes."""
    exec(source, namespace)  # noqa: S102
    namespace[name].__module__ = module
    return namespace[name]


def _kinds(cls: Any) -> list[Any]:
    """What the fields are annotated with."""
    hints = get_type_hints(cls)
    return [hints[name] for name in cls._fields]


def _construction(cls: Any, namespace: dict[str, Any], places: Any) -> str:
    """Expression that makes a named tuple; enters the names it uses into ``namespace``."""
    parts = []
    for kind in _kinds(cls):
        if hasattr(kind, "_fields"):
            parts.append(_construction(kind, namespace, places))
            continue
        # NDArray[np.int32] is ndarray[<any shape>, dtype[np.int32]]
        dtype = np.dtype(get_args(get_args(kind)[1])[0]).name
        namespace[dtype] = getattr(np, dtype)
        at = 8 * next(places)
        parts.append(f"array_at(load(block + {at}), load(block + {at + 8}), {dtype})")
    # tuples of the same name may stand in one another
    own = f"{cls.__name__}_{len(namespace)}"
    namespace[own] = cls
    return f"{own}({', '.join(parts)})"
