"""What compilers make of an atomic update: an instruction, one for a warp, or a loop.

nvcc 13.0 combines the lanes of a warp whose address does not depend on the thread: 32-bit integers
by REDUX (shuffles on sm_75), 64-bit integers where the value is a constant.  It combines no
floating-point values, and no lanes whose addresses are equal only at run time.  What the device has
no instruction for is a loop of a load, the operation, and a compare-and-swap that returns:
``atomicAdd`` of bfloat16 before sm_90, of half before sm_70, of double before sm_60 (CUDA C++
Programming Guide, "atomicAdd()"; ``cuda_bf16.hpp`` of CUDA 12.9), of 8- and 16-bit integers, and of
floating-point values in shared memory (LDS, FADD, ATOMS.CAS in nvcc's code for sm_75 to sm_90).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_worker.facts import Access

from ...constants import constant
from ...dtypes import bits, is_float
from ...report import CaveatNote
from ...tree.node import Leaf
from .instruction_costs import WORD_BITS

#: ``instruction``: one of each thread; ``combined``: one of a warp; ``increment``: one that counts
#: the lanes at each address (ATOMS.POPC.INC); ``loop``: of compare-and-swap.
AtomicForm = Literal["instruction", "combined", "increment", "loop"]

_FIRST_SM_WITH_SUMS = constant(
    "FIRST_SM_WITH_SUMS",
    {"bfloat16": 90, "float16": 70, "float64": 60},
    kind="isa",
    unit="architecture",
    meaning=(
        "The first architecture with an instruction for atomic sums of a floating-point type in "
        "global memory."
    ),
    source='CUDA C++ Programming Guide, "atomicAdd()"; PTX ISA, atom and red',
)
_COMBINED_OPERATIONS = frozenset(["add", "min", "max", "bitwise"])


def atomic_form(leaf: Leaf, access: Access, dtype: str, scope: str, arch: str) -> AtomicForm:
    """How an atomic access of a statement to an array of `dtype` in `scope` is executed.

    Architectures of other vendors are taken to have instructions for all types.
    """
    base = dtype.split("x")[0]
    operation = next((one.op for one in reversed(leaf.source.arith) if not one.index), "")
    if not is_float(base) and (bits(base) or 0) >= WORD_BITS:
        if _is_combined(leaf, access, operation, base):
            return "combined"
        counts = scope != "global" and operation == "add" and _has_constant_value(leaf, access)
        return "increment" if counts and bits(base) == WORD_BITS else "instruction"
    found = re.match(r"sm_(\d+)", arch)
    if found is None or operation == "compare":
        return "instruction"
    sm = int(found.group(1))
    if is_float(base):
        has_instruction = (
            scope == "global" and operation == "add" and sm >= _FIRST_SM_WITH_SUMS.get(base, 0)
        )
        # tilelang orders the bits of floats as those of integers for their extremes.
        has_instruction |= operation in ("min", "max") and base == "float32" and scope == "global"
        return "instruction" if has_instruction else "loop"
    return "loop"


def _is_combined(leaf: Leaf, access: Access, operation: str, dtype: str) -> bool:
    """Whether one lane updates memory with the combined values of its warp."""
    threads = {loop.var for loop in leaf.context.loops if loop.kind in ("block", "parallel")}
    indices = [leaf.context.resolve(index) for index in access.indices]
    if operation not in _COMBINED_OPERATIONS or any(map(is_data_dependent, indices)):
        return False
    if any(free_variables(index) & threads for index in indices):
        return False
    has_constant_value = _has_constant_value(leaf, access)
    return (bits(dtype) or 0) == WORD_BITS or (has_constant_value and operation == "add")


def _has_constant_value(leaf: Leaf, access: Access) -> bool:
    """Whether no array gives the value of an update."""
    return all(one.mode == "atomic" for one in leaf.source.accesses if one is not access)


def note_update_loops(leaves: Iterable[Leaf], arch: str) -> tuple[CaveatNote, ...]:
    """A caveat for each atomic update that is a loop of compare-and-swap on the device."""
    notes: dict[CaveatNote, None] = {}
    for leaf in leaves:
        for entry in leaf.count.accesses:
            if entry.access.mode != "atomic":
                continue
            dtype, scope = entry.buffer.dtype, entry.buffer.scope
            if atomic_form(leaf, entry.access, dtype, scope, arch) == "loop":
                where = "" if scope == "global" else " in shared memory"
                message = (
                    f"no atomic instruction for {dtype}{where} on {arch}: each update is a loop of "
                    "compare-and-swap, which other threads at the same address prolong"
                )
                if dtype in ("bfloat16", "float16"):
                    message += "; add in float32"
                sites = leaf.source.sites
                notes[CaveatNote(message, sites[0] if sites else None)] = None
    return tuple(notes)
