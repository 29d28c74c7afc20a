"""The fast tokenizers of transformers, called as its users call them."""

from __future__ import annotations

from typing import Any

from tools.references import tokenizer_json_path

from .backend import Backend, Flat, from_lists
from .peers import FAMILIES

__all__ = ["Transformers"]


class Transformers(Backend):
    """transformers over tokenizers: lists of ids; it makes the attention mask as well, as its users get it."""

    distribution = module = "transformers"
    slow = True
    families = FAMILIES
    batch_call = '`tokenizer(list, add_special_tokens=False)["input_ids"]` -> lists'
    one_call = '`tokenizer(text, add_special_tokens=False)["input_ids"]` -> list'

    def load(self) -> None:
        from transformers import PreTrainedTokenizerFast

        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_json_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer(texts, add_special_tokens=False)["input_ids"]

    def encode_spans(self, texts: list[str]) -> Any:
        """Ids and character spans of every text."""
        return self.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def flat(self, out: Any) -> Flat:
        return from_lists(out)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)

    def decode_batch(self, rows: Any) -> Any:
        return self.tokenizer.batch_decode(rows, clean_up_tokenization_spaces=False)
