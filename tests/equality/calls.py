"""Calls inside a thread's program, and the indices of blocks and threads that it can ask for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from equality import language as ir
from equality.accesses import LEVELS, POINTERS
from equality.collectives import Collectives
from equality.language import RefusedError
from equality.points import UNKNOWN, Points

#: Order in time, hints and moves within a block's own memories: no FLOP, no global byte.
_SILENT = re.compile(
    r"(tvm_storage_sync|tvm_fill_fragment|mma_fill(_legacy)?|ptx_(commit|wait)_group|prefetch"
    r"|ptx_(wait|arrive|init|cp_async)_barrier\w*|print_buffer"
    r"|tl\.(sync_\w+|syncthreads\w*|mbarrier_\w+|ptx_fence_\w+|ptx_arrive_\w+"
    r"|ptx_cp_async_barrier_noinc|named_barrier_arrive|fence_proxy_async|tma_store_(arrive|wait)"
    r"|tcgen05_(before|after)_thread_sync|tcgen05_(mma_arrive|ld|st)|wait_wgmma|warpgroup_\w+"
    r"|cluster_\w+|pdl_\w+|get_mbarrier|create_list_of_mbarrier|clc_\w+|annotate_\w+"
    r"|(no_)?set_max_nreg|conflict_hint|initialize_\w+_descriptor|increase_descriptor_offset"
    r"|prefetch_tma_descriptor|(ptx_)?deallocate_\w+|ptx_init_tensor_memory|device_assert\w*"
    r"|ptx_tcgen05_(cp_warpx4|sf_warp_transpose)|rng_init)"
    r"|cuda\.((cta|warp|warpgroup|cluster|grid)_sync|thread_fence|mbarrier_wait\w*|nano_sleep"
    r"|printf|trap\w*)"
    r"|ptx\.(mbarrier_\w+|bar_\w+|barrier_\w+|fence\w*|cp_async_(commit|wait)\w*"
    r"|wgmma_(fence|commit_group|wait_group|noop_barrier)|setmaxnreg|griddepcontrol\w*"
    r"|tcgen05_(wait|commit|fence|alloc|dealloc|relinquish|ld|st)\w*))"
)
_MATRIX_MOVES = re.compile(r"(tl\.)?ptx(_legacy)?[._](ld|st)matrix\w*")
#: What reads or writes shared memory at places that descriptors tell, not arguments.
_BY_DESCRIPTOR = re.compile(
    r".*(wgmma_(sp_)?ss|wgmma_(sp_)?rs|tcgen05_cp|sf_warp_transpose|tma_).*"
)
#: Products of matrices whose shape stands in their arguments, by how many threads execute one.
_PRODUCTS = (
    (re.compile(r"ptx_mma(_sp)?|ptx_legacy\.mma|ptx\.mma(_\w+)?|tl\.ptx_mma_sm70"), 32),
    (re.compile(r"tl\.ptx_wgmma_(sp_)?(ss|rs)"), 128),
)
_TYPES = {
    "fp16": "float16", "f16": "float16", "bf16": "bfloat16", "fp32": "float32", "f32": "float32",
    "tf32": "float32", "fp64": "float64", "f64": "float64", "s8": "int8", "u8": "uint8",
    "s4": "int4", "u4": "uint4", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}  # fmt: skip


class Calls(Collectives):
    """Calls by name."""

    #: How many threads a block has, and which array each data pointer belongs to.
    threads: int
    holders: dict[int, Any]
    nodes: list[Any]

    NUMBERS_OF_THREADS = ir.words(
        "tl.get_lane_idx tl.get_warp_idx tl.get_warp_idx_sync tl.get_warp_group_idx "
        "tl.tl_shuffle_elect cuda.elect_sync ptx.elect_sync"
    )

    def call(self, name: str, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        if name == "tl.launch_thread_idx":
            tag = ir.THREADS[int(ir.constant(node.args[0]) or 0)]
            return at.columns.get(tag, 0), False
        if name == "tl.block_rank_in_cluster":
            return self.rank_in_cluster(at), False
        if name in self.NUMBERS_OF_THREADS:
            return self._number(name, node, at), False
        if name.startswith("tl.atomic_"):
            return self._atomic(name, node, at, times)
        if name == "cuda.atomic_add":
            self.locate(node.args[0], at, times)
            target = self.region(node.args[0], at)
            target = target._replace(sizes=[1] * len(target.sizes))
            self.value(node.args[1], at, times)
            self._count("add", str(target.buffer.dtype), at, times)
            self.touch_alone(node, target, "atomic", at, times)
            return UNKNOWN, True
        if name in ("tl.ptx_cp_async", "tl.cp_async"):
            return self._async_copy(node, at, times)
        if name in (*POINTERS, "tvm_access_ptr"):
            self.locate(node, at, times)
            return UNKNOWN, False
        if name == "assume":
            # A promise to the compiler, which evaluates nothing of it (TVM's RemoveAssume).
            holds, _ = self.value(node.args[0], at, 0)
            if holds is not UNKNOWN and not at.full(holds).all():
                raise RefusedError("sizes that T.assume rules out")
            return UNKNOWN, False
        if name == "tl.clamp":
            for argument in node.args:
                self.value(argument, at, times)
            self._count("min", ir.dtype(node), at, times)
            self._count("max", ir.dtype(node), at, times)
            return UNKNOWN, True
        if name in ("tl.any_of", "tl.all_of"):
            box = self.region(node.args[0], at)
            elements = self.known(node.args[1], at) if len(node.args) > 1 else box.sizes[-1]
            self.touch_box(box._replace(sizes=[*box.sizes[:-1], elements]), "read", at, times)
            return UNKNOWN, True
        if name == "tl.reducer_update":
            return self._contribution(node, at, times)
        wide = re.fullmatch(r"tl\.(ldg|stg)(\d+)", name)
        if wide is not None:
            return self._wide(wide.group(1) == "stg", int(wide.group(2)), node, at, times)
        if name == "tvm_warp_shuffle":
            return self.shuffled(node, at, times)
        if name == "tvm_thread_allreduce":
            return self.reduced_by_threads(node, at, times)
        exchange = re.fullmatch(r"tl\.warp_reduce_(sum|max|min|bitand|bitor)", name)
        if exchange is not None:
            return self.reduced_by_warp(exchange.group(1), node, at, times)
        if _BY_DESCRIPTOR.fullmatch(name):
            self.tally.unsaid.add("shared")
        if _MATRIX_MOVES.fullmatch(name):
            return self._matrices(name, node, at, times)
        for pattern, lanes in _PRODUCTS:
            if pattern.fullmatch(name):
                return self._instruction(name, node, at, times, lanes)
        if name == "tvm_mma_sync":
            return self._fragments(node, at, times)
        if name in ("tvm_load_matrix_sync", "tvm_store_matrix_sync"):
            return self._fragment_move(node, at)
        if hasattr(self, "_tile_" + name.replace(".", "_")):
            self.tile(name, node, at, times)
            return UNKNOWN, True
        if name in ("tl.__ldg",):
            self.locate(node.args[0], at, times)
            self.touch_alone(node, self.region(node.args[0], at), "read", at, times)
            return UNKNOWN, True
        if _SILENT.fullmatch(name):
            return UNKNOWN, False
        raise RefusedError(f"the call {name}")

    def _number(self, name: str, node: Any, at: Points) -> Any:
        thread: Any = 0
        for tag in reversed(ir.THREADS):
            if tag in at.columns:
                thread = thread * int(np.max(at.columns[tag]) + 1) + at.columns[tag]
        if name == "tl.tl_shuffle_elect":
            group = int(ir.constant(node.args[0]))
            return (thread % group == 0) if group else np.equal(thread, 0)
        if any(ir.constant(argument) is None for argument in node.args):
            raise RefusedError(f"{name} of a computed size")
        size = int(ir.constant(node.args[0])) if len(node.args) else 32
        if name.endswith("elect_sync"):
            return np.equal(thread % 32, 0)
        if name == "tl.get_lane_idx":
            return thread % size
        if name == "tl.get_warp_group_idx":
            return thread // (size * (int(ir.constant(node.args[1])) if len(node.args) > 1 else 4))
        return thread // size

    def _atomic(self, name: str, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        found = re.fullmatch(
            r"tl\.atomic_(add|max|min|or|and|load|store)(x2|x4)?(_ret)?_elem_op", name
        )
        if found is None:
            raise RefusedError(f"the call {name}")
        at = self._in_arrays(node, found, at)
        if not at.size:
            return UNKNOWN, True
        self.locate(node.args[0], at, times)
        box = self.region(node.args[0], at)
        lanes = int(found.group(2)[1:]) if found.group(2) else 1
        box = box._replace(sizes=[*box.sizes[:-1], lanes])
        dtype = str(box.buffer.dtype)
        if lanes == 1:
            for argument in node.args[1:2]:
                self.value(argument, at, times)
        else:
            self.locate(node.args[1], at, times)
            source = self.region(node.args[1], at)
            source = source._replace(sizes=[*source.sizes[:-1], lanes])
            self.touch_alone(node.args[1], source, "read", at, times)
        mode = {"load": "read", "store": "write"}.get(found.group(1), "atomic")
        if mode == "atomic":
            operation = {"or": "bitwise", "and": "bitwise"}.get(found.group(1), found.group(1))
            self.tally.operation(operation, dtype, at.size * times * lanes)
        self.touch_alone(node, box, mode, at, times)
        return UNKNOWN, True

    def _in_arrays(self, node: Any, found: Any, at: Points) -> Points:
        """tilelang leaves out an update if anything it names lies behind the end of its array.

        LegalizeSafeMemoryAccess; where the result is used, by the target alone, and not at all for
        operations on bits.
        """
        if found.group(1) in ("or", "and"):
            return at
        for part in ir.everything(node.args[0] if found.group(3) else node):
            if ir.kind(part) in ("BufferLoad", "TensorLoad"):
                buffer = ir.buffer_of(part)
                if ir.scope_of(buffer) == "global":
                    at = at.take(self.inside(buffer, part.indices, at))
        return at

    def _wide(
        self, writing: bool, bits: int, node: Any, at: Points, times: int
    ) -> tuple[Any, bool]:
        """``ldg128(pointer[, predicate])`` and ``stg128(pointer, value[, predicate])``."""
        if writing:
            self.value(node.args[1], at, times)
        self.locate(node.args[0], at, times)
        if len(node.args) > 1 + writing:
            at = at.take(at.full(self.known(node.args[1 + writing], at)).astype(bool))
        box = self.region(node.args[0], at)
        lanes = bits // ir.width(str(box.buffer.dtype))
        box = box._replace(sizes=[*box.sizes[:-1], lanes])
        self.touch_alone(node, box, "write" if writing else "read", at, times)
        return UNKNOWN, True

    def _async_copy(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """``ptx_cp_async(target, source, elements[, predicate])``."""
        for pointer in node.args[:2]:
            self.locate(pointer, at, times)
        if len(node.args) > 3:
            at = at.take(at.full(self.known(node.args[3], at)).astype(bool))
        target, source = self.region(node.args[0], at), self.region(node.args[1], at)
        elements = self.known(node.args[2], at)
        for box, mode in ((source, "read"), (target, "write")):
            self.touch_box(box._replace(sizes=[*box.sizes[:-1], elements]), mode, at, times)
        return UNKNOWN, True

    def _contribution(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """``reducer_update(element, value)``: the value is combined with the element."""
        self.value(node.args[1], at, times)
        buffer = ir.buffer_of(node.args[0])
        operation = self.reducers.get(str(buffer.name))
        if operation is None:
            raise RefusedError("a reducer of an unknown kind")
        self._count(operation, str(buffer.dtype), at, times)
        return UNKNOWN, True

    def _instruction(
        self, name: str, node: Any, at: Points, times: int, lanes: int
    ) -> tuple[Any, bool]:
        """A product with its shape, such as ``m16n8k16``, and its types among the arguments.

        PTX names the types of D, A, B, C; tilelang and the older calls those of A, B, C, and
        tilelang's wgmma that of the accumulator first.
        """
        words = [
            part
            for word in map(ir.constant, node.args)
            if isinstance(word, str)
            for part in word.split(".")
        ]
        shape = next(filter(None, (re.search(r"m(\d+)n(\d+)k(\d+)", word) for word in words)), None)
        types = [_TYPES.get(word, re.sub(r"x\d+$", "", word)) for word in words]
        types = [word for word in types if re.fullmatch(r"b?(float|int|uint)\d+\w*", word)]
        if shape is None or not types:
            raise RefusedError("a product without a shape")
        result_first = name.startswith(("ptx.mma", "tl.ptx_wgmma")) and len(types) > 1
        m, n, k = map(int, shape.groups())
        dtype, sparsity = types[1] if result_first else types[0], 2 if "_sp" in name else 1
        self._product(dtype, m * n * k, at, times, lanes, sparsity)
        return UNKNOWN, True

    def _product(
        self, dtype: str, work: int, at: Points, times: int, lanes: int, sparsity: int = 1
    ) -> None:
        """`work` multiply-accumulates by `lanes` threads, or by all if a block has fewer."""
        lanes = min(lanes, self.threads)
        if at.size * times % lanes:
            raise RefusedError("a product by part of a warp")
        self.tally.operation("mma", dtype, work * (at.size * times // lanes), sparsity)

    def _matrices(self, name: str, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """8x8 matrices of 16-bit elements, of which each lane moves 4 bytes: ``x4``, or 4."""
        words = [ir.constant(part) for part in node.args]
        # The legacy form begins with the type, which the node itself has in older versions.
        number = words[2 if isinstance(words[0], str) else 1]
        if number is None:
            raise RefusedError(f"{name} of a computed number")
        number = int(str(number).strip(".x"))
        mode = "read" if "ldmatrix" in name else "write"
        for pointer in node.args:
            if ir.kind(pointer) == "Call" and ir.called(pointer) in (*POINTERS, "tvm_access_ptr"):
                box = self.region(pointer, at)
                if LEVELS.get(box.scope) == "shared":
                    where = "shared", str(self._holder(box.buffer).name), mode
                    self.tally.issued[where] += 32 * number * at.size * times
                    return UNKNOWN, False
        raise RefusedError(f"{name} of no shared array")

    def _fragments(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        """``tvm_mma_sync(D, d, A, a, B, b, C, c)``; the shape is told where A is loaded."""
        a = self.region(node.args[2], at).buffer
        shape = self._shapes().get(ir.key(a))
        if shape is None:
            raise RefusedError("a fragment that is never loaded")
        self._product(str(a.dtype), shape[0] * shape[1] * shape[2], at, times, 32)
        return UNKNOWN, True

    def _shapes(self) -> dict[int, tuple[int, ...]]:
        """The m, n and k of each fragment."""
        found = {}
        for node in self.nodes:
            if ir.kind(node) == "Call" and ir.called(node) in (
                "tvm_load_matrix_sync",
                "tvm_fill_fragment",
            ):
                data = node.args[0]
                buffer = data.args[0] if ir.kind(data) == "Call" else self.holders.get(ir.key(data))
                if buffer is not None:
                    found[ir.key(buffer)] = tuple(int(ir.constant(n)) for n in node.args[1:4])
        return found

    def _fragment_move(self, node: Any, at: Points) -> tuple[Any, bool]:
        pointer = node.args[5]
        if ir.kind(pointer) == "Call" and ir.called(pointer) == "tvm_access_ptr":
            pointer = pointer.args[1]
        if self.region(pointer, at).scope == "global":
            raise RefusedError("a fragment in global memory")
        self.tally.unsaid.add("shared")
        return UNKNOWN, False
