"""Answers of torch, tilelang and TVM to queries of the GPU: those of the GPU in `fake_gpu`."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, Callable, Dict, Optional, cast

from ..frameworks.targets import OPEN_ARCHITECTURE
from . import fake_gpu

# Of AMD's accelerators, that of the device for ``rocm`` in the catalogue.
_OPEN_AMD_ARCHITECTURE = "gfx942"


def _answer(value: Callable[[], Any]) -> Callable[..., Any]:
    """A function of any arguments that returns ``value()``."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value()

    return answer


def patch_torch_cuda(cuda: Any) -> None:
    """Patch the queries of ``torch.cuda``."""

    def properties(device: Any = None) -> Any:
        fake = fake_gpu.requested_gpu()
        return SimpleNamespace(
            name=fake.name,
            major=fake.capability[0],
            minor=fake.capability[1],
            multi_processor_count=fake.sm_count,
            total_memory=fake.memory_bytes,
            shared_memory_per_block=49152,
            shared_memory_per_block_optin=fake.shared_per_block_bytes,
            shared_memory_per_multiprocessor=fake.shared_per_sm_bytes,
            max_threads_per_multi_processor=2048,
            regs_per_multiprocessor=65536,
            warp_size=32,
            L2_cache_size=fake.l2_bytes,
        )

    cuda.is_available = _answer(lambda: True)
    cuda.device_count = _answer(lambda: 1)
    cuda.current_device = _answer(lambda: 0)
    cuda.get_device_capability = _answer(lambda: fake_gpu.requested_gpu().capability)
    cuda.get_device_name = _answer(lambda: fake_gpu.requested_gpu().name)
    cuda.get_device_properties = properties
    for name in ("synchronize", "init", "set_device", "empty_cache"):
        setattr(cuda, name, _answer(lambda: None))


def patch_tvm_target(target: Any) -> None:
    """Patch the targets: TVM completes some of them for the GPU of this machine.

    The object for a tag that is given as text has no tag, in TVM 0.26.
    """
    construct = target.Target.__init__

    def from_device(device: Any) -> Any:
        return target.Target(fake_gpu.requested_gpu().target_attributes())

    def init(self: Any, target: Any, host: Any = None) -> None:
        open_target = complete_target(target)
        if open_target is not None:
            fake_gpu.requested_gpu()
        if isinstance(target, str) and "/" in target:
            target = {"tag": target}
        construct(self, open_target or target, host)

    target.Target.from_device = staticmethod(from_device)
    target.Target.__init__ = init


def complete_target(target: Any) -> Optional[Dict[str, Any]]:
    """The attributes of a GPU target with an architecture; None for one that states it.

    Without a GPU TVM takes an old architecture, sm_50 or gfx900, which no program has asked for.
    """
    attributes = {"kind": target} if isinstance(target, str) else target
    if not isinstance(attributes, dict):
        return None
    stated = cast("Dict[str, Any]", attributes)
    kind = stated.get("kind")
    if "tag" in stated or "arch" in stated or "mcpu" in stated:
        return None
    if kind == "cuda":
        gpu = fake_gpu.current()
        known = gpu.target_attributes() if gpu.kind == "cuda" else {}
        return dict(known, **stated)
    if kind == "rocm":
        keys = ["rocm", "gpu", OPEN_ARCHITECTURE]
        return dict({"mcpu": _OPEN_AMD_ARCHITECTURE, "keys": keys}, **stated)
    return None


def patch_driver(driver: Any) -> None:
    """Patch tilelang's queries of the CUDA driver."""
    driver.get_num_sms = _answer(lambda: fake_gpu.requested_gpu().sm_count)
    driver.get_cuda_device_properties = _answer(
        lambda: sys.modules["torch"].cuda.get_device_properties()
    )
    driver.get_device_name = _answer(lambda: fake_gpu.requested_gpu().name)
    driver.get_shared_memory_per_block = _shared_memory(lambda: 49152)
    driver.get_max_dynamic_shared_size_bytes = _shared_memory(
        lambda: fake_gpu.requested_gpu().shared_per_sm_bytes
    )
    driver.get_persisting_l2_cache_max_size = _answer(lambda: fake_gpu.requested_gpu().l2_bytes)
    driver.get_registers_per_block = _answer(lambda: 65536)


def _shared_memory(size_bytes: Callable[[], int]) -> Callable[..., int]:
    def answer(device_id: int = 0, format: str = "bytes") -> int:  # noqa: A002
        return size_bytes() // {"bytes": 1, "kb": 1 << 10, "mb": 1 << 20}[format]

    return answer


def patch_arch(arch: Any) -> None:
    """Patch tilelang's description of an architecture."""

    def create(self: Any, target: Any) -> None:
        fake = fake_gpu.requested_gpu()
        self.target = target if not isinstance(target, (str, dict)) else fake.target()
        self.sm_version = fake.capability[0] * 10 + fake.capability[1]
        self.name = fake.name
        self.device = None
        self.platform = "CUDA"
        self.smem_cap = fake.shared_per_block_bytes
        self.compute_max_core = fake.sm_count
        self.warp_size = 32
        self.compute_capability = "{}{}".format(*fake.capability)
        self.reg_cap = 65536
        self.max_smem_usage = 2 * self.smem_cap
        self.sm_partition = 4
        self.l2_cache_size_bytes = fake.l2_bytes
        # The values of tilelang/carver/arch/cuda.py for every GPU.
        self.transaction_size = [32, 128]
        self.bandwidth = [750, 12080]
        self.available_tensor_instructions = None

    arch.CUDA.__init__ = create


def patch_target(module: Any) -> None:
    """Patch the detection of the target."""
    module.auto_detect_target = _answer(lambda: fake_gpu.current().target())


def patch_device(module: Any) -> None:
    """Patch the attributes of TVM's CUDA devices."""
    attributes: Dict[str, Callable[[fake_gpu.FakeGpu], Any]] = {
        "exist": lambda fake: True,
        "device_name": lambda fake: fake.name,
        "compute_version": lambda fake: "{}.{}".format(*fake.capability),
        "multi_processor_count": lambda fake: fake.sm_count,
        "max_shared_memory_per_block": lambda fake: 49152,
        "max_threads_per_block": lambda fake: 1024,
        "warp_size": lambda fake: 32,
        "l2_cache_size_bytes": lambda fake: fake.l2_bytes,
        "total_global_memory": lambda fake: fake.memory_bytes,
    }
    for name, value in attributes.items():
        setattr(module.Device, name, _device_attribute(getattr(module.Device, name), value))


def _device_attribute(real: Any, value: Callable[[fake_gpu.FakeGpu], Any]) -> property:
    """An attribute of TVM's devices with the `value` of the GPU, for CUDA devices."""

    def get(self: Any) -> Any:
        return value(fake_gpu.requested_gpu()) if self.type == "cuda" else real.__get__(self)

    return property(get)
