"""What a kernel does, extracted from its IR: all that the worker tells the server of it.

Facts know no device and no editor.  They are a tree of loops, branches and statements in which
every extent, index and guard is an expression over the loop variables and the shape variables of
the kernel, so that a model can count and re-count them for any binding without the framework.

An expression (`Expr`) is plain data that survives JSON:

* an ``int``, a ``float`` or a ``bool``;
* a ``str``: a variable, unique within the kernel (a loop variable, a let, a shape variable);
* a tuple ``(operator, operand, ...)`` with one of these operators:

  ``+ - * // % min max`` (floor division and modulo as in Python), ``/`` on floats, ``truncdiv``
  and ``truncmod`` (towards zero, as in C), ``< <= == != > >=``, ``and or not``,
  ``select`` (condition, then, else), ``& | ^ << >> ~``, ``cast`` (dtype name, value),
  ``load`` (buffer id, index, ...): the value is data and not known before the run,
  ``opaque`` (text): anything else that is not known before the run.

This module runs on Python 3.8 and imports nothing but the standard library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Dict, Literal, Mapping, Optional, Tuple, Union

Expr = Union[int, float, bool, str, Tuple[Any, ...]]


def no_entries() -> Dict[str, Any]:
    """The default of a mapping: `dict` with its types, which Python 3.8 cannot write there."""
    return {}


#: Who executes a statement: ``thread``, each thread in whose loops it is; ``block``, the threads of
#: a block together; ``warp`` and ``warpgroup``, each 32 or 128 of the threads together.
Executor = Literal["thread", "warp", "warpgroup", "block"]
#: What an access does: ``atomic`` is read-modify-write.
AccessMode = Literal["read", "write", "atomic"]
#: How bytes travel: ``thread`` (load and store instructions of one thread), ``tile`` (a cooperative
#: copy of the whole block), ``tma``, ``async`` (cp.async), ``mma`` (operands of a tensor-core
#: instruction).
Route = Literal["thread", "tile", "tma", "async", "mma"]
#: ``grid`` is blockIdx and ``block`` threadIdx; ``parallel`` is tilelang's T.Parallel or TVM's
#: T.parallel.
LoopKind = Literal[
    "grid", "cluster", "block", "serial", "pipelined", "parallel", "vectorized", "unroll",
    "persistent",
]  # fmt: skip
#: ``if`` (written by the user), ``predicate`` (T.where), ``init`` (T.init: at the first step of the
#: reduction).
BranchKind = Literal["if", "predicate", "init"]
#: What a statement does to a barrier (see `Signal`).
SignalKind = Literal["wait", "arrive", "sync", "commit", "fetch", "bring", "drain"]
#: What a synchronisation costs the threads that execute it: ``wait`` (for each other, for a phase
#: of a barrier or for what they have started), ``arrive`` (arrivals, commits, fences and the set-up
#: of barriers, which wait for nothing), ``wgmma`` (part of a product by wgmma).
BarrierKind = Literal["wait", "arrive", "wgmma"]
#: A family of matrix instructions.
MatrixInstruction = Literal["mma", "wmma", "wgmma", "tcgen05", "mfma", "rdna_wmma", "simdgroup"]
#: How tilelang divides a product among the warps of a block (``GemmWarpPolicy``).
WarpPolicy = Literal["square", "full_row", "full_col"]
#: ``divide``: warps hand registers to each other (``setmaxnreg``); ``keep``: the compiler must not
#: have them do so (``no_set_max_nreg``).
RegisterRequest = Literal["divide", "keep"]

# How many threads execute a statement together, by its `per`; ``block`` is all of a block's.
THREADS_TOGETHER = {"thread": 1, "warp": 32, "warpgroup": 128}


@dataclass(frozen=True)
class Span:
    """A piece of source text.

    Lines are 1-based, columns 0-based in code points, the end is exclusive.  `file` is None for
    the document that was analysed and a path for any other file (a macro in a library).
    """

    line: int
    column: int
    end_line: int
    end_column: int
    file: Optional[str] = None


@dataclass(frozen=True)
class Buffer:
    """An array that the kernel reads or writes.

    `scope` is the storage scope in tilelang's and TVM's spelling: ``global``, ``shared``,
    ``shared.dyn``, ``shared.tmem``, ``shared.barrier``, ``local``, ``local.fragment``,
    ``local.var``, ``wmma.matrix_a`` and so on.  `strides` is in elements and empty for a compact
    row-major array.  `alias_of` is the id of the buffer whose memory this one views.
    `may_overlap`: its pointer is not ``__restrict__``, and others' are not either, so that no
    compiler moves a load from it over a store to one of them.
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

    `indices` is the box's lower corner and `extents` its size, both in elements and of the
    buffer's rank; empty `extents` means a single element.  `lanes` is the vector width of one
    element access.  With `clipped` the part of the box outside the buffer is not touched (tile
    copies); `guard` is the condition under which the access happens at all, beyond the
    statement's own.  `route` says how the bytes travel.
    `path` names the operations, the first one first, that what is read goes through until it is the
    statement's result, ``fma`` for a product and the sum that it goes into; None: not known, as in
    kernels with threads, or not part of the result.
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
    """How many operations contribute to the result: `count` at each point where `guard` holds.

    The points are those of `loops`, each a variable that runs from 0 and its extent, inside of the
    loops around the statement.
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
    ``shuffle`` for a warp exchange, ``place`` for the place of an element that a mask asks, or
    ``unknown:<name>``.  `dtype` is the operands' type, `accumulator` the result's where it differs
    (mma, cast).  A scalar of integer type used only for addresses is ``index=True`` and is no
    arithmetic on data.  `sparsity` is 2 for 2:4 structured operands.  `useful` says which part of a
    product of tiles lies inside the arrays that these come
    from and behind no mask; None: not known.  Other operations are all useful.
    Of `count`, `again` compute what the statement has computed already, which a compiler does once;
    0 in kernels with threads, where that is not looked for.
    `over` are the loop variables that the result depends on, through names and indices too, so that
    a compiler computes it once for all values of the others; None: not known, or on what the loops
    around it change.
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
    """What a statement does to a barrier, or to what its threads have started.

    `kind`: ``wait`` (until a phase of the barrier is over), ``arrive``, ``sync`` (both), ``commit``
    (an arrival when the products started so far are done), ``fetch`` (one when what its threads
    copy by cp.async is there), ``bring`` (the phase is not over before what the statement copies is
    there), ``drain`` (no barrier: a wait for all products that its threads have started but the
    last `count`).
    `barrier` is the id of an array of `slots` barriers, or empty for the barriers that a block has
    by number; `index` says which.  `count` threads have to arrive to end a phase (None: not known).
    `parity` is the one that the first execution of a wait waits for (None: not known).
    `guard` is the condition under which it happens, beyond the statement's own.
    """

    kind: SignalKind
    barrier: str = ""
    index: Expr = 0
    slots: Expr = 1
    count: Optional[Expr] = None
    parity: Optional[int] = None
    guard: Optional[Expr] = None


@dataclass(frozen=True)
class Statement:
    """A leaf of the tree: the base of all classes of statements.

    `display_name` is a short name of the class and `label` what to show, near to the source text.
    Both are for display alone: what a model needs to know is in the class and its fields.
    `per` says who executes it: ``thread`` once by each thread in whose loops it stands, ``block``
    once by the threads of a block together (tile operations, bodies of parallel tile loops),
    ``warp`` and ``warpgroup`` once by each 32 or 128 of the threads together (tile operations of
    TVM's execution scopes): as often as by thread, divided by `THREADS_TOGETHER`.
    `sites` runs from the place in the kernel's own text to the innermost macro; the first is
    where a cost is shown.  `signals` are what it does to barriers, in their order.
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

    `kept` is the condition under which a store that masks an array leaves its element as it is;
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
    """A load instruction of one thread, into its registers.

    `read_only`: through the read-only path (``ld.global.nc``, ``__ldg``), so that nothing writes
    what it loads while the kernel runs.
    """

    display_name: ClassVar[str] = "load"

    read_only: bool = False


@dataclass(frozen=True)
class Call(Statement):
    """A function or instruction without a class of its own; `arith` and `accesses` have its cost.

    One of unknown cost has an operation ``unknown:<name>`` or none, and a caveat.
    """

    display_name: ClassVar[str] = "call"


@dataclass(frozen=True)
class Barrier(Statement):
    """A synchronisation: barriers, fences, waits and arrivals."""

    display_name: ClassVar[str] = "sync"

    kind: BarrierKind = "wait"


@dataclass(frozen=True)
class Copy(Statement):
    """A box is copied; the routes of its accesses say how.

    `may_use_tma`: the source does not forbid TMA (``disable_tma``).
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

    `m_n_k` are the rows and columns of the result and the depth, in elements; `transposes` tells
    whether A and B are stored transposed; None: not known.  `instruction` is the family of matrix
    instructions that its name asks for, None where the framework chooses.  An asynchronous one is
    only started: a later statement waits for it.
    """

    display_name: ClassVar[str] = "gemm"

    m_n_k: Optional[Tuple[Expr, Expr, Expr]] = None
    transposes: Optional[Tuple[bool, bool]] = None
    policy: WarpPolicy = "square"
    instruction: Optional[MatrixInstruction] = None
    is_asynchronous: bool = False


@dataclass(frozen=True)
class Mma(Statement):
    """A matrix instruction that the kernel issues itself.

    An asynchronous one is only started: a barrier tells when it is done.  `operand_bytes` is what
    it reads of shared memory through descriptors, `filled` the share of the tensor cores that it
    keeps busy, in (0, 1].
    """

    display_name: ClassVar[str] = "mma"

    instruction: MatrixInstruction = "mma"
    is_asynchronous: bool = False
    operand_bytes: int = 0
    filled: float = 1.0


@dataclass(frozen=True)
class Reduce(Statement):
    """Elements are combined.

    `dim` is the dimension of the tile that is read along which it is reduced; None: not a constant,
    or not a tile.
    """

    display_name: ClassVar[str] = "reduce"

    dim: Optional[int] = None


@dataclass(frozen=True)
class Scan(Statement):
    """A running combination (``T.cumsum``) along the dimension `dim`; None: not a constant."""

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
    """A hint to the compiler, an allocation, a descriptor: it takes no time of the kernel."""

    display_name: ClassVar[str] = "annotate"

    register_request: Optional[RegisterRequest] = None


@dataclass(frozen=True)
class Loop:
    """`body` runs for `var` in ``range(start, start + extent * step, step)``.

    `tag` is the thread tag of a grid or block loop (``blockIdx.x``).
    `annotations` keeps what the schedule says (``num_stages`` ...).
    """

    kind: LoopKind
    var: str
    start: Expr
    extent: Expr
    body: Tuple[Node, ...]
    step: Expr = 1
    tag: Optional[str] = None
    label: str = ""
    sites: Tuple[Span, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=no_entries)


@dataclass(frozen=True)
class Branch:
    """`then` runs where `condition` holds, `orelse` elsewhere."""

    condition: Expr
    then: Tuple[Node, ...]
    orelse: Tuple[Node, ...] = ()
    kind: BranchKind = "if"
    label: str = ""
    sites: Tuple[Span, ...] = ()


@dataclass(frozen=True)
class While:
    """`body` repeats while `condition` holds; how often is not known before the run.

    `var` is what counts the turns from 0, in what the body tells of places.
    """

    condition: Expr
    body: Tuple[Node, ...]
    label: str = ""
    sites: Tuple[Span, ...] = ()
    var: str = ""


@dataclass(frozen=True)
class Let:
    """From here to the end of the enclosing body, `var` is a name for `value`."""

    var: str
    value: Expr
    dtype: str = "int32"
    sites: Tuple[Span, ...] = ()


Node = Union[Loop, Branch, While, Let, Statement]


@dataclass(frozen=True)
class Variable:
    """A shape variable that must be bound to a size before numbers can be given."""

    name: str
    dtype: str = "int32"


@dataclass(frozen=True)
class Launch:
    """How the kernel is started, as far as its source says.

    `grid` and `threads` are the x, y, z extents (all empty: no thread bindings, so no GPU
    kernel).  `panel` and `panel_order` are tilelang's block rasterisation (T.use_swizzle).
    `shared_bytes` is what the source itself asks for of dynamic shared memory, for a block.
    """

    grid: Tuple[Expr, ...] = ()
    threads: Tuple[Expr, ...] = ()
    cluster: Tuple[Expr, ...] = ()
    panel: Optional[int] = None
    panel_order: str = "row"
    shared_bytes: Optional[int] = None


@dataclass(frozen=True)
class Move:
    """How lowered code moves a global array.

    `buffer` is the array's name.  `route` is ``thread``, ``async`` or ``tma``; `widths_bytes` are
    the bytes that one instruction of one thread moves, each width that occurs, the narrowest first
    (none for ``tma``, which moves whole boxes).
    """

    buffer: str
    mode: AccessMode
    route: Route
    widths_bytes: Tuple[int, ...] = ()


@dataclass(frozen=True)
class LoweredLaunch:
    """What the framework's own lowering for one architecture makes of a kernel's launch.

    `arch` is the architecture (``sm_90``).  `threads` is what a block is launched with, a TMA
    producer beside the threads of the source included; `shared_bytes` what it takes of shared
    memory, dynamic and static, barriers included.  `registers_per_thread` is the most that warps
    ask for by ``setmaxnreg``, None where none does.  `matrix_instruction` is the family that the
    products use (``mma``, ``wgmma``, ``tcgen05``, ``wmma``), None without any.
    """

    arch: str
    threads: int
    shared_bytes: int
    registers_per_thread: Optional[int] = None
    matrix_instruction: Optional[str] = None
    moves: Tuple[Move, ...] = ()


@dataclass(frozen=True)
class Caveat:
    """Something that was not understood or was assumed, at `span` (None: the whole kernel).

    `function` is the function whose cost is left out, where that is what the message says.
    """

    message: str
    span: Optional[Span] = None
    function: Optional[str] = None


@dataclass(frozen=True)
class KernelFacts:
    """One kernel, traced with one set of arguments.

    `name` is the PrimFunc's name, `definition` the name in the user's text to look for (the
    factory or function whose `def` is at `span`).  `call` is the Python expression that produced
    it and `call_source` one of the contract's words (``directive``, ``option``, ``settings``,
    ``typecheck``, ``call-site``, ``defaults``, ``autotune``, ``module-level``, ``assumed``,
    ``captured``).  `variables` are the free shape variables in the order of their appearance.
    `target` is the kernel's own target, if it names one (``{"kind": "cuda", "arch": "sm_90"}``).
    `asks_for_device` tells that the program asked what GPU there is before it gave the kernel.
    `sizes` are those of the variables that the arrays given in the call tell, `assumed` those that
    are taken for variables of which nothing tells.
    `fast_math` tells that it is compiled with nvcc's ``--use_fast_math``.  `attributes` name what
    the framework is asked not to do with it: ``tma``, ``warp_specialized`` (false).
    `lowered` has the launch for each architecture that the kernel has been lowered for, `refused`
    the framework's words for each that it does not lower for; both are put in afterwards.
    """

    name: str
    definition: str
    span: Span
    framework: str
    framework_version: str
    call: str
    call_source: str
    variables: Tuple[Variable, ...]
    buffers: Tuple[Buffer, ...]
    launch: Launch
    body: Tuple[Node, ...]
    target: Mapping[str, Any] = field(default_factory=no_entries)
    attributes: Mapping[str, Any] = field(default_factory=no_entries)
    caveats: Tuple[Caveat, ...] = ()
    asks_for_device: bool = False
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    assumed: Mapping[str, int] = field(default_factory=no_entries)
    fast_math: bool = False
    lowered: Tuple[LoweredLaunch, ...] = ()
    refused: Mapping[str, str] = field(default_factory=no_entries)

    def lowered_for(self, arch: str) -> Optional[LoweredLaunch]:
        """The launch as lowering for an architecture has it; None if it has not been lowered."""
        return next((launch for launch in self.lowered if launch.arch == arch), None)
