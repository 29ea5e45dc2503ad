"""Wrong and hostile requests: each gets an error that says what to send, and runs nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.robust import kernel
from tirlens.settings import Settings
from tirlens.tools import TOOLS, AllowedFolders, ToolError, Workbench, call_tool
from tirlens.tools.estimate import Estimate
from tirlens.tools.workbench import Prepared

CANARY = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is not allowed: its files say so when they are executed."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.py").write_text(CANARY + kernel(1024))
    (folder / "secret.toml").write_text("id = 'secret'\n")
    (folder / "pyproject.toml").write_text("[tool.tirlens]\ndevice = 'secret.toml'\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path, outside: Path) -> Path:
    """An allowed folder, with links to what is not allowed."""
    folder = tmp_path / "allowed"
    (folder / "sub").mkdir(parents=True)
    (folder / "scale.py").write_text(kernel(1024))
    (folder / "link.py").symlink_to(outside / "secret.py")
    (folder / "linked").symlink_to(outside)
    (folder / "loop.py").symlink_to(folder / "loop.py")
    (folder / "latin.py").write_bytes(b"# \xe4\n")
    (folder / "empty.py").write_text("x = 1\n")
    os.mkfifo(folder / "pipe.py")
    return folder


def refused(bench: Workbench, tool: str, arguments: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        asyncio.run(call_tool(bench, tool, arguments))
    return caught.value


OUTSIDE = [
    "../outside/secret.py",
    "sub/../../outside/secret.py",
    "/etc/passwd",
    "/proc/self/environ",
    "link.py",
    "linked/secret.py",
    "../outside/missing.py",
    "..",
    "/",
]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("tool", [name for name, tool in TOOLS.items() if name != "devices"])
def test_files_outside_are_refused(folder: Path, outside: Path, tool: str, name: str) -> None:
    bench = Workbench(AllowedFolders([folder]))
    error = refused(bench, tool, {"file": name, **REQUIRED.get(tool, {})})
    assert error.kind == "not-allowed"
    assert "--allow FOLDER" in error.message
    assert not list(outside.glob("*.ran"))


#: What a tool needs beside a file.
REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "explain": {"line": 1},
    "sweep": {"axis": "M=1..4"},
    "compare": {"devices": ["h100", "a100"]},
}

WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    # tool, arguments, kind of the error, what its message has
    ("estimate", {}, "argument", "file is missing"),
    ("estimate", {"file": "missing.py"}, "no-file", "scale.py"),
    ("estimate", {"file": "sub"}, "no-file", "is a folder"),
    ("estimate", {"file": ""}, "argument", "file must be"),
    ("estimate", {"file": 3}, "argument", "file must be"),
    ("estimate", {"file": "a\0b.py"}, "argument", "null character"),
    ("estimate", {"file": "\ud800.py"}, "argument", "UTF-8"),
    ("estimate", {"file": "x" * 5000}, "argument", "4,096 characters"),
    ("estimate", {"file": "x/" * 2000}, "no-file", "does not exist"),
    ("estimate", {"file": "loop.py"}, "no-file", "does not exist"),
    ("estimate", {"file": "pipe.py"}, "no-file", "does not exist"),
    ("estimate", {"file": "latin.py"}, "no-file", "is not UTF-8"),
    ("estimate", {"file": "empty.py"}, "no-kernels", "has no kernel"),
    ("estimate", {"file": "scale.py", "kernel": "other"}, "no-kernels", "It has: scale"),
    ("estimate", {"file": "scale.py", "call": "other(1)"}, "no-kernels", "It has: scale"),
    ("estimate", {"file": "scale.py", "fille": "x"}, "argument", "Did you mean file?"),
    ("estimate", {"file": "scale.py", "limit": 0}, "argument", "whole number from 1 to 100"),
    ("estimate", {"file": "scale.py", "limit": True}, "argument", "whole number"),
    ("estimate", {"file": "scale.py", "offset": -1}, "argument", "whole number from 0"),
    ("estimate", {"file": "scale.py", "offset": 10**30}, "argument", "whole number from 0"),
    ("estimate", {"file": "scale.py", "bindings": {"M": 2**64}}, "argument", "whole numbers"),
    ("estimate", {"file": "scale.py", "bindings": {"M M": 1}}, "argument", "whole numbers"),
    ("estimate", {"file": "scale.py", "bindings": ["M"]}, "argument", "whole numbers"),
    ("estimate", {"file": "scale.py", "tier": "measured"}, "argument", "source, lowered, compiled"),
    ("estimate", {"file": "scale.py", "device": "h1000"}, "no-device", "Did you mean"),
    ("estimate", {"file": "scale.py", "device": "/etc/passwd"}, "not-allowed", "device"),
    ("estimate", {"file": "scale.py", "device": "linked/secret.toml"}, "not-allowed", "device"),
    ("estimate", {"file": "scale.py", "text": CANARY}, "read-only", "--write"),
    ("explain", {"file": "scale.py"}, "argument", "line is missing"),
    ("explain", {"file": "scale.py", "line": 0}, "argument", "whole number from 1"),
    ("explain", {"file": "scale.py", "line": "6"}, "argument", "whole number from 1"),
    ("estimate", {"file": "scale.py", "apply": ["x"] * 65}, "argument", "at most 64"),
    ("estimate", {"file": "scale.py", "apply": [1]}, "argument", "a list"),
    ("advise", {"file": "scale.py", "apply": ["x:1"], "write": True}, "read-only", "--write"),
    ("compare", {"file": "scale.py"}, "argument", "one of the three"),
    ("compare", {"file": "scale.py", "devices": ["h100"]}, "argument", "two or more"),
    ("compare", {"file": "scale.py", "devices": ["h100", "../x.toml"]}, "not-allowed", "device"),
    ("compare", {"file": "scale.py", "calls": ["f(1)", "f(g(1))"]}, "argument", "call"),
    ("rank", {"file": "scale.py", "space": ["block_M"]}, "argument", "expected NAME="),
    ("rank", {"file": "scale.py", "space": ["M=" + "-" * 900 + "1"]}, "argument", "deeply"),
    ("rank", {"file": "scale.py", "space": ["M=open('x')"]}, "argument", "plain value"),
    ("rank", {"file": "scale.py", "space": ["M=[i for i in (1,)]"]}, "argument", "plain value"),
    ("rank", {"file": "scale.py", "space": ["M=9**9**9"]}, "argument", "plain value"),
    ("rank", {"file": "scale.py", "space": ["M=1..2:x1"]}, "argument", "no values"),
    ("rank", {"file": "scale.py", "space": ["M=1..x()"]}, "argument", "plain value"),
    ("rank", {"file": "scale.py", "space": [f"M=1..{'9' * 5000}"]}, "argument", "characters"),
    ("rank", {"file": "scale.py", "space": ["M=1..99999999999"]}, "argument", "more than"),
    ("rank", {"file": "empty.py"}, "no-kernels", "it has none"),
    ("sweep", {"file": "scale.py"}, "argument", "axis is missing"),
    ("sweep", {"file": "scale.py", "axis": "M=open('x')"}, "argument", "plain value"),
    ("sweep", {"file": "scale.py", "axis": "M=1..9999"}, "argument", "at most 200"),
    ("devices", {"match": "none such"}, "no-device", "Send no match"),
    ("devices", {"id": "../outside/secret.toml"}, "not-allowed", "id"),
    ("rm", {}, "no-tool", "estimate"),
]


@pytest.mark.parametrize(("tool", "arguments", "kind", "said"), WRONG)
def test_wrong_arguments(
    folder: Path, outside: Path, tool: str, arguments: dict[str, Any], kind: str, said: str
) -> None:
    error = refused(Workbench(AllowedFolders([folder])), tool, arguments)
    assert error.kind == kind
    assert said in error.message
    assert len(error.message) < 1000
    assert not list(outside.glob("*.ran"))
    # What is to be sent instead is itself no wrong argument.
    for name in error.send:
        assert name in TOOLS[tool].schema["properties"]


@pytest.mark.parametrize("arguments", [[], "file", 3, [{"file": "scale.py"}]])
def test_arguments_are_an_object(folder: Path, arguments: object) -> None:
    assert "object" in refused(Workbench(AllowedFolders([folder])), "estimate", arguments).message


CALLS = [
    "__import__('os').system('touch ran')",
    "scale(__import__('os').getcwd())",
    "scale(open('x', 'w'))",
    "scale([print(1) for _ in (1,)])",
    "scale((lambda: 1)())",
    "scale.__globals__['__builtins__']",
    "scale.__call__(1)",
    "scale(x.__class__)",
    "scale(f'{1}')",
    "scale(9**9**9)",
    "scale(1 << 99999999)",
    "scale(*x)",
    "scale(y := 1)",
    "scale",
    "scale(1); import os",
    "scale(",
    "(" * 500,
    "-" * 1999,
    "scale(" + "1," * 2000 + ")",
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_has_plain_values_only(folder: Path, call: str) -> None:
    bench = Workbench(AllowedFolders([folder]))
    error = refused(bench, "estimate", {"file": "scale.py", "call": call})
    assert (error.kind, error.send["call"][:6]) == ("argument", "matmul")
    assert not (folder / "ran").exists()


def test_nothing_above_the_folder_is_read_or_executed(tmp_path: Path) -> None:
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    python.chmod(0o755)
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tirlens]\ndevice = "a100-80-sxm"\npython = ".venv/bin/python"\n'
    )
    (tmp_path / "tirlens-measured.toml").write_text("measured = [1]\n")
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "scale.py").write_text(kernel(1024))
    bench = Workbench(AllowedFolders([folder]))

    async def prepare() -> Prepared:
        return await bench.prepare(Estimate(file="scale.py"))

    prepared = asyncio.run(prepare())
    assert prepared.options.project == Settings()
    assert not prepared.interpreter.path.is_relative_to(tmp_path)
    assert bench.measured.times_of(prepared.place.path, prepared.place.folder) == ()
    assert not bench.measured.problems
    assert not (tmp_path / "ran").exists()
    # Where the folder above is allowed, its settings and interpreter are those of the project.
    bench = Workbench(AllowedFolders([tmp_path]))
    refused(bench, "estimate", {"file": "kernels/scale.py"})
    assert (tmp_path / "ran").exists()


def test_without_a_folder_nothing_is_read(folder: Path) -> None:
    bench = Workbench(AllowedFolders([]))
    error = refused(bench, "estimate", {"file": str(folder / "scale.py")})
    assert error.kind == "not-allowed"
    assert "--allow FOLDER" in error.message


@pytest.mark.slow
def test_thousands_of_requests_are_each_answered(folder: Path) -> None:
    bench = Workbench(AllowedFolders([folder]))

    async def flood() -> list[object]:
        calls = (call_tool(bench, "estimate", {"file": f"{i}.py"}) for i in range(3000))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    errors = asyncio.run(flood())
    assert {type(error) for error in errors} == {ToolError}
