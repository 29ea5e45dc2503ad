"""What the reference executor has counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from equality.language import TooBigError, floating, width

LARGEST_ARRAY = 1 << 27


class Tally:
    """Operations by name and type, and for each global array its issued bits and touched elements.

    `points` is how much has been executed, against `budget`.
    """

    def __init__(self, budget: int) -> None:
        self.operations: Counter = Counter()
        self.issued: Counter = Counter()
        self.touched: dict[str, np.ndarray] = {}
        self.widths: dict[str, int] = {}
        #: Arrays that are touched at places which data decide.
        self.scattered: set[str] = set()
        self.points = 0
        self.budget = budget

    def work(self, points: int) -> None:
        self.points += points
        if self.points > self.budget:
            raise TooBigError(f"more than {self.budget:,} points")

    def operation(self, name: str, dtype: str, times: int) -> None:
        if times and (floating(dtype) or name == "mma"):
            self.operations[name, dtype] += times
        elif times and name != "cast":
            self.operations["integer", ""] += times

    def array(self, name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if name not in self.touched:
            if int(np.prod(shape, dtype=object)) > LARGEST_ARRAY:
                raise TooBigError(f"{name} has more than {LARGEST_ARRAY:,} elements")
            self.touched[name] = np.zeros(shape, dtype=bool)
            self.widths[name] = width(dtype)
        return self.touched[name]

    def result(self) -> dict[str, Any]:
        distinct = {
            name: -(-int(np.count_nonzero(seen)) * self.widths[name] // 8)
            for name, seen in self.touched.items()
            if name not in self.scattered
        }
        return {
            "operations": [[*what, times] for what, times in sorted(self.operations.items())],
            "issued": [[*what, bits] for what, bits in sorted(self.issued.items())],
            "distinct": distinct,
            "scattered": sorted(self.scattered),
            "points": self.points,
        }
