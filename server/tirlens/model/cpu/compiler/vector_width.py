"""Vector widths: the elements of one instruction, type legalization, and the vector epilogue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tirlens.hardware.spec import Device

from ...constants import constant
from .loop_nests import Nest
from .statements import NestStatement, operations_per_execution
from .unrolling import BACKEDGE_INSTRUCTIONS, UNROLL_THRESHOLD_INSTRUCTIONS
from .vectorization import has_gaps

ELEMENT_COPY_INSTRUCTIONS = constant(
    "ELEMENT_COPY_INSTRUCTIONS",
    1.5,
    kind="fitted",
    unit="instructions",
    meaning=(
        "Instructions that extract an element from a vector and insert it into another, by "
        "LLVM's count."
    ),
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
MIN_EPILOGUE_ELEMENTS = constant(
    "MIN_EPILOGUE_ELEMENTS",
    16,
    kind="compiler",
    unit="elements",
    meaning="Elements of a vector from which its epilogue is vectorized too.",
    source="llvm LoopVectorize.cpp, epilogue-vectorization-minimum-VF",
)


@dataclass(frozen=True)
class VectorWidth:
    """How the executions of a statement are grouped into instructions.

    Attributes
    ----------
    elements
        Executions of the statement in one vector.
    registers
        Registers, and thus instructions, of one vector.
    kind
        ``narrow``: single elements, and vectors of at most half the width at which the compiler
        vectorizes.  ``vector``: vectors of that width.  ``wide``: the widest registers, where the
        compiler does not use them by itself.
    """

    elements: float
    registers: float
    kind: Literal["narrow", "vector", "wide"]

    @property
    def is_wide(self) -> bool:
        """Whether it needs registers that the compiler does not use by itself."""
        return self.kind == "wide"


SCALAR = VectorWidth(1, 1, "narrow")


def width_of(statement: NestStatement, nest: Nest, device: Device) -> VectorWidth:
    """The width of a statement's vectors: explicit ones, those of the compiler, or none."""
    core = device.cpu
    assert core is not None
    element_bytes = statement.element_bits / 8
    if statement.lanes > 1:
        vector_bytes = statement.lanes * element_bytes
        if vector_bytes <= core.vector_bytes:
            kind = "narrow" if vector_bytes <= core.vector_bytes / 2 else "vector"
            return VectorWidth(statement.lanes, 1, kind)
        registers = math.ceil(vector_bytes / device.simd_bytes)
        kind = "wide" if device.simd_bytes > core.vector_bytes else "vector"
        return VectorWidth(statement.lanes, registers, kind)
    elements = max(core.vector_bytes / element_bytes, 1)
    if nest.is_vectorized:
        return loop_vector_width(elements, nest.trip_count, nest.is_contiguous)
    return loop_vector_width(elements, _contiguous_constants(statement), is_contiguous=False)


def _contiguous_constants(statement: NestStatement) -> int:
    """Contiguous elements that the unrolled copies of a statement set to a constant; at least 1.

    LLVM stores zeros with one ``memset`` (``LoopIdiomRecognize``), and other constants as vectors
    (``SLPVectorizer``).
    """
    if statement.reads or statement.node.count.arith or not statement.inner_loops:
        return 1
    last = statement.inner_loops[-1]
    is_contiguous = all(
        statement.stride_bytes(write, last.var) == write.access_bytes for write in statement.writes
    )
    return last.trip_count if is_contiguous else 1


