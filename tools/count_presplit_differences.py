"""Count where BPE on words split beforehand differs from BPE on the whole text.

The article "Byte Pair Encoding and Data Structures" (Becquin 2021) calls its second algorithm an approximation, and
names languages without spaces as its weak place. This measures it: each line of each text is tokenised by both, and a
token of the exact result counts as lost when the other result has no token with the same id and bytes.

::

    python -m tools.count_presplit_differences MODEL TEXT... [--output FILE]

``MODEL`` is a SentencePiece BPE ``.model``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from numba_nlp.kernels.articles.bpe_linked_list import tokenize_priority_queue_linked_list
from numba_nlp.kernels.articles.bpe_presplit import tokenize_naive_presplit
from numba_nlp.kernels.articles.merge_pieces import ArticleScratch, MergePieces, new_article_scratch, new_merge_pieces

#: Lines that are shown for each text.
N_EXAMPLES = 2


def read_pieces(path: Path) -> tuple[MergePieces, list[str]]:
    processor = sentencepiece.SentencePieceProcessor(str(path))
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    return new_merge_pieces([piece.encode() for piece in pieces], processor.unk_id()), pieces


def tokens(algorithm: Any, pieces: MergePieces, content: bytes, scratch: ArticleScratch) -> list[tuple[int, int, int]]:
    room = len(content) + 1
    ids, starts, ends = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
    n = algorithm(pieces, np.frombuffer(content, np.uint8), 0, len(content), scratch, ids, starts, ends)
    return list(zip(ids[:n].tolist(), starts[:n].tolist(), ends[:n].tolist(), strict=True))


def count(pieces: MergePieces, names: list[str], path: Path) -> dict[str, Any]:
    lines = [line for line in path.read_bytes().splitlines() if line]
    scratch = new_article_scratch(max(map(len, lines), default=0))
    n_tokens = n_lost = n_different = 0
    examples = []
    for line in lines:
        exact = tokens(tokenize_priority_queue_linked_list, pieces, line, scratch)
        split = tokens(tokenize_naive_presplit, pieces, line, scratch)
        lost = sorted(set(exact) - set(split), key=lambda token: token[1:])
        n_tokens += len(exact)
        n_lost += len(lost)
        n_different += exact != split
        if lost and len(examples) < N_EXAMPLES:
            _, start, stop = lost[0]
            inside = [names[number] for number, first, last in split if start < last and first < stop]
            examples.append({"lost": names[lost[0][0]], "instead": inside})
    return {
        "text": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest()[:12],
        "lines": len(lines),
        "lines_different": n_different,
        "tokens": n_tokens,
        "tokens_lost": n_lost,
        "examples": examples,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    pieces, names = read_pieces(arguments.model)
    rows = [count(pieces, names, path) for path in arguments.texts]
    print(f"{'text':28} {'lines':>8} {'different':>10} {'tokens':>9} {'lost':>8}")
    for row in rows:
        print(f"{row['text']:28} {row['lines']:8} {row['lines_different']:10} {row['tokens']:9} {row['tokens_lost']:8}")
    if arguments.output:
        digest = hashlib.sha256(arguments.model.read_bytes()).hexdigest()[:12]
        result = {"model": arguments.model.name, "sha256": digest, "texts": rows}
        arguments.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
