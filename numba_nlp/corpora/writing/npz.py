"""Files of numpy arrays that grow: each array is spooled by itself, then all are put into one archive."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from numba_nlp._atomic import atomic_writer
from numba_nlp.corpora.writing.results import Result

__all__ = ["write_npz"]


class _Spool:
    """An array without its header, in a temporary file."""

    def __init__(self, stream: BinaryIO, dtype: np.dtype[Any]) -> None:
        self.stream = stream
        self.dtype = dtype
        self.size = 0

    def add(self, part: Any) -> None:
        self.stream.write(np.ascontiguousarray(part, self.dtype).data.cast("B") if part.size else b"")
        self.size += part.size

    def copy_to(self, archive: zipfile.ZipFile, name: str) -> None:
        self.stream.seek(0)
        # the size is not known to the archive before it is written
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)}
            npy.write_array_header_1_0(member, header)
            shutil.copyfileobj(self.stream, member, 1 << 20)


def write_npz(path: Path, results: Iterable[Result], metadata: Mapping[str, str]) -> None:
    """Write the arrays of rows as ``numpy.savez`` does; memory is bounded by the largest result.

    ``lengths`` of rows become ``offsets`` (int64[rows + 1], from 0), so that ``values`` and ``offsets`` are those of
    :class:`numba_nlp.Ragged`. ``valid`` is there when a row is missing. Each entry of the metadata is a string array
    without dimensions.

    Parameters
    ----------
    path : Path
        Appears whole or not at all; needs room for its content twice beside it while it is written.
    results : iterable of Result
        At least one.
    metadata : mapping of str to str
    """
    with ExitStack() as stack, atomic_writer(path) as stream:
        spools: dict[str, _Spool] = {}
        n_values = 0
        has_missing = False

        def spool(name: str, dtype: np.dtype[Any]) -> _Spool:
            if name not in spools:
                # beside the file: the folder of temporary files may be in memory
                file = stack.enter_context(tempfile.TemporaryFile(dir=path.resolve().parent))
                spools[name] = _Spool(file, dtype)
                if name == "offsets":
                    spools[name].add(np.zeros(1, np.int64))
            return spools[name]

        for result in results:
            for name, array in result.arrays().items():
                if name == "lengths":
                    offsets = n_values + np.cumsum(array, dtype=np.int64)
                    spool("offsets", offsets.dtype).add(offsets)
                    n_values = int(offsets[-1]) if offsets.size else n_values
                    continue
                has_missing |= name == "valid" and not array.all()
                spool(name, array.dtype).add(array)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, one in spools.items():
                if name != "valid" or has_missing:
                    one.copy_to(archive, name)
            for name, value in metadata.items():
                with archive.open(f"{name}.npy", "w") as member:
                    npy.write_array(member, np.array(value), allow_pickle=False)
