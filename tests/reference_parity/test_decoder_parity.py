"""The plain decoders against those of tokenizers."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import decoders

from numba_nlp.reference.segment import decoders as plain

STEPS = {
    "ByteLevel": (decoders.ByteLevel(), [plain.byte_level]),
    "WordPiece": (decoders.WordPiece(), [partial(plain.word_piece, "##", True)]),
    "WordPiece as it is": (decoders.WordPiece("@", cleanup=False), [partial(plain.word_piece, "@", False)]),
    "Metaspace": (decoders.Metaspace(), [partial(plain.metaspace, "\u2581", False)]),
    "Metaspace never": (decoders.Metaspace(prepend_scheme="never"), [partial(plain.metaspace, "\u2581", True)]),
    "BPEDecoder": (decoders.BPEDecoder(), [partial(plain.bpe_decoder, "</w>")]),
    "ByteFallback": (decoders.ByteFallback(), [plain.byte_fallback]),
    "Strip": (decoders.Strip(" ", 2, 0), [partial(plain.strip, " ", 2, 0)]),
    "Replace": (decoders.Replace("\u2581", " "), [partial(plain.replace, "\u2581", " ")]),
    "of Mistral": (
        decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        ),
        [
            partial(plain.replace, "\u2581", " "),
            plain.byte_fallback,
            plain.fuse,
            partial(plain.strip, " ", 1, 0),
        ],
    ),
}
tokens = st.one_of(
    st.text(st.sampled_from("a\u2581 #@.,!?'\u0120\u00c3\u00a9\u65e5"), max_size=5),
    st.sampled_from(["##", "n't", "'s", " do not", " ' ", "</w>", "a</w>", "a</w>b", "<0x+A>", "<0xG1>", "<0x1>"]),
    st.integers(0, 255).map(lambda byte: f"<0x{byte:02X}>"),
    st.sampled_from(["<0xE6>", "<0x97>", "<0xA5>", "<0xe6>"]),
)


@pytest.mark.parametrize("name", STEPS)
@given(texts=st.lists(tokens, max_size=8))
@example(["\u2581\u2581Hey", "\u2581x", "<0xE2>", "<0x96>", "<0x81>", "<0xE2>"])
def test_decoders(name, texts):
    peer, steps = STEPS[name]
    assert plain.decode_chain(steps, texts) == peer.decode(texts)


def test_the_end_is_stripped_as_far_as_it_goes():
    """tokenizers 0.23.3 panics where a token is shorter than ``stop``, or nothing but the character."""
    assert plain.strip("x", 1, 2, ["xaxbxxx", "x", "", "xxx"]) == ["axbx", "", "", ""]


def test_without_a_decoder_tokens_are_joined_by_spaces():
    assert plain.decode_chain([], ["a", "b"]) == "a b"
