"""The GPU that programs see while they are executed on a machine that may have none."""

from __future__ import annotations

import sys
from typing import Any, Dict, Mapping, NamedTuple

from ..frameworks.targets import OPEN_ARCHITECTURE


class _Product(NamedTuple):
    sm_count: int
    shared_per_sm_bytes: int
    shared_per_block_bytes: int
    l2_bytes: int
    memory_bytes: int
    name: str


# By compute capability: CUDA C++ Programming Guide 13.0, "Compute Capabilities", and the data
# sheets of the products named here.
_PRODUCTS: Dict[str, _Product] = {
    "sm_70": _Product(80, 98304, 98304, 6 << 20, 16 << 30, "Tesla V100-SXM2-16GB"),
    "sm_75": _Product(40, 65536, 65536, 4 << 20, 16 << 30, "Tesla T4"),
    "sm_80": _Product(108, 167936, 166912, 40 << 20, 80 << 30, "NVIDIA A100-SXM4-80GB"),
    "sm_86": _Product(84, 102400, 101376, 6 << 20, 48 << 30, "NVIDIA A40"),
    "sm_89": _Product(142, 102400, 101376, 96 << 20, 48 << 30, "NVIDIA L40S"),
    "sm_90": _Product(132, 233472, 232448, 50 << 20, 80 << 30, "NVIDIA H100 80GB HBM3"),
    "sm_100": _Product(148, 233472, 232448, 126 << 20, 180 << 30, "NVIDIA B200"),
    "sm_120": _Product(188, 102400, 101376, 128 << 20, 96 << 30, "NVIDIA RTX PRO 6000"),
}
_DEFAULT_ARCH = "sm_90"


class FakeGpu:
    """The GPU that programs see."""

    def __init__(self, target: Mapping[str, Any]) -> None:
        arch = str(target.get("arch") or _DEFAULT_ARCH)
        digits = "".join(c for c in arch if c.isdigit()) or "90"
        product = _PRODUCTS.get("sm_" + digits) or _PRODUCTS[_nearest(int(digits))]
        self.kind = str(target.get("kind") or "cuda")
        self.arch = arch
        self.capability = (int(digits[:-1] or 9), int(digits[-1]))
        self.sm_count = int(target.get("sm_count") or product.sm_count)
        self.shared_per_sm_bytes = product.shared_per_sm_bytes
        self.shared_per_block_bytes = product.shared_per_block_bytes
        self.l2_bytes, self.memory_bytes = product.l2_bytes, product.memory_bytes
        self.name = product.name

    def target(self) -> Any:
        """The framework's Target object for this device, with what its schedule rules read."""
        return sys.modules["tvm"].target.Target(self.target_attributes())

    def target_attributes(self) -> Dict[str, Any]:
        """The attributes of `target`; its architecture is marked as one that nobody stated."""
        found: Dict[str, Any] = {
            "kind": self.kind,
            "arch": self.arch,
            "keys": [self.kind, "gpu", OPEN_ARCHITECTURE],
        }
        if self.kind == "cuda":
            # Static shared memory, as TVM's tags have it for all GPUs of NVIDIA.
            limits = {"max_threads_per_block": 1024, "max_shared_memory_per_block": 49152}
            found.update(thread_warp_size=32, **limits)
        return found


def _nearest(capability: int) -> str:
    """The product of the greatest compute capability in the table up to `capability`."""
    known = sorted(int(name[3:]) for name in _PRODUCTS)
    below = [number for number in known if number <= capability]
    return "sm_{}".format(below[-1] if below else known[0])


class _State:
    gpu = FakeGpu({})
    is_queried = False


def set_gpu(target: Mapping[str, Any]) -> None:
    """Set the GPU that programs see; `target` as in `patches.install`."""
    _State.gpu = FakeGpu(target)


def current() -> FakeGpu:
    """The GPU that programs see."""
    return _State.gpu


def requested_gpu() -> FakeGpu:
    """The GPU, for an answer to a query of the program, which is recorded."""
    _State.is_queried = True
    return _State.gpu


def was_queried() -> bool:
    """Whether the program has queried the GPU: its kernels may depend on the answer."""
    return _State.is_queried
