"""The targets of the project beside the figures of the report."""

from __future__ import annotations

from statistics import median
from typing import Any

from tools.references import family_of

from .ratios import OURS, Ratio, fastest_peer, ours_beside, ratio_of
from .tables import CELLS, adversarial_share, select, spans_cost, spread_words, table, threads_gain, unique

__all__ = ["FAMILIES", "named_peers", "targets"]

#: Stands for the fastest exact peer that is not sentencepiece.
OTHERS = "others"
#: Family -> (cells, peer or None for the fastest exact one, ratio wanted in English and code, and elsewhere); 0: none.
_WANTED: dict[str, list[tuple[tuple[str, ...], str | None, float, float]]] = {
    "byte_bpe": [(CELLS, None, 1, 1)],
    "unigram": [(("warm",), "sentencepiece", 6, 6), (("warm",), OTHERS, 2, 2), (("cold",), "sentencepiece", 2, 2)],
    "sentencepiece_bpe": [(CELLS, None, 5, 5)],
    "wordpiece": [(CELLS, "nanotoken", 1, 2), (CELLS, None, 0, 2)],
    "character_bpe": [(CELLS, None, 1, 1)],
    "staged": [(CELLS, None, 1, 1)],
}
FAMILIES = {
    "byte_bpe": "Byte-level BPE",
    "unigram": "SentencePiece Unigram",
    "sentencepiece_bpe": "SentencePiece BPE",
    "wordpiece": "WordPiece",
    "character_bpe": "Character BPE",
    "staged": "`tokenizer.json` with general stages",
}


def named_peers(vocabulary: str) -> set[str]:
    """Libraries that the targets of a vocabulary name."""
    return {peer for _, peer, *_ in _WANTED[family_of(vocabulary)] if peer is not None and peer != OTHERS}


_HEAD = ["what", "wanted", "figure", "reached"]


def _against(records: list[dict[str, Any]], peer: str | None) -> tuple[str, Ratio] | None:
    """Name of what ours is compared with, and our ratio to it."""
    if peer is None or peer == OTHERS:
        given = [record for record in records if peer is None or record["backend"] != "sentencepiece"]
        found = fastest_peer(given)
    else:
        found = next((record for record in records if record["backend"] == peer and record["exact"]), None)
    ours = ours_beside(records, found) if found else None
    return (found["backend"], ratio_of(ours, found)) if found and ours and ours["exact"] else None


def _reached(found: Ratio, wanted: float, *, least: bool = True) -> str:
    """Whether a ratio is what was wanted, at least or at most; undecided where its spread reaches to both sides."""
    reach = found.value * found.spread / 2
    if not found.settled and abs(found.value - wanted) < reach:
        return "undecided"
    good = found.value >= wanted if least else found.value <= wanted
    return "yes" if good else "**no**"


def _figure(found: Ratio) -> str:
    return f"{found.value:.2f}" + ("" if found.settled else f" ({spread_words(found)})")


def _ratio_targets(results: dict[str, Any], vocabulary: str) -> list[list[str]]:
    """The rows of one vocabulary: what, wanted, figure, reached."""
    rows = []
    for corpus in unique(record["corpus"] for record in select(results, table="encode", vocabulary=vocabulary)):
        for cells, peer, easy, hard in _WANTED[family_of(vocabulary)]:
            wanted = hard if corpus == "multilingual_lines" else easy
            for cell in cells if wanted else ():
                records = select(results, table="encode", vocabulary=vocabulary, corpus=corpus, cell=cell)
                ranked = _against(records, peer)
                if ranked is not None:
                    name, found = ranked
                    sign = f"> {wanted:g}" if wanted == 1 else f">= {wanted:g}"
                    what = f"{vocabulary}, {corpus}, {cell}: ours / {name}"
                    rows.append([what, sign, _figure(found), _reached(found, wanted)])
    return [list(row) for row in dict.fromkeys(map(tuple, rows))]


def targets(results: dict[str, Any]) -> list[str]:
    """Each target of the project beside its figure."""
    parts = []
    vocabularies = unique(record["vocabulary"] for record in select(results, table="encode"))
    for family, title in FAMILIES.items():
        found = [_ratio_targets(results, vocabulary) for vocabulary in vocabularies if family_of(vocabulary) == family]
        family_rows = [entry for entries in found for entry in entries]
        if family_rows:
            done = sum(entry[3] == "yes" for entry in family_rows)
            parts += [
                f"### {title}: {done} of {len(family_rows)} ratios",
                table(_HEAD, family_rows),
            ]
    rows = []

    def row(what: str, wanted: str, figure: str, reached: bool | str) -> None:
        rows.append([what, wanted, figure, reached if isinstance(reached, str) else "yes" if reached else "**no**"])

    for record in select(results, table="latency", backend=OURS):
        if record["corpus"] != "150 characters":
            value = 1e6 * median(record["seconds"])
            row(f"{record['vocabulary']}, {record['corpus']}: µs", "<= 1", f"{value:.2f}", value <= 1)
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in select(results, table="spans")):
        cost = spans_cost(results, vocabulary, corpus)
        row(
            f"{vocabulary}, {corpus}: time with spans / without",
            "<= 1.5",
            _figure(cost),
            _reached(cost, 1.5, least=False),
        )
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in select(results, table="threads")):
        for cell, wanted in (("arrow", 1.8), ("list", 1.6)):
            gain = threads_gain(results, vocabulary, corpus, cell)
            if gain is not None:
                what = f"{vocabulary}, {corpus}, {cell}: gain of two threads"
                row(what, f">= {wanted}", _figure(gain), _reached(gain, wanted))
    for entry in results["adversarial"]:
        if entry["backend"] == OURS and entry["seconds"] is not None:
            share = adversarial_share(entry)
            what = f"{entry['vocabulary']}, {entry['shape']}: share of ordinary speed"
            row(what, ">= 0.1", f"{share:.2f}", share >= 0.1)
    for vocabulary in unique(entry["vocabulary"] for entry in results["startup"]):
        for backend, what, wanted in (
            (OURS, "process start to first ids, s", 0.7),
            (f"{OURS}, nothing compiled", "the same with nothing compiled, s", 20.0),
        ):
            totals = [
                entry["total"]
                for entry in results["startup"]
                if entry["vocabulary"] == vocabulary and entry["backend"] == backend
            ]
            if totals:
                row(f"{vocabulary}: {what}", f"<= {wanted}", f"{median(totals):.2f}", median(totals) <= wanted)
    if rows:
        done = sum(entry[3] == "yes" for entry in rows)
        parts += [f"### Everything else: {done} of {len(rows)}", table(_HEAD, rows)]
    return ["## Targets", *parts] if parts else []
