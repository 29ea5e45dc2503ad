"""The documentation of the settings: written from the extension's package, with its pictures."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tirlens.settings import Settings

REPOSITORY = Path(__file__).resolve().parents[2]
CLIENT = REPOSITORY / "vscode-client"
PAGE = REPOSITORY / "server/docs/settings.md"
MOST_BYTES = 60_000


def _settings() -> dict[str, str | None]:
    """The settings of the page, with their names in `pyproject.toml`."""
    found = re.findall(
        r"^### `tirlens\.([\w.]+)`$.*?^Default: .*?(?:In `pyproject.toml`: `([\w-]+)`|editor only)",
        PAGE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    return {name: in_project or None for name, in_project in found}


def test_the_pages_are_what_the_package_says() -> None:
    command = [sys.executable, str(CLIENT / "settings.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_server_knows_both_names_of_each_setting() -> None:
    named = _settings()
    assert len(named) > 15
    for name, in_project in named.items():
        for spelling in filter(None, (None if name.startswith("server.") else name, in_project)):
            _, problems = Settings.from_mapping({spelling: object()})
            assert not any("unknown" in problem for problem in problems), spelling


def test_every_setting_of_the_server_is_in_the_page(tmp_path: Path) -> None:
    # What concerns the gate alone is described with it.
    fields = {field.name for field in dataclasses.fields(Settings)} - {"budgets", "fail_above"}
    read: set[str] = set()
    for spelling in _settings():
        values: Mapping[str, Any] = {spelling: _example(spelling)}
        settings, problems = Settings.from_mapping(values)
        if not spelling.startswith("server."):
            assert problems == (), spelling
        read |= {
            field.name
            for field in dataclasses.fields(settings)
            if getattr(settings, field.name) not in (None, (), {})
        }
    assert read == fields
    # What a project may not set has no name there.
    (tmp_path / "pyproject.toml").write_text("[tool.tirlens]\nanalyze-on-open = true\n")
    assert Settings.from_pyproject(tmp_path)[1]
    assert _settings()["analyzeOnOpen"] is None


def _example(name: str) -> object:
    examples: dict[str, object] = {
        "device": "l4",
        "calls": ["f(1)"],
        "bindings": {"M": 1},
        "show": "all",
        "lensParts": ["time"],
        "interpreter": "python",
        "environment": ["HF_HOME"],
        "timeout": 1,
        "minPercentage": 1,
        "hintColumns": 100,
        "lensCharacters": 50,
        "mathFidelity": "HiFi4",
        "model": "qwen3-32b",
    }
    return examples.get(name, True)


def test_each_group_has_a_small_picture() -> None:
    pictures = re.findall(
        r"^## (\w+)\n\n!\[.+\]\((images/[\w-]+\.png)\)$", PAGE.read_text(), re.MULTILINE
    )
    assert [title for title, _ in pictures] == ["Estimates", "Display", "Execution"]
    readme = (CLIENT / "README.md").read_text()
    for _, name in pictures:
        picture = PAGE.parent / name
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < MOST_BYTES
        assert f"/raw/HEAD/server/docs/{name})" in readme
