"""Activation functions of feed-forward layers, on stretches of float32 that are multiples of 16.

All but the rare ones come from two functions that are computed by vectors: ``x`` times the logistic function of
``y``, which makes SiLU and the approximations of GELU, and ``x`` times the normal distribution function of ``x``, which
is GELU itself (Hendrycks and Gimpel 2016, arXiv:1606.08415). Errors are of the order of float32's roundings.

Twin: ``numba_nlp.reference.step.activations``.
"""

from __future__ import annotations

import math

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import VECTOR, _element_pointer

__all__ = ["CODES", "STEP", "activate"]

#: Stretches are multiples of it.
STEP = 16

#: Name of a function (of ``numba_nlp.models.layers.activations``, one for those that are the same) -> number.
CODES = {
    "linear": 0,
    "relu": 1,
    "silu": 2,
    "gelu_new": 3,
    "gelu": 4,
    "quick_gelu": 5,
    "relu2": 6,
    "gelu_10": 7,
    "sigmoid": 8,
    "tanh": 9,
    "mish": 10,
}
_RELU, _SILU, _GELU_TANH, _GELU, _GELU_LOGISTIC = (CODES[n] for n in ("relu", "silu", "gelu_new", "gelu", "quick_gelu"))
_RELU_SQUARED, _GELU_CLIPPED, _LOGISTIC, _TANH = (CODES[n] for n in ("relu2", "gelu_10", "sigmoid", "tanh"))

_ROOT = 2.0 * math.sqrt(2.0 / math.pi)
_CUBE = 0.044715
#: ``erfc(z) = exp(-z * z) * polynomial(1 / (1 + RATE * z))`` for ``z >= 0``: from the highest power on, its
#: interpolation at Chebyshev's points up to ``z = 9.5``, of relative error 6e-8. The test computes it anew.
_RATE = 0.3
_POLYNOMIAL = (
    -0.11708717658760102,
    0.4164454736787981,
    -0.3453260400064605,
    0.3180073777606357,
    0.10349697472128638,
    0.10394242990891808,
    0.18865928758630174,
    0.16156126977421623,
    0.17036581962814082,
    -6.542344017690382e-05,
)

if VECTOR:
    from numba_nlp.kernels.float_lanes import _all, _exponential, _floats, _multiply_add, _spread

    def _magnitude(builder, x):
        return builder.select(builder.fcmp_ordered("<", x, _all(0.0)), builder.fsub(_all(-0.0), x), x)

    def _vector(context, builder, signature, args):
        """Pointer to 16 values, and these."""
        pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
        pointer = builder.bitcast(pointer, _floats.as_pointer())
        loaded = builder.load(pointer)
        loaded.align = 4
        return pointer, loaded

    def _store(context, builder, value, pointer):
        builder.store(value, pointer).align = 4
        return context.get_dummy_value()

    @intrinsic
    def _times_logistic(typingctx, values, first, factor, cube):
        """Make ``x = values[first:first + 16]`` into ``x / (1 + exp(-factor * (x + cube * x ** 3)))``."""

        def codegen(context, builder, signature, args):
            pointer, x = _vector(context, builder, signature, args)
            square = builder.fmul(builder.fmul(x, x), _spread(builder, args[3]))
            y = builder.fmul(_multiply_add(builder, square, x, x), _spread(builder, args[2]))
            e = _exponential(builder, builder.fsub(_all(-0.0), _magnitude(builder, y)))
            share = builder.fdiv(_all(1.0), builder.fadd(_all(1.0), e))
            share = builder.select(builder.fcmp_ordered("<", y, _all(0.0)), builder.fmul(e, share), share)
            return _store(context, builder, builder.fmul(x, share), pointer)

        return types.void(values, types.int64, types.float32, types.float32), codegen

    @intrinsic
    def _times_normal(typingctx, values, first):
        """Make ``x = values[first:first + 16]`` into ``x`` times the normal distribution function of ``x``."""

        def codegen(context, builder, signature, args):
            pointer, x = _vector(context, builder, signature, args)
            z = builder.fmul(_magnitude(builder, x), _all(math.sqrt(0.5)))
            t = builder.fdiv(_all(1.0), _multiply_add(builder, z, _all(_RATE), _all(1.0)))
            value = _all(_POLYNOMIAL[0])
            for coefficient in _POLYNOMIAL[1:]:
                value = _multiply_add(builder, value, t, _all(coefficient))
            e = _exponential(builder, builder.fmul(builder.fmul(x, x), _all(-0.5)))
            half = builder.fmul(builder.fmul(value, e), _all(0.5))
            share = builder.select(builder.fcmp_ordered("<", x, _all(0.0)), half, builder.fsub(_all(1.0), half))
            return _store(context, builder, builder.fmul(x, share), pointer)

        return types.void(values, types.int64), codegen

else:

    @kernel
    def _times_logistic(values, first, factor, cube):
        for i in range(first, first + STEP):
            x = float(values[i])
            y = float(factor) * (x + float(cube) * x * x * x)
            e = math.exp(-abs(y))
            values[i] = np.float32(x * (e if y < 0 else 1.0) / (1.0 + e))

    @kernel
    def _times_normal(values, first):
        for i in range(first, first + STEP):
            x = float(values[i])
            values[i] = np.float32(x * 0.5 * math.erfc(-x * math.sqrt(0.5)))


@kernel
def _activate_one(code, x):
    """The rare functions, in float64."""
    if code == _LOGISTIC:
        e = math.exp(-abs(x))
        return (e if x < 0 else 1.0) / (1.0 + e)
    if code == _TANH:
        return math.tanh(x)
    # mish: x * tanh(log(1 + exp(x)))
    return x * math.tanh(max(x, 0.0) + math.log1p(math.exp(-abs(x))))


@kernel
def activate(code, values, first, last):
    """Apply a function to ``values[first:last]``, in place.

    Parameters
    ----------
    code : int64
        Of `CODES`.
    values : float32[n]
    first, last : int64
        A multiple of `STEP` apart.
    """
    if code in (_RELU, _RELU_SQUARED):
        for i in range(first, last):
            x = values[i]
            # NaN stays
            values[i] = np.float32(0) if x < 0 else (x * x if code == _RELU_SQUARED else x)
    elif code in (_SILU, _GELU_TANH, _GELU_LOGISTIC):
        factor, cube = 1.0, 0.0
        if code == _GELU_TANH:
            # x / 2 * (1 + tanh(y / 2)) = x / (1 + exp(-y))
            factor, cube = _ROOT, _CUBE
        elif code == _GELU_LOGISTIC:
            factor = 1.702
        for i in range(first, last, STEP):
            _times_logistic(values, i, np.float32(factor), np.float32(cube))
    elif code in (_GELU, _GELU_CLIPPED):
        for i in range(first, last, STEP):
            _times_normal(values, i)
        if code == _GELU_CLIPPED:
            for i in range(first, last):
                if values[i] > 10:
                    values[i] = 10
                elif values[i] < -10:
                    values[i] = -10
    elif code > 0:
        for i in range(first, last):
            values[i] = np.float32(_activate_one(code, float(values[i])))
