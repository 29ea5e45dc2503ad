"""The analyses of the tools: files of allowed folders, with workers and results that stay warm."""

from __future__ import annotations

import asyncio
import difflib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from tirlens import pipeline, source
from tirlens.file_reader import read_text
from tirlens.hardware import DEFAULT_DEVICE, Device, DeviceError, catalogue, load
from tirlens.pipeline import FileReport, Options, PartCache, Plan, ReportCache
from tirlens.settings import DEFAULT_TIMEOUT_S
from tirlens.source import SourceFile
from tirlens.tools.calls import check_call
from tirlens.tools.environment import Environment, OtherFiles, find_environment
from tirlens.tools.errors import ToolError
from tirlens.tools.folders import AllowedFolders, Place
from tirlens.tools.subject import Subject
from tirlens.worker_client import Interpreter, WorkerClient
from tirlens.worker_client.toolchain import NO_TOOLCHAIN, Toolchain, find_toolchain
from tirlens_worker.protocol import Analyze, Result

# The answers about one file that are kept: those of many calls and candidates.
_MOST_ANSWERS = 256
_MOST_READINGS = 64
_TIERS = ("source", "lowered", "compiled")


@dataclass(frozen=True)
class Analysed:
    """The kernels of a file as a request asks for them.

    Attributes
    ----------
    place
        The file.
    text
        The text that was analysed, which is not that of the file where the request says so.
    report
        The reports of its kernels, with lines of `text`.
    options
        The options of the analysis.
    interpreter
        The Python that executed the text.
    """

    place: Place
    text: str
    report: FileReport
    options: Options
    interpreter: Interpreter


@dataclass(frozen=True)
class Prepared:
    """A text that is ready to be analysed, with the calls of its kernels and the options."""

    place: Place
    text: str
    source: SourceFile
    options: Options
    interpreter: Interpreter


