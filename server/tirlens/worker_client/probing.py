"""The version and the frameworks of a Python interpreter, queried once and cached."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from tirlens.environment_variables import allowed_variables
from tirlens_worker import framework_names

_PROBE_TIMEOUT_S = 20.0
_Stamps: TypeAlias = tuple[tuple[str, int, int], ...]
# The folders of the frameworks' modules and shared libraries, below that of the packages.
_FRAMEWORK_FOLDERS = tuple(
    f"{module}{part}" for module in (*framework_names.MODULES, "tvm_ffi") for part in ("", "/lib")
)
_CACHE = "__pycache__"
# Found without importing: the frameworks take seconds to import and may print or crash.
_PROBE = """
import os, sys
try:
    # On Linux it ends with its server: PR_SET_PDEATHSIG, SIGKILL.
    import ctypes
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
except Exception:
    pass
if hasattr(os, "getppid") and os.name == "posix" and os.getppid() != int(sys.argv[1]):
    sys.exit("the server is gone")
import importlib.util as u, json, platform, sysconfig
try:
    from importlib.metadata import version
except ImportError:
    version = lambda name: None
def find(name, *packages):
    try:
        spec = u.find_spec(name)
    except Exception:
        spec = None
    if spec is None or not spec.origin:
        return None
    for package in packages:
        try:
            return version(package)
        except Exception:
            pass
    return "unknown"
found = {name: find(name, *packages) for name, packages in json.loads(sys.argv[2])}
print(json.dumps({
    "python": platform.python_version(),
    "frameworks": {k: v for k, v in found.items() if v},
    "folders": sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}),
}))
"""


@dataclass(frozen=True)
class Probe:
    """The versions of a Python and its frameworks, or the `error` of the query.

    `installation` changes with the installed packages and with the files of the frameworks, also
    where their versions stay.
    """

    python: str = ""
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])
    installation: str = ""
    error: str | None = None


def probe(path: Path) -> Probe:
    """The probe of the interpreter `path`, repeated only after its packages have changed."""
    # Several files that are opened at once use the same interpreter, which is started once.
    with _asking:
        known = _cache.get(path)
        if known is not None and known[1] == _stamps(path, known[0]):
            return known[2]
        found, folders = _ask(path)
        stamps = _stamps(path, folders)
        found = replace(found, installation=hashlib.sha256(repr(stamps).encode()).hexdigest()[:16])
        _cache[path] = (folders, stamps, found)
        return found


_asking = threading.Lock()
_cache: dict[Path, tuple[tuple[str, ...], _Stamps, Probe]] = {}


def _ask(path: Path) -> tuple[Probe, tuple[str, ...]]:
    frameworks = [(one.module, one.distributions) for one in framework_names.FRAMEWORKS]
    command = [str(path), "-c", _PROBE, str(os.getpid()), json.dumps(frameworks)]
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_TIMEOUT_S,
            # What is in its packages may run as it starts.
            env=allowed_variables(os.environ),
            # The working directory is on the search path of ``-c``: nothing of interest is here.
            cwd=Path(path.anchor or os.sep),
            check=True,
        )
        data = json.loads(answer.stdout)
    except FileNotFoundError:
        return Probe(error="there is no such file"), ()
    except PermissionError:
        return Probe(error="it cannot be executed"), ()
    except subprocess.TimeoutExpired:
        return Probe(error=f"it did not answer within {_PROBE_TIMEOUT_S:g} s"), ()
    except subprocess.CalledProcessError as error:
        text = error.stderr.decode("utf-8", "replace").strip().splitlines()
        return Probe(error=text[-1] if text else f"exit status {error.returncode}"), ()
    except (OSError, ValueError) as error:
        return Probe(error=f"it is not a usable Python: {error}"), ()
    return Probe(data["python"], data["frameworks"]), tuple(data["folders"])


def _stamps(path: Path, folders: tuple[str, ...]) -> _Stamps:
    """Names, sizes and times of the interpreter, the packages, and the files of frameworks."""
    stamps = [_stamp(path.name, path)]
    for folder in map(Path, folders):
        for name in (".", *_FRAMEWORK_FOLDERS):
            try:
                with os.scandir(folder / name) as entries:
                    found = sorted((entry.name, entry) for entry in entries)
            except OSError:
                continue
            stamps += [_stamp(f"{name}/{text}", entry) for text, entry in found if text != _CACHE]
    return tuple(stamps)


def _stamp(name: str, entry: Path | os.DirEntry[str]) -> tuple[str, int, int]:
    try:
        status = entry.stat()
    except OSError:
        return name, 0, 0
    return name, status.st_size, status.st_mtime_ns
