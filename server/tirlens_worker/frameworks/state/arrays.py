"""The arrays of a kernel: the IR's buffers, registered as those of the facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from ...facts import Buffer, Expr, Span
from ..ir import dialect
from .names import Names


class Window(NamedTuple):
    """An array that shows a part of another.

    `corners` has an entry for each dimension of the array `source`: the lower corner, and the
    dimension of the window that is added to it (None for none).
    """

    source: str
    corners: Tuple[Tuple[Expr, Optional[int]], ...]


class Arrays:
    """The arrays by their ids, which are unique names of the kernel."""

    def __init__(self, names: Names) -> None:
        self.buffers: List[Buffer] = []
        #: Windows on other arrays, by buffer id.
        self.windows: Dict[str, Window] = {}
        #: The operations of tilelang's reducers (``sum``, ``max`` ...), by buffer id.
        self.reducers: Dict[str, str] = {}
        self._names = names
        self._ids: Dict[int, str] = {}
        self._data_owners: Dict[int, str] = {}

    def id_of(self, buffer: Any) -> Optional[str]:
        """The id under which a buffer of the IR is registered; None if it is not."""
        return self._ids.get(dialect.key(buffer))

    def get(self, buffer_id: str) -> Buffer:
        """The registered array of this id."""
        return next(one for one in self.buffers if one.id == buffer_id)

    def add(
        self,
        buffer: Any,
        shape: Tuple[Expr, ...],
        strides: Tuple[Expr, ...],
        offset: Expr,
        is_parameter: bool = False,
        alias_of: Optional[str] = None,
        scope: Optional[str] = None,
        span: Optional[Span] = None,
    ) -> str:
        """Register `buffer`; a view of the data of another buffer is its alias.

        `scope` is the storage scope if the type of the buffer has none.
        """
        self._names.keep_alive(buffer)
        data = getattr(buffer, "data", None)
        owner = None if data is None else self.owner_of_data(data)
        name = self._names.unique(str(buffer.name))
        viewed = alias_of or owner
        self.buffers.append(
            Buffer(
                id=name,
                name=str(buffer.name),
                dtype=dialect.type_name(buffer.dtype),
                shape=shape,
                scope=scope or dialect.scope_of(buffer),
                strides=strides,
                element_offset=offset,
                is_parameter=is_parameter,
                alias_of=viewed,
                span=span,
                may_overlap=viewed is not None and self.get(viewed).may_overlap,
            )
        )
        self._ids[dialect.key(buffer)] = name
        if data is not None and owner is None:
            self._names.keep_alive(data)
            self._data_owners[dialect.key(data)] = alias_of or name
        return name

    def add_name(self, buffer: Any, buffer_id: str) -> None:
        """Register `buffer` as another name of an array.

        The array may be the one of another block of the cluster.
        """
        self._names.keep_alive(buffer)
        self._ids[dialect.key(buffer)] = buffer_id

    def mark_overlap(self, pointers: Iterable[Any]) -> None:
        """Record that the arrays of these data pointers may overlap, if there are two at least."""
        owners = set(map(self.owner_of_data, pointers)) - {None}
        if len(owners) > 1:
            self.buffers[:] = [
                replace(buffer, may_overlap=True) if buffer.id in owners else buffer
                for buffer in self.buffers
            ]

    def owner_of_data(self, data: Any) -> Optional[str]:
        """The id of the array whose data pointer `data` is."""
        if dialect.kind(data) == "Call":
            # From apache-tvm 0.27 on: the call `buffer_data` of the buffer.
            known = self.id_of(data.args[0])
            return None if known is None else self.get(known).alias_of or known
        return self._data_owners.get(dialect.key(data))