class Workbench:
    """What the tools of one client share. All methods run on one event loop.

    Parameters
    ----------
    folders
        The files of these folders may be read and executed, and no others.
    writes
        Whether edits may be written to files, and texts of requests be executed.
    python
        The interpreter of all files; None for that of each project.
    """

    def __init__(
        self, folders: AllowedFolders, *, writes: bool = False, python: str | None = None
    ) -> None:
        self.folders = folders
        self.writes = writes
        self.outcomes: dict[pipeline.TrialKey, pipeline.Outcome] = {}
        self.measured = pipeline.MeasuredFiles()
        self._python = python
        self._parts = PartCache(max_answers=_MOST_ANSWERS)
        self._reports = ReportCache()
        self._readings: OrderedDict[tuple[Path, str], SourceFile] = OrderedDict()
        self._others = OtherFiles()
        self._clients: dict[tuple[str, tuple[str, ...]], WorkerClient] = {}
        self._asking = asyncio.Lock()

    async def close(self) -> None:
        """End the workers."""
        self._others.close()
        clients, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(client.close() for client in clients), return_exceptions=True)

    async def text_of(self, place: Place) -> str:
        """The text of a file.

        Raises
        ------
        ToolError
            It cannot be read, or is no UTF-8.
        """
        try:
            return await asyncio.to_thread(read_text, place.path)
        except UnicodeDecodeError as error:
            message = f"{place.name} is not UTF-8: {error.reason} at byte {error.start}."
            raise ToolError("no-file", message) from None
        except OSError as error:
            message = f"{place.name} cannot be read: {error.strerror}."
            raise ToolError("no-file", message) from None

    async def analyse(
        self, subject: Subject, *, advice: bool = False, text: str | None = None
    ) -> Analysed:
        """Analyse the kernels that a request names.

        Parameters
        ----------
        subject
            The request.
        advice
            Whether the advice rules are evaluated, too.
        text
            The text in place of the file's, where the caller has made it of that.

        Raises
        ------
        ToolError
            The request is wrong, or the file has no kernels.
        """
        prepared = await self.prepare(subject, advice=advice, text=text)
        place, options = prepared.place, prepared.options
        result = await self._result(prepared)
        report = await asyncio.to_thread(
            pipeline.file_report, prepared.source, result, options, str(place.path), self._reports
        )
        return Analysed(place, prepared.text, report, options, prepared.interpreter)

    async def prepare(
        self, subject: Subject, *, advice: bool = False, text: str | None = None
    ) -> Prepared:
        """Read the file of a request and what surrounds it; parameters and errors of `analyse`."""
        place, device = self.check(subject)
        if text is None:
            text = await self.text_of(place) if subject.text is None else self._own_text(subject)
        found = await self._read(place, text)
        environment = await asyncio.to_thread(find_environment, place, found, self._python)
        options = _options(subject, device, environment, advice)
        if subject.call is None:
            found = await self._others.with_calls(place, found)
        return Prepared(place, text, found, options, environment.interpreter)

    def check(self, subject: Subject) -> tuple[Place, str | None]:
        """The file and the device of a request; nothing is read of the file.

        Raises
        ------
        ToolError
            The file or a device file is in no allowed folder, or the call is no plain one.
        """
        place = self.folders.file(subject.file)
        if subject.call is not None:
            check_call(subject.call)
        return place, self._device(subject.device)

    async def ask(self, interpreter: Interpreter, request: Analyze) -> Result:
        """The answer of a warm worker, one request at a time."""
        key = (interpreter.identity, tuple(interpreter.variables))
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = WorkerClient(interpreter)
        return await client.analyze(request)

    def _own_text(self, subject: Subject) -> str:
        assert subject.text is not None
        if not self.writes:
            raise ToolError(
                "read-only",
                "A text of the request would be executed, which is not allowed. Send the path of a "
                "file, or ids of advised edits as apply; the user allows texts with the option "
                "--write of tirlens mcp.",
            )
        return subject.text

    def _device(self, device: str | None) -> str | None:
        """The id of a device, or the path of a device file, which is in an allowed folder."""
        if device is None:
            return None
        if device.endswith(".toml") or "/" in device or "\\" in device:
            device = str(self.folders.file(device, "device").path)
        return find_device(device).id if not device.endswith(".toml") else device

    async def _read(self, place: Place, text: str) -> SourceFile:
        key = (place.path, text)
        found = self._readings.get(key)
        if found is None:
            found = await asyncio.to_thread(source.read, text, place.path)
            self._readings[key] = found
            while len(self._readings) > _MOST_READINGS:
                self._readings.popitem(last=False)
        self._readings.move_to_end(key)
        return found

    async def _result(self, prepared: Prepared) -> Result:
        """What the worker finds for a text, in all tiers that its options ask for."""
        path, interpreter = str(prepared.place.path), prepared.interpreter
        found, options = prepared.source, prepared.options
        whole = pipeline.analysis_request(1, path, prepared.text, found, options)
        key = f"{interpreter.identity}\0{interpreter.variables}"
        plan = await asyncio.to_thread(
            pipeline.plan_analysis, whole, found, key, self._parts.parts(path)
        )
        toolchain = find_toolchain(interpreter.path) if options.compile else NO_TOOLCHAIN
        if plan.request is None:
            result = await self._first_tier(plan, interpreter)
            tiers = self._tiers(plan, result, options, toolchain)
            if tiers.next is None:
                return tiers.result
        async with self._asking:
            # Another request may have asked the same in the meantime.
            plan = await asyncio.to_thread(plan.with_cache, self._parts.parts(path))
            result = await self._first_tier(plan, interpreter)
            tiers = self._tiers(plan, result, options, toolchain)
            for _ in range(pipeline.FURTHER_TIERS):
                if tiers.next is None or not await self._next_tier(tiers, interpreter, path):
                    break
                tiers = self._tiers(plan, result, options, toolchain)
            return tiers.result

    def _tiers(
        self, plan: Plan, result: Result, options: Options, toolchain: Toolchain
    ) -> pipeline.Tiers:
        parts = self._parts.parts(plan.whole.path)
        return pipeline.merge_tiers(plan, result, options, toolchain.compiler, parts)

    async def _first_tier(self, plan: Plan, interpreter: Interpreter) -> Result:
        request = plan.request
        if request is None:
            return plan.result()
        if interpreter.problem is not None:
            return plan.result(Result(request.id, problems=(interpreter.problem,)))
        answer = await self.ask(interpreter, request)
        result = await asyncio.to_thread(plan.result, answer)
        parts = await asyncio.to_thread(plan.cacheable_parts, result, plan.unknown_names)
        self._parts.add(plan.whole.path, parts, plan.used_keys)
        return result

    async def _next_tier(self, tiers: pipeline.Tiers, interpreter: Interpreter, path: str) -> bool:
        """Add what a worker finds in the next tier to the cache; whether it finds anything."""
        plan = tiers.next
        assert plan is not None
        for step in plan.steps:
            answer = await self.ask(interpreter, step)
            answer = await asyncio.to_thread(
                pipeline.complete_tier, step, answer, tiers.result.kernels
            )
            if answer.problems:
                return False
            parts = await asyncio.to_thread(pipeline.completed_parts, plan, step, answer)
            self._parts.add(path, parts, plan.used_keys)
        return True


def find_device(device: str) -> Device:
    """The device of an id, of another of its names, or of a file.

    Raises
    ------
    ToolError
        There is none.
    """
    try:
        return load(device)
    except DeviceError as error:
        if device.endswith(".toml"):
            raise ToolError("no-device", f"{error!s:.500}") from None
        near = difflib.get_close_matches(device[:80].lower(), catalogue(), 4, 0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ToolError(
            "no-device",
            f"{device!r:.100} is no device.{hint} The tool devices has the ids.",
            {"device": near[0] if near else DEFAULT_DEVICE},
        ) from None


def _options(
    subject: Subject, device: str | None, environment: Environment, advice: bool
) -> Options:
    tier = _TIERS.index(subject.tier)
    return Options(
        device=device,
        force_device=device is not None,
        bindings=subject.bindings or {},
        calls=() if subject.call is None else (subject.call,),
        kernels=() if subject.kernel is None else (subject.kernel,),
        time_limit_s=environment.project.timeout_s or DEFAULT_TIMEOUT_S,
        advice=advice,
        lower=tier >= 1,
        compile=tier >= 2,
        project=environment.project,
    )
