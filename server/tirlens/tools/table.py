"""The tools by name: what each takes, gives and does."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tirlens.tools.advise import Advise, advise
from tirlens.tools.answers import as_json
from tirlens.tools.arguments import read_request, schema_of
from tirlens.tools.compare import Compare, compare
from tirlens.tools.devices import Devices, devices
from tirlens.tools.errors import ToolError
from tirlens.tools.estimate import Estimate, estimate
from tirlens.tools.explain import Explain, explain
from tirlens.tools.measured import Measured, measured_times
from tirlens.tools.rank import Rank, rank
from tirlens.tools.sweep import Sweep, sweep
from tirlens.tools.workbench import Workbench

R = TypeVar("R")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tool(Generic[R]):
    """A tool.

    Attributes
    ----------
    name
        As it is called.
    description
        What it does, for the one who calls it.
    request
        The dataclass of its arguments.
    answer
        Computes the answer, a dataclass; raises `ToolError`.
    writes
        Whether it changes files where the user allows that.
    """

    name: str
    description: str
    request: type[R]
    answer: Callable[[Workbench, R], Awaitable[Any]]
    writes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return schema_of(self.request)


_ALL: tuple[Tool[Any], ...] = (
    Tool(
        "estimate",
        "Predicted time of each kernel of a file, without a GPU: time_s, time_band_s (holds 4 of 5 "
        "measured times), confidence (the chance that a measured time is in the band), what bounds "
        "it, and the roofline. Seconds, bytes, FLOP.",
        Estimate,
        estimate,
    ),
    Tool(
        "explain",
        "What one line costs and why: time, share of the kernel, bound, what it became on the "
        "device, and the lines inside, slowest first. The line of a kernel's def explains the "
        "whole kernel.",
        Explain,
        explain,
    ),
    Tool(
        "advise",
        "What to change, with the predicted saving. Items with an edit were tried: the framework "
        "accepts it and the model finds it faster. Pass their ids as apply to go on from there.",
        Advise,
        advise,
        writes=True,
    ),
    Tool(
        "rank",
        "Configurations of a kernel by predicted time, best first: of its autotune list, or of "
        "space. Only a measurement distinguishes the first worth_measuring of them.",
        Rank,
        rank,
    ),
    Tool(
        "compare",
        "One kernel on several devices, with several calls, or with and without edits: the "
        "fastest first, and whether it differs by more than the error of the model.",
        Compare,
        compare,
    ),
    Tool(
        "sweep",
        "Time of a kernel over the values of one size or parameter, and where the bound changes.",
        Sweep,
        sweep,
    ),
    Tool(
        "measured",
        "Measured times of the kernels of a file, as stored beside it, with the prediction.",
        Measured,
        measured_times,
    ),
    Tool(
        "devices",
        "Devices that kernels can be estimated for; with id the rates and limits of one.",
        Devices,
        devices,
    ),
)
TOOLS: Mapping[str, Tool[Any]] = {tool.name: tool for tool in _ALL}


async def answer_tool(bench: Workbench, name: str, arguments: object) -> Any:
    """The answer of a tool, a dataclass.

    Raises
    ------
    ToolError
        There is no such tool, the arguments are wrong, or there is no answer.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise ToolError(
            "no-tool", f"There is no tool {str(name)!r:.100}. Tools: {', '.join(TOOLS)}."
        )
    request = read_request(tool.request, {} if arguments is None else arguments)
    try:
        return await tool.answer(bench, request)
    except ToolError:
        raise
    except Exception as error:
        # A defect of one tool leaves the others in service.
        logger.exception("The tool %s failed", name)
        message = f"Internal error: {type(error).__name__}: {error}. Please report it."
        raise ToolError("internal", message) from error


async def call_tool(bench: Workbench, name: str, arguments: object) -> dict[str, Any]:
    """The answer of a tool as values of JSON; raises as `answer_tool` does."""
    return as_json(await answer_tool(bench, name, arguments))
