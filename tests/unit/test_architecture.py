"""The map of the code names what there is, and the tests that it calls guards exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECURITY = (ROOT / ".github/SECURITY.md").read_text()
FAULTS = (ROOT / "server/docs/faults.md").read_text()
MAP = re.sub("```.*?```", "", (ROOT / "server/ARCHITECTURE.md").read_text(), flags=re.DOTALL)


def table_rows(start: str) -> list[str]:
    return [line for line in MAP.splitlines() if line.startswith(f"| `{start}")]


@pytest.mark.parametrize("folder", ["tirlens_worker", "tirlens/session"])
def test_every_module_has_its_row(folder: str) -> None:
    named = {
        Path(name).name for row in table_rows(folder) for name in re.findall(r"`([^`]+)`", row)
    }
    modules = {path.name for path in (ROOT / "server" / folder).glob("[!_]*.py")}
    assert modules <= named


@pytest.mark.parametrize("package", ["tirlens", "tirlens_worker", "tirlens/model"])
def test_every_package_has_its_row(package: str) -> None:
    folders = (ROOT / "server" / package).glob("*/__init__.py")
    assert [path.parent.name for path in folders if f"/{path.parent.name}/" not in MAP] == []


@pytest.mark.parametrize(
    ("file", "name"),
    sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)\*?`", MAP + SECURITY + FAULTS))),
)
def test_the_guards_exist(file: str, name: str) -> None:
    assert f"def {name}" in (ROOT / "tests" / file).read_text()


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`([\w/]+\.py)[`:]", SECURITY + FAULTS))))
def test_the_files_of_canaries_exist(file: str) -> None:
    assert (ROOT / "tests" / file).is_file()
