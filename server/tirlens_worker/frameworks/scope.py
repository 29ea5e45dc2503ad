"""The names that the walk has met: variables, and the buffers they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, FrozenSet, Hashable, Iterable, List, Optional, Set, Tuple, Union

from ..facts import Buffer, Caveat, Expr, Span, Variable
from ..ops import Layout, Region, TensorMap
from . import dialect
from .barriers import Barriers
from .data import holds_data, tells_its_loads
from .ranges import Ranges
from .regions import offset as offset_of
from .roles import Held

_INTEGERS = ("int", "uint", "bool")


class Scope:
    """Maps the IR's variables to expressions and its buffers to facts.

    Names are made unique within the kernel.  A variable that nothing binds is a shape variable of
    the kernel.
    """

    def __init__(self) -> None:
        self.values: Dict[int, Expr] = {}
        self.variables: List[Variable] = []
        self.buffers: List[Buffer] = []
        self.caveats: List[Caveat] = []
        #: Scalar arrays that hold one known value for now, by buffer id.
        self.scalars: Dict[str, Expr] = {}
        #: What other scalars are made of, loads among it, by buffer id.
        self.loaded: Dict[str, Expr] = {}
        #: What scalars hold in threads that did not take the branches which changed them.
        self.elsewhere: Dict[str, Held] = {}
        #: What scalars that hold an address point at, by buffer id, and variables, by their keys.
        self.pointers: Dict[Union[str, int], Region] = {}
        #: Arrays that are windows of others: buffer id -> (source id, source index for each
        #: source dimension, as a pair of its lower corner and the window's dimension or None).
        self.windows: Dict[str, Tuple[str, Tuple[Tuple[Expr, Optional[int]], ...]]] = {}
        self.ranges = Ranges()
        self.barriers = Barriers()
        #: What tilelang's reducers combine by (``sum``, ``max`` ...), by buffer id.
        self.reducers: Dict[str, str] = {}
        #: The conditions that hold where the walk is.
        self.conditions: List[Expr] = []
        #: Variables whose values are made of data.
        self.data: Set[str] = set()
        #: Variables whose values are computed where they are named, with data or without.
        self.computed: Set[str] = set()
        #: Arrays and names, by their keys, that hold numbers made of indices alone.
        self.counters: Set[int] = set()
        #: Names of floating-point constants, by their keys.
        self.constants: Dict[int, float] = {}
        #: What names that stand for computed values depend on, by their keys.
        self.over: Dict[int, Optional[FrozenSet[str]]] = {}
        #: The loops around the walk's place from the outside in: name and body; None of a while.
        self.loops: List[Tuple[Optional[str], Any]] = []
        self._buffer_ids: Dict[int, str] = {}
        self._data_owner: Dict[int, str] = {}
        self._maps: Dict[Hashable, TensorMap] = {}
        #: What one copy moves, by the ids of arrays whose tensor maps keep that to themselves.
        self.boxes: Dict[str, Tuple[Expr, ...]] = {}
        self._names: Set[str] = set()
        self._kept: List[Any] = []

    def forget(self, buffer_id: str) -> None:
        """What a scalar holds is not known any more, in whatever thread."""
        self.barriers.remember(buffer_id, self.scalars.pop(buffer_id, None))
        self.loaded.pop(buffer_id, None)
        self.pointers.pop(buffer_id, None)
        self.elsewhere.pop(buffer_id, None)

    def hold(self, buffer_id: str, value: Expr) -> None:
        """A scalar holds `value` from here on: a known one, or one that data take part in."""
        if not holds_data(value, self.data):
            self.scalars[buffer_id] = value
        elif tells_its_loads(value):
            self.loaded[buffer_id] = value

    def unique(self, name: str) -> str:
        """`name`, with a number behind it if it is taken."""
        name = name or "_"
        candidate, number = name, 1
        while candidate in self._names:
            candidate, number = "{}_{}".format(name, number), number + 1
        self._names.add(candidate)
        return candidate

    def define(self, var: Any, value: Optional[Expr] = None) -> str:
        """Names a loop variable, or lets `var` stand for `value`; the name."""
        self._kept.append(var)
        if value is not None:
            self.values[dialect.key(var)] = value
            return str(var.name)
        name = self._used_before(var) or self.unique(str(var.name))
        self.values[dialect.key(var)] = name
        return name

    def _used_before(self, var: Any) -> Optional[str]:
        """The name that `var` has if it was met before what binds it: no shape variable then.

        tilelang's T.Persistent binds a name to an index of its loop in front of the loop.
        """
        name = self.values.get(dialect.key(var))
        for variable in self.variables:
            if variable.name == name:
                self.variables.remove(variable)
                return variable.name
        return None

    def value(self, var: Any) -> Expr:
        """What `var` stands for; an unknown one becomes a shape variable."""
        found = self.values.get(dialect.key(var))
        if found is not None:
            return found
        dtype = dialect.dtype_of(var)
        if not dtype.startswith(_INTEGERS):
            return ("opaque", str(var.name))
        name = self.unique(str(var.name))
        self.values[dialect.key(var)] = name
        self._kept.append(var)
        self.variables.append(Variable(name, dtype))
        return name

    def note(self, message: str, sites: Tuple[Span, ...], function: Optional[str] = None) -> None:
        """Keep what is not exact at `sites`, once; the `function` whose cost is left out."""
        caveat = Caveat(message, sites[0] if sites else None, function)
        if caveat not in self.caveats:
            self.caveats.append(caveat)

    def buffer_id(self, buffer: Any) -> Optional[str]:
        """The id under which a buffer of the IR is registered; None if it is not."""
        return self._buffer_ids.get(dialect.key(buffer))

    def add_buffer(
        self,
        buffer: Any,
        shape: Tuple[Expr, ...],
        strides: Tuple[Expr, ...],
        offset: Expr,
        parameter: bool = False,
        alias_of: Optional[str] = None,
        scope: Optional[str] = None,
        span: Optional[Span] = None,
    ) -> str:
        """Registers `buffer`; one that views the data of another is its alias.

        `scope` is where it lies if its own type does not tell.
        """
        self._kept.append(buffer)
        data = getattr(buffer, "data", None)
        owner = None if data is None else self.owner_of_data(data)
        name = self.unique(str(buffer.name))
        viewed = alias_of or owner
        self.buffers.append(
            Buffer(
                id=name,
                name=str(buffer.name),
                dtype=str(buffer.dtype),
                shape=shape,
                scope=scope or dialect.scope_of(buffer),
                strides=strides,
                element_offset=offset,
                is_parameter=parameter,
                alias_of=viewed,
                span=span,
                may_overlap=viewed is not None and self.buffer(viewed).may_overlap,
            )
        )
        self._buffer_ids[dialect.key(buffer)] = name
        if data is not None and owner is None:
            self._kept.append(data)
            self._data_owner[dialect.key(data)] = alias_of or name
        return name

    def may_overlap(self, pointers: Iterable[Any]) -> None:
        """These data pointers may overlap with each other, which takes two of them."""
        owners = set(map(self.owner_of_data, pointers)) - {None}
        if len(owners) > 1:
            self.buffers[:] = [
                replace(buffer, may_overlap=True) if buffer.id in owners else buffer
                for buffer in self.buffers
            ]

    def same(self, buffer: Any, buffer_id: str) -> None:
        """`buffer` is another name of an array, perhaps of that of another block of the cluster."""
        self._kept.append(buffer)
        self._buffer_ids[dialect.key(buffer)] = buffer_id

    def tensor_map(self, var: Any, dtype: str, rank: int) -> TensorMap:
        """The array behind the tensor map `var`; one that is met first is a parameter."""
        self._kept.append(var)
        return self._map(dialect.key(var), str(var.name), dtype, rank)

    def tensor_map_at(self, place: Region, dtype: str, rank: int) -> TensorMap:
        """The array behind a tensor map that lies in memory."""
        return self._map((place.buffer.id, *place.indices), place.buffer.name, dtype, rank)

    def _map(self, key: Hashable, name: str, dtype: str, rank: int) -> TensorMap:
        known = self._maps.get(key)
        if known is None:
            array = self.unique(name)
            sizes = tuple(("opaque", "{}.size({})".format(array, axis)) for axis in range(rank))
            known = TensorMap(Buffer(array, name, dtype, sizes, is_parameter=True))
            self._keep_map(key, known)
        return known

    def copies(self, array: str, box: Tuple[Expr, ...]) -> None:
        """A copy by the tensor map of an array moves no more than `box`; all copies move as much.

        The tile in shared memory, which tells that, may have room for several boxes.
        """
        sizes = [min(sizes) for sizes in zip(box, self.boxes.get(array, box)) if _known(sizes)]
        if len(sizes) == len(box):
            self.boxes[array] = tuple(sizes)

    def describe(self, var: Any, array: Region, layout: Layout) -> None:
        """The tensor map `var` shows `array` from its corner on as `layout`."""
        view = Buffer(
            self.unique("{}_{}".format(array.buffer.name, var.name)),
            array.buffer.name,
            layout.dtype,
            layout.shape,
            strides=layout.strides,
            element_offset=offset_of(array),
            alias_of=array.buffer.alias_of or array.buffer.id,
        )
        self._kept.append(var)
        self._keep_map(dialect.key(var), TensorMap(view, layout.box))

    def _keep_map(self, key: Hashable, known: TensorMap) -> None:
        self.buffers.append(known.array)
        self._maps[key] = known

    def owner_of_data(self, data: Any) -> Optional[str]:
        """The id of the buffer whose data pointer `data` is."""
        if dialect.kind(data) == "Call":
            # From apache-tvm 0.27 on: the call `buffer_data` of the buffer.
            known = self.buffer_id(data.args[0])
            return None if known is None else self.buffer(known).alias_of or known
        return self._data_owner.get(dialect.key(data))

    def buffer(self, buffer_id: str) -> Buffer:
        """The registered buffer of this id."""
        return next(one for one in self.buffers if one.id == buffer_id)


def _known(sizes: Tuple[Expr, ...]) -> bool:
    return all(isinstance(size, int) for size in sizes)
