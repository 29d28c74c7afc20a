"""Tables of tokenizers' normalizers and pre-tokenizers, read from the data file of the package.

They were read out of the reference by ``tools/generate_normalization_tables.py``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAPS", "NormalizationTables", "normalization_tables"]

#: Normalizers that are tables of characters.
MAPS = ("lowercase", "strip_accents", "nmt")


class NormalizationTables(NamedTuple):
    """The shipped tables.

    Attributes
    ----------
    arrays : Mapping of str to ndarray
        Read-only: ``form_*`` (:class:`numba_nlp.kernels.segment.normalize_forms.FormTables`), ``cluster_*``
        (:class:`~numba_nlp.kernels.segment.graphemes.ClusterTables`), ``cut_*``
        (:class:`~numba_nlp.kernels.segment.cut_items.CutClasses`), and for each of :data:`MAPS` one map as of
        :class:`~numba_nlp.kernels.segment.normalize_maps.MapTables`.
    metadata : Mapping of str to str
        ``library_version``, and ``unicode_version_*`` of each table.
    """

    arrays: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]


@lru_cache(maxsize=1)
def normalization_tables() -> NormalizationTables:
    """Return the shipped tables."""
    content = (resources.files("vocab_tools") / "data" / "normalization.npz").read_bytes()
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    metadata = json.loads(str(arrays.pop("metadata")))
    for array in arrays.values():
        array.flags.writeable = False
    return NormalizationTables(MappingProxyType(arrays), MappingProxyType(metadata))
