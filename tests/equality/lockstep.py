"""Executes a PrimFunc of either framework on arrays with contents, all threads in lock step.

The other executor of this folder (`execute`) does not know what arrays hold.  This one does: index
arrays have values, so that gathers, scatters, conditions on data and queues are executed as a GPU
executes them, each statement by all threads that reach it.  It shares nothing with TIRLens.  It
counts FLOP and integer operations on data by the convention of the documentation, the bytes that
each access asks for, and the elements and sectors of 32 bytes that are touched.  It runs in the
framework's own process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from equality import language as ir
from equality.language import RefusedError

WARP, SECTOR_BYTES = 32, 32
_BINDING = 4
_LOADS = ("BufferLoad", "TensorLoad")


class Value(NamedTuple):
    """The value of an expression in each thread, and whether contents of arrays take part in it."""

    numbers: Any
    is_data: bool = False


def _quotient(a: Any, b: Any) -> Any:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.maximum(np.abs(b), 1))


def _divided(a: Any, b: Any) -> Any:
    return a // np.where(np.equal(b, 0), 1, b)


def _modulo(a: Any, b: Any) -> Any:
    return a % np.where(np.equal(b, 0), 1, b)


#: Operators: whether they are arithmetic, and their values on integers.
_OPERATORS: dict[str, tuple[bool, Callable[[Any, Any], Any]]] = {
    "Add": (True, np.add), "Sub": (True, np.subtract), "Mul": (True, np.multiply),
    "Div": (True, _quotient), "Mod": (True, lambda a, b: a - b * _quotient(a, b)),
    "FloorDiv": (True, _divided), "FloorMod": (True, _modulo),
    "Min": (True, np.minimum), "Max": (True, np.maximum),
    "EQ": (False, np.equal), "NE": (False, np.not_equal), "LT": (False, np.less),
    "LE": (False, np.less_equal), "GT": (False, np.greater), "GE": (False, np.greater_equal),
    "And": (False, np.logical_and), "Or": (False, np.logical_or),
    "LShift": (True, np.left_shift), "RShift": (True, np.right_shift),
    "BitwiseAnd": (True, np.bitwise_and), "BitwiseOr": (True, np.bitwise_or),
    "BitwiseXor": (True, np.bitwise_xor),
}  # fmt: skip
_CALLED = {
    "shift_left": "LShift", "shift_right": "RShift", "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor",
}  # fmt: skip
_FUNCTIONS = ir.words("exp sqrt tanh log rsqrt sigmoid")
_SILENT = re.compile(
    r"tvm_storage_sync|tl\.sync_\w+|cuda\.(cta|warp)_sync|tl\.annotate_\w+|tl\.\w*_max_nreg"
)
_POINTERS = ("address_of", "tl.access_ptr", "buffer_data")


class Lockstep:
    """One run of one function; index arrays hold numbers from `seed`."""

    def __init__(self, func: Any, seed: int) -> None:
        self._func = func
        self._random = np.random.default_rng(seed)
        self._env: dict[Any, Value] = {}
        self._pointers: dict[Any, Any] = {}
        #: The indices of the blocks and threads, by tag.
        self._tags: dict[str, np.ndarray] = {}
        #: The variables that are named for indices of threads, by tag.
        self._named: dict[str, Any] = {}
        self._threads = 1
        self._size = 1
        self._memory: dict[Any, np.ndarray] = {}
        self._local_data: set[Any] = set()
        self.counts: Counter[str] = Counter()
        self.issued: Counter[tuple[str, str]] = Counter()
        self._touched: dict[tuple[str, str], np.ndarray] = {}
        self._width: dict[str, int] = {}

    def run(self) -> dict[str, Any]:
        """The counts of the run."""
        with np.errstate(all="ignore"):
            self._statement(self._func.body, np.ones(1, dtype=bool))
        distinct: Counter[str] = Counter()
        sectors: Counter[str] = Counter()
        for (name, mode), seen in self._touched.items():
            width = self._width[name] // 8
            distinct[mode] += int(seen.sum()) * width
            positions = np.flatnonzero(seen) * width
            held = np.concatenate((positions, positions + width - 1)) // SECTOR_BYTES
            sectors[mode] += len(np.unique(held)) * SECTOR_BYTES
        return {
            "flop": self.counts["flop"], "int_ops": self.counts["int_ops"],
            "read": self.issued["global", "read"] // 8,
            "write": self.issued["global", "write"] // 8,
            "distinct": dict(distinct), "sectors": dict(sectors),
        }  # fmt: skip

    # -- statements -----------------------------------------------------------------------------

    def _statement(self, node: Any, mask: np.ndarray) -> None:
        if node is None or not mask.any():
            return
        method = getattr(self, "_run_" + ir.kind(node), None)
        if method is None:
            raise RefusedError(f"the statement {ir.kind(node)}")
        method(node, mask)

    def _run_SeqStmt(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        for part in node.seq:
            # Threads that a part has added take its place in the mask.
            self._statement(part, self._spread(mask))

    def _run_For(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        variable, extent = ir.key(node.loop_var), self._value(node.extent, mask)
        if int(node.kind) == _BINDING and node.thread_binding is not None:
            tag = str(node.thread_binding.thread_tag)
            self._statement(node.body, self._bind(tag, int(extent.numbers), mask, variable))
            return
        start, stops = self._value(node.min, mask), self._full(extent.numbers)
        most = int(stops[mask].max(initial=0))
        for step in range(most):
            inner = mask & (step < stops)
            self._env[variable] = Value(self._full(start.numbers) + step, start.is_data)
            self._statement(node.body, inner)

    def _bind(self, tag: str, extent: int, mask: np.ndarray, variable: Any = None) -> np.ndarray:
        """The mask after each thread has become `extent` of them, with this index, the fastest."""
        self._size *= extent
        if tag.startswith("threadIdx"):
            self._threads *= extent
        for name, value in self._env.items():
            if isinstance(value.numbers, np.ndarray):
                self._env[name] = Value(np.repeat(value.numbers, extent), value.is_data)
        self._tags = {one: np.repeat(index, extent) for one, index in self._tags.items()}
        index = np.tile(np.arange(extent), self._size // extent)
        self._tags[tag] = index
        variable = self._named.get(tag) if variable is None else variable
        if variable is not None:
            self._env[variable] = Value(index)
        return np.repeat(mask, extent)

    def _spread(self, mask: np.ndarray) -> np.ndarray:
        return np.repeat(mask, self._size // len(mask)) if len(mask) < self._size else mask

    def _run_IfThenElse(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        holds = self._full(self._value(node.condition, mask).numbers).astype(bool)
        self._statement(node.then_case, mask & holds)
        self._statement(node.else_case, mask & ~holds)

    def _run_Bind(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        if self._is_pointer(node.value):
            self._locate(node.value, mask)
            self._pointers[ir.key(node.var)] = node.value
            return
        if ir.kind(node.value) == "Call" and ir.called(node.value) == "tl.launch_thread_idx":
            # tilelang names the indices of threads before it launches them.
            tag = ir.THREADS[int(ir.constant(node.value.args[0]))]
            self._named[tag] = ir.key(node.var)
        self._env[ir.key(node.var)] = self._value(node.value, mask)

    def _run_LetStmt(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        self._run_Bind(node, mask)
        self._statement(node.body, mask)

    def _run_AttrStmt(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        self._statement(node.body, mask)

    def _run_SBlockRealize(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        threads = dict(node.block.annotations.items()).get("tl.launch_threads")
        if threads is not None:
            for tag, extent in reversed(list(zip(ir.THREADS, map(int, threads), strict=True))):
                mask = self._bind(tag, extent, mask)
        if len(node.block.iter_vars) or ir.constant(node.predicate) not in (True, 1):
            raise RefusedError("a block with axes or a predicate")
        self._statement(node.block.body, mask)

    _run_BlockRealize = _run_SBlockRealize  # noqa: N815

    def _run_AllocBuffer(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        self._statement(getattr(node, "body", None), mask)

    _run_DeclBuffer = _run_Allocate = _run_AllocBuffer  # noqa: N815

    def _run_BufferStore(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        buffer = ir.buffer_of(node)
        value = self._value(node.value, mask)
        position = self._position(node.indices, buffer, mask)
        self._touch(buffer, position, "write", mask)
        if value.is_data:
            self._local_data.add(ir.key(buffer))
        if ir.integral(str(buffer.dtype)):
            memory, place = self._place(buffer, position)
            memory[place[mask]] = self._full(value.numbers)[mask]

    _run_TensorStore = _run_BufferStore  # noqa: N815

    def _run_Evaluate(self, node: Any, mask: np.ndarray) -> None:  # noqa: N802
        if ir.constant(node.value) is None:
            self._value(node.value, mask)

    # -- values ---------------------------------------------------------------------------------

    def _full(self, numbers: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(numbers), (self._size,))

    def _value(self, node: Any, mask: np.ndarray) -> Value:
        if isinstance(node, (bool, int)):
            return Value(node)
        name = ir.kind(node)
        if name == "IntImm":
            return Value(int(node.value))
        if name in ("FloatImm", "StringImm"):
            return Value(0)
        if name in ("Var", "SizeVar"):
            return self._env[ir.key(node)]
        if name in _OPERATORS:
            return self._operator(name, node.a, node.b, mask)
        if name == "Not":
            inner = self._value(node.a, mask)
            return Value(np.logical_not(inner.numbers), inner.is_data)
        if name in _LOADS:
            return self._load(node, mask)
        if name == "Cast":
            inner = self._value(node.value, mask)
            return Value(inner.numbers, inner.is_data or ir.floating(ir.dtype(node)))
        if name == "Select":
            parts = [self._value(one, mask) for one in (node.condition, node.true_value,
                                                        node.false_value)]  # fmt: skip
            chosen = np.where(*(self._full(part.numbers) for part in parts))
            return Value(chosen, any(part.is_data for part in parts))
        if name == "Call":
            return self._call(ir.called(node), node, list(node.args), mask)
        raise RefusedError(f"the expression {name}")

    def _operator(self, name: str, a: Any, b: Any, mask: np.ndarray) -> Value:
        is_arithmetic, function = _OPERATORS[name]
        left, right = self._value(a, mask), self._value(b, mask)
        is_data = left.is_data or right.is_data
        dtype = ir.dtype(a)
        if is_arithmetic and (is_data or ir.floating(dtype)):
            self._count(dtype, mask)
        if ir.floating(dtype):
            return Value(0, True)
        return Value(function(self._full(left.numbers), self._full(right.numbers)), is_data)

    def _count(self, dtype: str, mask: np.ndarray, times: int = 1) -> None:
        unit = "flop" if ir.floating(dtype) else "int_ops"
        self.counts[unit] += times * int(mask.sum())

    def _load(self, node: Any, mask: np.ndarray) -> Value:
        buffer = ir.buffer_of(node)
        position = self._position(node.indices, buffer, mask)
        return self._element(buffer, position, mask)

    def _element(
        self, buffer: Any, position: np.ndarray, mask: np.ndarray, lanes: int = 1
    ) -> Value:
        self._touch(buffer, position, "read", mask, lanes)
        is_local = ir.scope_of(buffer).startswith("local")
        is_data = not is_local or ir.key(buffer) in self._local_data
        if not ir.integral(str(buffer.dtype)):
            return Value(0, True)
        memory, place = self._place(buffer, position)
        return Value(memory[place], is_data)

    def _position(self, indices: Any, buffer: Any, mask: np.ndarray) -> np.ndarray:
        """The offset of an element; its indices are evaluated."""
        flat: Any = np.zeros(self._size, dtype=np.int64)
        for index, size in zip(indices, buffer.shape, strict=True):
            position = self._full(self._value(index, mask).numbers)
            if (position[mask] < 0).any() or (position[mask] >= int(size)).any():
                raise RefusedError(f"an access outside of {buffer.name}")
            flat = flat * int(size) + position
        return np.where(mask, flat, 0)

    def _place(self, buffer: Any, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The memory of an array, and where in it each thread has its element."""
        elements = int(np.prod([int(size) for size in buffer.shape]))
        scope, key = ir.scope_of(buffer), ir.key(buffer)
        owners = np.zeros(self._size, dtype=np.int64)
        if scope.startswith("local"):
            owners = np.arange(self._size)
        elif scope.startswith("shared"):
            owners = np.arange(self._size) // self._threads
        if key not in self._memory:
            number = int(owners.max()) + 1
            values = self._random.integers(0, 4096, elements * number)
            self._memory[key] = values if scope == "global" else np.zeros_like(values)
        return self._memory[key], owners * elements + position

    def _touch(
        self, buffer: Any, position: np.ndarray, mode: str, mask: np.ndarray, lanes: int = 1
    ) -> None:
        """One access of `lanes` adjacent elements by each thread; an update is both modes."""
        scope, name = ir.scope_of(buffer), str(buffer.name)
        width = ir.width(str(buffer.dtype))
        for one in ("read", "write") if mode == "atomic" else (mode,):
            self.issued[scope, one] += int(mask.sum()) * width * lanes
            if scope == "global":
                elements = int(np.prod([int(size) for size in buffer.shape]))
                seen = self._touched.setdefault((name, one), np.zeros(elements, dtype=bool))
                for lane in range(lanes):
                    seen[position[mask] + lane] = True
                self._width[name] = width

    # -- calls ----------------------------------------------------------------------------------

    def _is_pointer(self, node: Any) -> bool:
        return ir.kind(node) == "Call" and ir.called(node) in (*_POINTERS, "tvm_access_ptr")

    def _target(self, node: Any) -> Any:
        """The load that a pointer points at."""
        if ir.kind(node) in ("Var", "SizeVar"):
            node = self._pointers[ir.key(node)]
        while ir.kind(node) == "Call" and ir.called(node) in _POINTERS:
            node = node.args[0]
        return node

    def _locate(self, node: Any, mask: np.ndarray) -> tuple[Any, np.ndarray]:
        """The array and the offset that a pointer points at; the address is evaluated."""
        if ir.kind(node) in ("Var", "SizeVar"):
            before = self.counts.copy(), self.issued.copy()
            found = self._locate(self._pointers[ir.key(node)], mask)
            # It has been evaluated where it was named.
            self.counts, self.issued = before
            return found
        if ir.kind(node) == "Call" and ir.called(node) == "tvm_access_ptr":
            buffer = self._buffer_of(node.args[1])
            return buffer, np.where(mask, self._full(self._value(node.args[2], mask).numbers), 0)
        load = self._target(node)
        if ir.kind(load) not in _LOADS:
            raise RefusedError(f"a pointer of the form {ir.kind(load)}")
        buffer = ir.buffer_of(load)
        return buffer, self._position(load.indices, buffer, mask)

    def _buffer_of(self, data: Any) -> Any:
        if ir.kind(data) == "Call":
            return data.args[0]
        for buffer in getattr(self._func, "buffer_map", {}).values():
            if ir.key(buffer.data) == ir.key(data):
                return buffer
        raise RefusedError("data of an array that is no parameter")

    def _thread(self) -> np.ndarray:
        return np.arange(self._size) % self._threads

    def _call(self, name: str, node: Any, arguments: list, mask: np.ndarray) -> Value:
        if name in ir.CHOICES:
            return self._choice(arguments, mask)
        if name in _CALLED:
            return self._operator(_CALLED[name], *arguments, mask)
        if name in ("likely", "reinterpret"):
            return self._value(arguments[0], mask)
        if name == "tl.launch_thread_idx":
            return Value(self._tags.get(ir.THREADS[int(ir.constant(arguments[0]))], 0))
        number = self._number(name, arguments)
        if number is not None:
            return Value(number)
        if name in _FUNCTIONS:
            self._value(arguments[0], mask)
            self._count(ir.dtype(node), mask)
            return Value(0, True)
        if name in ("popcount", "tl.__ffs"):
            inner = self._value(arguments[0], mask)
            if inner.is_data:
                self._count("int32", mask)
            return Value(_ones(self._full(inner.numbers)), inner.is_data)
        if "atomic" in name:
            return self._atomic(name, arguments, mask)
        if re.fullmatch(r"tl\.(ldg|stg)\d+|tl\.__ldg|cuda\.ldg", name):
            return self._wide(name, arguments, mask)
        if self._is_pointer(node):
            self._locate(node, mask)
            return Value(0)
        if name in ("call_extern", "call_pure_extern"):
            inner = [self._value(one, mask) for one in arguments[1:]]
            mixed = sum(self._full(one.numbers) * 2654435761 for one in inner)
            return Value((mixed + 12345) % 4093, True)
        exchanged = self._exchanged(name, arguments, mask)
        if exchanged is not None:
            return exchanged
        if _SILENT.fullmatch(name):
            return Value(0)
        raise RefusedError(f"the call {name}")

    def _choice(self, arguments: list, mask: np.ndarray) -> Value:
        condition = self._value(arguments[0], mask)
        holds = self._full(condition.numbers).astype(bool)
        then = self._value(arguments[1], mask & holds)
        other = self._value(arguments[2], mask & ~holds)
        chosen = np.where(holds, self._full(then.numbers), self._full(other.numbers))
        return Value(chosen, condition.is_data or then.is_data or other.is_data)

    def _number(self, name: str, arguments: list) -> Any:
        """A number of the thread, its warp or its group; None for other calls."""
        thread = self._thread()
        if name == "cuda.thread_rank":
            return thread
        if name == "tl.tl_shuffle_elect":
            group = int(ir.constant(arguments[0]))
            return np.equal(thread % group if group else thread, 0)
        if name in ("cuda.elect_sync", "ptx.elect_sync"):
            return np.equal(thread % WARP, 0)
        if name in ("tvm_warp_activemask", "cuda.__activemask"):
            return (1 << WARP) - 1
        if name == "tl.get_lane_idx":
            return thread % WARP
        if name in ("tl.get_warp_idx", "tl.get_warp_idx_sync"):
            return thread // WARP
        return thread // (4 * WARP) if name == "tl.get_warp_group_idx" else None

    def _atomic(self, name: str, arguments: list, mask: np.ndarray) -> Value:
        buffer, position = self._locate(arguments[0], mask)
        dtype = str(buffer.dtype)
        if "atomic_load" in name:
            return self._element(buffer, position, mask)
        self._value(arguments[1], mask)
        if "atomic_store" in name:
            self._touch(buffer, position, "write", mask)
            return Value(0)
        if not ir.floating(dtype) or re.search("add|max|min", name):
            self._count(dtype, mask)
        self._touch(buffer, position, "atomic", mask)
        # Each thread gets another number, in the order of the threads.
        return Value(np.cumsum(mask) - 1, True)

    def _wide(self, name: str, arguments: list, mask: np.ndarray) -> Value:
        """``ldg128(pointer[, predicate])``, ``stg128(pointer, value[, predicate])``."""
        buffer, position = self._locate(arguments[0], mask)
        found = re.search(r"(ldg|stg)(\d+)", name)
        lanes = int(found.group(2)) // ir.width(str(buffer.dtype)) if found else 1
        is_store = found is not None and found.group(1) == "stg"
        if is_store:
            self._value(arguments[1], mask)
        if len(arguments) > 1 + is_store:
            mask = mask & self._full(self._value(arguments[1 + is_store], mask).numbers).astype(
                bool
            )
        if is_store:
            self._touch(buffer, position, "write", mask, lanes)
            return Value(0, True)
        return self._element(buffer, position, mask, lanes)

    def _exchanged(self, name: str, arguments: list, mask: np.ndarray) -> Value | None:
        """A shuffle or a vote of a warp; None for other calls."""
        if name in ("tl.any_sync", "tl.all_sync", "cuda.any_sync"):
            holds = self._full(self._value(arguments[1], mask).numbers).astype(bool)
            voters = (holds if "any" in name else ~holds) & mask
            warps = np.arange(self._size) // WARP
            some = np.bincount(warps, voters, int(warps[-1]) + 1) > 0
            return Value(some[warps] if "any" in name else ~some[warps], True)
        found = re.fullmatch(
            r"tl\.shfl_(xor_|down_|up_|)sync|tvm_warp_shuffle(_xor|_down|_up|)", name
        )
        if found is None:
            return None
        kind = (found.group(1) or found.group(2) or "").strip("_")
        value, by = (self._value(one, mask) for one in arguments[1:3])
        lane = np.arange(self._size) % WARP
        amount = self._full(by.numbers)
        source = {"xor": lane ^ amount, "down": lane + amount, "up": lane - amount}.get(
            kind, amount
        )
        source = np.where((source < 0) | (source >= WARP), lane, source)
        base = np.arange(self._size) - lane
        return Value(self._full(value.numbers)[base + source], value.is_data)


def _ones(numbers: np.ndarray) -> np.ndarray:
    return np.asarray([bin(int(number)).count("1") for number in numbers])
