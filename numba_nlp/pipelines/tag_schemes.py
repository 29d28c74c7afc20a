"""What the names of labels say: which type, and where in an entity a token of that label stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.tasks.entities import BEGIN, END, INSIDE, SINGLE

__all__ = ["TagScheme", "read_labels"]

#: Letter -> its meaning, and the letters that have to be there with the same type for it to be a prefix at all.
_PREFIXES = {
    "B": (BEGIN, ""),
    "I": (INSIDE, ""),
    "E": (END, "B"),
    "S": (SINGLE, "BE"),
    "L": (END, "B"),
    "U": (SINGLE, "BL"),
}


class TagScheme(NamedTuple):
    """Types and roles of labels.

    Parameters
    ----------
    names : tuple of str
        Of the types.
    types : int32[labels]
        Number of the type of each label.
    roles : uint8[labels]
        ``BEGIN``, ``INSIDE``, ``END`` or ``SINGLE``.
    """

    names: tuple[str, ...]
    types: NDArray[np.int32]
    roles: NDArray[np.uint8]


def read_labels(labels: Sequence[str]) -> TagScheme:
    """Types and roles of labels by their prefixes.

    ``B-X`` begins an entity of the type X, ``I-X`` is inside of one (BIO). ``E-X`` ends one and ``S-X`` is one by
    itself where the labels have ``B-X`` too (and, for S, ``E-X``): BIOES; likewise ``L-X`` and ``U-X``: BILOU. Any
    other label is a type of its own, whose neighbours belong together.

    Parameters
    ----------
    labels : sequence of str
    """
    known = set(labels)
    names: dict[str, int] = {}
    types, roles = [], []
    for label in labels:
        letter, dash, kind = label[:1], label[1:2], label[2:]
        name, role = label, INSIDE
        if dash == "-" and letter in _PREFIXES and all(f"{other}-{kind}" in known for other in _PREFIXES[letter][1]):
            name, role = kind, _PREFIXES[letter][0]
        types.append(names.setdefault(name, len(names)))
        roles.append(role)
    return TagScheme(tuple(names), np.array(types, np.int32), np.array(roles, np.uint8))
