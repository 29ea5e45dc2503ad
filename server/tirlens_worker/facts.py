"""The facts of a kernel: what the worker extracts from its IR and sends to the server.

Facts depend on no device and no editor.  They are a tree of loops, branches and statements.  Each
extent, index and guard is an expression over the loop variables and shape variables of the kernel,
so that a model evaluates them for any sizes without the framework.

An expression (`Expr`) is plain data, which JSON can represent:

* an ``int``, a ``float`` or a ``bool``;
* a ``str``: a variable, unique in the kernel (a loop variable, a let, a shape variable);
* a tuple ``(operator, operand, ...)`` with one of these operators:

  ``+ - * // % min max`` (floor division and modulo as in Python), ``/`` on floats, ``truncdiv``
  and ``truncmod`` (towards zero, as in C), ``< <= == != > >=``, ``and or not``,
  ``select`` (condition, then, else), ``& | ^ << >> ~``, ``cast`` (dtype name, value),
  ``load`` (buffer id, index, ...): the content of an array,
  ``opaque`` (text, value, ...): any other value that is not known before the kernel runs, and that
  may differ where one of the values does (no values: one for the whole kernel).

This module runs on Python 3.8 and imports only the standard library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Dict, Literal, Mapping, Optional, Tuple, Union

Expr = Union[int, float, bool, str, Tuple[Any, ...]]


def no_entries() -> Dict[str, Any]:
    """An empty mapping, as the typed default of a field (Python 3.8 cannot subscript `dict`)."""
    return {}


#: The threads that execute a statement together: ``thread``, each thread separately; ``warp``, 32
#: threads; ``warpgroup``, 128 threads; ``block``, all threads of a block.
Executor = Literal["thread", "warp", "warpgroup", "block"]
#: The kind of an access; ``atomic`` is read-modify-write.
AccessMode = Literal["read", "write", "atomic"]
#: The mechanism of an access: ``thread`` (load and store instructions of one thread), ``tile`` (a
#: cooperative copy by the block), ``tma``, ``async`` (cp.async), ``mma`` (operands of a tensor-core
#: instruction).
Route = Literal["thread", "tile", "tma", "async", "mma"]
#: ``grid`` is a loop over blockIdx, ``block`` over threadIdx; ``parallel`` is tilelang's T.Parallel
#: or TVM's T.parallel.
LoopKind = Literal[
    "grid", "cluster", "block", "serial", "pipelined", "parallel", "vectorized", "unroll",
    "persistent",
]  # fmt: skip
#: ``if`` (of the source), ``predicate`` (T.where), ``init`` (T.init: the first iteration of the
#: reduction axes).
BranchKind = Literal["if", "predicate", "init"]
#: The operation of a statement on a barrier (see `Signal`).
SignalKind = Literal["wait", "arrive", "sync", "commit", "fetch", "bring", "drain"]
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
class Span:
    """A range of source text.

    Lines are 1-based, columns 0-based in code points, the end is exclusive.  `file` is None for
    the analysed document and a path for another file (a macro in a library).
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


