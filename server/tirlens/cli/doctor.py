"""``tirlens doctor``: the interpreters and protections of this machine, and what runs a file."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import Any

from rich.console import Console

from tirlens import source
from tirlens.cli.errors import UsageError
from tirlens.cli.file_text import read_file
from tirlens.cli.output import console, stream, write_json
from tirlens.cli.toolchain import tool_lines, tools_json
from tirlens.pipeline import Options
from tirlens.pipeline.device_choice import choose_device
from tirlens.settings import Settings
from tirlens.version import __version__
from tirlens.worker_client import find_interpreter, interpreters
from tirlens.worker_client.protections import protections
from tirlens.worker_client.toolchain import find_toolchain


def execute(arguments: argparse.Namespace) -> int:
    """Print what would be used and why; the exit status is 1 if it would not work."""
    path = Path(arguments.file)
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    found = _findings(path, arguments.python)
    with stream(arguments.output) as file:
        if arguments.format == "json":
            write_json(file, found)
        else:
            _print(console(file, arguments.color), path, found)
    return 1 if found["problems"] else 0


def _findings(path: Path, python: str | None) -> dict[str, Any]:
    """The interpreter and device of `path`, and their problems; `python` is ``--python``."""
    absolute = path.absolute()
    project, wrong = Settings.from_pyproject(absolute if path.is_dir() else absolute.parent)
    hint = None
    problems = list(wrong)
    if path.is_file():
        file = read_file(path)
        hint = source.read(file.text, path).framework_hint
        if file.problem is not None:
            problems.append(f"{path}: {file.problem.message}")
    setting = python or project.python
    chosen = find_interpreter(path, setting=setting, framework_hint=hint)
    if chosen.problem is not None:
        problems.append(chosen.problem.message)
    choice = choose_device(None, None, Options(project=project))
    problems += [item.message for item in choice.problems]
    return {
        "tirlens": __version__,
        "python": platform.python_version(),
        "file_imports": hint,
        "interpreters": [
            {
                "path": str(item.path),
                "why": item.why,
                "python": item.python,
                "frameworks": dict(item.frameworks),
                "used": item.path == chosen.path,
            }
            for item in interpreters(path, setting=setting)
        ],
        "device": {"id": choice.device.id, "source": choice.source},
        "protections": [
            {"id": name, "present": present, "what": what}
            for name, (present, what) in protections().items()
        ],
        "toolchain": tools_json(find_toolchain(chosen.path)),
        "problems": problems,
    }


def _print(out: Console, path: Path, found: dict[str, Any]) -> None:
    out.print(f"tirlens {found['tirlens']} on Python {found['python']}")
    if found["file_imports"]:
        out.print(f"{path} imports {found['file_imports']}")
    for item in found["interpreters"]:
        mark = "used:" if item["used"] else "     "
        has = ", ".join(f"{name} {version}" for name, version in item["frameworks"].items())
        what = f"Python {item['python'] or '?'}, {has or 'no framework'}"
        out.print(f"{mark} {item['path']} ({item['why']}): {what}")
    out.print(f"device: {found['device']['id']} ({found['device']['source']})")
    for line in tool_lines(found["toolchain"]):
        out.print(line)
    out.print("protections of analyses on this machine:")
    for item in found["protections"]:
        out.print(f"{'yes' if item['present'] else 'no ':>5}  {item['what']}")
    for problem in found["problems"]:
        out.print(f"problem: {problem}")
