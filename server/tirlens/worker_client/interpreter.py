"""The choice of the interpreter for a file: that of its project, if it has the framework."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tirlens.worker_client.probing import Probe, probe
from tirlens_worker import framework_names
from tirlens_worker.protocol import Problem

_OLDEST_PYTHON = (3, 8)


@dataclass(frozen=True)
class Interpreter:
    """A Python and why it was chosen.  With a `problem` it cannot analyse the file.

    `variables` are further environment variables that its worker receives, as patterns of names.
    `installation` changes with the files of its packages.
    """

    path: Path
    why: str
    python: str = ""
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: Problem | None = None
    variables: tuple[str, ...] = ()
    installation: str = ""

    @property
    def identity(self) -> str:
        """What results depend on: the path, the versions, and the installed files."""
        return f"{self.path}\0{self.python}\0{dict(self.frameworks)}\0{self.installation}"


@dataclass(frozen=True)
class _Candidate:
    path: Path
    why: str
    explicit: bool = False


def find_interpreter(
    path: Path | str,
    *,
    setting: Path | str | None = None,
    editor: Path | str | None = None,
    framework_hint: str | None = None,
    environ: Mapping[str, str] | None = None,
    within: Path | None = None,
) -> Interpreter:
    """The interpreter for the file `path`.

    The order is: the setting, which is obeyed whatever it has; then, for having the framework
    that the file imports (`framework_hint`), the editor's environment, the active environment,
    the nearest ``.venv`` above the file and not above `within`, ``python3`` on PATH, the server's
    own interpreter.  If none has it, the first one is given with a `problem` that says what to
    install.
    """
    tried: list[tuple[_Candidate, Probe]] = []
    for candidate in _candidates(Path(path), setting, editor, environ or os.environ, within):
        found = probe(candidate.path)
        if candidate.explicit or _is_suitable(found, framework_hint):
            return _interpreter(candidate, found, framework_hint)
        tried.append((candidate, found))
    # None has TVM; tilelang's own copy of it is better than nothing.
    for candidate, found in tried:
        if _has_copy(found, framework_hint):
            return _interpreter(candidate, found, framework_hint)
    usable = [item for item in tried if item[1].error is None] or tried
    candidate, found = usable[0]
    return _interpreter(candidate, found, framework_hint)


def interpreters(
    path: Path | str,
    *,
    setting: Path | str | None = None,
    editor: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[Interpreter, ...]:
    """All interpreters that `find_interpreter` would consider, in its order."""
    candidates = _candidates(Path(path), setting, editor, environ or os.environ)
    return tuple(_interpreter(item, probe(item.path), None) for item in candidates)


def _is_suitable(found: Probe, hint: str | None) -> bool:
    if found.error is not None or _is_too_old(found):
        return False
    return hint in _importable(found) if hint else bool(found.frameworks)


def _importable(found: Probe) -> tuple[str, ...]:
    """The frameworks that a worker can use; two of their own TVMs cannot be in one process."""
    has_tvm = any(name in found.frameworks for name in ("tvm", "tilelang"))
    return tuple(name for name in found.frameworks if name != "tvm_tirx" or not has_tvm)


def _has_copy(found: Probe, hint: str | None) -> bool:
    """Whether an interpreter has the TVM that a file imports as a part of tilelang."""
    return hint == "tvm" and _is_suitable(found, "tilelang")


def _is_too_old(found: Probe) -> bool:
    parts = tuple(int(part) for part in found.python.split(".")[:2] if part.isdigit())
    return parts < _OLDEST_PYTHON


def _interpreter(candidate: _Candidate, found: Probe, hint: str | None) -> Interpreter:
    message: str | None = None
    if found.error is not None:
        message = f"{candidate.path} ({candidate.why}) cannot be used: {found.error}"
    elif _is_too_old(found):
        message = (
            f"{candidate.path} ({candidate.why}) is Python {found.python}; "
            "Python 3.8 or newer is needed"
        )
    elif not _is_suitable(found, hint) and not _has_copy(found, hint):
        how = _how_to_install(candidate.path, found, hint or "tvm")
        lacks = "cannot use beside another" if hint in found.frameworks else "does not have"
        message = (
            f"the file needs {hint or framework_names.ANY_OF_THEM}, which {candidate.path} "
            f"({candidate.why}) {lacks}{how}"
        )
    return Interpreter(
        path=candidate.path,
        why=candidate.why,
        python=found.python,
        frameworks=found.frameworks,
        problem=None if message is None else Problem("interpreter", message),
        installation=found.installation,
    )


def _how_to_install(python: Path, found: Probe, missing: str) -> str:
    """How to install `missing`: in an environment of its own where another framework is.

    The frameworks need different versions of apache-tvm-ffi, and pip would replace the one that
    works.
    """
    requirement = framework_names.framework_of(missing).requirement
    if not found.frameworks:
        return f"; install it: {python} -m pip install {requirement}"
    others = {name: version for name, version in found.frameworks.items() if name != missing}
    has = ", ".join(f"{name} {version}" for name, version in others.items())
    folder = Path(f".venv-{missing}")
    own = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return (
        f" (it has {has}, which cannot share an environment with {missing}); make another: "
        f"{python} -m venv {folder} && {own} -m pip install {requirement}, and select it "
        f'(--python {own}, or python = "{own}" below [tool.tirlens] in pyproject.toml)'
    )


def _candidates(
    path: Path,
    setting: Path | str | None,
    editor: Path | str | None,
    environ: Mapping[str, str],
    within: Path | None = None,
) -> Iterator[_Candidate]:
    seen: set[Path] = set()
    for candidate in _all_candidates(path, setting, editor, environ, within):
        # Links are kept: a virtual environment's python is a link and means the environment.
        absolute = Path(os.path.abspath(candidate.path))  # noqa: PTH100
        if absolute not in seen:
            seen.add(absolute)
            yield _Candidate(absolute, candidate.why, candidate.explicit)


def _all_candidates(
    path: Path,
    setting: Path | str | None,
    editor: Path | str | None,
    environ: Mapping[str, str],
    within: Path | None,
) -> Iterator[_Candidate]:
    if setting:
        yield _Candidate(_executable(setting, environ), "the setting", explicit=True)
    if editor:
        yield _Candidate(_executable(editor, environ), "the editor's environment")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = environ.get(variable)
        python = _environment_python(Path(folder)) if folder else None
        if python:
            yield _Candidate(python, f"the active environment ({variable})")
    for folder in Path(os.path.abspath(path)).parents:  # noqa: PTH100
        if within is not None and not folder.is_relative_to(within):
            break
        for name in (".venv", "venv"):
            python = _environment_python(folder / name)
            if python:
                yield _Candidate(python, f"{name} in {folder}")
    for name in ("python3", "python"):
        found = shutil.which(name, path=environ.get("PATH"))
        if found:
            yield _Candidate(Path(found), f"{name} on PATH")
    yield _Candidate(Path(sys.executable), "the server's own interpreter")


def _executable(value: Path | str, environ: Mapping[str, str]) -> Path:
    """A setting may be an interpreter, an environment's folder, or a command on PATH."""
    path = Path(os.path.expandvars(value)).expanduser()
    if path.is_dir():
        return _environment_python(path) or path
    if not path.exists() and path.parent == Path():
        return Path(shutil.which(str(path), path=environ.get("PATH")) or path)
    return path


def _environment_python(folder: Path) -> Path | None:
    for name in ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe"):
        if (folder / name).exists():
            return folder / name
    return None
