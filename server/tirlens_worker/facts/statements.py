"""The statements of a kernel: the leaves of its tree, a class for each kind of operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Optional, Tuple

from .expressions import Expr
from .operations import Access, Arith, Signal
from .source import Span

#: The threads that execute a statement together: ``thread``, each thread separately; ``warp``, 32
#: threads; ``warpgroup``, 128 threads; ``block``, all threads of a block.
Executor = Literal["thread", "warp", "warpgroup", "block"]
#: The kind of a synchronisation: ``wait`` (for other threads, a phase of a barrier or asynchronous
#: operations), ``arrive`` (arrivals, commits, fences and initialisation of barriers, which do not
#: wait), ``wgmma`` (part of a product by wgmma).
BarrierKind = Literal["wait", "arrive", "wgmma"]
#: A family of matrix instructions.
MatrixInstruction = Literal["mma", "wmma", "wgmma", "tcgen05", "mfma", "rdna_wmma", "simdgroup"]
#: The division of a tilelang product among the warps of a block (``GemmWarpPolicy``).
WarpPolicy = Literal["square", "full_row", "full_col"]
#: ``divide``: registers are reallocated between warps (``setmaxnreg``); ``keep``: the compiler must
#: not reallocate them (``no_set_max_nreg``).
RegisterRequest = Literal["divide", "keep"]
# The number of threads that execute a statement together, by its `per`; ``block`` means all.
THREADS_TOGETHER = {"thread": 1, "warp": 32, "warpgroup": 128}


@dataclass(frozen=True)
class Statement:
    """A leaf of the tree: the base of all classes of statements.

    `display_name` is a short name of the class and `label` a text close to the source.  Both are
    for display only; a model reads the class and its other fields.
    `per` are the threads that execute it: ``thread``, each thread in the enclosing loops;
    ``block``, the threads of a block together (tile operations, bodies of parallel tile loops);
    ``warp`` and ``warpgroup``, each 32 or 128 threads together (tile operations of TVM's execution
    scopes), that is, the executions by thread divided by `THREADS_TOGETHER`.
    `sites` are the source spans from the kernel's text to the innermost macro; costs are displayed
    at the first.  `signals` are the operations on barriers, in program order.
    """

    display_name: ClassVar[str] = ""

    label: str
    arith: Tuple[Arith, ...] = ()
    accesses: Tuple[Access, ...] = ()
    per: Executor = "thread"
    sites: Tuple[Span, ...] = ()
    signals: Tuple[Signal, ...] = ()


@dataclass(frozen=True)
class Store(Statement):
    """A value is computed and stored, once for each element.

    `kept` is the condition under which a store that masks an array does not change the element;
    None for any other store.
    """

    display_name: ClassVar[str] = "store"

    kept: Optional[Expr] = None


@dataclass(frozen=True)
class Evaluate(Statement):
    """An expression is evaluated: the value of a name, a bound of a loop, a condition."""

    display_name: ClassVar[str] = "let"


@dataclass(frozen=True)
class Load(Statement):
    """A load instruction of one thread, into registers.

    `read_only`: by the read-only path (``ld.global.nc``, ``__ldg``); the kernel does not write the
    array.
    """

    display_name: ClassVar[str] = "load"

    read_only: bool = False


@dataclass(frozen=True)
class Call(Statement):
    """Any other function or instruction; `arith` and `accesses` are its cost.

    If the cost is unknown, there is an operation ``unknown:<name>`` or none, and a caveat.
    """

    display_name: ClassVar[str] = "call"


@dataclass(frozen=True)
class Barrier(Statement):
    """A synchronisation: barriers, fences, waits and arrivals."""

    display_name: ClassVar[str] = "sync"

    kind: BarrierKind = "wait"


@dataclass(frozen=True)
class Copy(Statement):
    """A box is copied; the routes of its accesses are the mechanism.

    `may_use_tma`: the source does not disable TMA (``disable_tma``).
    """

    display_name: ClassVar[str] = "copy"

    may_use_tma: bool = True


@dataclass(frozen=True)
class Transpose(Statement):
    """A tile is transposed."""

    display_name: ClassVar[str] = "transpose"


@dataclass(frozen=True)
class Gemm(Statement):
    """A product of tiles (``T.gemm``).

    `m_n_k` are the rows and columns of the result and the depth, in elements; `transposes`, whether
    A and B are stored transposed; None: not known.  `instruction` is the family of matrix
    instructions that the operation requires, None where the framework chooses.  A later statement
    waits for an asynchronous product.
    """

    display_name: ClassVar[str] = "gemm"

    m_n_k: Optional[Tuple[Expr, Expr, Expr]] = None
    transposes: Optional[Tuple[bool, bool]] = None
    policy: WarpPolicy = "square"
    instruction: Optional[MatrixInstruction] = None
    is_asynchronous: bool = False


@dataclass(frozen=True)
class Mma(Statement):
    """A matrix instruction in the source.

    A barrier signals the completion of an asynchronous one.  `operand_bytes` are the bytes that it
    reads from shared memory through descriptors, `filled` is the utilisation of the tensor cores,
    in (0, 1].
    """

    display_name: ClassVar[str] = "mma"

    instruction: MatrixInstruction = "mma"
    is_asynchronous: bool = False
    operand_bytes: int = 0
    filled: float = 1.0


@dataclass(frozen=True)
class Reduce(Statement):
    """Elements are combined.

    `dim` is the reduced dimension of the operand; None: not a constant, or not a tile.
    """

    display_name: ClassVar[str] = "reduce"

    dim: Optional[int] = None


@dataclass(frozen=True)
class Scan(Statement):
    """A prefix sum (``T.cumsum``) along the dimension `dim`; None: not a constant."""

    display_name: ClassVar[str] = "scan"

    dim: Optional[int] = None


@dataclass(frozen=True)
class Map(Statement):
    """An operation on each element of a tile."""

    display_name: ClassVar[str] = "map"


@dataclass(frozen=True)
class Fill(Statement):
    """One value is written to each element."""

    display_name: ClassVar[str] = "fill"


@dataclass(frozen=True)
class Atomic(Statement):
    """An atomic operation on memory."""

    display_name: ClassVar[str] = "atomic"


@dataclass(frozen=True)
class Shuffle(Statement):
    """An exchange between the lanes of a warp: shuffles, votes, matches."""

    display_name: ClassVar[str] = "shuffle"


@dataclass(frozen=True)
class Annotate(Statement):
    """A compiler hint, an allocation or a descriptor, which takes no time.

    `tensor_memory_columns` are the columns of tensor memory that it allocates.
    """

    display_name: ClassVar[str] = "annotate"

    register_request: Optional[RegisterRequest] = None
    tensor_memory_columns: int = 0
