"""Counting agrees with running, on random kernels, without a tolerance."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from support import interpreter
from support.counts import compulsory_bytes, count
from support.generate import kernels
from support.properties import examples
from tirlens.model.counting.kernel_counts import NodeCount
from tirlens_worker.facts import Loop, Statement, While

Path = tuple[int, ...]


def by_path(nodes: tuple[NodeCount, ...], path: Path = ()) -> dict[Path, NodeCount]:
    found: dict[Path, NodeCount] = {}
    for index, item in enumerate(nodes):
        found[(*path, index)] = item
        found.update(by_path(item.children, (*path, index)))
    return found


def by_thread(item: NodeCount) -> bool:
    """Whether threads execute something in a node one by one, so that it is counted so too."""
    if isinstance(item.source, Statement):
        return item.source.per == "thread"
    return any(map(by_thread, item.children))


@examples(150)
@given(kernels())
def test_counts_equal_execution(case):
    facts, bindings = case
    tally = interpreter.run(facts, bindings)
    counts = count(facts, bindings)
    assert counts.needs == () and counts.caveats == ()
    for path, item in by_path(counts.root).items():
        if isinstance(item.source, Statement):
            assert item.executions == tally.executions[path]
            operations = Counter()
            for part in item.arith:
                operations[part.arith.op, part.arith.dtype] += part.total
            assert operations == tally.by_statement[path]
            sizes = Counter()
            for part in item.accesses:
                width = interpreter.bits(part.buffer.dtype)
                sizes[part.buffer.id, part.access.mode] += part.elements * width
                assert part.bytes == -(-part.elements * width // 8)
            assert sizes == tally.bits_by_statement[path]
        elif by_thread(item):
            assert item.executions == tally.reached[path]
            if isinstance(item.source, (Loop, While)):
                assert item.iterations == tally.iterations[path]


def touched_in_array(tally, buffer, units_of=lambda position: position):
    """Distinct elements read, and distinct elements written, that lie inside an array."""
    for touched in (tally.read[buffer.id], tally.written[buffer.id]):
        yield {
            units_of(position)
            for position in touched
            if all(0 <= i < size for i, size in zip(position, buffer.shape, strict=True))
        }


@examples(60)
@given(kernels())
def test_compulsory_bytes_are_distinct_elements_read_and_written(case):
    facts, bindings = case
    tally = interpreter.run(facts, bindings)
    expected = sum(
        -(-len(inside) * interpreter.bits(buffer.dtype) // 8)
        for buffer in facts.buffers
        for inside in touched_in_array(tally, buffer)
    )
    found = compulsory_bytes(facts, bindings)
    assert found is not None and found.exact and found.bytes == expected
    assert found.least_bytes <= found.bytes


@examples(60)
@given(kernels(), st.sampled_from([32, 64, 128]))
def test_compulsory_sectors_are_those_of_the_distinct_elements(case, sector_bytes):
    facts, bindings = case
    tally = interpreter.run(facts, bindings)
    expected = 0
    for buffer in facts.buffers:
        bits = interpreter.bits(buffer.dtype)

        def sector(position, shape=buffer.shape, bits=bits):
            flat = 0
            for index, size in zip(position, shape, strict=True):
                flat = flat * size + index
            return flat * bits // (8 * sector_bytes)

        for units in touched_in_array(tally, buffer, sector):
            expected += len(units) * sector_bytes
    found = compulsory_bytes(facts, bindings)
    assert found is not None
    sectors = found.in_sectors(sector_bytes)
    assert sectors.bytes == expected if sectors.exact else sectors.bytes >= expected
