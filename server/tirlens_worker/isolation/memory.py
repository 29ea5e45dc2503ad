"""The memory that the processes of an analysis hold together (Linux).

A limit of the system holds for each process. An analysis of several processes is measured while it
runs. Its memory is the sum of

- anonymous pages, in memory and in swap, that the worker does not hold too. A page that processes
  share after a fork counts once;
- mapped shared memory, once;
- files in memory (``memfd_create``, ``tmpfs``) that one of the processes has or had open; of files
  that are older than the analysis, what they grew.

Not measured are files of ``tmpfs`` that no process had open at the time of a measurement, System V
segments that no process maps, huge pages, and buffers of the kernel. The fields are those of
proc_pid_status(5), proc_pid_smaps(5) and proc_pid_fd(5).
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from functools import lru_cache
from typing import Dict, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

# Counters are read in at most a twentieth of the time, on a machine that is not too busy; page
# tables, where the counters are above the limit, in a fifth.
_COST_FACTOR, _EXACT_COST_FACTOR = 20, 5
_SLOW_S = 0.025
# A measurement that takes longer, as on a busy machine, is given up; the next may take twice as
# long.
_LEAST_BUDGET_S = 0.02
# The page tables are read again after this time where the counters have not grown.
_EXACT_EVERY_S = 0.5
_BLOCK_BYTES = 512
# The clock of file systems lags by at most one tick of the scheduler.
_CLOCK_TICK_S = 0.01
_ANONYMOUS = (b"RssAnon:", b"VmSwap:")
_MAPPING = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)")
# Device and inode of a file.
File = Tuple[int, int]


class _Budget:
    """The time until which a measurement may run."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def check(self) -> None:
        """Go on while there is time.

        Raises:
            TimeoutError: there is none.
        """
        if time.monotonic() > self._deadline:
            raise TimeoutError


class MemorySum:
    """Measures the processes of one analysis, which descend from the process `worker`."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self._start_s = time.time() - _CLOCK_TICK_S
        self._files: Dict[File, _FileInMemory] = {}
        self._estimate_bytes = 0
        self._exact_bytes = 0
        self._budget_s = _LEAST_BUDGET_S
        self._next_s = 0.0
        self._next_exact_s = 0.0
        self._latest_s = 0.0

    def is_above(self, limit_bytes: int, processes: Sequence[int]) -> bool:
        """Whether the `processes` hold more than `limit_bytes`; False while no measurement is due.

        The estimate from the counters of each process is an upper bound. The page tables, which
        take about 10 ms for each GiB, are read only where it is above the limit, and seldom.
        """
        began = time.monotonic()
        if began < self._next_s:
            return False
        try:
            is_above = self._measure(limit_bytes, processes, _Budget(began + self._budget_s))
            self._budget_s = _LEAST_BUDGET_S
        except TimeoutError:
            is_above = False
            self._budget_s *= 2
        self._next_s = began + _COST_FACTOR * min(_SLOW_S, time.monotonic() - began)
        return is_above

    def _measure(self, limit_bytes: int, processes: Sequence[int], budget: _Budget) -> bool:
        files = self._file_bytes(processes, budget)
        counters: Dict[int, int] = {}
        for pid in processes:
            budget.check()
            counters[pid] = _status_bytes(pid, (*_ANONYMOUS, b"RssShmem:"))
        estimate = sum(counters.values()) + sum(files.values())
        began = time.monotonic()
        growth = max(0, estimate - self._estimate_bytes)
        is_near = self._exact_bytes + growth > limit_bytes or began >= self._latest_s
        if estimate <= limit_bytes or began < self._next_exact_s or not is_near:
            return False
        largest_first = sorted(processes, key=counters.__getitem__, reverse=True)
        self._exact_bytes = self._exact_sum(largest_first, files, limit_bytes, budget)
        self._estimate_bytes = estimate
        took_s = time.monotonic() - began
        self._next_exact_s = began + _EXACT_COST_FACTOR * took_s
        self._latest_s = began + max(_EXACT_EVERY_S, _COST_FACTOR * took_s)
        return self._exact_bytes > limit_bytes

    def _exact_sum(
        self, processes: Sequence[int], files: Dict[File, int], limit_bytes: int, budget: _Budget
    ) -> int:
        """The bytes of the analysis, or some number above the limit as soon as it is reached."""
        # The worker's share and those of the analysis add up to all pages that one of them has.
        own = _anonymous_bytes(self._worker) - _status_bytes(self._worker, _ANONYMOUS)
        shared = dict(files)
        for pid in processes:
            budget.check()
            own += _anonymous_bytes(pid)
            if _status_bytes(pid, (b"RssShmem:",)):
                for file, path, size in _mapped_shares(pid):
                    if file not in files:
                        self._add_path(file, path)
                        if file not in self._files:
                            # Without a name, or deleted: all of it is the analysis's own.
                            shared[file] = shared.get(file, 0) + size
            if own + sum(shared.values()) > limit_bytes:
                break
        return max(0, own) + sum(shared.values())

    def _file_bytes(self, processes: Sequence[int], budget: _Budget) -> Dict[File, int]:
        """What the analysis added to files in memory that are open, or were and still exist."""
        sizes: Dict[File, int] = {}
        for pid in processes:
            budget.check()
            folder = "/proc/{}/fd/".format(pid)
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    with contextlib.suppress(OSError):
                        found = os.stat(folder + name)
                        file = found.st_dev, found.st_ino
                        if _is_in_memory(found):
                            if file not in self._files:
                                self._add(found, os.readlink(folder + name))
                            sizes[file] = self._files[file].growth(found)
        for file in self._files.keys() - sizes.keys():
            try:
                found = os.stat(self._files[file].path)
                if (found.st_dev, found.st_ino) != file:
                    raise FileNotFoundError
                sizes[file] = self._files[file].growth(found)
            except OSError:
                del self._files[file]
        return sizes

    def _add_path(self, file: File, path: str) -> None:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if (found.st_dev, found.st_ino) == file:
                self._add(found, path)

    def _add(self, found: os.stat_result, path: str) -> None:
        is_new = found.st_ctime >= self._start_s
        before = 0 if is_new else found.st_blocks * _BLOCK_BYTES
        self._files[found.st_dev, found.st_ino] = _FileInMemory(path, before)


class _FileInMemory(NamedTuple):
    path: str
    bytes_before: int

    def growth(self, found: os.stat_result) -> int:
        """The bytes that the file received since the analysis began."""
        return max(0, found.st_blocks * _BLOCK_BYTES - self.bytes_before)


def is_measurable() -> bool:
    """Whether the system reports what the sum is made of."""
    counters = dict(_sizes("/proc/self/status"))
    return b"RssAnon:" in counters and os.path.exists("/proc/self/fd")


def _is_in_memory(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_dev in _devices_in_memory()


def _status_bytes(pid: int, names: Sequence[bytes]) -> int:
    """The sum of fields of a process's status; 0 for a process that has ended."""
    return sum(size for name, size in _sizes("/proc/{}/status".format(pid)) if name in names)


