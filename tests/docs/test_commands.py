"""Every command, configuration and data file that the documentation shows is understood."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from docs.snippets import COMMANDS, Snippet, snippets
from tirlens.cli.option_parser import parse
from tirlens.hardware import load
from tirlens.settings import Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What a page writes for names of the reader's own.
_NAMES = {"FILE": "a.py", "CMD": "python", "SHELL": "bash"}


def _filled(words: list[str]) -> list[str]:
    """The words with names in place of what stands for one; optional words are left out."""
    kept = re.sub(r"\[[^\]]*\]", "", shlex.join(words).replace("'", "")).split()
    return [_NAMES.get(word.removesuffix("..."), word) for word in kept]


def test_there_are_commands() -> None:
    assert {words[0] for words in COMMANDS.values()} >= {
        "analyze", "report", "compare", "measure", "capture", "lower", "devices", "doctor", "serve",
    }  # fmt: skip


@pytest.mark.parametrize("place", COMMANDS)
def test_a_command_has_these_options(place: str) -> None:
    words = COMMANDS[place]
    optional = any(word.startswith("[") for word in words)
    parse(_filled(words) if optional or {*words} & {*_NAMES, "FILE..."} else words)


@pytest.mark.parametrize("snippet", [*snippets("toml")], ids=str)
def test_a_configuration_is_read_without_a_complaint(snippet: Snippet, tmp_path: Path) -> None:
    data = tomllib.loads(snippet.text)
    if "tool" in data:
        (tmp_path / "pyproject.toml").write_text(snippet.text)
        assert Settings.from_pyproject(tmp_path)[1] == ()
    elif "extends" in data:
        (tmp_path / "device.toml").write_text(snippet.text)
        assert load(tmp_path / "device.toml").id == data.get("id", "device")


@pytest.mark.parametrize("snippet", [*snippets("json", "yaml")], ids=str)
def test_data_is_well_formed(snippet: Snippet) -> None:
    assert (json.loads if snippet.language == "json" else yaml.safe_load)(snippet.text)
