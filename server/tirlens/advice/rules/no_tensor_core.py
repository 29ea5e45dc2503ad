"""no-tensor-core: a half-precision product is summed on the scalar cores.

A statement that multiplies two loaded 16-bit or 8-bit values and adds the product to what it stores
is a matrix multiply-accumulate in all but name, where each operand serves a row or a column of
results: a product of a matrix and a vector, or of two rows, reads every value once and gains
nothing.  The rule counts it as one and asks the model what
the same data movement would take with the matrix units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Arith, KernelFacts, Node, Statement

NARROW = frozenset({"float16", "bfloat16", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"})


def check(question: Question) -> Iterator[Advice]:
    narrow = {buffer.id: buffer.dtype for buffer in question.facts.buffers}
    for statement, path in rewrite.statements(question.facts):
        dtype = _product_dtype(statement, narrow)
        if dtype is None or not statement.sites or not _is_matrix_product(statement, path):
            continue
        if f"tensor.{_peak_name(dtype)}" not in question.device.peaks:
            continue
        saving_s = question.saving_s(_with_matrix_units(question, statement, dtype))
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="no-tensor-core",
                span=statement.sites[0],
                severity="hint",
                message=f"{dtype} products run on the scalar cores; T.gemm uses the matrix units",
                saving_s=saving_s,
            )


def _peak_name(dtype: str) -> str:
    if dtype.startswith("float8"):
        return "float8"
    return "int8" if dtype.endswith("int8") else dtype


def _product_dtype(statement: Statement, dtypes: dict[str, str]) -> str | None:
    """The operands' dtype if the statement is ``c += a * b`` over two narrow buffers."""
    if statement.op != "store" or not {"mul", "add"} <= {one.op for one in statement.arith}:
        return None
    written = {access.buffer for access in statement.accesses if access.mode == "write"}
    read = {access.buffer for access in statement.accesses if access.mode == "read"}
    operands = {dtypes[buffer] for buffer in read - written if buffer in dtypes}
    if not written & read or len(read - written) != 2 or len(operands) != 1:
        return None
    dtype = operands.pop()
    return dtype if dtype in NARROW else None


def _is_matrix_product(statement: Statement, path: rewrite.Path) -> bool:
    """Whether each operand is used again along a loop that the other one and the result go with."""
    written = {access.buffer for access in statement.accesses if access.mode == "write"}
    moves: dict[str, frozenset[str]] = {}
    for access in statement.accesses:
        names = frozenset[str]().union(*map(free_variables, access.indices))
        moves[access.buffer] = moves.get(access.buffer, frozenset()) | names
    around = {loop.var for loop in path}
    result = frozenset[str]().union(*(moves[buffer] & around for buffer in written))
    first, second = (names & around for buffer, names in moves.items() if buffer not in written)
    return bool((first - second) & result and (second - first) & result and first & second - result)


def _with_matrix_units(question: Question, statement: Statement, dtype: str) -> KernelFacts:
    product = Arith(op="mma", dtype=dtype, accumulator="float32", count=1)

    def edit(node: Node) -> Node:
        return replace(node, arith=(product,)) if node == statement else node

    return rewrite.change(question.facts, edit)
