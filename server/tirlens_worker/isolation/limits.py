"""What a worker may take of the machine, as far as the operating system can hold it to that.

Each limit is set where the platform has it and silently absent where it has not; the server's
deadline and kill do not depend on any of them.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Optional, Union

from . import cgroup, windows_job

parent_tells = sys.platform.startswith("linux")
"""Whether the system tells of the parent's end."""
memory_option_bytes: Optional[int] = None
"""The memory of an analysis as the worker's command line limits it."""

_POLL_S = 0.5
# linux/prctl.h.
PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
# How much nicer a worker is than its server, and a worker's child than the worker.
WORKER_NICE = 10
CHILD_NICE = 5
_FILE_BYTES = 1 << 30
SPARE_PROCESSES = 512
_MOST_MEMORY_BYTES = 16 << 30


def die_with_parent(parent: int, by: int) -> None:
    """Get the signal `by` when the process with the id `parent` ends.

    Linux sends it. Elsewhere a thread looks after the parent, and ends the process group if this
    is its leader, since no one is left to do so; on Windows it ends the job.
    """
    if os.name != "posix":
        job = windows_job.contain()
        if job is not None:
            job.end_with(parent)
        return
    if parent_tells:
        prctl(PR_SET_PDEATHSIG, by)
    else:
        threading.Thread(target=_watch, args=(parent, by), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int, by: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    if os.getpgrp() == os.getpid():
        os.killpg(0, by)
    os.kill(os.getpid(), by)


def adopt_orphans() -> bool:
    """Become the parent of descendants whose own parent ends, so as to end them (Linux).

    Whether the system knows of it.
    """
    return sys.platform.startswith("linux") and prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_name(name: str) -> None:
    """Be called `name`, up to 15 characters of it, where processes are listed (Linux)."""
    if sys.platform.startswith("linux"):
        prctl(_PR_SET_NAME, name.encode())


def hide() -> None:
    """Refuse other processes this one's environment, memory and open files in /proc (Linux).

    So does what it forks, until `show`.
    """
    if sys.platform.startswith("linux"):
        prctl(_PR_SET_DUMPABLE, 0)


def show() -> None:
    """Undo `hide`: this process has nothing that its own children may not see."""
    if sys.platform.startswith("linux"):
        prctl(_PR_SET_DUMPABLE, 1)


def lower_priority(by: int) -> None:
    """Give way to other processes, where the system lets a process say so."""
    if hasattr(os, "nice"):
        try:
            os.nice(by)
        except OSError:
            return


def die_first() -> None:
    """Be the first to be killed when the machine or the container is out of memory (Linux)."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def limit_resources(time_limit_s: float, process_limit: Optional[int]) -> None:
    """Bound the CPU time, memory, files and processes of this process and its children."""
    try:
        import resource
    except ImportError:
        return
    cpu_s = int(time_limit_s * (os.cpu_count() or 1)) + 5
    _set(resource.RLIMIT_CPU, cpu_s)
    write_no_core()
    _set(resource.RLIMIT_FSIZE, _FILE_BYTES)
    if sys.platform.startswith("linux"):
        _set(resource.RLIMIT_AS, _virtual_bytes() + memory_limit_bytes())
        if process_limit is not None:
            _set(resource.RLIMIT_NPROC, process_limit)


def write_no_core() -> None:
    """Leave no core file behind."""
    import resource

    _set(resource.RLIMIT_CORE, 0)


def memory_limit_bytes() -> int:
    """What an analysis may allocate: half of what machine or container has, at most 16 GiB."""
    if memory_option_bytes is not None:
        return memory_option_bytes
    try:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _MOST_MEMORY_BYTES
    contained = cgroup.container_limit_bytes()
    return min(installed // 2, (contained or installed) // 2, _MOST_MEMORY_BYTES)


def process_limit() -> Optional[int]:
    """How many tasks this user may have in all: those of now and some (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    user = os.getuid()
    tasks = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.stat("/proc/" + entry).st_uid == user:
                    tasks += len(os.listdir("/proc/{}/task".format(entry)))
            except OSError:
                continue
    return tasks + SPARE_PROCESSES


def _virtual_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _set(kind: int, value: int) -> None:
    import resource

    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(kind, (value, hard))
    except (ValueError, OSError):
        return


def prctl(option: int, value: Union[int, bytes]) -> bool:
    """Call prctl(2); what a kernel does not know is left undone, and the result False."""
    import ctypes

    try:
        return ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False
