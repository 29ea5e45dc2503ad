"""The second tier of an open file: once, when nothing else is to be done, whatever comes between.

The session and its worker are real.  Lowering is held, or its worker killed, at one moment only:
when the worker is about to be asked.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tirlens.model.report import KernelReport
from tirlens.session import Configuration, Session, Status
from tirlens.session.events import Event, ViewChanged
from tirlens.session.idle_tiers import MAX_LOST_WORKERS
from tirlens.worker_client import WorkerClient
from tirlens_worker.protocol import Analyze, Progress, Result

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a worker is killed"),
]
LIMIT_S = 180.0
TEXT = """\
import tilelang.language as T


@T.prim_func
def first(A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
    with T.Kernel(8) as bx:
        for i in T.Parallel(512):
            B[bx * 512 + i] = A[bx * 512 + i] + 1.0


@T.prim_func
def second(A: T.Tensor((8192,), "float32"), B: T.Tensor((8192,), "float32")):
    with T.Kernel(16) as bx:
        for i in T.Parallel(512):
            B[bx * 512 + i] = A[bx * 512 + i] * 2.0
"""
WAITING = (
    "import os, time\n"
    + TEXT.partition("@T.prim_func\ndef second")[0]
    + """\
def second(n):
    while not os.path.exists({go_on!r}):
        time.sleep(0.01)

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(16) as bx:
            for i in T.Parallel(512):
                B[bx * 512 + i] = A[bx * 512 + i] * 2.0

    return main


# tirlens: second(8192)
"""
)
# Asked of the same worker, and nothing to lower comes of it.
BROKEN = """\
import tilelang.language as T


@T.prim_func
def broken(A: T.Tensor((64,), "float32")):
    with T.Kernel(1) as bx:
        A[0] = no_such_name
"""
BeforeLowering = Callable[[WorkerClient, Analyze], Awaitable[None]]


class Record:
    """The events of a session."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []
        self.refreshed: list[ViewChanged] = []

    def add(self, event: Event) -> None:
        """Record an event."""
        match event:
            case Status(uri, state):
                self.states.append((uri, state))
            case ViewChanged():
                self.refreshed.append(event)
            case _:
                pass


class Scene:
    """A session with one open file; `asked` are the names that were to be lowered."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder, self.uri = folder, (folder / "a.py").as_uri()
        self.record = Record()
        configuration = Configuration(True, editor_interpreter=str(python))
        self.session = Session(configuration, self.record.add)
        self.text = TEXT
        self.asked: list[str] = []
        self.before: list[BeforeLowering] = []
        self.on_progress: Callable[[Progress], None] | None = None

    def open(self) -> None:
        self.session.open(self.uri, self.folder / "a.py", 1, self.text)

    async def held(self) -> asyncio.Event:
        """The file is open and its lowering about to begin; set, the event lets it go on."""
        gate = asyncio.Event()

        async def hold(_: WorkerClient, __: Analyze) -> None:
            await gate.wait()

        self.before.append(hold)
        self.open()
        await self.ready(1)
        await until(lambda: self.asked)
        return gate

    async def analyze(self, client: WorkerClient, request: Analyze, *others: Any) -> Result:
        if not any(item.lower_to for item in request.kernels):
            return await REAL(client, request, *others)
        (name,) = {item.name for item in request.kernels}
        self.asked.append(name)
        if self.before:
            await self.before.pop(0)(client, request)
        return await REAL(client, request, self.on_progress)

    @property
    def kernels(self) -> tuple[KernelReport, ...]:
        analysis = self.session.documents[self.uri].analysis
        return analysis.report.kernels if analysis is not None else ()

    @property
    def is_lowered(self) -> bool:
        return bool(self.kernels) and all(item.lowered is not None for item in self.kernels)

    async def ready(self, times: int) -> None:
        await until(lambda: self.record.states.count((self.uri, "ready")) >= times)

    async def settled(self) -> None:
        """Everything that is under way comes to its end."""
        queues = self.session.analyses.queues._queues
        await until(lambda: not any(q.waiting or q.deferred or q.running for q in queues.values()))


REAL = WorkerClient.analyze
Play = Callable[[Scene], Awaitable[None]]


@pytest.fixture
def play(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tilelang_python: Path
) -> Callable[[Play], None]:
    def run(steps: Play) -> None:
        async def main() -> None:
            scene = Scene(tmp_path, tilelang_python)
            monkeypatch.setattr(WorkerClient, "analyze", lambda *a, **k: scene.analyze(*a, **k))
            try:
                await steps(scene)
            finally:
                await scene.session.shut_down()

        asyncio.run(main())

    return run


async def until(true: Callable[[], object]) -> None:
    async def wait() -> None:
        while not true():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(wait(), LIMIT_S)


def test_what_is_asked_meanwhile_begins_nothing_anew(play: Callable[[Play], None]) -> None:
    async def steps(scene: Scene) -> None:
        gate = await scene.held()
        scene.session.save(scene.uri)
        await scene.ready(2)
        scene.session.set_device(scene.uri, "h200")
        await scene.ready(3)
        before = len(scene.record.refreshed)
        gate.set()
        await until(lambda: scene.is_lowered)
        await scene.settled()
        assert scene.asked == ["first", "second"], "both devices have one architecture"
        assert len(scene.record.refreshed) <= before + 1, "one refresh for all that was lowered"
        scene.session.save(scene.uri)
        await scene.ready(4)
        await scene.settled()
        assert scene.is_lowered
        assert len(scene.asked) == 2, "what is known is not asked"
        assert len(scene.record.refreshed) <= before + 1
        # Another text needs only what is new in it.
        scene.session.change(scene.uri, 2, TEXT.replace("* 2.0", "* 3.0"))
        scene.session.save(scene.uri)
        await scene.ready(5)
        await until(lambda: scene.is_lowered)
        assert scene.asked[2:] == ["second"]

    play(steps)


def test_what_was_lowered_before_an_interruption_is_kept(play: Callable[[Play], None]) -> None:
    async def steps(scene: Scene) -> None:
        other, go_on = (scene.folder / "b.py").as_uri(), scene.folder / "go-on"
        go_on.touch()

        async def leave(_: WorkerClient, __: Analyze) -> None: ...

        async def stop(_: WorkerClient, __: Analyze) -> None:
            go_on.unlink()

        def interrupt(note: Progress) -> None:
            if note.message == "second" and other not in scene.session.documents:
                scene.session.open(other, scene.folder / "b.py", 1, BROKEN)

        scene.before += [leave, stop]
        scene.on_progress = interrupt
        scene.text = WAITING.format(go_on=str(go_on))
        scene.open()
        await until(lambda: (other, "ready") in scene.record.states)
        go_on.touch()
        await until(lambda: scene.is_lowered)
        assert scene.asked == ["first", "second", "second"]

    play(steps)


def given_up(report: KernelReport) -> bool:
    return any("was not lowered for sm_90" in item.message for item in report.caveats)


@pytest.mark.parametrize("times", [1, MAX_LOST_WORKERS])
def test_a_lost_worker_is_tried_again_but_not_for_ever(
    play: Callable[[Play], None], times: int
) -> None:
    async def steps(scene: Scene) -> None:
        async def lose(client: WorkerClient, _: Analyze) -> None:
            killing.append(asyncio.ensure_future(kill_with_replacement(client)))

        async def kill_with_replacement(client: WorkerClient) -> None:
            # The client replaces a worker once without a word.
            first = await kill(client, None)
            await kill(client, first)

        async def kill(client: WorkerClient, before: int | None) -> int:
            while client.pid is None or client.pid == before:
                await asyncio.sleep(0.02)
            pid = client.pid
            await asyncio.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            return pid

        killing: list[asyncio.Future[None]] = []
        scene.before += [lose] * times
        scene.open()
        if times < MAX_LOST_WORKERS:
            await until(lambda: scene.is_lowered)
            assert scene.asked == ["first"] * (times + 1) + ["second"]
        else:
            # A text that has crashed so often is left alone.
            await until(lambda: scene.kernels and all(map(given_up, scene.kernels)))
            assert scene.asked[: MAX_LOST_WORKERS + 1] == ["first"] * MAX_LOST_WORKERS + ["second"]
        await scene.settled()
        asked = list(scene.asked)
        scene.session.save(scene.uri)
        await scene.ready(2)
        await scene.settled()
        assert scene.asked == asked, "the text is the same"

    play(steps)


@pytest.mark.parametrize("how", ["close", "cancel", "turned off", "distrusted"])
def test_what_is_not_wanted_any_more_is_not_lowered(play: Callable[[Play], None], how: str) -> None:
    async def steps(scene: Scene) -> None:
        gate = await scene.held()
        document = scene.session.documents[scene.uri]
        if how == "close":
            scene.session.close(scene.uri)
        elif how == "cancel":
            scene.session.cancel(scene.uri)
        elif how == "distrusted":
            scene.session.configure(Configuration(trusted=False))
            await until(lambda: (scene.uri, "untrusted") in scene.record.states)
        else:
            settings = scene.session.configuration.settings
            scene.session.configure(
                Configuration(
                    True,
                    settings.merge(type(settings)(lower=False)),
                    scene.session.configuration.editor_interpreter,
                )
            )
            await scene.ready(2)
        before = list(scene.record.refreshed)
        gate.set()
        await scene.settled()
        assert scene.record.refreshed == before
        assert document.analysis is not None
        assert all(item.lowered is None for item in document.analysis.report.kernels)
        assert len(scene.asked) == 1

    play(steps)
