"""What a kernel computes, in sizes: the input of the library of structures.

A job is recognised by what is counted exactly, not by how the kernel is written. What is not
recognised has no headroom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tirlens.model import Workload
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens.model.tree.context import dtype_bytes
from tirlens_worker.facts import Buffer, While

#: The types of the operands of a product for which matrix units add in float32 or int32.
_NARROW = ("float16", "bfloat16", "float8", "int8", "uint8")
#: A product with fewer rows or columns is no job for tiles: its larger matrix is only read.
_LEAST_SIZE = 16
#: The arrays of the first and last steps of a product (a bias, scales) are below this share.
_FEW = 0.02
#: A kernel that computes no more than this share besides its product is a product.
_FEW_OPERATIONS = 0.05
# Exchanges of threads, and indices: of the way, not of the job.
_OF_THE_WAY = frozenset({"shuffle", "place", "cast"})


@dataclass(frozen=True)
class Product:
    """``C[b, m, n] = sum of A[b, m, k] * B[b, k, n] over k`` for operands of type `dtype`."""

    batch: int
    m: int
    n: int
    k: int
    dtype: str
    result: str


@dataclass(frozen=True)
class Pass:
    """So many bytes are read, so many written, and operations on data computed between.

    `operations` are the numbers of all operations, by their name and type.
    """

    read_bytes: int
    written_bytes: int
    operations: tuple[tuple[str, str, int], ...]


Job: TypeAlias = Product | Pass


def job_of(workload: Workload) -> Job | None:
    """The job of a kernel; None where it is not known.

    It is a product if the sizes of its arrays and the number of its multiplications are those of
    one, and a pass if it has no matrix products. Its bytes must be exact.
    """
    footprint = workload.counted.footprint
    if footprint is None or not footprint.elements.exact or footprint.elements.bounded:
        return None
    if any(isinstance(node, While) for node in walk_nodes(workload.facts.body)):
        return None
    operations = _operations(workload)
    if operations is None:
        return None
    found = footprint.elements
    multiplications = sum(count for (op, _), count in operations.items() if op in ("mma", "fma"))
    product = _product(found.read, found.written, workload.buffers, multiplications)
    if product is not None:
        others = sum(count for (op, _), count in operations.items() if op not in ("mma", "fma"))
        return product if others <= _FEW_OPERATIONS * multiplications else None
    if any(op == "mma" for op, _ in operations) or not found.written:
        return None
    numbers = tuple(sorted((*name, count) for name, count in operations.items()))
    return Pass(sum(found.read.values()), sum(found.written.values()), numbers)


def _operations(workload: Workload) -> Mapping[tuple[str, str], int] | None:
    """The numbers of operations on data by name and type; None where one is not known."""
    found: Counter[tuple[str, str]] = Counter()
    for statement in workload.counts.statements():
        for one in statement.arith:
            arith = one.arith
            if arith.index or arith.op in _OF_THE_WAY:
                continue
            count = one.total if one.useful is None else one.useful
            if count is None or arith.op.startswith("unknown:"):
                return None
            found[arith.op, arith.dtype] += count
    return found


def _product(
    read: Mapping[str, int],
    written: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    multiplications: int,
) -> Product | None:
    """The product whose arrays have these bytes.

    ``|A| = b m k``, ``|B| = b k n``, ``|C| = b m n`` and ``b m n k`` multiplications give the four
    sizes.
    """
    largest = sorted(read, key=lambda name: -read[name])[:2]
    main = [name for name in buffers if name in largest]
    results = sorted(written, key=lambda name: -written[name])[:1]
    if len(main) < 2 or not results or results[0] in main or not multiplications:
        return None
    whole = sum(read.values()) + sum(written.values())
    if whole - sum(read[name] for name in main) - written[results[0]] > _FEW * whole:
        return None
    types = {buffers[name].dtype for name in main}
    dtype = types.pop()
    if types or not dtype.startswith(_NARROW):
        return None
    result = buffers[results[0]].dtype
    a, b = (int(read[name] // dtype_bytes(dtype)) for name in main)
    c = int(written[results[0]] // dtype_bytes(result))
    m, n, k = (multiplications // size for size in (b, a, c))
    if min(m, n, k) < _LEAST_SIZE:
        return None
    batch = a // (m * k)
    if (batch * m * k, batch * k * n, batch * m * n) != (a, b, c):
        return None
    return Product(batch, m, n, k, dtype, result) if batch * m * n * k == multiplications else None
