"""The T5 of the package ``traceforge-title-model`` as a checkpoint folder.

It is a Flan-T5 of small size that was taught to name steps of a programmer's work, exported to ONNX in two halves and
quantised to int8. What the graphs do not say, its configuration, is that of google/flan-t5-small.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from tests.models.weights.onnx_tensors import read_tensors

__all__ = ["PREFIX", "write_title_model"]

#: What the model was taught to read in front of each text.
PREFIX = "summarize agent step: "


def write_title_model(span: Path, folder: Path) -> None:
    """Write ``config.json``, ``model.safetensors`` and what goes with them.

    Parameters
    ----------
    span : Path
        Has ``encoder.onnx``, ``decoder.onnx`` and ``tokenizer.json``.
    folder : Path
        Of the checkpoint, which takes 310 MB in float32; the folder is there.
    """
    encoder, decoder = (read_tensors(span / f"{side}.onnx") for side in ("encoder", "decoder"))
    tensors = {"encoder" + name.removeprefix("enc"): values for name, values in encoder.items()}
    tensors.update({name.removeprefix("m."): values for name, values in decoder.items()})
    # both halves have the embeddings
    assert np.array_equal(tensors.pop("encoder.embed_tokens.weight"), tensors["shared.weight"])
    save_file({name: np.ascontiguousarray(values) for name, values in tensors.items()}, folder / "model.safetensors")
    _write(folder / "config.json", _config(tensors))
    _write(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "T5Tokenizer", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    )
    tokenizer = json.loads((span / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["truncation"] = None  # to 48 tokens, which the package that uses the model sets aside too
    _write(folder / "tokenizer.json", tokenizer)


def _config(tensors: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    attention = "encoder.block.0.layer.0.SelfAttention"
    buckets, heads = tensors[f"{attention}.relative_attention_bias.weight"].shape
    vocabulary, width = tensors["shared.weight"].shape
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "model_type": "t5",
        "vocab_size": vocabulary,
        "d_model": width,
        "d_kv": tensors[f"{attention}.q.weight"].shape[0] // heads,
        "d_ff": tensors["encoder.block.0.layer.1.DenseReluDense.wo.weight"].shape[1],
        "num_layers": sum(name.startswith("encoder.") and name.endswith("SelfAttention.q.weight") for name in tensors),
        "num_heads": heads,
        "relative_attention_num_buckets": buckets,
        "relative_attention_max_distance": 128,
        "feed_forward_proj": "gated-gelu",
        "layer_norm_epsilon": 1e-6,
        "tie_word_embeddings": False,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
        "dtype": "float32",
    }


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
