"""Everything without matrix products: each byte once, in the widest accesses.

The lower bound of the traffic that a kernel of one pass reaches: NVIDIA, CUDA C++ Best Practices
Guide, "Coalesced Access to Global Memory"; M. Harris, "Increase Performance with Vectorized Memory
Access", 2013. What the threads of a row, a scan or a histogram exchange is not charged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.hardware.spec import Device
from tirlens.headroom.job import Pass
from tirlens.headroom.kernels import SITES, Candidate, kernel_facts
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Evaluate,
    KernelFacts,
    Load,
    Loop,
    Node,
    Store,
)

_THREADS = 256
#: Accesses of a thread to the array that is larger.
_ACCESSES = (1, 4)
_WORD_BYTES = 4
_MOST_LANES = 4


def candidates(job: Pass, device: Device) -> Iterator[Candidate]:
    """A pass with one access of 16 B a thread, and one with four."""
    most = max(job.read_bytes, job.written_bytes)
    for accesses in _ACCESSES:
        blocks = max(1, math.ceil(most / (_THREADS * accesses * _MOST_LANES * _WORD_BYTES)))
        yield Candidate(
            _pass(job, blocks), f"one pass, {accesses} x 16 B a thread, {_THREADS} threads"
        )


def _pass(job: Pass, blocks: int) -> KernelFacts:
    everyone = blocks * _THREADS
    arith = tuple(
        Arith(op, dtype, math.ceil(count / everyone)) for op, dtype, count in job.operations
    )
    read, source = _stream("read", job.read_bytes, blocks)
    written, target = _stream("write", job.written_bytes, blocks)
    compute = Evaluate(label="compute", arith=arith, sites=SITES)
    return kernel_facts((*read, compute, *written), (*source, *target), (blocks, 1, 1), _THREADS)


def _stream(mode: str, size_bytes: int, blocks: int) -> tuple[tuple[Node, ...], tuple[Buffer, ...]]:
    """The accesses of a thread to its part of an array of float32; none to an empty one."""
    if not size_bytes:
        return (), ()
    words = math.ceil(size_bytes / _WORD_BYTES / blocks)
    each = words / _THREADS
    lanes = min(_MOST_LANES, 1 << max(0, int(math.log2(max(each, 1)))))
    active = min(_THREADS, max(1, math.ceil(words / lanes)))
    repeats = max(1, round(words / (active * lanes)))
    name = mode[0]
    buffer = Buffer(name, name, "float32", (blocks * repeats * active * lanes,), is_parameter=True)
    block = ("+", ("*", "bx", repeats), name + "i")
    index = ("*", ("+", ("*", block, active), "tx"), lanes)
    access = Access(name, mode, (index,), lanes=lanes)  # pyright: ignore[reportArgumentType]
    kind = Load if mode == "read" else Store
    nodes: tuple[Node, ...] = (kind(label=mode, accesses=(access,), sites=SITES),)
    if active < _THREADS:
        nodes = (Branch(("<", "tx", active), nodes, sites=SITES),)
    return (Loop("unroll", name + "i", 0, repeats, nodes, sites=SITES),), (buffer,)
