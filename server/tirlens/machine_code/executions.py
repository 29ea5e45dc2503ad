"""How often the instructions of a kernel are executed, with the lines that they belong to.

The control flow of the machine code is executed for the launch of the kernel
(`tirlens_sass.execution`): unrolled, rotated and split loops, remainders and predicates need no
rules. Loops and branches that depend on the content of arrays are matched to those of the facts by
their lines; where the match is not unique, the reason is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens_sass import Function, Listing
from tirlens_sass.execution import EvaluationError, Executions, Launch, count_executions
from tirlens_worker.facts import Branch, KernelFacts, Node, While
from tirlens_worker.facts import Loop as FactsLoop
from tirlens_worker.protocol import NO_LINE

from .launches import LaunchError, find_launch
from .lines import document_line

_SEQUENTIAL = ("serial", "pipelined", "unroll", "persistent")


@dataclass(frozen=True)
class DataLoop:
    """A loop of the machine code whose trip count depends on data.

    Parameters
    ----------
    loop
        Its index in `Function.loops` of the function named `function`.
    node
        The loop of the facts; None if no loop, or more than one, can be it.
    reason
        Why `node` is None; empty otherwise.
    """

    function: str
    loop: int
    node: FactsLoop | While | None
    reason: str = ""


@dataclass(frozen=True)
class FunctionExecutions:
    """The executions of the instructions of a function, and the line of the document of each."""

    function: Function
    executions: tuple[Executions, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True)
class KernelCode:
    """A kernel of a listing with the executions of its instructions.

    Parameters
    ----------
    launch
        The launch; None if it is not known.
    functions
        The kernel and its subroutines; empty for the reason `reason`.
    data_loops
        The loops whose trip counts depend on data.
    is_exact
        Whether the counts are those of all blocks; otherwise those of a regular sample.
    """

    name: str
    launch: Launch | None
    functions: tuple[FunctionExecutions, ...]
    data_loops: tuple[DataLoop, ...]
    is_exact: bool
    reason: str = ""

    @property
    def known_share(self) -> float:
        """The share of instructions, but for padding, whose executions are known."""
        found = [
            one.is_known
            for part in self.functions
            for one, instruction in zip(part.executions, part.function.instructions, strict=True)
            if instruction.name != "NOP"
        ]
        return sum(found) / len(found) if found else 0.0


def count_kernels(
    listing: Listing,
    facts: KernelFacts,
    source: str,
    lines: Sequence[int],
    bindings: Mapping[str, int],
) -> tuple[KernelCode, ...]:
    """The executions of each kernel of a listing.

    `source` is the CUDA source of `facts`, `lines` the line of the document for each of its lines,
    and `bindings` the sizes of shape variables.
    """
    return tuple(
        _count_kernel(listing, kernel, facts, source, lines, bindings) for kernel in listing.kernels
    )


def _count_kernel(
    listing: Listing,
    kernel: Function,
    facts: KernelFacts,
    source: str,
    lines: Sequence[int],
    bindings: Mapping[str, int],
) -> KernelCode:
    launch: Launch | None = None
    subroutines = [one for one in listing.functions if one.kernel == kernel.name and one != kernel]
    try:
        launch = find_launch(facts, source, kernel.name, bindings)
        found = count_executions(kernel, subroutines, launch, listing.architecture)
    except (LaunchError, EvaluationError) as error:
        return KernelCode(kernel.name, launch, (), (), False, str(error))
    parts = tuple(
        FunctionExecutions(
            function,
            found.by_function[function.name],
            tuple(document_line(one, lines) for one in function.instructions),
        )
        for function in (kernel, *subroutines)
    )
    loops = tuple(loop for part in parts for loop in _data_loops(part, facts))
    return KernelCode(kernel.name, launch, parts, loops, found.is_exact)


def _data_loops(part: FunctionExecutions, facts: KernelFacts) -> Iterator[DataLoop]:
    """The loops of a function that depend on data, with the loops of the facts."""
    numbers = sorted({number for one in part.executions for number in one.loops})
    nodes = list(_loops(facts.body))
    for number in numbers:
        matches = _matches(part, number, nodes)
        if len(matches) == 1:
            yield DataLoop(part.function.name, number, matches[0])
        else:
            found = f"{len(matches)} loops" if matches else "no loop"
            yield DataLoop(part.function.name, number, None, f"{found} of the source at its lines")


def _matches(
    part: FunctionExecutions, number: int, nodes: Sequence[FactsLoop | While]
) -> list[FactsLoop | While]:
    """The loops of the facts at the lines of the branches back, else at those of the body."""
    function = part.function
    loop = function.loops[number]
    back = {part.lines[function.blocks[latch].last] for latch in loop.latches} - {NO_LINE}
    matches = [node for node in nodes if _first_line(node) in back]
    if matches:
        return matches
    body = {
        part.lines[index]
        for index, one in enumerate(part.executions)
        if one.loops and one.loops[-1] == number
    } - {NO_LINE}
    return [node for node in nodes if _first_line(node) in body]


def _loops(nodes: Sequence[Node]) -> Iterator[FactsLoop | While]:
    """The loops that may be loops of machine code."""
    for node in nodes:
        if isinstance(node, While):
            yield node
            yield from _loops(node.body)
        elif isinstance(node, FactsLoop):
            if node.kind in _SEQUENTIAL:
                yield node
            yield from _loops(node.body)
        elif isinstance(node, Branch):
            yield from _loops((*node.then, *node.orelse))


def _first_line(node: FactsLoop | While) -> int | None:
    site = next(iter(node.sites), None)
    return site.line if site is not None and site.file is None else None
