"""Write a ``tokenizer.json`` for libraries that read nothing else, from tiktoken ranks or GPT-2's two files.

``python -m tools.tiktoken_to_tokenizer_json RANKS.tiktoken OUT.json --encoding cl100k_base`` converts;
``--check FILE`` also encodes the lines of a text with tiktoken and with tokenizers and fails unless they agree.

A rank file lists pieces, a ``tokenizer.json`` lists merges. The merge that makes a piece is found by encoding the piece
alone with the lower ranks only: two parts are left, and these are the pair. The result is what the ranks were trained
as. It is not always all that tiktoken does (tiktoken merges any two neighbours whose concatenation has a rank, listed
or not), so compare ids before trusting a conversion; ``ignore_merges`` covers the common case, a pre-token that is a
piece itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["BYTE_CHARACTERS", "convert_ranks", "merges_of_ranks", "tokenizer_json"]

#: Split patterns as checkpoints on the hub spell them: the readers of other libraries know these strings and take
#: their fast path, where they would not recognise tiktoken's own (possessive, equivalent) spelling.
PATTERNS = {
    "cl100k_base": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


def _byte_characters() -> list[str]:
    """The 256 printable characters that stand for bytes in GPT-2's vocabulary files, by byte."""
    own = [b for b in range(256) if chr(b).isprintable() and not chr(b).isspace()]
    spare = iter(range(256, 512))
    return [chr(b) if b in own else chr(next(spare)) for b in range(256)]


#: Byte -> character of the byte-level alphabet.
BYTE_CHARACTERS = _byte_characters()


def _spell(piece: bytes) -> str:
    return "".join(BYTE_CHARACTERS[byte] for byte in piece)


def _parts_below(piece: bytes, ranks: Mapping[bytes, int], limit: int) -> list[bytes]:
    """Byte-pair encoding of one piece that may use ranks below ``limit`` only."""
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while len(parts) > 1:
        best, where = limit, -1
        for i in range(len(parts) - 1):
            rank = ranks.get(parts[i] + parts[i + 1], limit)
            if rank < best:
                best, where = rank, i
        if where < 0:
            break
        parts[where : where + 2] = [parts[where] + parts[where + 1]]
    return parts


def merges_of_ranks(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The merge that makes each piece of two bytes or more, in the order of the ranks.

    Raises
    ------
    ValueError
        A piece is not made by one merge of two lower pieces; no merge list can express it.
    """
    merges = []
    for piece, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(piece) == 1:
            continue
        parts = _parts_below(piece, ranks, rank)
        if len(parts) != 2:
            raise ValueError(
                f"piece {piece!r} (rank {rank}) is left in {len(parts)} parts {parts!r} by the lower ranks; "
                "a tokenizer.json cannot express it, read the .tiktoken file itself"
            )
        merges.append((parts[0], parts[1]))
    return merges


def tokenizer_json(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    special_tokens: Mapping[str, int],
    pattern: str | None,
    ignore_merges: bool,
    roberta: bool = False,
) -> dict[str, Any]:
    """A byte-level BPE ``tokenizer.json``.

    Parameters
    ----------
    vocab : mapping of str to int
        Pieces spelled in the byte-level alphabet, with their ids.
    merges : sequence of pairs of str
        In the order of their priority.
    special_tokens : mapping of str to int
        Content and id of the special tokens.
    pattern : str or None
        Split pattern; None takes GPT-2's, which the ByteLevel stage has built in.
    ignore_merges : bool
        Whether a pre-token that is a piece gives that piece without merging (as tiktoken does).
    roberta : bool
        RoBERTa's post-processing: ``<s>`` and ``</s>`` around a text, spans without the leading space.
    """
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    if pattern is None:
        pre_tokenizer: dict[str, Any] = {**byte_level, "use_regex": True}
    else:
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, {**byte_level, "use_regex": False}]}
    flags = {"single_word": False, "rstrip": False, "normalized": False, "special": True}
    post_processor: dict[str, Any] = {**byte_level, "use_regex": True}
    if roberta:
        ends = {name: [content, special_tokens[content]] for name, content in (("sep", "</s>"), ("cls", "<s>"))}
        post_processor = {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": content, "lstrip": content == "<mask>", **flags}
            for content, number in sorted(special_tokens.items(), key=lambda item: item[1])
        ],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": ignore_merges,
            "vocab": dict(vocab),
            "merges": [list(pair) for pair in merges],
        },
    }


def convert_ranks(ranks: Mapping[bytes, int], special_tokens: Mapping[str, int], pattern: str) -> dict[str, Any]:
    """A ``tokenizer.json`` for tiktoken ranks with their split pattern and special tokens."""
    return tokenizer_json(
        {_spell(piece): rank for piece, rank in ranks.items()},
        [(_spell(left), _spell(right)) for left, right in merges_of_ranks(ranks)],
        special_tokens,
        pattern,
        ignore_merges=True,
    )


def _check(path: Path, encoding_name: str, text: Path) -> None:
    from tokenizers import Tokenizer

    from tools.references import tiktoken_encoding

    lines = text.read_text(encoding="utf-8", errors="replace").splitlines()
    theirs = Tokenizer.from_file(str(path)).encode_batch_fast(lines, add_special_tokens=False)
    ours = tiktoken_encoding(encoding_name).encode_ordinary_batch(lines)
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True), start=1):
        if left != right.ids:
            raise SystemExit(f"{text}:{number}: {lines[number - 1]!r}: tiktoken {left}, tokenizers {right.ids}")
    print(f"{len(lines)} lines of {text} give the ids of tiktoken")


def main() -> None:
    """Command line; see the module."""
    from tools.references import read_ranks, tiktoken_encoding

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", type=Path, help=".tiktoken file")
    parser.add_argument("out", type=Path, help="tokenizer.json to write")
    parser.add_argument("--encoding", choices=sorted(PATTERNS), required=True, help="pattern and special tokens")
    parser.add_argument("--check", type=Path, help="text whose lines must give the ids of tiktoken")
    options = parser.parse_args()
    special = tiktoken_encoding(options.encoding)._special_tokens
    made = convert_ranks(read_ranks(options.ranks), special, PATTERNS[options.encoding])
    options.out.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    if options.check:
        _check(options.out, options.encoding, options.check)


if __name__ == "__main__":
    main()
