"""Which operation is accounted by which function, and what those functions are given.

A module of this package accounts one family of operations.  It registers a handler for each name::

    @accounts("tl.tileop.copy")
    def copy(call, context):
        return Copy(...)

A name may end in ``*``.  The namespaces ``tir.``, ``tirx.`` and ``prim.`` are one and the same
(they differ by framework version) and so are ``tl.tileop.`` and ``tl.``: a name is registered and
looked up without them, ``tir.exp`` as ``exp`` and ``tl.tileop.copy`` as ``tl.copy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple, Union

from ..facts import Access, Arith, Buffer, Expr, Statement


@dataclass(frozen=True)
class Region:
    """A box of `buffer`: lower corner and size in elements, one of each a dimension."""

    buffer: Buffer
    indices: Tuple[Expr, ...]
    extents: Tuple[Expr, ...]


class Layout(NamedTuple):
    """How a tensor map sees an array, outermost dimension first; `strides` are in elements."""

    dtype: str
    shape: Tuple[Expr, ...]
    strides: Tuple[Expr, ...]
    box: Tuple[Expr, ...]


class TensorMap(NamedTuple):
    """The global array of a tensor map and, where it is known, the box that one copy moves."""

    array: Buffer
    box: Optional[Tuple[Expr, ...]] = None


class Context(Protocol):
    """What a handler may ask of the walk that met the call."""

    @property
    def threads(self) -> Expr:
        """The number of threads of a block, 1 where nothing is bound to threads."""
        ...

    @property
    def rank_in_cluster(self) -> Expr:
        """The number of the block in its cluster, 0 without clusters."""
        ...

    def expr(self, node: Any) -> Expr:
        """The framework's expression (or a Python number) as an `Expr`."""
        ...

    def literal(self, node: Any) -> Union[int, float, str, bool, None]:
        """The value of a constant (also a StringImm), None where `node` is no constant."""
        ...

    def region(self, node: Any) -> Optional[Region]:
        """The box that `node` denotes, None where it denotes none.

        Understands ``tl.region``, BufferRegion and TensorRegion, BufferLoad (one element),
        a whole buffer, its data pointer, ``tvm_access_ptr``, ``tl.access_ptr``, ``address_of``.
        """
        ...

    def tensor_map(self, node: Any, dtype: str, rank: int) -> Optional[TensorMap]:
        """What a tensor map describes; one that is a parameter has elements of `dtype`."""
        ...

    def copies(self, array: Buffer, box: Tuple[Expr, ...]) -> None:
        """A copy by the tensor map of `array`, which does not tell its box, moves `box` at most."""
        ...

    def describe(self, node: Any, array: Region, layout: Layout) -> None:
        """The tensor map `node` is made for an array from a corner of it on."""
        ...

    @property
    def lane(self) -> Expr:
        """The index of the thread in its warp."""
        ...

    def assign(self, target: Any, value: Expr) -> None:
        """The scalar that `target` denotes, or whose address it is, holds `value` from here on."""
        ...

    def points(self, target: Any, address: Any) -> None:
        """The scalar that `target` denotes holds `address`, or that of another block of a cluster.

        What blocks of a cluster do to each other's memory, each of them does to its own.
        """
        ...

    def clip(self, index: Expr, extent: Expr, size: Expr) -> Expr:
        """The length of the part of ``range(index, index + extent)`` in ``range(size)``."""
        ...

    def inside(self, node: Any, guard: Optional[Expr] = None) -> Optional[Expr]:
        """When the load `node` happens at all, beyond `guard`; None for always."""
        ...

    def first(self, node: Any) -> Optional[int]:
        """The value that `node` has where it is computed for the first time, if that is known."""
        ...

    def set_arrivals(self, barrier: Region, arrivals: Expr) -> None:
        """So many arrivals end a phase of the barrier that is made here, or of all in a loop."""
        ...

    def arrivals(self, barrier: Buffer) -> Tuple[Expr, ...]:
        """How many arrivals end a phase of each barrier of an array, as far as that is known."""
        ...

    def reducer(self, buffer: Buffer) -> Optional[str]:
        """What an explicit reducer of tilelang combines by (``sum``), None for other arrays."""
        ...

    def number(self, index: Any) -> Optional[int]:
        """How many values an index takes, None where that is not known."""
        ...

    def combination(self) -> Tuple[Arith, ...]:
        """The arithmetic that combines two values in the reduction around the call."""
        ...

    def note(self, message: str, function: Optional[str] = None) -> None:
        """A caveat at this statement, about the cost of `function` if it says that."""
        ...

    def arith(self, node: Any) -> Tuple[Arith, ...]:
        """The arithmetic on data inside a scalar expression."""
        ...

    def accesses(self, node: Any) -> Tuple[Access, ...]:
        """The loads inside a scalar expression."""
        ...


Handler = Callable[[Any, Context], Statement]

_NAMESPACES = ("tirx.", "prim.", "tir.")

_handlers: Dict[str, Handler] = {}
_families: List[Tuple[str, Handler]] = []
_scalars: Dict[str, str] = {}


def canonical(name: str) -> str:
    """`name` without the part that differs between versions of the frameworks."""
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
                # The longest prefix wins, whatever the order of the modules.
                _families.sort(key=lambda family: len(family[0]), reverse=True)
            elif key in _handlers:
                raise ValueError("two modules account for " + key)
            else:
                _handlers[key] = handler
        return handler

    return register


def scalars(op: str, *names: str) -> None:
    """Registers `names` as scalar functions that cost one `op`, or one of each word of it."""
    for name in names:
        key = canonical(name)
        if _scalars.setdefault(key, op) != op:
            raise ValueError("two costs for " + key)


def find_handler(name: str) -> Optional[Handler]:
    """What accounts for calls of `name`, or of the family that its first words tell."""
    key = canonical(name)
    handler = _handlers.get(key)
    if handler is not None:
        return handler
    for prefix, family in _families:
        if key.startswith(prefix):
            return family
    return None


def find_scalar(name: str) -> Optional[str]:
    """The operations that a scalar function of this name costs; None if it is none."""
    return _scalars.get(canonical(name))
