"""The map of the code has every room, each module says what it is for, and the guards exist."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE_LIST = runpy.run_path(str(ROOT / "server/docs/site/module_list.py"))
SECURITY = (ROOT / ".github/SECURITY.md").read_text()
FAULTS = (ROOT / "server/docs/faults.md").read_text()
PROCESSES = (ROOT / "server/docs/processes.md").read_text()
MAP = re.sub("```.*?```", "", (ROOT / "server/ARCHITECTURE.md").read_text(), flags=re.DOTALL)
GUARDS = MAP + PROCESSES + SECURITY + FAULTS


@pytest.mark.parametrize("package", ["tirlens", "tirlens_worker"])
def test_every_package_is_on_the_map(package: str) -> None:
    folders = (ROOT / "server" / package).glob("*/__init__.py")
    assert [path.parent.name for path in folders if f"{path.parent.name}/" not in MAP] == []


@pytest.mark.slow
def test_every_package_and_module_says_what_it_is_for() -> None:
    modules: list[Path] = []
    for package in MODULE_LIST["packages"]():
        modules += [package / "__init__.py", *MODULE_LIST["modules"](package)]
    silent = [path for path in modules if not MODULE_LIST["sentence"](path)]
    assert [path.parent.name for path in silent if path.name != "__main__.py"] == []


def test_the_map_is_short() -> None:
    """Two pages, besides the glossary: what is longer is a page of the documentation."""
    assert MAP.partition("## Glossary")[0].count("\n") < 110


@pytest.mark.parametrize(
    ("file", "name"), sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)\*?`", GUARDS)))
)
def test_the_guards_exist(file: str, name: str) -> None:
    assert f"def {name}" in (ROOT / "tests" / file).read_text()


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`([\w/]+\.py)[`:]", SECURITY + FAULTS))))
def test_the_files_of_canaries_exist(file: str) -> None:
    assert (ROOT / "tests" / file).is_file()
