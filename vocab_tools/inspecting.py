"""What a vocabulary holds, as plain values and as tables of them (needs rich, extra ``cli``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from numba_nlp._encoders.sentencepiece_rows import SentencePieceRowEncoder
from numba_nlp.vocabulary import Vocabulary

__all__ = ["contents", "tables"]

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


def contents(vocabulary: Vocabulary, longest: int) -> dict[str, Any]:
    """What a vocabulary holds.

    Parameters
    ----------
    vocabulary : Vocabulary
    longest : int
        How many of the longest pieces to list.

    Returns
    -------
    dict
        What JSON can hold: ``name``; ``facts``, which depend on the algorithm; ``added_tokens`` by id;
        ``longest_pieces``, and ``examples`` of pieces.
    """
    lengths = np.diff(vocabulary["piece_offsets"])
    normal = np.flatnonzero(vocabulary["piece_kinds"] == 0)
    by_length = normal[np.argsort(-lengths[normal], kind="stable")]
    # Evenly spread over the ids: common pieces come first, rare ones last.
    spread = np.linspace(0, normal.size - 1, min(_N_EXAMPLES, normal.size)).astype(np.int64)
    return {
        "name": vocabulary.metadata["name"],
        "facts": _facts(vocabulary),
        "added_tokens": _added_tokens(vocabulary),
        "longest_pieces": _pieces(vocabulary, by_length[:longest]),
        "examples": _pieces(vocabulary, normal[spread]),
    }


def tables(listed: dict[str, Any]) -> list[Table]:
    """Tables of what :func:`contents` lists; empty ones are left out."""
    summary = Table(title=listed["name"], show_header=False, title_justify="left")
    summary.add_column("what", no_wrap=True)
    summary.add_column("value", overflow="fold")
    for what, value in listed["facts"].items():
        summary.add_row(what, Text(value))
    added = Table("id", "token", "flags", title="added tokens", title_justify="left")
    for token in listed["added_tokens"]:
        added.add_row(str(token["id"]), Text(repr(token["token"])), ", ".join(token["flags"]))
    shown = [summary, added]
    for key, title in (("longest_pieces", "longest pieces"), ("examples", "examples")):
        table = Table("id", "bytes", "piece", title=title, title_justify="left")
        for piece in listed[key]:
            table.add_row(str(piece["id"]), str(piece["bytes"]), Text(piece["piece"]))
        shown.append(table)
    return [table for table in shown if table.row_count]


def _facts(vocabulary: Vocabulary) -> dict[str, str]:
    metadata = vocabulary.metadata
    kinds = np.bincount(vocabulary["piece_kinds"], minlength=256)
    counts = ", ".join(f"{kinds[kind]:,} {name}" for kind, name in _KINDS.items() if kinds[kind])
    template = [str(part) if part >= 0 else "text" for part in vocabulary["template_single"].tolist()]
    return {
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


def _added_tokens(vocabulary: Vocabulary) -> list[dict[str, Any]]:
    content = vocabulary["special_bytes"].tobytes()
    bounds = vocabulary["special_offsets"].tolist()
    ids, flags = vocabulary["special_ids"].tolist(), vocabulary["special_flags"].tolist()
    return [
        {
            "id": ids[place],
            "token": content[bounds[place] : bounds[place + 1]].decode(),
            "flags": [name for bit, name in enumerate(_FLAGS) if flags[place] >> bit & 1],
        }
        for place in np.argsort(vocabulary["special_ids"], kind="stable").tolist()
    ]


def _pieces(vocabulary: Vocabulary, ids: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Ids, lengths and pieces, these as Python writes them: not all are text."""
    content, bounds = vocabulary["piece_bytes"], vocabulary["piece_offsets"]
    listed = []
    for number in ids.tolist():
        piece = content[bounds[number] : bounds[number + 1]].tobytes()
        try:
            text = repr(piece.decode())
        except UnicodeDecodeError:
            text = repr(piece)
        listed.append({"id": number, "bytes": len(piece), "piece": text})
    return listed
