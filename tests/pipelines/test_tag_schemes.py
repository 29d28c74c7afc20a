"""What the names of labels say."""

from __future__ import annotations

import pytest

from numba_nlp.kernels.tasks.entities import BEGIN, END, INSIDE, SINGLE
from numba_nlp.pipelines.tag_schemes import read_labels

B, IN, E, S = BEGIN, INSIDE, END, SINGLE


@pytest.mark.parametrize(
    ("labels", "names", "types", "roles"),
    [
        (["O", "B-PER", "I-PER"], ("O", "PER"), [0, 1, 1], [IN, B, IN]),
        (["I-LOC", "B-LOC", "O", "LOC"], ("LOC", "O"), [0, 0, 1, 0], [IN, B, IN, IN]),
        (["B-X", "I-X", "E-X", "S-X", "O"], ("X", "O"), [0, 0, 0, 0, 1], [B, IN, E, S, IN]),
        (["B-X", "I-X", "L-X", "U-X", "O"], ("X", "O"), [0, 0, 0, 0, 1], [B, IN, E, S, IN]),
        # without B- these are no prefixes
        (["E-MAIL", "S-BAHN", "U-BAHN", "L-X"], ("E-MAIL", "S-BAHN", "U-BAHN", "L-X"), [0, 1, 2, 3], [IN] * 4),
        (
            ["B-A-B", "NN-P", "B_X", "", "-", "B-"],
            ("A-B", "NN-P", "B_X", "", "-"),
            [0, 1, 2, 3, 4, 3],
            [B, IN, IN, IN, IN, B],
        ),
    ],
)
def test_labels_are_read(labels: list[str], names: tuple[str, ...], types: list[int], roles: list[int]) -> None:
    scheme = read_labels(labels)
    assert scheme.names == names
    assert scheme.types.tolist() == types
    assert scheme.roles.tolist() == roles
