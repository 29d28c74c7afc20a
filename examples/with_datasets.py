"""Ids as a column of a Hugging Face dataset, cached by its fingerprint: ``python -m examples.with_datasets [FOLDER]``.

Needs the extra ``datasets``.
"""

from __future__ import annotations

from pathlib import Path

import datasets

import numba_nlp as nlp
import vocab_tools
from examples.checking import check, out_folder
from numba_nlp.integrations.datasets import encode_map

DATA = Path(__file__).resolve().parent / "data"


def main(folder: Path) -> None:
    """Map twice: the second time the cached file is found."""
    folder.mkdir(parents=True, exist_ok=True)
    vocab_tools.compile([DATA / "gpt2/vocab.json", DATA / "gpt2/merges.txt"]).save(folder / "gpt2.safetensors")
    tok = nlp.load_tokenizer(folder / "gpt2.safetensors")
    lines = (DATA / "hamlet_gut.txt").read_text(encoding="utf-8").splitlines()[:1500]

    datasets.disable_progress_bars()
    datasets.Dataset.from_dict({"text": lines}).save_to_disk(str(folder / "play"))
    play = datasets.load_from_disk(str(folder / "play")).with_format("arrow")
    found = [play.map(encode_map(tok, length="n_tokens"), batched=True).with_format(None) for _ in range(2)]
    print(found[0][0])
    check("tokens", int(sum(found[0]["n_tokens"]) == tok.encode_batch(lines).n_values), 1)
    names = [{file["filename"] for file in one.cache_files} for one in found]
    check("one cached file for both", int(names[0] == names[1]), 1)


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
