"""Device functions of lowered tilelang IR: launch, matrix instructions, and routes of loads.

Sources: tilelang ``src/op/builtin.cc`` and ``src/cuda/op/builtin.cc`` (the operations),
``src/cuda/codegen/codegen_cuda.cc`` (their code).
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from ...facts import AccessMode, MatrixInstruction, Route, TileLoad
from .. import removed_names
from ..ir import dialect

#: The family of a matrix instruction by the start of its operation's name.
_MATRIX: Tuple[Tuple[str, MatrixInstruction], ...] = (
    ("ptx_wgmma", "wgmma"),
    ("ptx_tcgen05_mma", "tcgen05"),
    ("ptx_mma", "mma"),
    ("tvm_mma_sync", "wmma"),
)
_TILE_SCOPES = frozenset(["shared", "shared.dyn"])
_STATIC_SCOPES = frozenset(["shared", "shared.barrier", "shared.cluster_barrier"])
#: ``A_desc``, the TMA descriptor of the array ``A``.
_DESCRIPTOR = re.compile(r"_desc(_\d+)?$")
_ATOMIC = re.compile(r"atomic_\w+?(?:x(\d))?(?:_ret)?_elem_op$")
_GLOBAL_INSTRUCTION = re.compile(r"(ldg|stg)(32|64|128|256)$")
Pointer = Tuple[str, int]
#: The attribute of the branch whose first side is executed by the warps that lowering adds.
_ROLES = "kWarpSpecializationScope"
#: The name of a global array, the mode and the route of its accesses.
MoveKey = Tuple[str, AccessMode, Route]


class DeviceFunction:
    """The launch parameters and global accesses of one device function.

    `moves` has the access widths in bytes by array, mode and route, `loads` what fills shared
    arrays, `products` the accumulators with their instructions; the other attributes are those of
    `LoweredLaunch`.
    """

    def __init__(self, function: Any) -> None:
        attributes = dialect.attributes(function)
        extents: Mapping[Any, Any] = attributes.get("thread_extent") or {}
        by_tag = {str(tag): dialect.plain(extent) for tag, extent in extents.items()}
        self.threads = math.prod(int(by_tag.get(tag, 1)) for tag in dialect.THREAD_TAGS)
        self.shared_bytes = int(dialect.plain(attributes.get("dyn_shared_memory_buf")) or 0)
        self.registers: Optional[int] = None
        self.matrix_instruction: Optional[MatrixInstruction] = None
        self.moves: Dict[MoveKey, Set[int]] = {}
        self.loads: Set[TileLoad] = set()
        self.products: Set[Tuple[str, MatrixInstruction]] = set()
        self._parameters = {dialect.key(param): str(param.name) for param in function.params}
        self._loads: List[Any] = []
        self._addressed: Set[int] = set()
        self._producer = _producer_nodes(function.body)
        visit(function.body, self._node)
        for load in self._loads:
            if dialect.key(load) not in self._addressed:
                self._element(load, "read", dialect.dtype_of(load))

    def _node(self, node: Any) -> None:
        name = dialect.kind(node)
        if name == "Call":
            self._call(node, dialect.op_name(node).rpartition(".")[2])
        elif name in dialect.LOADS:
            self._loads.append(node)
        elif name == "BufferStore":
            self._element(node, "write", dialect.dtype_of(node.value))
            self._fill(node)
        else:
            allocation = _allocation_of(node)
            if allocation is not None and allocation.scope in _STATIC_SCOPES:
                count = math.prod(map(int, allocation.extents))
                self.shared_bytes += count * width_bytes(allocation.dtype)

    def _call(self, call: Any, name: str) -> None:
        family: Optional[MatrixInstruction] = next(
            (kind for start, kind in _MATRIX if name.startswith(start)), None
        )
        if family is not None:
            self.matrix_instruction = self.matrix_instruction or family
            self._product(call, family)
        atomic, plain = _ATOMIC.match(name), _GLOBAL_INSTRUCTION.match(name)
        if name == "set_max_nreg":
            self.registers = max(int(dialect.plain(call.args[0])), self.registers or 0)
        elif name == "address_of":
            # An element whose address is taken is not read.
            self._addressed.add(dialect.key(call.args[0]))
        elif name == "ptx_cp_async":
            source = self._pointer(call.args[1])
            count = int(dialect.plain(call.args[2]))
            in_elements = dialect.op_name(call).startswith("tl.")
            self._move(
                source, "read", "async", count * (source[1] if source and in_elements else 1)
            )
            self._load(call, source, _shared_name(call.args[0]), "async")
        elif name.startswith(("tma_load", "tma_store")):
            mode = "read" if name.startswith("tma_load") else "write"
            for argument in call.args:
                self._move(self._pointer(argument), mode, "tma", None)
            if mode == "read":
                descriptor = next(filter(None, map(self._pointer, call.args)), None)
                shared = next(filter(None, map(_shared_name, call.args)), None)
                self._load(call, descriptor, shared, "tma")
        elif atomic is not None:
            target = self._pointer(call.args[0])
            lanes = int(atomic.group(1) or 1)
            self._move(target, "atomic", "thread", lanes * target[1] if target else None)
        elif plain is not None:
            mode: AccessMode = "read" if plain.group(1) == "ldg" else "write"
            self._move(self._pointer(call.args[0]), mode, "thread", int(plain.group(2)) // 8)

    def _fill(self, store: Any) -> None:
        """Record the global arrays from which a store to a shared array takes its value."""
        shared = _shared_name(store)
        if shared is None:
            return

        def read(node: Any) -> None:
            if dialect.kind(node) in dialect.LOADS:
                array = self._parameters.get(dialect.key(dialect.buffer_of(node).data))
                self._load(store, None if array is None else (array, 1), shared, "thread")

        visit(store.value, read)

    def _load(
        self, node: Any, source: Optional[Pointer], shared: Optional[str], route: Route
    ) -> None:
        if source is not None and shared is not None:
            by_producer = dialect.key(node) in self._producer
            self.loads.add(TileLoad(source[0], shared, route, by_producer))

    def _product(self, call: Any, family: MatrixInstruction) -> None:
        """Record the accumulator of a matrix instruction: the last array among its operands."""
        names = [name for name in map(_array_name, call.args) if name is not None]
        if names:
            self.products.add((names[-1], family))

    def _element(self, node: Any, mode: AccessMode, dtype: str) -> None:
        name = self._parameters.get(dialect.key(dialect.buffer_of(node).data))
        self._move(None if name is None else (name, 1), mode, "thread", width_bytes(dtype))

    def _pointer(self, value: Any) -> Optional[Pointer]:
        """The global array of a descriptor or an address, and the bytes of its elements."""
        if dialect.kind(value) == "Call":
            name = dialect.op_name(value).rpartition(".")[2]
            if name == "tvm_access_ptr":
                array = self._parameters.get(dialect.key(value.args[1]))
                width = width_bytes(dialect.dtype_of(value.args[0]))
                return None if array is None else (array, width)
            if name == "address_of":
                load = value.args[0]
                array = self._parameters.get(dialect.key(dialect.buffer_of(load).data))
                return None if array is None else (array, width_bytes(dialect.dtype_of(load)))
            return None
        array = self._parameters.get(dialect.key(value)) if dialect.kind(value) == "Var" else None
        return None if array is None else (_DESCRIPTOR.sub("", array), 1)

    def _move(
        self, at: Optional[Pointer], mode: AccessMode, route: Route, width: Optional[int]
    ) -> None:
        if at is not None:
            widths = self.moves.setdefault((at[0], mode, route), set())
            if width is not None:
                widths.add(width)


def visit(body: Any, function: Callable[[Any], None]) -> None:
    """Call `function` for each node, its children first."""
    removed_names.post_order_visit(body, function)


def shared_array_sizes(module: Any) -> Dict[str, int]:
    """The elements of each shared array of the functions of a module, by name."""
    sizes: Dict[str, int] = {}

    def add(node: Any) -> None:
        found = _allocation_of(node)
        if found is None or found.scope not in _TILE_SCOPES:
            return
        if all(isinstance(extent, int) for extent in found.extents):
            sizes[found.name] = max(math.prod(found.extents), sizes.get(found.name, 0))

    for _, function in module.functions.items():
        if hasattr(function, "body"):
            visit(function.body, add)
    return sizes


class _Allocation(NamedTuple):
    name: str
    scope: str
    dtype: str
    extents: List[Any]


def _allocation_of(node: Any) -> Optional[_Allocation]:
    """The array that a statement allocates: an ``AllocBuffer``, an ``Allocate`` before it."""
    kind = dialect.kind(node)
    if kind == "AllocBuffer":
        buffer = node.buffer
        name, scope = str(buffer.data.name), dialect.scope_of(buffer)
        extents, dtype = buffer.shape, dialect.dtype_of(buffer)
    elif kind == "Allocate":
        variable = node.buffer_var
        name, scope = str(variable.name), str(variable.type_annotation.storage_scope)
        extents, dtype = node.extents, str(node.dtype)
    else:
        return None
    return _Allocation(name, scope, dtype, [dialect.plain(extent) for extent in extents])


def _producer_nodes(body: Any) -> Set[int]:
    """The nodes that the warps which lowering adds execute."""
    found: Set[int] = set()

    def add(node: Any) -> None:
        found.add(dialect.key(node))

    def look(node: Any) -> None:
        if dialect.kind(node) == "AttrStmt" and str(node.attr_key) == _ROLES:
            for inner in dialect.statements(node.body):
                if dialect.kind(inner) == "IfThenElse" and inner.else_case is not None:
                    visit(inner.then_case, add)
                    return

    visit(body, look)
    return found


def _array_name(value: Any) -> Optional[str]:
    """The name of the array whose data, address or element is an operand."""
    kind = dialect.kind(value)
    if kind == "Call":
        name = dialect.op_name(value).rpartition(".")[2]
        if name == "tvm_access_ptr":
            return str(value.args[1].name)
        return _array_name(value.args[0]) if name == "address_of" else None
    if kind in dialect.LOADS or kind == "BufferStore":
        return str(dialect.buffer_of(value).data.name)
    return str(value.name) if kind == "Var" and "handle" in dialect.dtype_of(value) else None


def _shared_name(value: Any) -> Optional[str]:
    """The name of the shared array that is stored to, or whose address is an operand."""
    kind = dialect.kind(value)
    if kind == "BufferStore":
        scope = dialect.scope_of(value.buffer)
        return str(value.buffer.data.name) if scope in _TILE_SCOPES else None
    if kind == "Call":
        name = dialect.op_name(value).rpartition(".")[2]
        if name == "tvm_access_ptr":
            pointer = value.args[1]
            scope = str(pointer.type_annotation.storage_scope)
            return str(pointer.name) if scope in _TILE_SCOPES else None
        if name == "address_of":
            buffer = dialect.buffer_of(value.args[0])
            return str(buffer.data.name) if dialect.scope_of(buffer) in _TILE_SCOPES else None
    return None


def width_bytes(dtype: str) -> int:
    """The bytes of a value of `dtype` with all its lanes; at least 1."""
    base, lanes = dialect.lanes_of(dtype)
    digits = re.search(r"\d+", base)
    return max(1, int(digits.group() if digits else 8) * lanes // 8)
