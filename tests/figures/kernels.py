"""The kernels and devices whose figures are held, from the facts of the measured rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from support.stored_facts import entries, stored
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

FOLDER = Path(__file__).resolve().parent

GPUS = ("h100-sxm", "a100-80-sxm", "rtx-4090", "t4", "b200", "mi300x")
NVIDIA = ("h100-sxm", "a100-80-sxm")
CPUS = ("x86-avx512", "x86-avx2", "arm-neoverse")


@dataclass(frozen=True)
class HeldKernel:
    """A kernel by its number in a file of facts; `name` is the name of its figures."""

    name: str
    book: str
    number: int
    devices: tuple[str, ...] = GPUS

    @property
    def facts(self) -> KernelFacts:
        """Its facts, with what tilelang made of it for the device of its measurement."""
        return from_json(KernelFacts, entries(self.book)[self.number])

    @property
    def bindings(self) -> dict[str, int]:
        """The sizes of its first measured row."""
        content = stored(self.book)
        rows = [] if isinstance(content, list) else content["rows"]
        named = (row for row in rows if any(self.number in one for one in row["alternatives"]))
        return next(named, {}).get("bindings", {})


KERNELS = (
    # Products: wgmma and TMA, mma.sync, int8, dequantised, split over K, sparse, spilled.
    HeldKernel("product-tile", "h100_sweep", 1),
    HeldKernel("product-pipelined", "library_tilelang", 0),
    HeldKernel("product-bf16", "compiled", 30),
    HeldKernel("product-int8xint4", "h100_examples", 14),
    HeldKernel("product-fp4-weights", "compiled", 15),
    HeldKernel("product-split-k", "h100_sweep", 173),
    HeldKernel("product-sparse", "h100_examples", 34),
    HeldKernel("product-tvm", "boards_tvm", 0),
    HeldKernel("product-tvm-searched", "library_tvm", 23),
    HeldKernel("product-spilled", "h100_sweep", 214, NVIDIA),
    HeldKernel("product-compiled", "h100_compiled", 269, NVIDIA),
    HeldKernel("matrix-vector", "library_tilelang", 28),
    HeldKernel("matrix-vector-split", "library_tilelang", 30),
    # Attention and recurrences.
    HeldKernel("attention", "h100_sweep", 9),
    HeldKernel("attention-backward", "h100_examples", 33),
    HeldKernel("attention-backward-atomic", "compiled", 33),
    HeldKernel("attention-sparse", "h100_examples", 13),
    HeldKernel("attention-warp-roles", "h200_tileops", 0),
    HeldKernel("attention-spilled", "h100_examples", 21),
    HeldKernel("attention-decode-split", "compiled", 143, NVIDIA),
    HeldKernel("chunk-scan", "tilelang_readmes", 28),
    HeldKernel("delta-rule-chunk", "h100_examples", 23),
    HeldKernel("delta-rule-decode", "compiled", 14),
    # Rows: norms, softmax, reductions, scans.
    HeldKernel("rms-norm", "h100_sweep", 75),
    HeldKernel("layer-norm", "compiled", 47),
    HeldKernel("softmax", "h100_sweep", 88),
    HeldKernel("softmax-tvm", "library_tvm", 0),
    HeldKernel("cumulative-sum", "compiled", 12),
    HeldKernel("argument-reduction", "compiled", 2),
    HeldKernel("row-sums-tvm", "tutorials_tvm", 16),
    HeldKernel("tree-sums-tvm", "tutorials_tvm", 40, NVIDIA),
    HeldKernel("rows-of-layers", "h100_compiled", 3, NVIDIA),
    # Elements and movement.
    HeldKernel("add", "h100_sweep", 0),
    HeldKernel("stream", "streams", 0),
    HeldKernel("transpose", "h100_sweep", 132),
    HeldKernel("gelu-tvm", "library_tvm", 20),
    HeldKernel("fp8-quantise", "compiled", 22),
    HeldKernel("convolution", "sweeps", 133),
    HeldKernel("convolution-3d", "compiled", 10),
    HeldKernel("dedispersion", "sweeps", 460),
    HeldKernel("convolution-rows", "compiled", 6, NVIDIA),
    HeldKernel("moving-sums-tvm", "boards_tvm", 11, NVIDIA),
    # TIRx, one after the other: their file is large.
    HeldKernel("product-tirx-fp8", "tirx_b200", 5),
    HeldKernel("top-k-tirx", "tirx_b200", 72),
    HeldKernel("segments-tirx", "tirx_b200", 45, ("b200",)),
    HeldKernel("experts-tirx", "tirx_b200", 91, ("b200",)),
    # Kernels of CPUs.
    HeldKernel("cpu-product", "cpu_cascade_lake", 0, CPUS),
    HeldKernel("cpu-softmax", "cpu_cascade_lake", 174, CPUS),
    HeldKernel("cpu-convolution", "cpu_cascade_lake", 84, CPUS),
    HeldKernel("cpu-transpose", "cpu_cascade_lake", 238, CPUS),
    HeldKernel("cpu-transposed-convolution", "cpu_cascade_lake", 352, CPUS),
    HeldKernel("cpu-blocked-convolution", "cpu_cascade_lake", 487, CPUS),
    HeldKernel("cpu-grouped-convolution", "cpu_zen4", 729, CPUS),
    HeldKernel("cpu-product-rows", "cpu_cascade_lake", 901, CPUS),
    HeldKernel("cpu-row-sums", "cpu_zen4", 626, CPUS),
    HeldKernel("cpu-norm", "cpu_zen4", 747, CPUS),
    HeldKernel("cpu-alignment", "cpu_zen4", 717, CPUS),
)
"""One of each kind: what differs in routes, memory, block or launch."""
