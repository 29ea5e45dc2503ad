"""The registry of operations and intrinsics, and the interfaces that their families use.

A module of this package has one family: the cost of each of its operations, and the value of those
that return one.  A handler has the cost::

    @accounts("tl.tileop.copy")
    def copy(call, context):
        return Copy(...)

and a function of the family the value, an expression over indices of threads and operands::

    @gives("tl.get_warp_idx")
    def warp(call, values):
        return ("//", values.thread, WARP)

The value of a condition is a guard: that of ``T.shuffle_elect(0)`` holds in one thread.  A value
that is not known before the kernel runs varies (`Varies`) with its operands, as that of a scalar
function does, or differs in each execution, unless its family registers something else.  An access
at such an index counts an element of its own for each combination of the variables that it varies
with.

A name may end in ``*``.  The namespaces ``tir.``, ``tirx.`` and ``prim.`` are equivalent (they
differ between framework versions), and so are ``tl.tileop.`` and ``tl.``.  Names are registered and
looked up in canonical form: ``exp`` for ``tir.exp``, ``tl.copy`` for ``tl.tileop.copy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    List,
    Literal,
    NamedTuple,
    Optional,
    Protocol,
    Tuple,
    TypeVar,
    Union,
)

from ..facts import Access, Arith, Buffer, Expr, Statement


@dataclass(frozen=True)
class Region:
    """A box of `buffer`: the lower corner and the size in elements, for each dimension."""

    buffer: Buffer
    indices: Tuple[Expr, ...]
    extents: Tuple[Expr, ...]


class Layout(NamedTuple):
    """The layout in a tensor map, outermost dimension first; `strides` are in elements."""

    dtype: str
    shape: Tuple[Expr, ...]
    strides: Tuple[Expr, ...]
    box: Tuple[Expr, ...]


class TensorMap(NamedTuple):
    """The global array of a tensor map and the box of one copy (None: not known)."""

    array: Buffer
    box: Optional[Tuple[Expr, ...]] = None


class Context(Protocol):
    """The interface of the walk at the call that a handler accounts for."""

    @property
    def threads(self) -> Expr:
        """The number of threads of a block, 1 without thread bindings."""
        ...

    @property
    def rank_in_cluster(self) -> Expr:
        """The number of the block in its cluster, 0 without clusters."""
        ...

    def expr(self, node: Any) -> Expr:
        """The framework's expression (or a Python number) as an `Expr`."""
        ...

    def literal(self, node: Any) -> Union[int, float, str, bool, None]:
        """The value of a constant (also a StringImm); None if `node` is not constant."""
        ...

    def region(self, node: Any) -> Optional[Region]:
        """The box that `node` denotes; None if it denotes none.

        `node` may be ``tl.region``, a BufferRegion or TensorRegion, a BufferLoad (one element), a
        buffer, its data pointer, ``tvm_access_ptr``, ``tl.access_ptr`` or ``address_of``.
        """
        ...

    def tensor_map(self, node: Any, dtype: str, rank: int) -> Optional[TensorMap]:
        """The array and box of a tensor map; a parameter has elements of `dtype`."""
        ...

    def limit_copy_box(self, array: Buffer, box: Tuple[Expr, ...]) -> None:
        """Record that a copy by the tensor map of `array`, whose box is unknown, fits in `box`."""
        ...

    def define_tensor_map(self, node: Any, array: Region, layout: Layout) -> None:
        """Record that the tensor map `node` describes an array from the corner of `array` on."""
        ...

    @property
    def lane(self) -> Expr:
        """The index of the thread in its warp."""
        ...

    def assign(self, target: Any, value: Expr) -> None:
        """Assign `value` to the scalar that `target` denotes or points at."""
        ...

    def assign_pointer(self, target: Any, address: Any) -> None:
        """Assign `address`, possibly in another block of the cluster, to the scalar `target`.

        Accesses to the memory of another block are counted as accesses to the own memory: the
        blocks of a cluster are symmetric.
        """
        ...

    def clip(self, index: Expr, extent: Expr, size: Expr) -> Expr:
        """The number of indices in both ``range(index, index + extent)`` and ``range(size)``."""
        ...

    def guard_of_load(self, node: Any, guard: Optional[Expr] = None) -> Optional[Expr]:
        """The guard of the load `node`, `guard` included; None if it is always executed."""
        ...

    def first_value(self, node: Any) -> Optional[int]:
        """The value of `node` at its first evaluation; None if it is not known."""
        ...

    def set_arrivals(self, barrier: Region, arrivals: Expr) -> None:
        """Set the arrivals that end a phase of the barrier, or of all barriers of a loop."""
        ...

    def arrivals(self, barrier: Buffer) -> Tuple[Expr, ...]:
        """The arrivals that end a phase of each barrier of an array, as far as they are known."""
        ...

    def reducer(self, buffer: Buffer) -> Optional[str]:
        """The operation of a reducer of tilelang (``sum``, ``max`` ...); None for other arrays."""
        ...

    def value_count(self, index: Any) -> Optional[int]:
        """The number of values that `index` can have; None if it is not known."""
        ...

    def combination(self) -> Tuple[Arith, ...]:
        """The arithmetic that combines two partial results of the enclosing reduction."""
        ...

    def add_caveat(self, message: str, function: Optional[str] = None) -> None:
        """Add a caveat at the current statement, such as the unknown cost of `function`."""
        ...

    def arith(self, node: Any) -> Tuple[Arith, ...]:
        """The arithmetic on data in a scalar expression."""
        ...

    def accesses(self, node: Any) -> Tuple[Access, ...]:
        """The loads in a scalar expression."""
        ...