@dataclass(frozen=True)
class Loop:
    """`body` is executed for `var` in ``range(start, start + extent * step, step)``.

    `tag` is the thread tag of a grid or block loop (``blockIdx.x``).
    `annotations` are those of the schedule (``num_stages`` ...).
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
    """`then` is executed where `condition` holds, `orelse` elsewhere."""

    condition: Expr
    then: Tuple[Node, ...]
    orelse: Tuple[Node, ...] = ()
    kind: BranchKind = "if"
    label: str = ""
    sites: Tuple[Span, ...] = ()


@dataclass(frozen=True)
class While:
    """`body` is executed while `condition` holds; the trip count is not known before the run.

    `var` is the iteration number from 0, a variable of the expressions in the body.
    """

    condition: Expr
    body: Tuple[Node, ...]
    label: str = ""
    sites: Tuple[Span, ...] = ()
    var: str = ""


@dataclass(frozen=True)
class Let:
    """`var` is `value` in the rest of the enclosing body."""

    var: str
    value: Expr
    dtype: str = "int32"
    sites: Tuple[Span, ...] = ()


Node = Union[Loop, Branch, While, Let, Statement]


@dataclass(frozen=True)
class Variable:
    """A shape variable, which must be bound to a size for numeric results."""

    name: str
    dtype: str = "int32"


@dataclass(frozen=True)
class Launch:
    """The launch parameters in the source.

    `grid` and `threads` are the x, y, z extents (all empty: no thread bindings, so no GPU
    kernel).  `panel` and `panel_order` are tilelang's block rasterisation (T.use_swizzle).
    `shared_bytes` is the dynamic shared memory per block that the source states.
    """

    grid: Tuple[Expr, ...] = ()
    threads: Tuple[Expr, ...] = ()
    cluster: Tuple[Expr, ...] = ()
    panel: Optional[int] = None
    panel_order: str = "row"
    shared_bytes: Optional[int] = None


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


@dataclass(frozen=True)
class Caveat:
    """An assumption, or code that was not understood, at `span` (None: the whole kernel).

    `function` is the function whose cost is left out, if the message is about one.
    """

    message: str
    span: Optional[Span] = None
    function: Optional[str] = None


@dataclass(frozen=True)
class Built:
    """How a statement of the text built a kernel.

    `step` is the call that it makes: ``create_prim_func``, ``Schedule``, ``reorder``.
    The versions of a kernel have one `sequence` and ascending `number`; None for a kernel that is
    no version of a schedule.  `calls` is how often the graph `entry`, a Relax function of the
    module, calls the kernel with arrays of the shapes `arrays` (``float32[1, 784]``).  `same_as` is
    the earlier statement that built the same function.
    """

    step: str
    sequence: Optional[int] = None
    number: int = 0
    entry: str = ""
    calls: int = 1
    arrays: Tuple[str, ...] = ()
    same_as: Optional[Span] = None


@dataclass(frozen=True)
class Requirement:
    """A `feature` of GPUs that the source requires (``tcgen05``, ``tma``, ``mma.float8``).

    `span` is the first statement that requires it, None where that is not known.
    """

    feature: str
    span: Optional[Span] = None


@dataclass(frozen=True)
class ModelSizes:
    """Arguments and sizes of a kernel that are those of a language model, whose id is `model`.

    `values` are by the name of the parameter or dimension.  `is_chosen`: the user named the model;
    else it is the one that fits what is known of the kernel.
    """

    model: str
    values: Mapping[str, int] = field(default_factory=no_entries)
    is_chosen: bool = False


@dataclass(frozen=True)
class KernelFacts:
    """One kernel, traced with one set of arguments.

    `name` is the name of the PrimFunc, `definition` the name in the user's text (of the factory or
    function whose `def` is at `span`).  `call` is the Python expression that yields the kernel and
    `call_source` its origin (``directive``, ``option``, ``settings``, ``typecheck``, ``call-site``,
    ``defaults``, ``autotune``, ``module-level``, ``assumed``, ``captured``).  `variables` are the
    free shape variables in the order of their appearance.
    `target` is the target in the source, if any (``{"kind": "cuda", "arch": "sm_90"}``).
    `asks_for_device`: the program queried the GPU before it yielded the kernel.
    `sizes` are sizes of variables from the arrays in the call, `assumed` default sizes of variables
    that nothing determines.  `assumed_arguments` are the arguments of the call that are assumed, as
    expressions by parameter name.  `model` are those of the arguments and sizes that a language
    model gives.
    `fast_math`: nvcc compiles with ``--use_fast_math``.  `attributes` are the transformations that
    the kernel disables: ``tma``, ``warp_specialized`` (false).
    `built` is set for a kernel that a statement builds with the framework's API.
    `requires` are the features of GPUs that its own instructions need.
    `lowered` has the launch for each architecture that the kernel was lowered for, `refused` the
    error of the framework for each that it cannot be lowered for; both are set later.
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
    assumed_arguments: Mapping[str, str] = field(default_factory=no_entries)
    model: Optional[ModelSizes] = None
    fast_math: bool = False
    lowered: Tuple[LoweredLaunch, ...] = ()
    refused: Mapping[str, str] = field(default_factory=no_entries)
    built: Optional[Built] = None
    requires: Tuple[Requirement, ...] = ()

    def ids_by_name(self) -> Dict[str, str]:
        """The ids of the arrays that lowered code mentions by a name that no other array has."""
        found: Dict[str, str] = {}
        for buffer in self.buffers:
            found[buffer.name] = "" if buffer.name in found else buffer.id
        return {name: identity for name, identity in found.items() if identity}

    def lowered_for(self, arch: str) -> Optional[LoweredLaunch]:
        """The lowered launch for an architecture; None if the kernel was not lowered for it."""
        return next((launch for launch in self.lowered if launch.arch == arch), None)
