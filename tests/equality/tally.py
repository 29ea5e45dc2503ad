"""What the reference executor has counted.

Floating-point operations by the convention of FLOP counts: a multiply-accumulate is two, any other
arithmetic and any mathematical function one, a change of type or a choice none.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from equality.language import RefusedError, TooBigError, floating, width

LARGEST_ARRAY = 1 << 27
_PLAIN = frozenset(["add", "sub", "mul", "div", "mod", "min", "max", "abs", "neg"])
_SCALARS = {"float64": "fp64", "float32": "fp32", "bfloat16": "bf16"}
_MATRICES = {"float32": "tf32", "uint8": "int8", "uint4": "int4"}


class Tally:
    """Operations by name and type, issued bits of global and shared arrays, touched elements.

    `points` is how much has been executed, against `budget`.
    """

    def __init__(self, budget: int) -> None:
        self.operations: Counter = Counter()
        #: FLOP by the unit that does them.
        self.flop: Counter = Counter()
        #: Bits by memory, array and mode.
        self.issued: Counter = Counter()
        #: Memories of which something is moved that is not counted here.
        self.unsaid: set[str] = set()
        #: Which elements of each array are read, and which written; several may have one name.
        self.touched: dict[tuple[int, str], np.ndarray] = {}
        self.arrays: dict[tuple[int, str], tuple[str, int]] = {}
        #: Which bytes of each element are touched beyond that, where views have smaller elements.
        self.parts: dict[tuple[int, str], np.ndarray] = {}
        #: Arrays that are touched at places which data decide.
        self.scattered: set[str] = set()
        #: Whether a condition on data was taken to hold: all counts are upper bounds.
        self.assumed = False
        self.points = 0
        self.budget = budget

    def work(self, points: int) -> None:
        self.points += points
        if self.points > self.budget:
            raise TooBigError(f"more than {self.budget:,} points")

    def operation(self, name: str, dtype: str, times: int, sparsity: int = 1) -> None:
        """`times` operations; of a product with `sparsity` only so many are executed."""
        self._flop(name, dtype, times, sparsity)
        if times and (floating(dtype) or name == "mma"):
            self.operations[name, dtype] += times
        elif times:
            self.operations["integer", ""] += times

    def conversion(self, source: str, target: str, times: int) -> None:
        """`times` changes of type, one side of which is no integer."""
        if times and (floating(source) or floating(target)):
            self.operations["cast", f"{source} to {target}"] += times

    def _flop(self, name: str, dtype: str, times: int, sparsity: int) -> None:
        if name == "mma":
            family = re.match(r"float[468](?=_)", dtype)
            matrix = family.group() if family else _MATRICES.get(dtype, dtype)
            self.flop["tensor." + matrix] += 2 * times // sparsity
        elif floating(dtype) and name not in ("bitwise", "shift"):
            unit = _SCALARS.get(dtype, "fp16") if name in _PLAIN or name == "fma" else "sfu"
            self.flop[unit] += times * (2 if name == "fma" else 1)

    def array(self, buffer: Any, shape: tuple[int, ...], side: str) -> np.ndarray:
        """Marks for each element of an array that is read, or written (`side`)."""
        key = hash(buffer), side
        if key not in self.touched:
            if int(np.prod(shape, dtype=object)) > LARGEST_ARRAY:
                raise TooBigError(f"{buffer.name} has more than {LARGEST_ARRAY:,} elements")
            self.touched[key] = np.zeros(shape, dtype=bool)
            self.arrays[key] = str(buffer.name), width(str(buffer.dtype))
        return self.touched[key]

    def bytes_of(self, array: Any, shape: tuple[int, ...], side: str) -> np.ndarray:
        """Marks for each byte of an array's elements, beside those of the elements."""
        seen = self.array(array, shape, side)
        name, bits = self.arrays[hash(array), side]
        if bits % 8:
            raise RefusedError(f"parts of the elements of {name}")
        return self.parts.setdefault(
            (hash(array), side), np.zeros((seen.size, bits // 8), dtype=bool)
        )

    def result(self) -> dict[str, Any]:
        distinct: Counter[str] = Counter()
        for key, seen in self.touched.items():
            name, bits = self.arrays[key]
            if name in self.scattered:
                continue
            if key in self.parts:
                whole = self.parts[key] | np.ravel(seen)[:, None]
                distinct[name] += int(np.count_nonzero(whole))
            else:
                distinct[name] += -(-int(np.count_nonzero(seen)) * bits // 8)
        return {
            "operations": [[*what, times] for what, times in sorted(self.operations.items())],
            "flop": {unit: flop for unit, flop in self.flop.items() if flop},
            "issued": [[*what, bits] for what, bits in sorted(self.issued.items())],
            "assumed": self.assumed,
            "unsaid": sorted(self.unsaid),
            "distinct": distinct,
            "scattered": sorted(self.scattered),
            "points": self.points,
        }
