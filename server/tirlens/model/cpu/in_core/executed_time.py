"""In-core time of the code that LLVM made, by nest.

A block takes what it takes in the trace of its innermost loop; blocks outside of the traced loops
take the time of their issue.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tirlens.hardware.spec import Device
from tirlens_x86 import FunctionCounts, Instruction, ProgramCounts, Trace, operation_of

from ...constants import constant
from ..compiler.loop_nests import Nest
from .core_time import CoreTime
from .out_of_order import OutOfOrderCore, call_ratio
from .ports import Ports

MAX_THROUGHPUT_RATIO = constant(
    "MAX_THROUGHPUT_RATIO",
    1.15,
    kind="choice",
    unit="ratio",
    meaning="In-core time over that of the busiest unit above which latencies bound a nest.",
    source="a unit that is busy for seven eighths of the time is the bound",
)
WARM_UP_INSTRUCTIONS = constant(
    "WARM_UP_INSTRUCTIONS",
    500,
    kind="estimate",
    unit="instructions",
    meaning="Instructions at the beginning of a trace in which the reorder buffer fills.",
    source="reorder buffers of 224 to 512 instructions",
)
# A function and the number of a block in it.
Block = tuple[str, int]


def executed_core_times(
    counts: ProgramCounts, nests: Sequence[Nest], estimates: Sequence[CoreTime], device: Device
) -> list[CoreTime]:
    """The in-core time of each nest on the busiest core.

    Lines connect blocks and nests.  Nests of the same lines share the time in the proportion of
    their `estimates`.
    """
    assert device.cpu is not None
    totals = [_Totals() for _ in nests]
    ports, clk = Ports(device), block_clk(counts, device)
    usage: dict[Instruction, dict[str, float]] = {}
    lines = [_lines(nest) for nest in nests]
    expected = [max(one.throughput_clk, one.chain_clk) for one in estimates]
    for function in counts.functions:
        instructions, by_block = function.function.instructions, _lines_by_block(function)
        for number, executions in enumerate(function.executions):
            if not executions:
                continue
            block = function.graph.blocks[number]
            shares = _shares(by_block[number], lines, expected)
            total_clk = executions * clk[function.function.name, number]
            for nest, share in shares.items():
                totals[nest].clk += share * total_clk
                for one in instructions[block.start : block.end]:
                    if one not in usage:
                        usage[one] = _usage(one, ports, device.cpu.call_clk)
                    totals[nest].add(usage[one], share * executions)
    return [
        total.core_time(estimate, device) for total, estimate in zip(totals, estimates, strict=True)
    ]


class _Totals:
    """Clocks of a nest, by unit and in all, and its instructions."""

    def __init__(self) -> None:
        self.clk = 0.0
        self.instructions = 0.0
        self.units: defaultdict[str, float] = defaultdict(float)

    def add(self, usage: Mapping[str, float], executions: float) -> None:
        self.instructions += executions
        for unit, clk in usage.items():
            self.units[unit] += clk * executions

    def core_time(self, estimate: CoreTime, device: Device) -> CoreTime:
        """Times of the units; where the busiest takes nearly all of the time, all of it.

        Otherwise instructions wait for their operands, and the time is that of a dependency chain.
        """
        units = self.units
        arithmetic = max(units[one] for one in ("arithmetic", "divide", "shuffle", "vector"))
        moves = max(units["load"], units["store"])
        issue = self.instructions / device.issue_per_clk_per_sm
        busy = max(arithmetic, moves, issue) + units["call"]
        factor = self.clk / busy if busy else 1.0
        is_chain = factor > MAX_THROUGHPUT_RATIO
        factor = 1.0 if is_chain else factor
        return CoreTime(
            arithmetic_clk=arithmetic * factor,
            load_store_clk=moves * factor,
            issue_clk=issue * factor,
            chain_clk=self.clk if is_chain else 0.0,
            call_clk=units["call"] * factor,
            entry_clk=0.0,
            instructions=self.instructions,
            statement_clk=estimate.statement_clk,
        )


def _usage(instruction: Instruction, ports: Ports, call_clk: float) -> dict[str, float]:
    """Clocks of each unit that an instruction needs."""
    operation = operation_of(instruction)
    if operation.kind == "call":
        return {"call": call_clk * call_ratio(instruction.operands[0].partition("@")[0])}
    found: defaultdict[str, float] = defaultdict(float)
    for need in ports.needs(operation):
        if need is not None:
            found[need.unit] += need.clk
    return found


def block_clk(counts: ProgramCounts, device: Device) -> Mapping[Block, float]:
    """Clocks of one execution of each block that executes."""
    core = OutOfOrderCore(device)
    found: dict[Block, float] = {}
    others: dict[Block, float] = {}
    first: dict[Block, Instruction] = {}
    for function in counts.functions:
        for number, block in enumerate(function.graph.blocks):
            key = function.function.name, number
            others[key] = (block.end - block.start) / device.issue_per_clk_per_sm
            first[key] = function.function.instructions[block.start]
    for function in counts.functions:
        loops = function.graph.loops
        # The trace of an inner loop is preferred to that of a loop around it.
        for header in sorted(function.traces, key=lambda one: -len(loops[one].blocks)):
            trace, loop = function.traces[header], loops[header].blocks
            for key, each in _clk_in_trace(core, trace, first).items():
                is_own = key[0] == function.function.name and key[1] in loop
                (found if is_own else others)[key] = each
    return others | found


def _clk_in_trace(
    core: OutOfOrderCore, trace: Trace, first: Mapping[Block, Instruction]
) -> Mapping[Block, float]:
    """Clocks of one execution of each block of a trace.

    Those after the warm-up, of blocks that execute mostly after it.
    """
    retired = core.retire_clk(trace)
    clk: list[defaultdict[Block, float]] = [defaultdict(float), defaultdict(float)]
    executions: list[Counter[Block]] = [Counter(), Counter()]
    for number, step in enumerate(trace):
        is_warm = number >= WARM_UP_INSTRUCTIONS
        key = step.function, step.block
        clk[is_warm][key] += retired[number] - (retired[number - 1] if number else 0.0)
        executions[is_warm][key] += step.instruction is first[key]
    cold, warm = executions
    found: dict[Block, float] = {}
    for key in cold.keys() | warm.keys():
        if warm[key] > cold[key]:
            found[key] = clk[1][key] / warm[key]
        elif cold[key]:
            found[key] = (clk[0][key] + clk[1][key]) / (cold[key] + warm[key])
    return found


def _lines(nest: Nest) -> frozenset[int]:
    """The lines of a nest's statements."""
    return frozenset(
        line
        for statement in nest.statements
        for site in statement.node.source.sites
        for line in range(site.line, site.end_line + 1)
    )


