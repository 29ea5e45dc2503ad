"""The time of a kernel by part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelTime:
    """Launch, body and tail in seconds.

    `limiter` is the memory level (``dram``, ``l2``, or the ``atomics`` in L2) whose time sets the
    body's; None where the blocks' own time does.
    """

    launch_s: float
    body_s: float
    tail_s: float
    limiter: str | None

    @property
    def total_s(self) -> float:
        """The time of the kernel in seconds."""
        return self.launch_s + self.body_s + self.tail_s
