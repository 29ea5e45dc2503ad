"""The registry of handlers of operations, and the interface that handlers use.

A module of this package accounts for one family of operations.  It registers a handler for each
name::

    @accounts("tl.tileop.copy")
    def copy(call, context):
        return Copy(...)

A name may end in ``*``.  The namespaces ``tir.``, ``tirx.`` and ``prim.`` are equivalent (they
differ between framework versions), and so are ``tl.tileop.`` and ``tl.``.  Names are registered and
looked up in canonical form: ``exp`` for ``tir.exp``, ``tl.copy`` for ``tl.tileop.copy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple, Union

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


Handler = Callable[[Any, Context], Statement]

_NAMESPACES = ("tirx.", "prim.", "tir.")

_handlers: Dict[str, Handler] = {}
_families: List[Tuple[str, Handler]] = []
_scalars: Dict[str, str] = {}


def canonical(name: str) -> str:
    """`name` without the namespace that differs between versions of the frameworks."""
    if name.startswith("tl.tileop."):
        return "tl." + name[len("tl.tileop.") :]
    for namespace in _NAMESPACES:
        if name.startswith(namespace):
            return name[len(namespace) :]
    return name


def accounts(*names: str) -> Callable[[Handler], Handler]:
    """Registers the decorated handler for `names`; one that ends in ``*`` is a prefix."""

    def register(handler: Handler) -> Handler:
        for name in names:
            key = canonical(name)
            if key.endswith("*"):
                _families.append((key[:-1], handler))
                # The longest prefix is matched first, independent of the order of imports.
                _families.sort(key=lambda family: len(family[0]), reverse=True)
            elif key in _handlers:
                raise ValueError("two modules account for " + key)
            else:
                _handlers[key] = handler
        return handler

    return register


def scalars(op: str, *names: str) -> None:
    """Registers `names` as scalar functions with the cost `op`: operations separated by spaces."""
    for name in names:
        key = canonical(name)
        if _scalars.setdefault(key, op) != op:
            raise ValueError("two costs for " + key)


def find_handler(name: str) -> Optional[Handler]:
    """The handler of `name`, or of the longest registered prefix; None if there is none."""
    key = canonical(name)
    handler = _handlers.get(key)
    if handler is not None:
        return handler
    for prefix, family in _families:
        if key.startswith(prefix):
            return family
    return None


def find_scalar(name: str) -> Optional[str]:
    """The operations of the scalar function `name`; None if it is not a scalar function."""
    return _scalars.get(canonical(name))
