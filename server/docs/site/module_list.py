"""The list of packages and modules, from the first sentences of their docstrings.

As text on a terminal: ``python server/docs/site/module_list.py [FOLDER]``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SERVER = Path(__file__).resolve().parents[2]
PACKAGES = ("tirlens", "tirlens_worker", "tirlens_counting", "tirlens_sass", "tirlens_x86")


def page() -> str:
    """The page of the documentation: a table of modules for each package."""
    parts = [
        "# Modules",
        "",
        "What each module is for, by package. [The architecture](architecture.md) says how they",
        "fit together.",
    ]
    for package in packages():
        parts += ["", f"## `{_name(package)}/`", "", sentence(package / "__init__.py"), ""]
        rows = [f"| `{path.name}` | {sentence(path)} |" for path in modules(package)]
        if rows:
            parts += ["| module | what it is for |", "|---|---|", *rows]
    return "\n".join(parts) + "\n"


def packages(folder: str = "") -> Iterator[Path]:
    """The folders of packages, outer ones first."""
    for root in PACKAGES:
        for path in sorted((SERVER / root).rglob("__init__.py")):
            if _name(path.parent).startswith(folder):
                yield path.parent


def modules(package: Path) -> Iterator[Path]:
    """The modules of one package, without those of packages in it."""
    return (path for path in sorted(package.glob("*.py")) if path.name != "__init__.py")


def sentence(path: Path) -> str:
    """The first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0].replace("|", "\\|").replace("``", "`")


def _name(package: Path) -> str:
    return package.relative_to(SERVER).as_posix()


def _show(folder: str) -> None:
    for package in packages(folder):
        print(f"\n{_name(package)}/: {sentence(package / '__init__.py')}")
        for path in modules(package):
            print(f"  {path.name:32} {sentence(path)}")


if __name__ == "__main__":
    _show(sys.argv[1].removeprefix("server/").rstrip("/") if len(sys.argv) > 1 else "")
