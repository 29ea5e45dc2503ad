"""A control group for a worker, with limits of memory and tasks, where one can be made (Linux).

Control groups of version 2 can be made by others than root where a part of their tree is delegated,
as systemd does for the user's services and applications, and some containers do (cgroups(7),
"Cgroups delegation"). A worker has one analysis at a time, so that the limits of its group, set
above what the warm worker has, are those of an analysis.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from functools import lru_cache
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

PROC = "/proc/self"
_PREFIX = "tirlens-"
_CONTROLLERS = ("memory", "pids")
# A group without processes that is older than this is left over from a worker that was killed.
_STALE_S = 60.0
_REMOVE_LIMIT_S = 1.0


class Group:
    """A control group of this worker, in the folder `path`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def limit(self, memory_bytes: int, tasks: int) -> None:
        """Limit memory and tasks to those of now and this many more."""
        # What is shared with other groups, or was there before the group, is not counted.
        _write(self.path, "memory.max", str(_number(self.path, "memory.current") + memory_bytes))
        _write(self.path, "memory.swap.max", "0")
        _write(self.path, "pids.max", str(_number(self.path, "pids.current") + tasks))

    @property
    def memory_kills(self) -> int:
        """How many of its processes the kernel has killed because the memory was full."""
        words = _read(self.path, "memory.events").split()
        return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0

    def end(self) -> None:
        """Kill what is in the group, and remove it."""
        _write(self.path, "cgroup.kill", "1")
        deadline = time.monotonic() + _REMOVE_LIMIT_S
        while time.monotonic() < deadline:
            try:
                os.rmdir(self.path)
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)
            else:
                return


class _State:
    own: Optional[Group] = None


def create() -> Optional[Group]:
    """A new group in the own one or beside it; None where the system does not allow it."""
    # The limit of the present group still holds in the new one.
    container_limit_bytes()
    for folder in _candidates():
        _remove_stale(folder)
        path = os.path.join(folder, _PREFIX + uuid.uuid4().hex[:12])
        with contextlib.suppress(OSError):
            os.mkdir(path)
            return Group(path)
    return None


def join(group: Group) -> None:
    """Have this process, and what it starts, be in `group`, if the system allows that."""
    if _write(group.path, "cgroup.procs", "0"):
        _State.own = group


def own() -> Optional[Group]:
    """The group that this process has joined."""
    return _State.own


def is_possible() -> bool:
    """Whether there is a place for a group with limits."""
    return bool(_candidates())


@lru_cache(maxsize=None)
def container_limit_bytes() -> Optional[int]:
    """The memory that this process and others in its group may have; None without a limit."""
    found: List[int] = []
    for mount, name in _hierarchies():
        folder = mount.folder
        while folder.startswith(mount.point):
            text = _read(folder, name).strip()
            if text.isdigit():
                found.append(int(text))
            folder = os.path.dirname(folder)
    return min(found, default=None)


def _candidates() -> List[str]:
    """The folders in which this process may make groups with limits."""
    found: List[str] = []
    for mount, name in _hierarchies():
        own = mount.folder
        if name == "memory.max":
            places = [own] if own == mount.point else [own, os.path.dirname(own)]
            found += [folder for folder in places if _is_delegated(folder)]
    return found


def _is_delegated(folder: str) -> bool:
    # To move a process takes write access to the processes of the group around both.
    can_write = os.access(folder, os.W_OK) and os.access(folder + "/cgroup.procs", os.W_OK)
    enabled = _read(folder, "cgroup.subtree_control").split()
    return can_write and all(name in enabled for name in _CONTROLLERS)


def _remove_stale(folder: str) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            age_s = time.time() - entry.stat().st_mtime
            if entry.name.startswith(_PREFIX) and entry.is_dir() and age_s > _STALE_S:
                # It fails for one that has processes.
                with contextlib.suppress(OSError):
                    os.rmdir(entry.path)


class _Mount(NamedTuple):
    """Where a hierarchy is mounted, and the folder of this process in it."""

    point: str
    folder: str


def _hierarchies() -> Iterator[Tuple[_Mount, str]]:
    """The hierarchies that may limit memory, with the names of the files of the limit."""
    paths: Dict[str, str] = {}
    for line in _read(PROC, "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    for line in _read(PROC, "mountinfo").splitlines():
        words = line.split()
        kind, *_, options = words[words.index("-") + 1 :]
        version_1 = kind == "cgroup" and "memory" in options.split(",")
        path = paths.get("memory" if version_1 else "") if version_1 or kind == "cgroup2" else None
        if path is not None:
            base, point = words[3].rstrip("/"), words[4]
            inner = path[len(base) :] if path.startswith(base + "/") else ""
            folder = (point + inner).rstrip("/")
            yield _Mount(point, folder), "memory.limit_in_bytes" if version_1 else "memory.max"


def _number(folder: str, name: str) -> int:
    text = _read(folder, name).strip()
    return int(text) if text.isdigit() else 0


def _read(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read()
    except OSError:
        return ""


def _write(folder: str, name: str, text: str) -> bool:
    try:
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    except OSError:
        return False
    return True
