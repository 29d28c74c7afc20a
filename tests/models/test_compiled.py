"""torch.compile takes a call as one graph: values are not looked at while it traces."""

from __future__ import annotations

from typing import Any

import pytest

from numba_nlp.models import create_model
from tests.models.tiny import CLOSE, draw_ids, pad, torch

_BERT = {"model_type": "bert", "vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3}
_GPT = {"model_type": "gpt2", "vocab_size": 60, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 20}


# torch's own imports warn, of what is none of ours
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("config", "head"), [(_BERT, "masked_lm"), (_GPT, "language_model")])
def test_a_call_is_one_graph(config: dict[str, Any], head: str) -> None:
    model = create_model(config, head=head).eval()
    ids, mask = pad(draw_ids(3, 9, 60), [9, 4, 6], side="right")
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with torch.no_grad():
        for rows_mask in (mask, None, torch.ones_like(mask)):
            expected, got = model(ids, rows_mask), compiled(ids, rows_mask)
            for name in expected:
                torch.testing.assert_close(got[name], expected[name], **CLOSE)
    torch._dynamo.reset()
