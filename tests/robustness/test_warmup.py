"""Compiling ahead of time."""

from __future__ import annotations

import pytest

import numba_nlp as nlp
from tests.toy_vocabulary import toy_vocabulary


def test_warming_up() -> None:
    names: list[str] = []
    nlp.warmup(["gpt2"], progress=names.append)
    assert names
    # one row encoder, and what the encoders of all patterns share
    assert [name for name in names if ".rows_" in name] == ["numba_nlp._fastcall.control.rows_byte_bpe_gpt2"]
    assert "numba_nlp._fastcall.single.encode_one" in names
    assert "numba_nlp._fastcall.control.encode_unseen_byte_bpe" in names
    nlp.warmup([])
    with pytest.raises(ValueError, match=r"`names` holds 'gtp2', which is in none of: .*rows_byte_bpe_gpt2"):
        nlp.warmup(["gpt2", "gtp2"])
    with pytest.raises(TypeError, match=r"`names` is one str; pass \['gpt2'\]"):
        nlp.warmup("gpt2")


def test_after_warmup_nothing_is_compiled() -> None:
    from numba_nlp._jit import kernels

    tok = nlp.Tokenizer(toy_vocabulary())
    tok.warmup()

    def compiled() -> int:
        return sum(len(getattr(kernel, "signatures", ())) for kernel in kernels.values())

    before = compiled()
    texts = ["the theatre", "", "h\u00e9 <|endoftext|>", "x" * 70]
    for unit in ("char", "byte"):
        tok.encode(texts[2], spans=True, unit=unit, special="match")
        tok.encode_batch(texts, spans=True, unit=unit, special="match", num_threads=2)
    batch = tok.encode_batch(nlp.TextRows.from_any(texts), special="plain")
    assert tok.decode_batch(batch) == texts
    assert compiled() == before