def _lines_by_block(function: FunctionCounts) -> list[Counter[int]]:
    """The lines of each block; where it has none, those of the loops around it, from the inside."""
    instructions, graph = function.function.instructions, function.graph
    own: list[Counter[int]] = [
        Counter(one.line for one in instructions[block.start : block.end] if one.line)
        for block in graph.blocks
    ]
    found: list[Counter[int]] = []
    for number, lines in enumerate(own):
        header = graph.innermost(number)
        while not lines and header is not None:
            loop = graph.loops[header]
            lines = Counter[int]()
            for one in loop.blocks:
                if function.executions[one]:
                    lines.update(own[one])
            header = loop.parent
        found.append(lines)
    return found


def _shares(
    lines: Counter[int], of_nests: Sequence[frozenset[int]], expected: Sequence[float]
) -> dict[int, float]:
    """The share of each nest in a block of some `lines`, of which each has `expected` clocks."""
    weights = {
        nest: expected[nest] * sum(lines[line] for line in own) for nest, own in enumerate(of_nests)
    }
    if not sum(weights.values()):
        weights = dict(enumerate(expected))
    total = sum(weights.values())
    if not total:
        return {nest: 1 / len(weights) for nest in weights}
    return {nest: weight / total for nest, weight in weights.items() if weight}
