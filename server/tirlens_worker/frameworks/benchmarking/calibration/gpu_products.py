"""Matrix products of the calibration: tilelang's `T.gemm` and the library of torch."""

from __future__ import annotations

import importlib
import statistics
import sys
from typing import Any, Callable, Dict, Iterator, List, Tuple

# A product runs for this long without a pause, so that a limit of power sets the clock.
LONG_S = 1.0
SAMPLES = 10
MAX_REPEAT_RATIO = 1.05
# Bytes of a row of a tile.
ROW_BYTES = 128
# Rows and columns of a tile, stages, threads.
TILES = ((128, 128, 3, 128), (128, 256, 3, 256))
# By type of the operands: its names in tilelang and in torch, and the accumulator.
TYPES = {
    "float16": ("float16", "float16", "float32"),
    "bfloat16": ("bfloat16", "bfloat16", "float32"),
    "tf32": ("float32", "float32", "float32"),
    "float8": ("float8_e4m3fn", "float8_e4m3fn", "float32"),
    "int8": ("int8", "int8", "int32"),
}
LIBRARY = "torch.matmul"
LIBRARY_TYPES = ("float16", "bfloat16", "tf32")


class Product:
    """A square product; of several ways to compute it, the fastest counts."""

    def __init__(self, step: Dict[str, Any]) -> None:
        self.name = str(step["name"])
        self._dtype, self._size = str(step["sizes"]["dtype"]), int(step["sizes"]["size"])
        self.least_s: List[float] = []
        self._torch: Any = importlib.import_module("torch")
        if not self._torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU: torch.cuda.is_available() is false")
        problems: List[str] = []
        found: List[Tuple[float, str, Callable[[], Any]]] = []
        for how, build in self._ways():
            try:
                run = build()
                found.append((min(self._times(run, LONG_S / SAMPLES)), how, run))
            except Exception as error:
                problems.append("{}: {}".format(how, " ".join(str(error).split())[-200:]))
        if not found:
            raise RuntimeError("; ".join(problems))
        _, self._how, self._run = min(found, key=lambda item: item[0])

    @property
    def is_repeated(self) -> bool:
        """Whether the two least times agree."""
        return len(self.least_s) > 1 and self.least_s[1] < self.least_s[0] * MAX_REPEAT_RATIO

    def answer(self) -> Dict[str, Any]:
        """The two least times in seconds, and the way to compute the product."""
        return {"seconds": (self.least_s * 2)[:2], "clk": None, "how": self._how}

    def measure(self) -> None:
        """Run the product; its time in the long run."""
        results = self._times(self._run, LONG_S)
        self.least_s = sorted(self.least_s + [statistics.median(results[len(results) // 2 :])])[:2]

    def _ways(self) -> Iterator[Tuple[str, Callable[[], Callable[[], Any]]]]:
        if self._dtype in LIBRARY_TYPES:
            yield LIBRARY, self._library
        if "tilelang" in sys.modules:
            for tile in TILES:
                yield "T.gemm {} x {}".format(*tile[:2]), lambda tile=tile: self._tilelang(tile)

    def _operands(self) -> List[Any]:
        """Two matrices of random values: the power, and so the clock, depends on them."""
        torch = self._torch
        name = TYPES[self._dtype][1]
        shape = (self._size, self._size)
        if name == "int8":
            return [
                torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda") for _ in range(2)
            ]
        return [torch.randn(shape, device="cuda").to(getattr(torch, name)) for _ in range(2)]

    def _library(self) -> Callable[[], Any]:
        a, b = self._operands()
        self._torch.backends.cuda.matmul.allow_tf32 = True
        return lambda: self._torch.matmul(a, b.t())

    def _tilelang(self, tile: Tuple[int, int, int, int]) -> Callable[[], Any]:
        from . import product_kernels

        a, b = self._operands()
        dtype, _, accumulator = TYPES[self._dtype]
        row = ROW_BYTES // a.element_size()
        func = product_kernels.product(self._size, tile, row, dtype, accumulator)
        kernel = importlib.import_module("tilelang").compile(func)
        c = self._torch.empty(
            (self._size, self._size), dtype=getattr(self._torch, accumulator), device="cuda"
        )
        return lambda: kernel(a, b, c)

    def _times(self, run: Callable[[], Any], total_s: float) -> List[float]:
        """The times of a product in seconds, in `SAMPLES` samples that take `total_s` together."""
        self._sample(run, 1)
        once = self._sample(run, 2)
        number = max(1, int(total_s / SAMPLES / once))
        return [self._sample(run, number) for _ in range(SAMPLES)]

    def _sample(self, run: Callable[[], Any], number: int) -> float:
        cuda = self._torch.cuda
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        for _ in range(number):
            run()
        end.record()
        cuda.synchronize()
        return float(start.elapsed_time(end)) * 1e-3 / number