def _anonymous_bytes(pid: int) -> int:
    """The share of a process in anonymous pages; before Linux 5.4, all that it has."""
    sizes = dict(_sizes("/proc/{}/smaps_rollup".format(pid)))
    if b"Pss_Anon:" not in sizes:
        return _status_bytes(pid, _ANONYMOUS)
    return sizes[b"Pss_Anon:"] + sizes.get(b"SwapPss:", 0)


def _sizes(path: str) -> List[Tuple[bytes, int]]:
    """The lines ``name: N kB`` of a file, with N in bytes."""
    try:
        with open(path, "rb") as file:
            lines = [line.split() for line in file]
    except OSError:
        return []
    return [
        (words[0], int(words[1]) * 1024) for words in lines if len(words) == 3 and words[2] == b"kB"
    ]


def _mapped_shares(pid: int) -> List[Tuple[File, str, int]]:
    """The files in memory that a process maps, their paths, and its share (Pss) in each mapping."""
    shares: List[Tuple[File, str, int]] = []
    file, path = (0, 0), ""
    devices = _devices_in_memory()
    try:
        with open("/proc/{}/smaps".format(pid), "rb") as lines:
            for line in lines:
                if line.startswith(b"Pss:") and file[0] in devices:
                    shares.append((file, path, int(line.split()[1]) * 1024))
                    continue
                match = _MAPPING.match(line)
                if match:
                    major, minor, inode, name = match.groups()
                    file = os.makedev(int(major, 16), int(minor, 16)), int(inode)
                    path = os.fsdecode(name)
    except OSError:
        return shares
    return shares


@lru_cache(maxsize=None)
def _devices_in_memory() -> FrozenSet[int]:
    """The devices of file systems in memory: those of ``tmpfs``, and the kernel's own."""
    found: Set[int] = set()
    with contextlib.suppress(OSError), open("/proc/self/mountinfo") as file:
        for line in file:
            words = line.split()
            if words[words.index("-") + 1] in ("tmpfs", "devtmpfs", "ramfs"):
                major, minor = words[2].split(":")
                found.add(os.makedev(int(major), int(minor)))
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError):
            descriptor = os.memfd_create("tirlens")
            found.add(os.fstat(descriptor).st_dev)
            os.close(descriptor)
    return frozenset(found)
