"""BERT's normaliser as steps of general normalizers: maps of characters around the normal form NFD.

``BertNormalizer`` cleans up and puts spaces around Chinese characters, takes the normal form NFD and leaves the
nonspacing marks out, then writes lower case. All but NFD works on single characters. The facts are those of
:mod:`vocab_tools.compiler.bert_characters`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vocab_tools.compiler.bert_characters import CHINESE, NONSPACING, REMOVED, TO_SPACE, bert_facts, strip_option
from vocab_tools.compiler.classes import BLOCK
from vocab_tools.formats.stages.normalizers import BertNormalizer

__all__ = ["BertSteps", "bert_steps"]

Table = dict[str, NDArray[Any]]


class BertSteps(NamedTuple):
    """What one choice of options does.

    Attributes
    ----------
    cleaning : dict of str to ndarray or None
        Map that comes first, as of :class:`~numba_nlp.kernels.segment.normalize_maps.MapTables`.
    chinese : dict of str to ndarray or None
        Map that has an entry for the characters around which spaces are put then.
    decomposes : bool
        Whether the normal form comes next.
    after : dict of str to ndarray or None
        Map that comes last.
    """

    cleaning: Table | None
    chinese: Table | None
    decomposes: bool
    after: Table | None


def bert_steps(options: BertNormalizer) -> BertSteps:
    """The steps of one choice of options.

    Parameters
    ----------
    options : BertNormalizer
    """
    facts = bert_facts()
    strips = strip_option(options.strip_accents, options.lowercase)
    cleaning: dict[int, str] = {}
    chinese: dict[int, str] = {}
    if options.clean_text:
        cleaning.update(dict.fromkeys(np.flatnonzero(facts.flags & TO_SPACE).tolist(), " "))
        cleaning.update(dict.fromkeys(np.flatnonzero(facts.flags & REMOVED).tolist(), ""))
    if options.handle_chinese_chars:
        chinese = dict.fromkeys(np.flatnonzero(facts.flags & CHINESE).tolist(), "")
    after = dict(facts.lowercase) if options.lowercase else {}
    if strips:
        after.update(dict.fromkeys(np.flatnonzero(facts.flags & NONSPACING).tolist(), ""))
    return BertSteps(_table(cleaning), _table(chinese), strips, _table(after))


def _table(images: dict[int, str]) -> Table | None:
    """A map in two stages; None where all characters stay."""
    changed = {point: image for point, image in images.items() if image != chr(point)}
    if not changed:
        return None
    numbers: dict[str, int] = {}
    entries = np.zeros(0x110000, np.uint16)
    for point, image in changed.items():
        entries[point] = 1 + numbers.setdefault(image, len(numbers))
    blocks: dict[bytes, int] = {}
    pages = np.array([blocks.setdefault(row.tobytes(), len(blocks)) for row in entries.reshape(-1, BLOCK)], np.uint16)
    contents = [image.encode() for image in numbers]
    return {
        "pages": pages,
        "blocks": np.frombuffer(b"".join(blocks), np.uint16),
        # entry 0 is a character that stays
        "offsets": np.cumsum([0, 0, *map(len, contents)], dtype=np.int32),
        "text": np.frombuffer(b"".join(contents), np.uint8),
    }
