"""Whether tokenizers' count of places behind a charsmap can be followed, for ``prepend_scheme`` ``"first"``.

Where ``Precompiled`` leaves out *d* characters at the start of a text, tokenizers gives what is left the places of the
characters from the first one on: output *i* has that of input *i* instead of *i + d*. A Metaspace with the scheme
``"first"`` asks which piece begins at place 0. When of all inputs of the stage only the first one has the place 0, that
is the first output and no other, wherever it comes from; :class:`numba_nlp._stages.normalizer.Normalizer` notes where.

Here it is checked that the stages before never give several characters the place 0 of which the charsmap leaves out the
first: by what becomes of each character alone, and by what is put in the place of others. And where one character
became several, before or by the charsmap, they share a place here and not there. That matters where a text can be cut
between them, or begin there: behind another cut, an added token in normalized text, or a normalizer that takes the
first character away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from numba_nlp._stages.normalizer import Normalizer
from numba_nlp.errors import UnsupportedFeatureError
from vocab_tools.compiler.classes import class_tables
from vocab_tools.compiler.stages import compile_normalizers
from vocab_tools.formats.charsmap import Charsmap
from vocab_tools.formats.description import AddedToken
from vocab_tools.formats.stages import normalizers, pre_tokenizers

__all__ = ["check_first_places"]


def check_first_places(
    stages: Sequence[normalizers.Normalizer],
    cutters: Sequence[pre_tokenizers.PreTokenizer],
    added: Sequence[AddedToken],
) -> None:
    """Refuse a combination whose places cannot be followed.

    Parameters
    ----------
    stages : sequence of normalizers
    cutters : sequence of pre-tokenizers
    added : sequence of AddedToken

    Raises
    ------
    UnsupportedFeatureError
    """
    is_first = [isinstance(cutter, pre_tokenizers.Metaspace) and cutter.scheme == "first" for cutter in cutters]
    if not any(is_first):
        return
    places = [place for place, stage in enumerate(stages) if isinstance(stage, normalizers.Precompiled)]
    if not places:
        return
    charsmap = stages[places[0]]
    assert isinstance(charsmap, normalizers.Precompiled)
    rules = Charsmap(np.frombuffer(charsmap.units, "<u4"), np.frombuffer(charsmap.text, np.uint8)).rules()
    left_out = {key.decode()[0] for key, content in rules.items() if not content}
    if not left_out:
        return
    before, behind = stages[: places[0]], stages[places[0] + 1 :]
    grown = [content.decode() for content in rules.values() if len(content.decode()) > 1]
    grows = bool(grown) or not all(map(_only_takes_away, before))
    if len(places) > 1:
        problem = "stands twice"
    elif any(isinstance(stage, normalizers.Replace) and _begins(stage.content, left_out) for stage in before):
        problem = "leaves out what a Replace before it puts first"
    elif _begins_anywhere(before, left_out):
        problem = "leaves out the first of several characters that a normalizer before it makes of one"
    elif grows and (any(is_first[1:]) or any(token.normalized for token in added)):
        problem = "leaves characters out, one character becomes several, and the text is cut before Metaspace sees it"
    elif grows and not all(_keeps_first(stage, grown) for stage in behind):
        problem = "leaves characters out, one becomes several, and a normalizer behind it may take the first away"
    else:
        return
    raise UnsupportedFeatureError(
        'pre_tokenizer: Metaspace with prepend_scheme "first" is not supported where the normalizer Precompiled '
        f"{problem}: it asks for places that tokenizers miscounts then"
    )


def _only_takes_away(stage: normalizers.Normalizer) -> bool:
    """Whether a normalizer never makes several characters of one."""
    if isinstance(stage, normalizers.Replace):
        return len(stage.content) < 2
    return isinstance(stage, normalizers.Strip) or stage == normalizers.CharacterMap("strip_accents")


def _keeps_first(stage: normalizers.Normalizer, grown: Sequence[str]) -> bool:
    """Whether a text begins behind a normalizer with what it began with before, or what has its place."""
    if isinstance(stage, normalizers.Replace):
        # spaces for spaces, where no rule makes two of them at once
        of_spaces = stage.pattern.text in (" ", " +", " {2,}", "\\s+", "\\s{2,}")
        return of_spaces and bool(stage.content) and not any(re.search(r"\s\s", content) for content in grown)
    keeps = normalizers.NormalForm | normalizers.Prepend | normalizers.ByteLevel
    return isinstance(stage, keeps) or stage == normalizers.CharacterMap("lowercase")


def _begins(text: str, left_out: set[str]) -> bool:
    return len(text) > 1 and text[0] in left_out


def _begins_anywhere(stages: Sequence[normalizers.Normalizer], left_out: set[str]) -> bool:
    """Whether some character alone becomes several that begin with one of these."""
    compiled, classes = compile_normalizers(stages), class_tables("tokenizers")
    arrays = {**compiled.arrays, "class_index": classes.class_index, "class_blocks": classes.class_blocks}
    codes = np.concatenate((np.arange(0xD800), np.arange(0xE000, 0x110000)))
    ends = np.cumsum(1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))
    data = np.frombuffer("".join(map(chr, codes)).encode(), np.uint8)
    rows = Normalizer(arrays, compiled.regexes).normalize(data, np.concatenate(([0], ends[:-1])), ends, False)
    changed = np.flatnonzero(rows.ends - rows.starts > 1)
    bounds = zip(rows.starts[changed].tolist(), rows.ends[changed].tolist(), strict=True)
    content = rows.source.text.tobytes()
    return any(_begins(content[start:end].decode(), left_out) for start, end in bounds)
