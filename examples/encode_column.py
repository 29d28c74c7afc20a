"""Turn a text column of a Parquet file into a column of ids: streaming, in memory that does not grow with the file.

Each record batch is read, encoded and written before the next one. Rows keep their order; a null stays a null. The
output appears whole or not at all, and its schema's metadata name the vocabulary and the version. Needs the extra
``arrow``::

    python examples/encode_column.py in.parquet --column text --vocabulary gpt2.safetensors --output ids.parquet
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tqdm import tqdm

import numba_nlp as nlp

IDS = pa.list_(pa.int32())
TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view())


class SpecialCounter:
    """Counts what looks like a special token in text, such as ``<|endoftext|>``."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = sorted(tokens)
        self.any_token = "|".join(re.escape(token) for token in self.tokens)
        self.seen: Counter[str] = Counter()

    def add(self, texts: pa.Array) -> None:
        """Count occurrences in a column; one search when there are none, as nearly always."""
        if texts.type not in (pa.string(), pa.large_string()):
            texts = texts.cast(pa.large_string())
        if not self.tokens or not pc.any(pc.match_substring_regex(texts, self.any_token)).as_py():
            return
        for token in self.tokens:
            count = pc.sum(pc.count_substring(texts, token)).as_py()
            if count:
                self.seen[token] += count


def encode_column(
    source: Path,
    column: str,
    vocabulary: Path,
    output: Path,
    *,
    batch_rows: int = 65536,
    special: str = "plain",
    progress: bool | None = None,
) -> tuple[int, int, Counter[str]]:
    """Encode one column of a Parquet file into another file.

    Parameters
    ----------
    source, output : Path
        Parquet files; ``output`` is replaced if it exists.
    column : str
        Name of a string column.
    vocabulary : Path
        A compiled vocabulary, or a source that ``load_tokenizer`` takes.
    batch_rows : int
        Rows that are in memory at a time.
    special : {"plain", "raise", "match"}
        What to do with special tokens inside the text.
    progress : bool, optional
        Show a progress bar; by default when the error output is a terminal.

    Returns
    -------
    rows, tokens : int
    seen : Counter
        How often the text of each special token occurred.
    """
    if output.exists() and output.samefile(source):
        raise ValueError(f"{output}: is the file to read, whose other columns would be lost; name another output")
    tok = nlp.load_tokenizer(vocabulary)
    counter = SpecialCounter(tok.special_tokens)
    metadata = {
        "numba_nlp.version": nlp.__version__,
        "numba_nlp.vocabulary_digest": tok.vocabulary.digest,
        "numba_nlp.column": column,
        "numba_nlp.special": special,
    }
    schema = pa.schema([pa.field("ids", IDS)], metadata=metadata)
    rows = tokens = 0
    temporary = output.with_name(f".{output.name}.{secrets.token_hex(6)}.tmp")
    try:
        with (
            pq.ParquetFile(source) as reader,
            pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
            tqdm(
                total=reader.metadata.num_rows,
                unit=" rows",
                disable=None if progress is None else not progress,
            ) as bar,
        ):
            check_column(reader.schema_arrow, column, source)
            for record_batch in reader.iter_batches(batch_rows, columns=[column]):
                texts = record_batch.column(0)
                counter.add(texts)
                try:
                    encoded = tok.encode_batch(texts, special=special, nulls="null")
                except nlp.errors.NumbaNlpError as error:
                    raise type(error)(f"{source}, rows counted from row {rows}: {error}") from error
                writer.write_batch(pa.record_batch([encoded.to_arrow().cast(IDS)], schema=schema))
                rows += len(texts)
                tokens += encoded.n_values
                bar.update(len(texts))
                bar.set_postfix(tokens=f"{tokens:,}", refresh=False)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
    return rows, tokens, counter.seen


def check_column(schema: pa.Schema, column: str, source: Path) -> None:
    """Raise unless the file has one text column of that name."""
    if schema.names.count(column) != 1:
        raise ValueError(f"{source}: no single column {column!r}; its columns are {', '.join(schema.names)}")
    found = schema.field(column).type
    if found not in TEXT_TYPES and not (pa.types.is_dictionary(found) and found.value_type in TEXT_TYPES):
        raise ValueError(f"{source}: column {column!r} holds {found}, expected text")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", type=Path, help="Parquet file to read")
    parser.add_argument("--column", required=True, help="text column to encode")
    parser.add_argument("--vocabulary", type=Path, required=True, help="compiled vocabulary, or a source of one")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write, with one column 'ids'")
    parser.add_argument("--batch-rows", type=int, default=65536, help="rows in memory at a time (default: %(default)s)")
    parser.add_argument(
        "--special",
        choices=("plain", "raise", "match"),
        default="plain",
        help="special tokens inside the text: ordinary text, an error, or their ids (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if options.batch_rows < 1:
        parser.error(f"--batch-rows must be at least 1, got {options.batch_rows}")
    try:
        rows, tokens, seen = encode_column(
            options.source,
            options.column,
            options.vocabulary,
            options.output,
            batch_rows=options.batch_rows,
            special=options.special,
        )
    except (OSError, ValueError) as error:
        print(f"encode_column: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {rows:,} rows, {tokens:,} tokens")
    for token, count in seen.most_common():
        print(f"special text {token!r} occurred {count:,} times (--special {options.special})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
