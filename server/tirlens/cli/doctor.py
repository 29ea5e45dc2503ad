"""``tirlens doctor``: the interpreters that were found and which one a file would be run by."""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

from tirlens import source
from tirlens.cli import work
from tirlens.cli.errors import UsageError
from tirlens.cli.output import console, stream
from tirlens.pipeline import Options
from tirlens.pipeline.devices import choose
from tirlens.settings import Settings
from tirlens.version import __version__
from tirlens.worker_client import find_interpreter, interpreters


def run(arguments: argparse.Namespace) -> int:
    """Say what would be used and why; 1 if it would not work."""
    path = Path(arguments.file)
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    project, wrong = Settings.from_pyproject(
        path.absolute() if path.is_dir() else path.absolute().parent
    )
    hint = None
    problems = list(wrong)
    if path.is_file():
        try:
            hint = source.read(path.read_text(encoding="utf-8")).framework_hint
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{path}: {work.unreadable(error).message}")
    setting = arguments.python or project.python
    chosen = find_interpreter(path, setting=setting, framework_hint=hint)
    if chosen.problem is not None:
        problems.append(chosen.problem.message)
    found = interpreters(path, setting=setting)
    choice = choose(None, None, Options(project=project))
    problems += [item.message for item in choice.problems]
    data = {
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
            for item in found
        ],
        "device": {"id": choice.device.id, "source": choice.source},
        "problems": problems,
    }
    with stream(arguments.output) as file:
        if arguments.format == "json":
            json.dump(data, file, indent=2)
            file.write("\n")
        else:
            out = console(file, arguments.color)
            out.print(f"tirlens {__version__} on Python {platform.python_version()}")
            if hint:
                out.print(f"{path} imports {hint}")
            for item in found:
                mark = "used:" if item.path == chosen.path else "     "
                has = ", ".join(f"{name} {version}" for name, version in item.frameworks.items())
                what = f"Python {item.python or '?'}, {has or 'no framework'}"
                out.print(f"{mark} {item.path} ({item.why}): {what}")
            out.print(f"device: {choice.device.id} ({choice.source})")
            for problem in problems:
                out.print(f"problem: {problem}")
    return 1 if problems else 0
