"""All that the walk knows of one kernel, each part in an object of its own."""

from __future__ import annotations

from typing import Any, Iterable

from ..symbolic.ranges import Ranges
from .arrays import Arrays
from .barriers import Barriers
from .caveats import Caveats
from .names import Names
from .position import Position
from .scalars import Scalars
from .tensor_maps import TensorMaps
from .thread_bindings import ThreadBindings
from .value_properties import ValueProperties


class KernelState:
    """The parts of the state of the walk."""

    def __init__(self) -> None:
        self.names = Names()
        self.properties = ValueProperties()
        self.arrays = Arrays(self.names)
        self.tensor_maps = TensorMaps(self.names, self.arrays)
        self.scalars = Scalars(self.properties)
        self.ranges = Ranges()
        self.barriers = Barriers()
        self.bindings = ThreadBindings(self.names.unique)
        self.position = Position()
        self.caveats = Caveats()

    def forget(self, buffers: Iterable[Any]) -> None:
        """Record that the values of the scalars among `buffers` are not known any more."""
        for buffer in buffers:
            known = self.arrays.id_of(buffer)
            if known is not None:
                self.scalars.forget(known)
