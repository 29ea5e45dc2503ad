"""What the model counts in facts, in the terms of the reference executor, and where they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tirlens.model.counting.formulas import formulas
from tirlens.model.counting.kernel_counts import Counts, statement_counts
from tirlens.model.counting.operation_classes import FREE_OPS, INTEGER_OPS, sum_operations
from tirlens.model.gpu.mapping import map_threads
from tirlens.model.tree.thread_mapping import memory_space
from tirlens.model.workload import count_workload
from tirlens_worker.codec import from_json
from tirlens_worker.facts import Atomic, Evaluate, KernelFacts, Load, Store

#: The statements in which each thread reads and writes by itself, in instructions as written.
BY_ELEMENT = (Store, Evaluate, Load, Atomic)


class UnknownCountError(Exception):
    """The model itself says that it does not know."""


class Difference(NamedTuple):
    """Both sides of a quantity in words, and those numbers of them that differ."""

    text: str
    #: What the model says and what the execution gave.
    sides: tuple[tuple[int, int], ...] = ()

    @property
    def above(self) -> bool:
        """Whether the model says more wherever it says something else: an upper bound."""
        return bool(self.sides) and all(mine >= theirs for mine, theirs in self.sides)

    @property
    def below(self) -> bool:
        """Whether the model says less wherever it says something else."""
        return bool(self.sides) and all(mine <= theirs for mine, theirs in self.sides)

    def __add__(self, other: Difference) -> Difference:  # type: ignore[override]
        return Difference(self.text, (*self.sides, *other.sides))

    def __str__(self) -> str:
        return self.text


Found = dict[str, Difference]


def differences(facts: KernelFacts, record: Mapping[str, Any]) -> Found:
    """What differs, by quantity, each with both sides; empty where all is equal.

    A kernel with shape variables has been executed at several sizes; all are compared, and so are
    the values of its formulas.  Of one whose data choose between the sides of branches, an
    execution must be equal that takes either all sides or always the same ones.

    Raises:
        UnknownCountError: the model gives no number.
    """
    found: Found = {}
    for run in (record, *record.get("more", ())):
        for what, one in _at_sizes(facts, run["sizes"], run["counted"]).items():
            found[what] = found[what] + one if what in found else one
    found.update(_useful(facts, record))
    for counted in record.get("alternatives", ()) if found else ():
        other = _at_sizes(facts, record["sizes"], counted)
        found = min(found, other, key=len)
    return found


def compared(facts: KernelFacts, record: Mapping[str, Any]) -> Iterator[str]:
    """The quantities of which a kernel has something, so that equality means something."""
    counted = record["counted"]
    yield from {f"FLOP {unit}" for unit in counted["flop"]}
    yield from {f"operations {name}" for name, *_ in counted["operations"]}
    yield from {f"{level} bytes issued, {mode}" for level, _, mode in _said(counted)}
    if counted["distinct"] and not counted["scattered"]:
        yield "distinct global bytes"
    for level, _, _, requests in counted["requests"]:
        if requests is not None:
            yield "sectors per request" if level == "global" else "passes of shared memory"
    if "counted" in record.get("useful", {}):
        told = told_useful(*_shrunk(facts, record))
        if set(told) & set(record["useful"]["counted"]):
            yield "useful operations"
    if facts.variables and len(record["more"]) == 2:
        yield "counts at three sizes"
        yield from (f"formula of {name} at three sizes" for name in formulas(facts))


def _at_sizes(facts: KernelFacts, sizes: Mapping[str, int], counted: Mapping[str, Any]) -> Found:
    all_counts = count_workload(facts, sizes)
    counts = all_counts.counts
    return {
        **_operations(counts, counted),
        **_issued(facts, counts, counted),
        **_distinct(facts, all_counts.counted.footprint, counted),
        **_requests(facts, sizes, counts, counted),
        **_by_formula(all_counts.counted.formula, sizes, counted),
    }


def _operations(counts: Counts, counted: Mapping[str, Any]) -> Found:
    operations: Counter[tuple[str, str]] = Counter()
    items = [item for leaf in statement_counts(counts.root) for item in leaf.arith]
    for item in items:
        for what in _terms(item.arith):
            if item.total is None:
                raise UnknownCountError(f"how many {item.arith.op}")
            operations[what] += item.total
    wanted = Counter({(name, dtype): times for name, dtype, times in counted["operations"]})
    found = {
        " ".join(what).strip(): _told("", "", [("", operations[what], wanted[what])])
        for what in sorted(set(operations) | set(wanted))
        if operations[what] != wanted[what]
    }
    flop = sum_operations((item.arith, item.total) for item in items).flop_by_class
    if not found and flop != counted["flop"]:
        found["FLOP by class"] = Difference(f"{flop} for {counted['flop']}")
    return found


def _useful(facts: KernelFacts, record: Mapping[str, Any]) -> Found:
    wanted = record.get("useful", {})
    if "counted" not in wanted:
        return {}
    told = told_useful(*_shrunk(facts, record))
    unequal = {
        name: f"{told[name]} for {numbers}"
        for name, numbers in wanted["counted"].items()
        if name in told and told[name] != numbers
    }
    return {"useful operations": Difference(str(unequal))} if unequal else {}


def _shrunk(facts: KernelFacts, record: Mapping[str, Any]) -> tuple[KernelFacts, dict[str, int]]:
    """The kernel whose useful operations have been counted, which may be a smaller one."""
    useful = record["useful"]
    own = from_json(KernelFacts, useful["facts"]) if "facts" in useful else facts
    return own, useful["sizes"]


def told_useful(facts: KernelFacts, sizes: Mapping[str, int]) -> dict[str, list[int]]:
    """Of each product that is known: how many contribute, and how many masks hide."""
    found: dict[str, list[int]] = {}
    unknown: set[str] = set()
    for leaf in statement_counts(count_workload(facts, sizes).counts.root):
        name = " ".join(sorted({entry.buffer.name for entry in leaf.accesses}))
        for item in leaf.arith:
            if item.arith.op != "mma":
                continue
            if item.useful is None or item.masked is None:
                unknown.add(name)
            else:
                useful, masked = found.get(name, (0, 0))
                found[name] = [useful + item.useful, masked + item.masked]
    return {name: numbers for name, numbers in found.items() if name not in unknown}


def _issued(facts: KernelFacts, counts: Counts, counted: Mapping[str, Any]) -> Found:
    names = {buffer.id: buffer.name for buffer in facts.buffers}
    buffers = {buffer.id: buffer for buffer in facts.buffers}
    issued: Counter[tuple[str, str, str]] = Counter()
    for leaf in statement_counts(counts.root):
        for entry in leaf.accesses:
            level = memory_space(entry.access, buffers)
            if level is None or level in counted["unsaid"]:
                continue
            if entry.elements is None:
                raise UnknownCountError(f"how much of {entry.buffer.name}")
            what = (level, names[_root(facts, entry.access.buffer)], entry.access.mode)
            issued[what] += entry.elements * _width(entry.buffer.dtype)
    bits = Counter(_said(counted))
    found: defaultdict[str, list[Side]] = defaultdict(list)
    for what in sorted(set(issued) | set(bits)):
        if issued[what] != bits[what]:
            level, name, mode = what
            found[f"{level} bytes issued, {mode}"].append((name, issued[what], bits[what]))
    return {what: _told(": ", " bits", sides) for what, sides in found.items()}


def _said(counted: Mapping[str, Any]) -> dict[tuple[str, str, str], int]:
    """The issued bits by memory, array and mode, of the memories of which all are known."""
    return {
        (level, name, mode): bits
        for level, name, mode, bits in counted["issued"]
        if level not in counted["unsaid"]
    }


def _distinct(facts: KernelFacts, touched: Any, counted: Mapping[str, Any]) -> Found:
    if touched is None:
        raise UnknownCountError("distinct bytes")
    if counted["scattered"]:
        return {}
    names = {buffer.id: buffer.name for buffer in facts.buffers}
    mine: Counter[str] = Counter()
    for amounts in (touched.elements.read, touched.elements.written):
        for name, size in amounts.items():
            mine[names[name]] += size
    theirs = Counter(counted["distinct"])
    word = "distinct global bytes" + ("" if touched.exact else " (said to be inexact)")
    unequal = [
        (name, mine[name], theirs[name])
        for name in sorted(set(mine) | set(theirs))
        if mine[name] != theirs[name]
    ]
    return {word: _told(": ", " bytes", unequal)} if unequal else {}


def _requests(
    facts: KernelFacts, sizes: Mapping[str, int], counts: Counts, counted: Mapping[str, Any]
) -> Found:
    """Bytes of a lane with sectors or passes of a warp, of what each thread does by itself.

    As the framework has them: what its compiler merges is not in the IR that is executed.
    """
    buffers = {buffer.id: buffer for buffer in facts.buffers}
    mine: defaultdict[tuple[str, str, str], set[tuple[float, float]]] = defaultdict(set)
    nodes, mapped = map_threads(facts, counts, sizes, buffers)
    for item in nodes:
        for leaf in item.leaves():
            if leaf.source.per != "thread" or not isinstance(leaf.source, BY_ELEMENT):
                continue
            for entry, request in zip(
                leaf.count.accesses, mapped.mappings[leaf].requests, strict=False
            ):
                level = memory_space(entry.access, buffers)
                if request is None or level is None or not entry.elements:
                    continue
                number = request.sectors if level == "global" else request.wavefronts
                name = buffers[_root(facts, entry.access.buffer)].name
                width = max(request.vector * _width(entry.buffer.dtype) / 8, 1)
                mine[level, name, entry.access.mode].add((width, number))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for level, name, mode, requests in counted["requests"]:
        if requests is None or (level, name, mode) not in mine:
            continue
        theirs = {tuple(one) for one in requests}
        if mine[level, name, mode] != theirs:
            what = "sectors per request" if level == "global" else "passes of shared memory"
            said = sorted(mine[level, name, mode])
            found[what].append(f"{name} {mode}: {said} for {sorted(theirs)}")
    return {what: Difference(", ".join(texts)) for what, texts in found.items()}


def _by_formula(
    texts: Mapping[str, str], sizes: Mapping[str, int], counted: Mapping[str, Any]
) -> Found:
    """What stands in the hover of a kernel with shape variables, as Python evaluates it."""
    moved = [
        bits * (2 if mode == "atomic" else 1)
        for level, _, mode, bits in counted["issued"]
        if level == "global"
    ]
    truth = {"flop": sum(counted["flop"].values()), "global_bytes": sum(moved) // 8}
    names = {"ceildiv": lambda a, b: -(-a // b), **sizes}
    values = {name: eval(text, dict(names)) for name, text in texts.items()}
    return {
        f"formula of {name}": Difference(
            f"{texts[name]} is {value:,} for {truth[name]:,} at {sizes}", ((value, truth[name]),)
        )
        for name, value in values.items()
        if value != truth[name]
    }


Side = tuple[str, int, int]


def _told(colon: str, unit: str, sides: Sequence[Side]) -> Difference:
    texts = [f"{name}{colon}{mine:,} for {theirs:,}{unit}" for name, mine, theirs in sides]
    return Difference(", ".join(texts), tuple((mine, theirs) for _, mine, theirs in sides))


def _terms(arith: Any) -> list[tuple[str, str]]:
    """The executor's names for an operation of the facts; index arithmetic has none."""
    if arith.index:
        return []
    operation = arith.op.removeprefix("fast_")
    if operation.startswith("unknown:"):
        raise UnknownCountError(operation)
    if operation == "mma":
        return [("mma", arith.dtype)]
    if "float" in arith.dtype or (operation == "cast" and "float" in (arith.accumulator or "")):
        if operation == "cast":
            return [(operation, f"{arith.dtype} to {arith.accumulator}")]
        return [] if operation in FREE_OPS else [(operation, arith.dtype)]
    return [("integer", "")] if operation in INTEGER_OPS else []


def _root(facts: KernelFacts, name: str) -> str:
    parents = {buffer.id: buffer.alias_of for buffer in facts.buffers}
    while parents.get(name):
        name = str(parents[name])
    return name


def _width(dtype: str) -> int:
    from equality.language import width

    return width(dtype)
