"""What the framework made of a kernel for one architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .operations import AccessMode, Route
from .statements import MatrixInstruction


@dataclass(frozen=True)
class Move:
    """The accesses of lowered code to a global array.

    `buffer` is the name of the array.  `route` is ``thread``, ``async`` or ``tma``; `widths_bytes`
    are the distinct bytes per instruction and thread, in ascending order (none for ``tma``, which
    copies boxes).
    """

    buffer: str
    mode: AccessMode
    route: Route
    widths_bytes: Tuple[int, ...] = ()


@dataclass(frozen=True)
class TileLoad:
    """The loads of lowered code from the global array `buffer` to the shared array `shared`.

    `route` is ``thread``, ``async`` or ``tma``; `by_producer`, whether the warps that lowering adds
    execute them.  Both arrays are named.
    """

    buffer: str
    shared: str
    route: Route
    by_producer: bool = False


@dataclass(frozen=True)
class MatrixProduct:
    """The matrix instructions of lowered code that add to the array named `accumulator`."""

    accumulator: str
    instruction: MatrixInstruction


@dataclass(frozen=True)
class SharedArray:
    """The size of a shared array of lowered code, with all its buffers, in elements."""

    name: str
    elements: int


@dataclass(frozen=True)
class LoweredRoutes:
    """What lowering made of the loads, products and loops of a kernel.

    `loads` are those into shared arrays, `products` those of each accumulator, and `shared_arrays`
    the shared arrays before they share memory.
    """

    loads: Tuple[TileLoad, ...] = ()
    products: Tuple[MatrixProduct, ...] = ()
    shared_arrays: Tuple[SharedArray, ...] = ()


@dataclass(frozen=True)
class LoweredLaunch:
    """The launch of a kernel after the framework's lowering for one architecture.

    `arch` is the architecture (``sm_90``).  `threads` are the threads of a block, including a TMA
    producer that lowering adds; `shared_bytes` its dynamic and static shared memory, including
    barriers.  `registers_per_thread` is the greatest request by ``setmaxnreg``, None without one.
    `matrix_instruction` is the family of matrix instructions (``mma``, ``wgmma``, ``tcgen05``,
    ``wmma``), None without any.  `routes` is None where it is not known.
    """

    arch: str
    threads: int
    shared_bytes: int
    registers_per_thread: Optional[int] = None
    matrix_instruction: Optional[MatrixInstruction] = None
    moves: Tuple[Move, ...] = ()
    routes: Optional[LoweredRoutes] = None