class Values(Protocol):
    """The interface of the walk at the call whose value a family gives."""

    @property
    def thread(self) -> Expr:
        """The index of the thread in its block."""
        ...

    @property
    def lane(self) -> Expr:
        """The index of the thread in its warp."""
        ...

    @property
    def rank_in_cluster(self) -> Expr:
        """The number of the block in its cluster, 0 without clusters."""
        ...

    def index(self, tag: str) -> Expr:
        """The index of the thread or block along an axis (``threadIdx.x``); 0 where unbound."""
        ...

    def extent(self, tag: str) -> Expr:
        """The extent of a block or of the grid along an axis; 1 where it is not bound."""
        ...

    def cluster_extent(self, axis: int) -> Expr:
        """The extent of a cluster of blocks along an axis; 1 without clusters."""
        ...

    def expr(self, node: Any) -> Expr:
        """The framework's expression (or a Python number) as an `Expr`."""
        ...

    def literal(self, node: Any) -> Union[int, float, str, bool, None]:
        """The value of a constant (also a StringImm); None if `node` is not constant."""
        ...

    def region(self, node: Any) -> Optional[Region]:
        """The box of an array that `node` denotes or points at; None if it denotes none."""
        ...

    def is_uniform_in_warps(self, value: Expr) -> bool:
        """Whether `value` is the same in all threads of a warp."""
        ...


Handler = Callable[[Any, Context], Statement]
#: The value of a call; None where the operands leave it unknown.
Value = Callable[[Any, Values], Optional[Expr]]
#: What an unknown value varies with: ``operands`` (it is a function of them), ``execution`` (each
#: thread has one of its own each time), ``block`` (the threads of a block share one), ``kernel``
#: (one for all).
Varies = Literal["operands", "execution", "block", "kernel"]

_NAMESPACES = ("tirx.", "prim.", "tir.")
#: The prefix that ``tvm_`` became in TIRx as a package of its own (``gpu_warp_shuffle``).
_RENAMED_PREFIX = "gpu_"
#: Namespaces whose operations had an underscore in place of the dot before apache-tvm 0.26.
_UNDERSCORED = ("cuda_", "nvshmem_")

Entry = TypeVar("Entry")


class _Table(Generic[Entry]):
    """Entries by the canonical names of operations, or by a prefix of them."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._entries: Dict[str, Entry] = {}
        self._families: List[Tuple[str, Entry]] = []

    def add(self, name: str, entry: Entry) -> None:
        """Adds an entry for a name, which may end in ``*``.

        Raises:
            ValueError: the name has another entry.
        """
        key = canonical(name)
        if key.endswith("*"):
            self._families.append((key[:-1], entry))
            # The longest prefix is matched first, independent of the order of imports.
            self._families.sort(key=lambda family: len(family[0]), reverse=True)
        elif self._entries.setdefault(key, entry) != entry:
            raise ValueError("two modules have the {} of {}".format(self._what, key))

    def find(self, name: str) -> Optional[Entry]:
        """The entry of `name`, or of the longest prefix that has one; None if there is none."""
        key = canonical(name)
        found = self._entries.get(key)
        if found is not None:
            return found
        return next((entry for prefix, entry in self._families if key.startswith(prefix)), None)


_handlers: _Table[Handler] = _Table("cost")
_scalars: _Table[str] = _Table("cost")
_values: _Table[Value] = _Table("value")
_unknown: _Table[Varies] = _Table("value")


def canonical(name: str) -> str:
    """`name` without the namespace that differs between versions of the frameworks."""
    if name.startswith("tl.tileop."):
        return "tl." + name[len("tl.tileop.") :]
    for namespace in _NAMESPACES:
        if name.startswith(namespace):
            name = name[len(namespace) :]
            break
    if name.startswith(_RENAMED_PREFIX):
        return "tvm_" + name[len(_RENAMED_PREFIX) :]
    for namespace in _UNDERSCORED:
        if name.startswith(namespace):
            return namespace[:-1] + "." + name[len(namespace) :]
    return name


def accounts(*names: str) -> Callable[[Handler], Handler]:
    """Registers the decorated handler for `names`; one that ends in ``*`` is a prefix."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _handlers.add(name, handler)
        return handler

    return register


def gives(*names: str) -> Callable[[Value], Value]:
    """Registers the decorated function as the value of `names`."""

    def register(value: Value) -> Value:
        for name in names:
            _values.add(name, value)
        return value

    return register


def unknown(varies: Varies, *names: str) -> None:
    """Registers that the values of `names` are not known before the run, and how they vary."""
    for name in names:
        _unknown.add(name, varies)


def scalars(op: str, *names: str) -> None:
    """Registers `names` as scalar functions with the cost `op`: operations separated by spaces."""
    for name in names:
        _scalars.add(name, op)


def find_handler(name: str) -> Optional[Handler]:
    """The handler of `name`, or of the longest registered prefix; None if there is none."""
    return _handlers.find(name)


def find_scalar(name: str) -> Optional[str]:
    """The operations of the scalar function `name`; None if it is not a scalar function."""
    return _scalars.find(name)


def find_value(name: str) -> Optional[Value]:
    """What gives the value of `name`; None if it is not known before the run."""
    return _values.find(name)


def variation(name: str) -> Varies:
    """What the value of `name` varies with where it is not known."""
    said = _unknown.find(name)
    if said is not None:
        return said
    return "execution" if find_scalar(name) is None else "operands"
