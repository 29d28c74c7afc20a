"""Batches for training, encoded in the workers of a DataLoader: ``python -m examples.with_torch_loader``.

Needs the extra ``models``.
"""

from __future__ import annotations

from pathlib import Path

from torch.utils.data import DataLoader

import numba_nlp as nlp
from examples.checking import check
from numba_nlp.integrations.torch_data import EncodedTexts, PadCollate

DATA = Path(__file__).resolve().parent / "data"
PADDING = 50256


def main(num_workers: int = 2) -> None:
    """Go once through the rows: each comes once, whatever the number of workers."""
    tok = nlp.load_tokenizer([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"])
    lines = (DATA / "hamlet_gut.txt").read_text(encoding="utf-8").splitlines()[:2000]
    loader = DataLoader(
        EncodedTexts(lines, tok, block_rows=64), batch_size=100, collate_fn=PadCollate(PADDING), num_workers=num_workers
    )
    rows, tokens = [], 0
    for batch in loader:
        rows += batch["row"].tolist()
        tokens += int(batch["attention_mask"].sum())
    print(f"{len(rows):,} rows, {tokens:,} tokens, widest batch last {tuple(batch['input_ids'].shape)}")
    check("rows, each once", int(sorted(rows) == list(range(len(lines)))), 1)
    check("tokens", int(tokens == tok.encode_batch(lines).n_values), 1)


if __name__ == "__main__":
    main()
