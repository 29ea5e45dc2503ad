"""Evaluates expressions of the IR at many points, and counts what that takes.

An expression has a value, which is known if it follows from indices and sizes alone, and it may be
made of data.  Every floating-point operation is counted where it is executed; an operation on
integers is counted where data take part, else it makes an address.  Only the chosen side of
``if_then_else`` is evaluated, both of ``Select``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equality import language as ir
from equality.language import DataError, RefusedError
from equality.points import UNKNOWN, Points
from equality.tally import Tally


def _quotient(a: Any, b: Any) -> Any:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


_BINARY = {
    "Add": ("add", lambda a, b: a + b),
    "Sub": ("sub", lambda a, b: a - b),
    "Mul": ("mul", lambda a, b: a * b),
    "Div": ("div", _quotient),
    "Mod": ("mod", lambda a, b: a - b * _quotient(a, b)),
    "FloorDiv": ("div", lambda a, b: a // b),
    "FloorMod": ("mod", lambda a, b: a % b),
    "Min": ("min", np.minimum),
    "Max": ("max", np.maximum),
    "EQ": ("", lambda a, b: a == b),
    "NE": ("", lambda a, b: a != b),
    "LT": ("", lambda a, b: a < b),
    "LE": ("", lambda a, b: a <= b),
    "GT": ("", lambda a, b: a > b),
    "GE": ("", lambda a, b: a >= b),
    "And": ("", np.logical_and),
    "Or": ("", np.logical_or),
}
#: Calls in older versions, nodes of their own in apache-tvm 0.27.
_BITS = {
    "bitwise_and": ("bitwise", lambda a, b: a & b),
    "bitwise_or": ("bitwise", lambda a, b: a | b),
    "bitwise_xor": ("bitwise", lambda a, b: a ^ b),
    "shift_left": ("shift", lambda a, b: a << b),
    "shift_right": ("shift", lambda a, b: a >> b),
}
_BINARY.update({
    "LShift": _BITS["shift_left"], "RShift": _BITS["shift_right"],
    "BitwiseAnd": _BITS["bitwise_and"], "BitwiseOr": _BITS["bitwise_or"],
    "BitwiseXor": _BITS["bitwise_xor"],
})  # fmt: skip
#: One operation each: functions of one, two or three numbers.
FUNCTIONS = {
    name: name
    for name in ir.words(
        "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan "
        "asinh acosh atanh atan2 erf pow sigmoid hypot"
    )
}
FUNCTIONS.update({
    "fabs": "abs", "abs": "abs", "fmod": "mod", "fma": "fma", "copysign": "abs",
    "tl.__exp": "exp", "tl.__exp10": "exp10", "tl.__log": "log", "tl.__log2": "log2",
    "tl.__log10": "log10", "tl.__sin": "sin", "tl.__cos": "cos", "tl.__tan": "tan",
    "tl.ieee_add": "add", "tl.ieee_sub": "sub", "tl.ieee_mul": "mul", "tl.ieee_fmaf": "fma",
    "tl.ieee_fdiv": "div", "tl.ieee_frcp": "rcp", "tl.ieee_fsqrt": "sqrt",
    "tl.ieee_frsqrt": "rsqrt", "tl.fma": "fma", "tl.max_nan": "max", "tl.min_nan": "min",
    "tl.add2": "add", "tl.sub2": "sub", "tl.mul2": "mul", "tl.fma2": "fma", "tl.max2": "max",
    "tl.min2": "min", "tl.abs2": "abs", "tl.fast_rcp": "rcp",
})  # fmt: skip
#: Rounding, tests and exchange: no floating-point operation by the convention of FLOP counts.
UNCOUNTED = ir.words(
    "floor ceil trunc round nearbyint rint isnan isinf isfinite tl.infinity reinterpret likely "
    "tl.round_ties_away_from_zero tl.shfl_xor_sync tl.shfl_down_sync tl.shfl_up_sync tl.shfl_sync "
    "tvm_warp_shuffle_down tvm_warp_shuffle_up tvm_warp_activemask ret tvm_thread_invariant "
    "ignore_loop_partition"
)
_ROUNDED = ir.words("floor ceil trunc round nearbyint rint infinity tl.infinity")
_CONSTANT = ("IntImm", "FloatImm", "StringImm", "Cast", "Broadcast")
_SAME = ir.words("likely ret reinterpret tvm_thread_invariant ignore_loop_partition")
INTEGERS = ir.words("bitwise_not popcount clz tl.__ffs")


class Evaluator:
    """Values of expressions; subclasses say what calls and loads mean beyond arithmetic."""

    tally: Tally
    #: Whether a condition that data decide is taken to hold, and its contrary too.
    assume: bool
    #: Arrays of integers that the program computes addresses with, by slot and element.
    memory: dict[int, np.ndarray]
    #: Floating-point constants by the names that they have.
    constants: dict[Any, float]

    def value(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """The value of `node` and whether data take part; `times` is what one point stands for."""
        if isinstance(node, (bool, int)):
            return node, False
        name = ir.kind(node)
        if name == "IntImm":
            return int(node.value), False
        if name in ("FloatImm", "StringImm"):
            return UNKNOWN, False
        if name in ("Var", "SizeVar"):
            return self.variable(node, at)
        if name in _BINARY:
            return self._binary(*_BINARY[name], node, node.a, node.b, at, times)
        if name == "BitwiseNot":
            value, data = self.value(node.a, at, times)
            if data:
                self._count("bitwise", ir.dtype(node), at, times)
            return (value if value is UNKNOWN else ~value), data
        if name == "Not":
            value, data = self.value(node.a, at, times)
            return (value if value is UNKNOWN else np.logical_not(value)), data
        if name in ("BufferLoad", "TensorLoad"):
            return self.load(node, at, times)
        if name == "Cast":
            return self._cast(node, at, times)
        if name == "Select":
            condition, data = self.value(node.condition, at, times)
            (left, one), (right, other) = (
                self.value(side, at, times) for side in (node.true_value, node.false_value)
            )
            if UNKNOWN in (type(condition), type(left)) or any(
                part is UNKNOWN for part in (condition, left, right)
            ):
                return UNKNOWN, data or one or other
            return np.where(condition, left, right), data or one or other
        if name == "Broadcast":
            return self.value(node.value, at, times)
        if name == "Ramp":
            return self.value(node.base, at, times)
        if name == "Shuffle":
            data = [self.value(part, at, times)[1] for part in node.vectors]
            return UNKNOWN, any(data)
        if name == "Let":
            at.columns[ir.key(node.var)], data = self.value(node.value, at, times)
            self.derive(ir.key(node.var), node.value, data, at)
            return self.value(node.body, at, times)
        if name == "Call":
            return self._call(node, at, times)
        raise RefusedError(f"the expression {name}")

    def known(self, node: Any, at: Points) -> Any:
        """The value of something that steers the program.

        Raises:
            DataError: it depends on data.
        """
        value, _ = self.value(node, at, self.times(at))
        if value is UNKNOWN:
            raise DataError(str(node).strip().splitlines()[-1][:60])
        return value

    def holds(self, node: Any, at: Points, times: int) -> tuple[np.ndarray, np.ndarray]:
        """Where a condition holds, and where it does not.

        One that data decide may do either, with `assume`; both masks then have what can happen.

        Raises:
            DataError: it depends on data.
        """
        value, _ = self.value(node, at, times)
        if value is not UNKNOWN:
            mask = at.full(value).astype(bool)
            return mask, ~mask
        if not self.assume:
            raise DataError(str(node).strip().splitlines()[-1][:60])
        self.tally.assumed = True
        return self._possible(node, at)

    def _possible(self, node: Any, at: Points) -> tuple[np.ndarray, np.ndarray]:
        name = ir.kind(node)
        if name in ("And", "Or"):
            (yes, no), (also, nor) = self._possible(node.a, at), self._possible(node.b, at)
            return (yes & also, no | nor) if name == "And" else (yes | also, no & nor)
        if name == "Not":
            return self._possible(node.a, at)[::-1]
        value, _ = self.value(node, at, 0)
        everywhere = np.ones(at.size, dtype=bool)
        if value is UNKNOWN:
            return everywhere, everywhere
        mask = at.full(value).astype(bool)
        return mask, ~mask

    def times(self, at: Points) -> int:
        """How many threads do what is done at one of the points."""
        raise NotImplementedError

    def derive(self, variable: Any, value: Any, data: bool, at: Points) -> None:
        """A name is given to a value: it is data, or tells threads apart, where that does."""
        raise NotImplementedError

    def variable(self, node: Any, at: Points) -> tuple[Any, bool]:
        raise NotImplementedError

    def load(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        raise NotImplementedError

    def call(self, name: str, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        raise NotImplementedError

    def _binary(
        self, name: str, function: Any, node: Any, a: Any, b: Any, at: Points, times: int
    ) -> tuple[Any, bool]:
        left, one = self.value(a, at, times)
        right, other = self.value(b, at, times)
        data = one or other
        dtype = ir.dtype(a)
        # A product or quotient with 1.0 is no operation, and one of constants the compiler's.
        same = (name == "mul" and self._constant(a) == 1.0) or (
            name in ("mul", "div") and self._constant(b) == 1.0
        )
        same = same or _is_fixed(node)
        if name and not same and (data or ir.floating(dtype)):
            self._count(name, dtype, at, times)
        if left is UNKNOWN or right is UNKNOWN or ir.floating(dtype):
            return UNKNOWN, data or ir.floating(dtype)
        if ir.kind(node) in ("Div", "Mod", "FloorDiv", "FloorMod"):
            right = np.where(np.equal(right, 0), 1, right)
        return function(left, right), data

    def _constant(self, node: Any) -> float | None:
        """A floating-point constant or one that `node` names."""
        if ir.kind(node) == "Broadcast":
            return self._constant(node.value)
        if ir.kind(node) == "Var":
            return self.constants.get(ir.key(node))
        return float(node.value) if ir.kind(node) == "FloatImm" else None

    def _count(self, name: str, dtype: str, at: Points, times: int) -> None:
        base, lanes = ir.element(dtype)
        self.tally.operation(name, base, at.size * times * lanes)

    def _cast(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        value, data = self.value(node.value, at, times)
        source, target = ir.dtype(node.value), ir.dtype(node)
        if not _is_fixed(node.value) and (data or ir.floating(target)):
            base, lanes = ir.element(source)
            self.tally.conversion(base, ir.element(target)[0], at.size * times * lanes)
        if ir.floating(source) or ir.floating(target):
            return UNKNOWN, data or ir.floating(target)
        return value, data

    def _call(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        name, arguments, dtype = ir.called(node), list(node.args), ir.dtype(node)
        if name in ir.CHOICES:
            return self._chosen(arguments, at, times)
        if name in _BITS:
            return self._binary(*_BITS[name], node, *arguments, at, times)
        if name in FUNCTIONS or name in UNCOUNTED or name in INTEGERS:
            data = [self.value(part, at, times) for part in arguments]
            made_of_data = any(flag for _, flag in data) or ir.floating(dtype)
            if name in FUNCTIONS and made_of_data and not _is_fixed(node):
                function = FUNCTIONS[name]
                if function == "pow" and self._constant(arguments[0]) is not None:
                    function = "pow_of_constant"
                self._count(function, dtype, at, times)
            if name in INTEGERS and made_of_data:
                self._count("bitwise", dtype, at, times)
            if name in _SAME and data:
                return data[0][0], data[0][1] or ir.floating(dtype)
            return UNKNOWN, made_of_data
        return self.call(name, node, at, times)

    def _chosen(self, arguments: list, at: Points, times: int) -> tuple[Any, bool]:
        known, data = self.value(arguments[0], at, 0)
        if known is UNKNOWN and all(map(_costs_nothing, arguments[1:])):
            # Whichever it is, nothing is done for it.
            self.value(arguments[0], at, times)
            return UNKNOWN, True
        yes, no = self.holds(arguments[0], at, times)
        out: Any = np.zeros(at.size, dtype=np.int64)
        for side, chosen in ((arguments[1], yes), (arguments[2], no)):
            if not chosen.any():
                continue
            value, made_of_data = self.value(side, at.take(chosen), times)
            data = data or made_of_data
            if value is UNKNOWN or out is UNKNOWN or (yes & no).any():
                out = UNKNOWN
            else:
                out[chosen] = value
        return out, data


def _is_fixed(node: Any) -> bool:
    """Whether nothing but constants and functions of them is in an expression."""
    return all(
        ir.kind(part) in _CONSTANT
        or ir.kind(part) in _BINARY
        or (ir.kind(part) == "Call" and ir.called(part) in {*FUNCTIONS, *_ROUNDED})
        for part in ir.everything(node)
    )


def _costs_nothing(node: Any) -> bool:
    return ir.constant(node.value if ir.kind(node) == "Cast" else node) is not None
