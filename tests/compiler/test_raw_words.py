"""Which characters end words of raw text."""

from __future__ import annotations

import numpy as np
import pytest

from numba_nlp._stages.normalizer import Normalizer
from vocab_tools.compiler.raw_words import _MARK, _WHITE, _all_but, _solid_code_points
from vocab_tools.compiler.stages import compile_normalizers


@pytest.mark.parametrize("open_ends", [{" ", _MARK}, {" ", _MARK, *_WHITE}], ids=["marks", "white space"])
def test_without_normalizers_nothing_needs_to_be_tried(open_ends: set[str]) -> None:
    """What is known then is what a normalizer that changes nothing does to each code point."""
    steps = Normalizer(compile_normalizers([]).arrays)
    assert np.array_equal(_all_but(open_ends), _solid_code_points(steps, " ", open_ends))
