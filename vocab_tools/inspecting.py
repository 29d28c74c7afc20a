"""Tables that show what a compiled vocabulary holds (needs rich, extra ``cli``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from numba_nlp._encoders.sentencepiece_rows import SentencePieceRowEncoder
from numba_nlp.vocabulary import Vocabulary

__all__ = ["tables"]

_KINDS = {
    0: "normal",
    1: "unknown",
    2: "special",
    3: "added, not special",
    4: "given to no text",
    5: "single bytes",
    255: "unused ids",
}
_FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")
_N_EXAMPLES = 8


def tables(vocabulary: Vocabulary, longest: int) -> list[Table]:
    """Build the tables.

    Parameters
    ----------
    vocabulary : Vocabulary
    longest : int
        How many of the longest pieces to show.

    Returns
    -------
    list of rich.table.Table
    """
    shown = [_summary(vocabulary), _special_tokens(vocabulary)]
    lengths = np.diff(vocabulary["piece_offsets"])
    normal = np.flatnonzero(vocabulary["piece_kinds"] == 0)
    by_length = normal[np.argsort(-lengths[normal], kind="stable")]
    shown.append(_pieces("longest pieces", vocabulary, by_length[:longest]))
    # Evenly spread over the ids: common pieces come first, rare ones last.
    spread = np.linspace(0, normal.size - 1, min(_N_EXAMPLES, normal.size)).astype(np.int64)
    shown.append(_pieces("examples", vocabulary, normal[spread]))
    return [table for table in shown if table.row_count]


def _summary(vocabulary: Vocabulary) -> Table:
    metadata = vocabulary.metadata
    kinds = np.bincount(vocabulary["piece_kinds"], minlength=256)
    counts = ", ".join(f"{kinds[kind]:,} {name}" for kind, name in _KINDS.items() if kinds[kind])
    template = [str(part) if part >= 0 else "text" for part in vocabulary["template_single"].tolist()]
    rows = {
        "algorithm": metadata["algorithm"],
        "reference": f"{metadata['reference']} (Unicode {metadata['unicode_version']})",
        "ids": f"{vocabulary.size:,}: {counts}",
        "array bytes": f"{sum(array.nbytes for array in vocabulary.arrays.values()):,}",
        **_FACTS[metadata["algorithm"]](vocabulary),
        "special text": metadata["special_policy"],
        "template": " ".join(template) or "nothing is added",
        "source": metadata["source_format"],
        "source digest": metadata["source_digest"],
        "digest": vocabulary.digest,
    }
    table = Table(title=metadata["name"], show_header=False, title_justify="left")
    table.add_column("what", no_wrap=True)
    table.add_column("value", overflow="fold")
    for what, value in rows.items():
        table.add_row(what, Text(value))
    return table


def _byte_bpe_facts(vocabulary: Vocabulary) -> dict[str, str]:
    metadata = vocabulary.metadata
    scanner = "as a regular expression (slower)" if metadata["pattern"] == "regex" else "by a hand-written scanner"
    return {
        "merges": f"{vocabulary['merge_symbols'].size:,}",
        "pattern": f"{metadata['pattern']}, runs {scanner}",
        "pattern regex": metadata["pattern_regex"],
        "add_prefix_space": str(metadata["add_prefix_space"]),
        "trim_offsets": str(metadata["trim_offsets"]),
        "whole pieces": str(metadata["whole_pieces"]),
    }


def _wordpiece_facts(vocabulary: Vocabulary) -> dict[str, str]:
    metadata = vocabulary.metadata
    unknown, most_characters = vocabulary["wordpiece"][:2].tolist()
    return {
        "normaliser": ", ".join(
            f"{option}={metadata[option]}"
            for option in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        ),
        "unknown words": f"id {unknown}; those with more than {most_characters} characters always",
        "prefix": repr(metadata["prefix"]),
        "decoder": f"joins at {metadata['decoder_prefix']!r}, clean-up {'on' if metadata['cleanup'] else 'off'}",
    }


def _sentencepiece_facts(vocabulary: Vocabulary) -> dict[str, str]:
    metadata = vocabulary.metadata
    names = ("normalizer", "byte_fallback", "unk_id", "bos_id", "eos_id", "pad_id")
    return {
        "cut into chunks": SentencePieceRowEncoder.cuts[metadata["pattern"]],
        **{name: str(metadata[name]) for name in names if name in metadata},
    }


def _character_bpe_facts(vocabulary: Vocabulary) -> dict[str, str]:
    metadata = vocabulary.metadata
    return {
        "merges": f"{vocabulary['merge_symbols'].size:,}, {'pass by pass' if metadata['in_passes'] else 'one by one'}",
        "words": f"{metadata['words']}, {'lower case' if metadata['lowercase'] else 'case as it is'}",
        "marks": f"prefix {metadata['prefix']!r}, suffix {metadata['suffix']!r}, separator {metadata['separator']!r}",
        "decoder": metadata["decoder"],
    }


def _staged_facts(vocabulary: Vocabulary) -> dict[str, str]:
    metadata = vocabulary.metadata
    facts = {
        name.replace("_", "-"): ", ".join(metadata[name]) or "none"
        for name in ("normalizers", "pre_tokenizers", "decoders")
    }
    if "merge_symbols" in vocabulary.arrays:
        facts["merges"] = f"{vocabulary['merge_symbols'].size:,}"
        facts["ignore_merges"] = str(metadata["ignore_merges"])
    facts.update({mark: repr(metadata[mark]) for mark in ("prefix", "suffix") if mark in metadata})
    facts["unknown text"] = f"id {metadata['unknown_id']}" if metadata["unknown_id"] >= 0 else "no id"
    facts["byte_fallback"] = str(metadata["byte_fallback"])
    return facts


#: What to show of each algorithm.
_FACTS = {
    "byte_bpe": _byte_bpe_facts,
    "wordpiece": _wordpiece_facts,
    "unigram": _sentencepiece_facts,
    "sentencepiece_word": _sentencepiece_facts,
    "sentencepiece_char": _sentencepiece_facts,
    "sentencepiece_bpe": _sentencepiece_facts,
    "character_bpe": _character_bpe_facts,
    "staged_bpe": _staged_facts,
    "staged_unigram": _staged_facts,
    "staged_wordpiece": _staged_facts,
    "staged_marked_bpe": _staged_facts,
}


def _special_tokens(vocabulary: Vocabulary) -> Table:
    table = Table("id", "token", "flags", title="added tokens", title_justify="left")
    content = vocabulary["special_bytes"].tobytes()
    bounds = vocabulary["special_offsets"].tolist()
    ids, flags = vocabulary["special_ids"].tolist(), vocabulary["special_flags"].tolist()
    for place in np.argsort(vocabulary["special_ids"], kind="stable").tolist():
        text = content[bounds[place] : bounds[place + 1]].decode()
        names = [name for bit, name in enumerate(_FLAGS) if flags[place] >> bit & 1]
        table.add_row(str(ids[place]), Text(repr(text)), ", ".join(names))
    return table


def _pieces(title: str, vocabulary: Vocabulary, ids: Any) -> Table:
    table = Table("id", "bytes", "piece", title=title, title_justify="left")
    content, bounds = vocabulary["piece_bytes"], vocabulary["piece_offsets"]
    for number in ids.tolist():
        piece = content[bounds[number] : bounds[number + 1]].tobytes()
        try:
            text = repr(piece.decode())
        except UnicodeDecodeError:
            text = repr(piece)
        table.add_row(str(number), str(len(piece)), Text(text))
    return table
