"""``torch.cuda`` without a GPU: streams, events and graphs on which nothing waits."""

# The values of torch, tvm and tilelang have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any, List

import torch

from ..program import gpu_queries
from . import recording
from .answers import returns

GPU = torch.device("cuda", 0)
# Loops that time something end soon where one round takes a second.
_ELAPSED_MS = 1000.0

_SILENT = (
    "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device", "init", "seed",
    "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect", "check_error",
    "set_stream", "seed_all", "_lazy_init", "set_per_process_memory_fraction",
    "set_sync_debug_mode",
)  # fmt: skip
_ZERO = (
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "utilization",
)  # fmt: skip


class Stream:
    """A stream or event: all that is asked of it answers at once."""

    cuda_stream = 0
    stream_id = 0
    device = GPU
    device_index = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def query(self) -> bool:
        """It has no work."""
        return True

    def record_event(self, event: Any = None) -> Any:
        """An event that has happened."""
        return event or Stream()

    def elapsed_time(self, _: Any) -> float:
        """A time without meaning, in milliseconds."""
        return _ELAPSED_MS

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return returns(None)


class Graph:
    """A graph: the launches while it is captured happen when it is replayed."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._launches: List[str] = []

    def capture_begin(self, *_: Any, **__: Any) -> None:
        """Collect the launches that follow."""
        recording.current().journal.begin_graph()

    def capture_end(self) -> None:
        """The end of the graph."""
        self._launches = recording.current().journal.end_graph()

    def replay(self) -> None:
        """All launches of the graph."""
        recording.current().journal.replay(self._launches)

    def reset(self) -> None:
        """Empty the graph."""
        self._launches = []

    def pool(self) -> Any:
        """The memory of the graph."""
        return (0, 0)


class GraphCapture:
    """``with torch.cuda.graph(g):``"""

    def __init__(self, cuda_graph: Any, *_: Any, **__: Any) -> None:
        self._graph = cuda_graph

    def __enter__(self) -> None:
        self._graph.capture_begin()

    def __exit__(self, *_: Any) -> None:
        self._graph.capture_end()


def begin() -> None:
    """Answer what programs ask and want of ``torch.cuda``."""
    cuda: Any = torch.cuda
    gpu_queries.patch_torch_cuda(cuda)
    for name in _SILENT:
        setattr(cuda, name, returns(None))
    for name in _ZERO:
        setattr(cuda, name, returns(0))
    for name in ("Stream", "Event", "ExternalStream", "stream", "device", "device_of"):
        setattr(cuda, name, Stream)
    for name in ("current_stream", "default_stream", "get_stream_from_external"):
        setattr(cuda, name, returns(Stream()))
    cuda.CUDAGraph, cuda.graph = Graph, GraphCapture
    cuda.is_initialized = returns(True)
    cuda.is_bf16_supported = returns(True)
    cuda.is_current_stream_capturing = returns(False)
    cuda.get_arch_list = returns([])
    cuda.mem_get_info = returns((1 << 36, 1 << 36))
    cuda.make_graphed_callables = lambda callables, *_, **__: callables
    if torch.version.cuda is None:
        torch.version.cuda = "13.0"
