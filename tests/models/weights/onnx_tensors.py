"""The weights in an ONNX file, without the package ``onnx``: plain ones, and int8 ones as numbers again.

An ONNX file is one protobuf message. Described here are the few of its fields that lead to the weights, with the
numbers that https://github.com/onnx/onnx/blob/main/onnx/onnx.proto gives them; protobuf skips all others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["model_message", "read_tensors"]

_FIELD = descriptor_pb2.FieldDescriptorProto
#: Message -> (field, its number, its type, whether it is repeated); a type that is a str is a message of this table.
_MESSAGES: dict[str, tuple[tuple[str, int, int | str, bool], ...]] = {
    "ModelProto": (("graph", 7, "GraphProto", False),),
    "GraphProto": (("node", 1, "NodeProto", True), ("initializer", 5, "TensorProto", True)),
    "NodeProto": (
        ("input", 1, _FIELD.TYPE_STRING, True),
        ("name", 3, _FIELD.TYPE_STRING, False),
        ("op_type", 4, _FIELD.TYPE_STRING, False),
    ),
    "TensorProto": (
        ("dims", 1, _FIELD.TYPE_INT64, True),
        ("data_type", 2, _FIELD.TYPE_INT32, False),
        ("float_data", 4, _FIELD.TYPE_FLOAT, True),
        ("int32_data", 5, _FIELD.TYPE_INT32, True),
        ("name", 8, _FIELD.TYPE_STRING, False),
        ("raw_data", 9, _FIELD.TYPE_BYTES, False),
        ("data_location", 14, _FIELD.TYPE_INT32, False),
    ),
}
#: ``TensorProto.DataType``: those that weights have here; the numbers lie in the file as little-endian ones.
_DTYPES = {1: np.dtype("<f4"), 2: np.dtype("u1"), 3: np.dtype("i1")}
#: What quantisation by ONNX Runtime makes of the initialiser NAME.
_VALUES, _SCALE, _ZERO = "_quantized", "_scale", "_zero_point"


def model_message() -> Any:
    """The class of the message that an ONNX file is, with the fields described here."""
    file = descriptor_pb2.FileDescriptorProto(name="onnx_weights.proto", package="onnx_weights", syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            its = message.field.add(name=field, number=number)
            its.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if isinstance(kind, str):
                its.type, its.type_name = _FIELD.TYPE_MESSAGE, f".onnx_weights.{kind}"
            else:
                its.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("onnx_weights.ModelProto"))


def read_tensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Weights of a model by the names of PyTorch's modules.

    Parameters
    ----------
    path : Path
        Exported by PyTorch, then quantised by ONNX Runtime ("dynamic": weights in int8, activations at run time).

    Returns
    -------
    dict of str to ndarray
        float32. The exporter names what it only gathers from or multiplies by after its parameter. A matrix it had to
        transpose has a number for a name; which module it belongs to says the name of the multiplication,
        ``/enc/block.0/q/MatMul_quant`` for ``enc.block.0.q.weight``, which is turned back to [outputs, inputs].
    """
    graph = model_message().FromString(path.read_bytes()).graph
    initialisers = {tensor.name: tensor for tensor in graph.initializer}
    matrices = {}
    for node in graph.node:
        if node.op_type == "MatMulInteger":  # of activations, weights, zero points of both
            stem = node.input[1].removesuffix(_VALUES)
            assert node.input[1:] == [stem + _VALUES, node.input[2], stem + _ZERO], node.name
            matrices[stem] = node.name.removesuffix("/MatMul_quant").strip("/").replace("/", ".") + ".weight"
    found = {}
    for name, tensor in initialisers.items():
        stem = name.removesuffix(_VALUES)
        if stem != name:
            scale, zero = (_array(initialisers[stem + end]) for end in (_SCALE, _ZERO))
            values = (_array(tensor).astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale
        elif name.endswith((_SCALE, _ZERO)):
            continue
        else:
            values = _array(tensor)
        found[matrices.get(stem, stem)] = values.T if stem in matrices else values
    assert len(found) == sum(not name.endswith((_SCALE, _ZERO)) for name in initialisers), "two weights of one name"
    return found


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    """Numbers of a ``TensorProto``, as bytes or, where they are few, as a list."""
    dtype = _DTYPES[tensor.data_type]
    assert tensor.data_location == 0, f"{tensor.name} lies in another file"
    if tensor.HasField("raw_data"):
        values = np.frombuffer(tensor.raw_data, dtype)
    else:
        values = np.array(tensor.float_data if dtype.kind == "f" else tensor.int32_data, dtype)
    return values.reshape(tuple(tensor.dims))
