"""What a kernel computes, in sizes: the input of the library of structures.

A job is recognised by what is counted exactly, not by how the kernel is written. What is not
recognised has no headroom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
_EXPONENTIALS = ("exp", "exp2")
#: Of an attention: the exponentials of scores, with those that rescale sums, over the scores.
_FEW_RESCALED = 1.2
#: The least share of the keys that a causal mask leaves to the mean query.
_LEAST_SEEN = 0.45


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


@dataclass(frozen=True)
class Attention:
    """A weighted mean of the values of keys for each query, with a softmax of their products.

    `heads` are the pairs of a key and a value matrix, of `keys` rows each; `rows` are the queries
    of all heads that share one pair. Of the keys a query sees `seen_keys` in the mean: all, or half
    of them where the later ones are masked. `dim` is the length of a query, key and value.
    """

    heads: int
    rows: int
    keys: int
    seen_keys: float
    dim: int
    dtype: str


Job: TypeAlias = Product | Pass | Attention


def job_of(workload: Workload) -> Job | None:
    """The job of a kernel; None where it is not known.

    It is a product or an attention if the sizes of its arrays and the number of its operations are
    those of one, and a pass if it has no matrix products. Its bytes must be exact.
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
    on_matrix_units = sum(count for (op, _), count in operations.items() if op == "mma")
    if on_matrix_units:
        exponentials = sum(count for (op, _), count in operations.items() if op in _EXPONENTIALS)
        return attention_of(
            found.read, found.written, workload.buffers, on_matrix_units, exponentials
        )
    if not found.written:
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


def attention_of(
    read: Mapping[str, int],
    written: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    multiplications: int,
    exponentials: int,
) -> Attention | None:
    """The attention whose arrays have these bytes.

    A query has two products with a key and its value, ``2 dim`` multiplications, and an
    exponential. The rows are those of the arrays, whose last dimension is `dim`.
    """
    largest = sorted(read, key=lambda name: -read[name])[:3]
    results = sorted(written, key=lambda name: -written[name])[:1]
    if len(largest) < 3 or not results or results[0] in largest:
        return None
    whole = sum(read.values()) + sum(written.values())
    if whole - sum(read[name] for name in largest) - written[results[0]] > _FEW * whole:
        return None
    arrays = [buffers[name] for name in (*largest, results[0])]
    dtype = arrays[0].dtype
    dims = {one.shape[-1] if one.shape else None for one in arrays}
    dim = dims.pop()
    if dims or not isinstance(dim, int) or dtype_bytes(dtype) != 2:
        return None
    if any(one.dtype != dtype for one in arrays):
        return None
    row_bytes = dim * dtype_bytes(dtype)
    queries = int(written[results[0]] // row_bytes)
    others = sorted(int(read[name] // row_bytes) for name in largest)
    if queries not in others:
        return None
    others.remove(queries)
    scores = multiplications / (2 * dim)
    if others[0] != others[1] or not scores <= exponentials <= _FEW_RESCALED * scores:
        return None
    seen_keys = scores / queries
    keys = _keys(arrays[:3], others[0], seen_keys)
    if keys is None or queries % (others[0] // keys):
        return None
    heads = others[0] // keys
    rows = queries // heads
    return Attention(heads, rows, keys, seen_keys, dim, dtype) if rows >= _LEAST_SIZE else None


def _keys(arrays: Sequence[Buffer], key_rows: int, seen_keys: float) -> int | None:
    """The rows of one key matrix: the dimension of an array of which a query sees enough.

    None where that could be said of several, such as the length and the number of heads.
    """
    sizes = {size for one in arrays for size in (one.shape or ())[:-1] if isinstance(size, int)}
    fitting = {
        size for size in sizes if key_rows % size == 0 and _LEAST_SEEN * size <= seen_keys <= size
    }
    if seen_keys in fitting:
        return int(seen_keys)
    return fitting.pop() if len(fitting) == 1 else None
