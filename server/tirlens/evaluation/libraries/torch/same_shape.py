"""Methods and functions of torch whose result has the shape of their tensor.

They are a list: a method that is not in it, nor in `methods.METHODS`, has a result that is
not known.
"""

from __future__ import annotations

SAME_VALUES = frozenset(
    (
        "contiguous", "clone", "detach", "cuda", "cpu", "pin_memory", "requires_grad_",
        "Parameter", "Buffer", "Variable", "share_memory_", "retain_grad", "alias",
    )
)  # fmt: skip
"""The result has the values of the tensor as well."""

# Of the elements one by one, or of a part of them in place: their number stays.
_OF_ONE = frozenset(
    (
        "abs", "absolute", "neg", "negative", "sign", "sgn", "square", "sqrt", "rsqrt",
        "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
        "sinh", "cosh", "tanh", "asin", "acos", "atan", "erf", "erfc", "erfinv", "lgamma",
        "digamma", "round", "floor", "ceil", "trunc", "frac", "fix", "nan_to_num", "clamp",
        "clamp_min", "clamp_max", "clip", "relu", "relu6", "leaky_relu", "prelu", "elu", "selu",
        "celu", "gelu", "silu", "mish", "sigmoid", "logit", "logsigmoid", "hardtanh",
        "hardsigmoid", "hardswish", "softplus", "softsign", "softshrink", "threshold", "dropout",
        "feature_dropout", "alpha_dropout", "bitwise_not", "masked_fill", "where", "fill",
        "bernoulli", "dequantize", "conj", "real", "deg2rad", "rad2deg",
    )
)  # fmt: skip
_OF_A_LINE = frozenset(
    (
        "softmax", "log_softmax", "softmin", "gumbel_softmax", "normalize", "layer_norm",
        "rms_norm", "group_norm", "batch_norm", "instance_norm", "cumprod", "logcumsumexp",
        "renorm", "flip", "fliplr", "flipud", "roll", "tril", "triu", "scatter", "scatter_add",
        "scatter_reduce", "index_add", "index_copy", "index_fill", "index_put", "masked_scatter",
        "put", "inverse", "cholesky",
    )
)  # fmt: skip
SAME_SHAPE = _OF_ONE | _OF_A_LINE

OF_TWO = frozenset(
    (
        "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide",
        "floor_divide", "remainder", "fmod", "pow", "float_power", "maximum", "minimum", "fmax",
        "fmin", "atan2", "arctan2", "hypot", "copysign", "lerp", "addcmul", "addcdiv",
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
        "logaddexp", "logaddexp2", "ldexp", "xlogy", "rsub",
    )
)  # fmt: skip
"""The shape is that of the tensor and the next operand, of which one may be extended."""

COMPARISONS = frozenset(
    (
        "eq", "ne", "lt", "le", "gt", "ge", "equal_nan", "not_equal", "less", "less_equal",
        "greater", "greater_equal", "isclose", "isin", "isnan", "isinf", "isfinite", "isposinf",
        "isneginf", "signbit", "logical_and", "logical_or", "logical_xor", "logical_not",
    )
)  # fmt: skip
"""The result is a mask."""

# Methods in place that change the shape of their tensor.
_RESHAPING_IN_PLACE = frozenset(
    (
        "resize_", "resize_as_", "set_", "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_",
        "unsqueeze_", "as_strided_",
    )
)  # fmt: skip


def is_in_place(name: str) -> bool:
    """Whether a method changes the values of its tensor and not its shape: ``zero_``."""
    is_public = name.endswith("_") and not name.endswith("__")
    return is_public and name not in _RESHAPING_IN_PLACE
