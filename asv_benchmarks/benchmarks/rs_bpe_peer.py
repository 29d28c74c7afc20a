"""rs_bpe, which carries tiktoken's encodings inside of its library."""

from __future__ import annotations

from typing import Any

from .backend import Backend, Flat, from_lists

__all__ = ["RsBpe"]


class RsBpe(Backend):
    """rs_bpe: lists of ids. It takes the text of special tokens as plain text."""

    distribution = "rs-bpe"
    module = "rs_bpe"
    slow = True
    # it builds an encoding once in a process and cannot be told to build it again
    load_once = True
    batch_call = "`encode_batch(list)` -> lists; two threads: `encode_batch_parallel(list, options)`"
    one_call = "`encode(text)` -> list"

    def load(self) -> None:
        from rs_bpe.bpe import openai

        makers = {"cl100k": openai.cl100k_base, "o200k": openai.o200k_base}
        if self.vocabulary not in makers:
            raise ValueError(f"carries {' and '.join(makers)}, not {self.vocabulary!r}")
        self.tokenizer = makers[self.vocabulary]()
        # fewer rows stay on one thread; rows of a piece; both numbers are those of its page
        self.options = openai.ParallelOptions(min_batch_size=20, chunk_size=100, max_threads=self.threads)

    def encode_batch(self, texts: list[str]) -> Any:
        if self.threads == 1:
            return self.tokenizer.encode_batch(texts)
        return self.tokenizer.encode_batch_parallel(texts, self.options)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def flat(self, out: Any) -> Flat:
        return from_lists(out[0])

    def count_batch(self, texts: list[str]) -> Any:
        count = self.tokenizer.count
        return [count(text) for text in texts]

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)

    def decode_batch(self, rows: Any) -> Any:
        return self.tokenizer.decode_batch(rows)
