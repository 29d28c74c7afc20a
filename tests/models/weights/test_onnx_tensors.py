"""The reader of weights in ONNX files, with a file made here byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.weights.onnx_tensors import read_tensors

FLOAT, UINT8, INT8 = 1, 2, 3


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a protobuf message: its number and the kind of its value, the value."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def tensor(name: str, kind: int, dims: tuple[int, ...], data: bytes) -> bytes:
    """A field of a graph; ``data``: the field of the tensor that has its numbers."""
    return field(5, b"".join(field(1, size) for size in dims) + field(2, kind) + data + field(8, name))


def raw(*values: float, dtype: str) -> bytes:
    """Numbers as bytes."""
    return field(9, np.array(values, dtype).tobytes())


def test_weights(tmp_path: Path) -> None:
    names = ("x", "MatMul_7_quantized", "x_zero_point", "MatMul_7_zero_point")
    product = b"".join(field(1, name) for name in names) + field(2, "y") + field(3, "/net/layer.0/q/MatMul_quant")
    graph = b"".join(
        [
            field(1, product + field(4, "MatMulInteger")),
            field(1, field(1, "x") + field(2, "z") + field(4, "Relu")),
            tensor("norm.weight", FLOAT, (3,), raw(0.5, -2.0, 1e-3, dtype="<f4")),
            tensor("MatMul_7_scale", FLOAT, (), field(4, np.array([0.25], "<f4").tobytes())),
            tensor("MatMul_7_zero_point", INT8, (), field(5, 3)),
            tensor("MatMul_7_quantized", INT8, (2, 3), raw(-128, 127, 3, 4, 5, -1, dtype="i1")),
            tensor("words.weight_scale", FLOAT, (), raw(2.0, dtype="<f4")),
            tensor("words.weight_zero_point", UINT8, (), field(5, 200)),
            tensor("words.weight_quantized", UINT8, (2, 2), raw(0, 255, 200, 199, dtype="u1")),
        ]
    )
    (tmp_path / "model.onnx").write_bytes(field(1, 8) + field(2, "made by hand") + field(7, graph))
    found = read_tensors(tmp_path / "model.onnx")
    assert {name: (values.dtype.name, values.tolist()) for name, values in found.items()} == {
        "norm.weight": ("float32", [0.5, -2.0, float(np.float32(1e-3))]),
        # (values - 3) / 4, and the rows are columns
        "net.layer.0.q.weight": ("float32", [[-32.75, 0.25], [31.0, 0.5], [0.0, -1.0]]),
        "words.weight": ("float32", [[-400.0, 110.0], [0.0, -2.0]]),
    }
