"""The process of a worker: start with pipes, messages, and end with all descendants."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

import tirlens_worker
from tirlens.environment_variables import allowed_variables
from tirlens.file_reader import read_bytes, read_text
from tirlens.worker_client.executing_line import ExecutingLine
from tirlens_worker.protocol import MOST_RESULT_BYTES

_LOG_BYTES = 64 * 1024
_GUARD_LIMIT_S = 1.0
_MOST_DIGITS = 20
# CREATE_NO_WINDOW and BELOW_NORMAL_PRIORITY_CLASS.
_CREATION_FLAGS = 0x08000000 | 0x00004000 if sys.platform == "win32" else 0
# The script of a worker, which is run by its path; its docstring has the reason.
SCRIPT = Path(tirlens_worker.__file__).with_name("__main__.py")
# In the environment of a worker and of all its descendants, also of those in other sessions.
_NAME = "TIRLENS_WORKER"
# They say nothing about analyses.
_OF_THE_TERMINAL = frozenset({"PWD", "TERM", "COLUMNS", "LINES"})


def analysis_variables(named: Sequence[str] = ()) -> dict[str, str]:
    """The variables of a worker of this process on which its analyses may depend."""
    found = worker_environment(os.environ, named)
    return {name: value for name, value in found.items() if name not in _OF_THE_TERMINAL}


def worker_environment(base: Mapping[str, str], named: Sequence[str] = ()) -> dict[str, str]:
    """The worker's environment: no GPU, no messages of compilers, no files next to the sources.

    Of `base` it has the allowed variables, and those of the `named` patterns.  PYTHONPATH is the
    user's own, because source installations of TVM are found through it.
    """
    cache = platformdirs.user_cache_path("tirlens") / "tilelang"
    return {
        **allowed_variables(base, named),
        "CUDA_VISIBLE_DEVICES": "",
        "TILELANG_CACHE_DIR": str(cache),
        "TILELANG_TMP_DIR": str(cache / "tmp"),
        "TILELANG_PRINT_ON_COMPILATION": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "PYTHONUNBUFFERED": "1",
        "MPLBACKEND": "Agg",
        # A pool of threads in the warm process would be gone in the processes forked from it.
        "OMP_NUM_THREADS": "1",
    }


class MessageError(EOFError):
    """What came from a worker is not a message, or too long."""


class Process:
    """A running worker."""

    def __init__(self, process: asyncio.subprocess.Process, name: str, mark: ExecutingLine) -> None:
        self._process = process
        self._name = name
        self.mark = mark
        self._log = bytearray()
        self._logging = asyncio.ensure_future(self._read_log())

    @classmethod
    async def start(
        cls, python: Path, options: Sequence[str] = (), variables: Sequence[str] = ()
    ) -> Process:
        """Start a worker under `python` with the given command-line options.

        `variables` are further environment variables that it receives.

        Raises:
            OSError: it cannot be executed.
        """
        name, mark = uuid.uuid4().hex, ExecutingLine()
        try:
            process = await asyncio.create_subprocess_exec(
                str(python),
                str(SCRIPT),
                str(os.getpid()),
                "--mark",
                mark.name,
                *options,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**worker_environment(os.environ, variables), _NAME: name},
                pass_fds=mark.descriptors,
                cwd=Path(python.anchor),
                start_new_session=True,
                creationflags=_CREATION_FLAGS,
            )
        finally:
            mark.close_descriptors()
        return cls(process, name, mark)

    @property
    def pid(self) -> int:
        """The id of the process that was started; the worker may be a child of it."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process is known to have ended."""
        return self._process.returncode is not None

    @property
    def log(self) -> str:
        """The end of what the worker wrote to its standard error."""
        return self._log.decode("utf-8", "replace")

    async def send(self, payload: bytes) -> None:
        """Send one message.

        Raises:
            OSError: the worker has ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(frame(payload))
        await self._process.stdin.drain()

    async def receive(self, most_bytes: int = MOST_RESULT_BYTES) -> bytes:
        """The next message.

        Raises:
            EOFError: the worker has ended.
            MessageError: it has sent something else, or more than `most_bytes`.
        """
        assert self._process.stdout is not None
        stream = self._process.stdout
        try:
            header = await stream.readuntil(b"\r\n\r\n")
            name, _, value = header.strip().partition(b":")
            if name.lower() != b"content-length" or not value.strip().isdigit():
                raise MessageError(f"not a message: {header[:80]!r}")
            if len(value) > _MOST_DIGITS or int(value) > most_bytes:
                raise MessageError(f"a message of {value[:80]!r} bytes")
            return await stream.readexactly(int(value))
        except asyncio.LimitOverrunError as error:
            raise MessageError(str(error)) from error
        except asyncio.IncompleteReadError as error:
            raise EOFError(str(error)) from error

    async def wait(self) -> int:
        """The exit status, negative for a signal, after waiting for the end."""
        status = await self._process.wait()
        # `kill` has cancelled it where a process that outlives the worker holds the pipe.
        await asyncio.wait([self._logging], timeout=1.0)
        return status

    async def ends_within(self, limit_s: float) -> bool:
        """Whether the process ends by itself."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), limit_s)
        return self.has_ended

    async def close(self, patience_s: float = 2.0) -> None:
        """Close the pipe, which ends a healthy worker; kill it if it stays."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), patience_s)
        except asyncio.TimeoutError:
            await self.kill()
        finally:
            self._logging.cancel()

    async def kill(self) -> None:
        """Kill the worker and every process that descends from it."""
        if sys.platform.startswith("linux"):
            # The guard kills the worker, and ends what the worker leaves, better than can be
            # done from here.
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), _GUARD_LIMIT_S)
        if self._process.returncode is None:
            for pid in (*descendants(self.pid), self.pid):
                kill_group(pid)
        for pid in _pids_by_name(self._name):
            kill_group(pid)
        await self._process.wait()
        self._logging.cancel()

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(1 << 16):
            self._log += data
            del self._log[:-_LOG_BYTES]


def frame(payload: bytes) -> bytes:
    """A message with its header, as it is sent through the pipe."""
    return b"Content-Length: %d\r\n\r\n" % len(payload) + payload


def exit_description(status: int) -> str:
    """``signal 11`` or ``exit status 1``, by the exit status that is negative for a signal."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def resident_bytes(pid: int) -> int:
    """The resident memory of the process `pid`; 0 if the system does not report it."""
    try:
        pages = read_text(Path(f"/proc/{pid}/statm"), limit_s=None).split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def descendants(pid: int) -> list[int]:
    """The processes that descend from `pid`, the youngest generation last."""
    parents = _parents()
    found: list[int] = []
    pending = [pid]
    while pending:
        parent = pending.pop()
        children = [child for child, its_parent in parents.items() if its_parent == parent]
        found += children
        pending += children
    return found


def _pids_by_name(name: str) -> list[int]:
    """The processes with this name in the environment they were started with (Linux)."""
    variable = f"{_NAME}={name}".encode()
    found: list[int] = []
    if sys.platform.startswith("linux"):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if variable in read_bytes(entry / "environ", limit_s=None):
                        found.append(int(entry.name))
    return found


def _parents() -> dict[int, int]:
    if sys.platform == "win32":
        return {}
    if sys.platform.startswith("linux"):
        return dict(_proc_parents())
    listing = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, check=False)
    pairs = (line.split() for line in listing.stdout.splitlines())
    return {int(pair[0]): int(pair[1]) for pair in pairs if len(pair) == 2}


def _proc_parents() -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The command's name is in parentheses and may itself contain spaces.
                fields = (
                    read_text(entry / "stat", errors="replace", limit_s=None)
                    .rpartition(")")[2]
                    .split()
                )
                pairs.append((int(entry.name), int(fields[1])))
    return pairs


def kill_group(pid: int) -> None:
    """Kill a process at once, with its group if it leads one (on Windows with its children)."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # A leader's whole group is killed at once, so that no process can fork in between.
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
