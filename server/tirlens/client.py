"""The tools that agents call, for a Python program: warm workers, with no GPU.

with tirlens.Client("kernels/") as client:
    for kernel in client.estimate("matmul.py", device="h100-sxm").kernels:
        print(kernel.name, kernel.time_s, kernel.time_band_s)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tirlens.tools import AllowedFolders, Workbench, answer_tool
from tirlens.tools.advise import AdviceList
from tirlens.tools.compare import Comparison
from tirlens.tools.devices import DeviceList
from tirlens.tools.estimate import Estimates
from tirlens.tools.explain import Explanation
from tirlens.tools.measured import MeasuredKernels
from tirlens.tools.rank import Candidates
from tirlens.tools.sweep import SweepPoints

T = TypeVar("T")


class Client:
    """The tools of ``tirlens mcp`` in this process; may be used by several threads.

    Files are executed by workers under the interpreter of their project, not in this process. The
    arguments of each method are those of the tool of its name.

    Parameters
    ----------
    folders
        The files of these folders may be read and executed, and no others.
    write
        Whether edits may be written to files, and texts of requests be executed.
    python
        The interpreter that executes all files; None for that of each project.

    Raises
    ------
    ValueError
        One of `folders` is no folder.
    """

    def __init__(
        self, *folders: str | Path, write: bool = False, python: str | Path | None = None
    ) -> None:
        allowed = AllowedFolders(folders)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tirlens", daemon=True)
        self._thread.start()

        async def make() -> Workbench:
            return Workbench(allowed, writes=write, python=None if python is None else str(python))

        self._bench = self._wait(make())

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        if self._loop.is_closed():
            return
        self._wait(self._bench.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool, a dataclass.

        Raises
        ------
        ToolError
            There is no answer; it says what to send instead.
        """
        return self._wait(answer_tool(self._bench, tool, arguments))

    def estimate(self, file: str, **arguments: Any) -> Estimates:
        """The predicted times of the kernels of a file."""
        return self.call("estimate", file=file, **arguments)

    def explain(self, file: str, line: int, **arguments: Any) -> Explanation:
        """What a line of a file costs, and why."""
        return self.call("explain", file=file, line=line, **arguments)

    def advise(self, file: str, **arguments: Any) -> AdviceList:
        """What to change in a file, with edits that were tried."""
        return self.call("advise", file=file, **arguments)

    def rank(self, file: str, **arguments: Any) -> Candidates:
        """Configurations of a kernel, the one with the least predicted time first."""
        return self.call("rank", file=file, **arguments)

    def sweep(self, file: str, axis: str, **arguments: Any) -> SweepPoints:
        """The time of a kernel over the values of one size or parameter."""
        return self.call("sweep", file=file, axis=axis, **arguments)

    def compare(self, file: str, **arguments: Any) -> Comparison:
        """The kernels of a file on several devices, with several calls, or with edits."""
        return self.call("compare", file=file, **arguments)

    def measured_times(self, file: str, **arguments: Any) -> MeasuredKernels:
        """The stored measured times of the kernels of a file."""
        return self.call("measured", file=file, **arguments)

    def devices(self, **arguments: Any) -> DeviceList:
        """The devices of the catalogue, or one of them."""
        return self.call("devices", **arguments)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
