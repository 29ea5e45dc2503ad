"""What programs that ask for the GPU of the machine are answered.

The first is that of most programs, or the one that the path of a kernel names. The others are
tried for kernels that no program calls on the first, as libraries have them that select kernels by
compute capability.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from tirlens.evaluation.values import Options, Value
from tirlens.hardware import load


@dataclass(frozen=True)
class Gpu:
    """A GPU as `torch.cuda` describes it."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    shared_bytes_of_multiprocessor: int
    shared_bytes_of_block: int
    l2_bytes: int

    @property
    def compute_version(self) -> str:
        """The compute capability as tilelang and TVM write it: ``9.0``."""
        return ".".join(map(str, self.capability))

    @property
    def properties(self) -> Options:
        """What ``torch.cuda.get_device_properties`` returns."""
        return Options(
            {
                "multi_processor_count": self.multiprocessors,
                "shared_memory_per_multiprocessor": self.shared_bytes_of_multiprocessor,
                "shared_memory_per_block_optin": self.shared_bytes_of_block,
                "L2_cache_size": self.l2_bytes,
                "major": self.capability[0],
                "minor": self.capability[1],
                "name": self.name,
                "warp_size": 32,
            }
        )


# The names that torch reports, by the device of the catalogue.
_NAMES = {
    "h100-sxm": "NVIDIA H100 80GB HBM3",
    "b200": "NVIDIA B200",
    "rtx-5090": "NVIDIA GeForce RTX 5090",
    "a100-80-sxm": "NVIDIA A100-SXM4-80GB",
}


def _gpu(device_id: str, name: str) -> Gpu:
    device = load(device_id)
    digits = device.arch.removeprefix("sm_").rstrip("a")
    return Gpu(
        name,
        (int(digits[:-1]), int(digits[-1])),
        device.sm_count,
        device.limits.shared_bytes_per_sm,
        device.limits.shared_bytes_per_block,
        device.l2.bytes,
    )


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs that are tried, that of most programs first."""
    return tuple(_gpu(device_id, name) for device_id, name in _NAMES.items())


_GENERATIONS = {"hopper": (9, 0), "blackwell": (10, 0), "ampere": (8, 0)}
_CAPABILITY = re.compile(r"(?:sm|cc|cuda)_?(\d{2,3})a?(?![0-9])")

_ANSWERS: dict[str, Callable[[Gpu], Value]] = {
    "torch.cuda.get_device_properties": lambda gpu: gpu.properties,
    "torch.cuda.get_device_capability": lambda gpu: gpu.capability,
    "torch.cuda.get_device_name": lambda gpu: gpu.name,
    "tilelang.contrib.nvcc.get_target_compute_version": lambda gpu: gpu.compute_version,
    "tvm.contrib.nvcc.get_target_compute_version": lambda gpu: gpu.compute_version,
}


def gpus_for(path: str) -> tuple[Gpu, ...]:
    """The GPUs, first the one that the path of a kernel's file names: ``sm120``, ``hopper``."""
    named = [(int(digits[:-1]), int(digits[-1])) for digits in _CAPABILITY.findall(path.lower())]
    named += [version for word, version in _GENERATIONS.items() if word in path.lower()]
    known = {gpu.capability for gpu in gpus()}
    first = next((version for version in named if version in known), None)
    return tuple(sorted(gpus(), key=lambda gpu: gpu.capability != first))


def asks_for_gpu(path: str) -> bool:
    """Whether the result of a library's function depends on the GPU of the machine."""
    return path in _ANSWERS


def answer(path: str, gpu: Gpu) -> Value:
    """The result of a library's function that asks for the GPU."""
    return _ANSWERS[path](gpu)
