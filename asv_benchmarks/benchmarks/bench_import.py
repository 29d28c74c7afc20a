"""Importing the package in a fresh interpreter."""

from __future__ import annotations


class Import:
    """``import numba_nlp`` must pull in neither torch nor pyarrow nor protobuf; its time is kept here."""

    def timeraw_import(self) -> str:
        return "import numba_nlp"

    def timeraw_import_numba(self) -> str:
        """What of it is Numba."""
        return "import numba"
