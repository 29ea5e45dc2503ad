"""What a statement does: its accesses to arrays, its arithmetic, its signals to barriers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional, Tuple

from .expressions import Expr
from .source import Span

#: The kind of an access; ``atomic`` is read-modify-write.
AccessMode = Literal["read", "write", "atomic"]
#: The mechanism of an access: ``thread`` (load and store instructions of one thread), ``tile`` (a
#: cooperative copy by the block), ``tma``, ``async`` (cp.async), ``mma`` (operands of a tensor-core
#: instruction).
Route = Literal["thread", "tile", "tma", "async", "mma"]
#: The operation of a statement on a barrier (see `Signal`).
SignalKind = Literal["wait", "arrive", "sync", "commit", "fetch", "bring", "drain"]


@dataclass(frozen=True)
class Buffer:
    """An array that the kernel reads or writes.

    `scope` is the storage scope in tilelang's and TVM's spelling: ``global``, ``shared``,
    ``shared.dyn``, ``shared.tmem``, ``shared.barrier``, ``local``, ``local.fragment``,
    ``local.var``, ``wmma.matrix_a`` and so on.  `strides` are in elements, empty for a compact
    row-major array.  `alias_of` is the id of the buffer whose memory this one views.
    `may_overlap`: the pointer is not ``__restrict__``, so that no compiler moves a load from this
    array across a store to another such array.
    """

    id: str
    name: str
    dtype: str
    shape: Tuple[Expr, ...]
    scope: str = "global"
    strides: Tuple[Expr, ...] = ()
    element_offset: Expr = 0
    is_parameter: bool = False
    alias_of: Optional[str] = None
    span: Optional[Span] = None
    may_overlap: bool = False


@dataclass(frozen=True)
class Access:
    """One read or write of a box of a buffer, once per execution of its statement.

    `indices` is the lower corner of the box and `extents` its size, both in elements and of the
    rank of the buffer; empty `extents` mean a single element.  `lanes` is the vector width of an
    element access.  With `clipped`, the part of the box outside the buffer is not accessed (tile
    copies).  `guard` is a condition of the access in addition to those of the statement.  `route`
    is the mechanism.
    `path` are the operations from the value that is read to the result of the statement, in order;
    ``fma`` for a product with the sum that uses it.  None: not known, as in kernels with threads,
    or not part of the result.
    """

    buffer: str
    mode: AccessMode
    indices: Tuple[Expr, ...]
    extents: Tuple[Expr, ...] = ()
    lanes: int = 1
    guard: Optional[Expr] = None
    clipped: bool = False
    route: Route = "thread"
    path: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class Useful:
    """The operations that contribute to the result: `count` at each point where `guard` holds.

    The points are those of `loops`, variables from 0 with their extents, inside the loops that
    enclose the statement.
    """

    count: Expr
    loops: Tuple[Tuple[str, Expr], ...] = ()
    guard: Optional[Expr] = None


@dataclass(frozen=True)
class Arith:
    """`count` operations of one kind per execution of a statement.

    `op` is ``add sub mul div fma neg abs min max floor mod compare select logic shift bitwise
    cast`` or the name of a mathematical function (``exp exp2 log log2 sqrt rsqrt rcp sin cos tanh
    erf pow pow_of_constant sigmoid ...``), ``mma`` for a tensor-core matrix multiply-accumulate
    (then `count` is the number of multiply-accumulates, M*N*K, and `shape` its M, N, K),
    ``shuffle`` for a warp exchange, ``place`` for the computation of the index that a mask
    compares, or ``unknown:<name>``.  `dtype` is the type of the operands, `accumulator` that of the
    result where it differs (mma, cast).  ``index=True`` marks integer arithmetic for addresses
    only, which is no arithmetic on data.  `sparsity` is 2 for 2:4 structured operands.
    `useful` is the part of a product of tiles inside the bounds of arrays and not masked; None: not
    known.  All other operations are useful.
    `again` of the `count` operations repeat a computation of the statement, which a compiler does
    once (common subexpressions); 0 in kernels with threads, where they are not searched for.
    `over` are the loop variables that the result depends on, directly or through names and indices;
    it is invariant in other loops.  None: not known, or dependent on values that the enclosing
    loops change.
    """

    op: str
    dtype: str
    count: Expr = 1
    guard: Optional[Expr] = None
    accumulator: Optional[str] = None
    shape: Tuple[Expr, ...] = ()
    index: bool = False
    sparsity: int = 1
    useful: Optional[Useful] = None
    again: int = 0
    over: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class Signal:
    """An operation of a statement on a barrier, or on asynchronous operations of its threads.

    `kind`: ``wait`` (for the end of a phase), ``arrive``, ``sync`` (both), ``commit`` (an arrival
    when all products issued so far are complete), ``fetch`` (an arrival when the cp.async copies of
    the threads are complete), ``bring`` (the phase ends after the copy of the statement is
    complete), ``drain`` (no barrier: a wait for all products of the threads except the last
    `count`).
    `barrier` is the id of an array of `slots` barriers, or empty for the numbered barriers of a
    block; `index` selects one.  `count` threads arrive in a phase (None: not known).
    `parity` is the parity for which the first execution of a wait waits (None: not known).
    `guard` is a condition in addition to those of the statement.
    """

    kind: SignalKind
    barrier: str = ""
    index: Expr = 0
    slots: Expr = 1
    count: Optional[Expr] = None
    parity: Optional[int] = None
    guard: Optional[Expr] = None