def loop_vector_width(elements: float, trip_count: int, is_contiguous: bool) -> VectorWidth:
    """The width that the compiler selects for a loop: a power of two of its iterations.

    For contiguous accesses one vector costs as much as one remaining iteration, and of equal costs
    the wider vector wins (LLVM's ``LoopVectorize``, ``isMoreProfitable`` with a known trip count).

    Parameters
    ----------
    elements
        Elements of the widest vector that the compiler uses.
    trip_count
        Iterations of the loop.
    is_contiguous
        Whether all accesses are contiguous.
    """
    most = min(int(math.log2(max(elements, 1))), max(trip_count, 1).bit_length() - 1)
    candidates = [2**power for power in range(most, 0, -1)]
    if is_contiguous:
        candidates.sort(key=lambda size: trip_count // size + trip_count % size)
    best = candidates[0] if candidates else 1
    return VectorWidth(best, 1, "narrow" if best <= elements / 2 else "vector")


def epilogue_iterations(nest: Nest, lanes: int) -> tuple[int, int]:
    """Half-width vectors, and single iterations, that a vectorized loop runs after its vectors.

    A loop whose vectors load unneeded elements runs its last iterations as single ones, because a
    vector could read past the end of an array (LLVM's ``requiresScalarEpilogue``).

    Parameters
    ----------
    nest
        A nest with a vectorized loop.
    lanes
        Elements of its vectors.
    """
    assert nest.loop is not None
    left = nest.trip_count % max(lanes, 1)
    needs_scalar = any(has_gaps(nest.loop, one, nest.statements) for one in nest.statements)
    if not left and needs_scalar:
        left = lanes
    if lanes < MIN_EPILOGUE_ELEMENTS:
        return 0, left
    halves, left = divmod(left, lanes // 2)
    return (halves - 1, lanes // 2) if halves and not left and needs_scalar else (halves, left)


def legal_accesses(elements: int, registers: int) -> int:
    """Loads or stores of a vector of `elements` in `registers`.

    The part of the vector that fills no register is accessed in powers of two (LLVM's
    ``GenWidenVectorLoads``).
    """
    size = 2 ** math.ceil(math.log2(elements / registers))
    rest = elements % size
    return registers - 1 + bin(rest).count("1") if rest else registers


def scalarized_elements(
    statement: NestStatement, nest: Nest, register_bytes: int, unrolled_instructions: int
) -> float:
    """Elements of explicit vectors that a loop carries one by one, over the whole launch.

    Loop-carried vectors are scalarized if their number of elements is no power of two, because no
    register has that type (LLVM's ``TargetLowering::getVectorTypeBreakdown``).

    Parameters
    ----------
    statement, nest
        The statement and its nest.
    register_bytes
        The width of the widest registers.
    unrolled_instructions
        Instructions up to which the compiler repeats the body of a loop.
    """
    if (
        nest.loop is None
        or not statement.lanes & (statement.lanes - 1)
        or is_unrolled_late(nest, register_bytes)
    ):
        return 0.0
    carried = [write for write in statement.writes if statement.reads_back(write)]
    if not any(nest.loop.var not in write.variables for write in carried):
        return 0.0
    copies = math.prod(
        loop.trip_count
        for loop in statement.inner_loops
        if not any(loop.var in write.variables for write in carried)
    )
    return statement.executions / copies / _unroll_factor(nest, unrolled_instructions)


def _unroll_factor(nest: Nest, unrolled_instructions: int) -> int:
    """Iterations that LLVM unrolls into one: a divisor of the trip count.

    Source: ``computeUnrollCount`` in LoopUnrollPass.cpp.
    """
    executions = sum(statement.executions_per_iteration for statement in nest.statements)
    body = ELEMENT_COPY_INSTRUCTIONS * executions
    most = max(min(int(unrolled_instructions / body), nest.trip_count), 1)
    return next(count for count in range(most, 0, -1) if not nest.trip_count % count)


def is_unrolled_late(nest: Nest, register_bytes: int) -> bool:
    """Whether LLVM unrolls a loop of explicit vectors in full after vectorization.

    It decides again when only a counter remains of the loop's address computations.
    """
    body = sum(
        statement.executions_per_iteration
        / statement.lanes
        * _legal_instructions(statement, register_bytes)
        for statement in nest.statements
    )
    total = nest.trip_count * (body + 1) + BACKEDGE_INSTRUCTIONS
    return total < UNROLL_THRESHOLD_INSTRUCTIONS


def _legal_instructions(statement: NestStatement, register_bytes: int) -> float:
    """Instructions of one execution of a statement with all its lanes.

    A vector has as many elements as the next power of two.  Elements that are not contiguous are
    loaded and inserted one by one.
    """
    elements = 2 ** math.ceil(math.log2(statement.lanes))
    registers = math.ceil(elements * statement.element_bits / 8 / register_bytes)
    lane = statement.lane_variable
    strides = [
        statement.stride_bytes(read, lane) if lane else 0
        for read in statement.reads
        if not statement.accumulates(read)
    ]
    vector_strides = (0, statement.element_bits // 8)
    loads = sum(
        registers if stride in vector_strides else 2 * statement.lanes for stride in strides
    )
    return registers * operations_per_execution(statement.node) + loads
