"""Files that a device, what it extends or a project's settings are read from, of every odd kind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tirlens import hardware, toml_reader
from tirlens.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes and devices")


def _text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content, encoding="utf-8")


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
    "a named pipe": (lambda path: os.mkfifo(path), "is no regular file"),
    "a folder": (lambda path: path.mkdir(), "is no regular file"),
    "a loop of links": (lambda path: path.symlink_to(path), "cannot be read"),
    "2 MiB": (_text("#" * (2 << 20)), "is larger than 1 MiB"),
    "a sparse file": (lambda path: (path.touch(), os.truncate(path, 1 << 40)), "is larger than"),
    "5,000 digits": (_text("sm_count = " + "1" * 5000), "a value is out of range"),
    "deep arrays": (_text("x = " + "[" * 100_000), "nested too deeply"),
    "deep tables": (_text("x = " + "{a=" * 50_000), "nested too deeply"),
    "no UTF-8": (lambda path: path.write_bytes(b"id = '\xff'"), "is not UTF-8"),
    "no TOML": (_text("id = ?"), "not a TOML file"),
}
CASES = pytest.mark.parametrize(("make", "expected"), ODD.values(), ids=ODD)


@CASES
def test_a_device_file(tmp_path: Path, make: Callable[[Path], object], expected: str) -> None:
    path = tmp_path / "odd.toml"
    make(path)
    with pytest.raises(hardware.DeviceError, match=rf"^{path}: .*{expected}"):
        hardware.load(path)


@CASES
def test_what_a_device_file_extends(
    tmp_path: Path, make: Callable[[Path], object], expected: str
) -> None:
    make(tmp_path / "odd.toml")
    path = tmp_path / "mine.toml"
    path.write_text('# mine\nextends = "./odd.toml"\n')
    with pytest.raises(hardware.DeviceError, match=rf"^{path}:2: extends: .*{expected}"):
        hardware.load(path)


@CASES
def test_a_projects_settings(tmp_path: Path, make: Callable[[Path], object], expected: str) -> None:
    path = tmp_path / "pyproject.toml"
    make(path)
    found, (problem,) = Settings.from_pyproject(tmp_path)
    assert found == Settings()
    assert problem.startswith(f"{path}: ") and expected in problem


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('extends = "/dev/zero"', "/dev/zero: is no regular file"),
        ('extends = "../self/self.toml"', "more than 8 files"),
        ('extends = "~nobody_of_that_name/a.toml"', "cannot be read"),
        ('extends = "a\\u0000/b.toml"', "cannot be read"),
        ('extends = "h100"\nsm_count = 0x1' + "0" * 100_000, "sm_count: 1e.300 is not plausible"),
        ('extends = "h100"\nsm_count = -0.5e999', "sm_count: -1e.300 is not plausible"),
        ('extends = "h100"\n' + "a." * 20_000 + "b = 1", "unknown key|nested too deeply"),
        ('extends = "h100"\ndram.' + "a." * 20_000 + "b = 1", "unknown key|nested too deeply"),
        ('extends = "h100"\nid = """\n[' + " " * 200_000 + '"""\nodd = 1', "odd: unknown key"),
        (f'extends = "h100"\nodd{"x" * 100_000} = 1', "unknown key"),
    ],
)
def test_what_a_device_file_says(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "self").mkdir()
    path = tmp_path / "self" / "self.toml"
    path.write_text(content, encoding="utf-8")
    began = time.monotonic()
    with pytest.raises(hardware.DeviceError, match=expected) as caught:
        hardware.load(path)
    assert len(str(caught.value)) < 5000
    assert time.monotonic() - began < 2 * toml_reader.DEADLINE_S


def test_a_file_system_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toml_reader, "DEADLINE_S", 0.05)
    monkeypatch.setattr(toml_reader, "_read", lambda path: time.sleep(1))
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(hardware.DeviceError, match=r"a\.toml: was not read within 0\.05 s"):
            hardware.load(tmp_path / "a.toml")
        _, (problem,) = Settings.from_pyproject(tmp_path)
        assert "pyproject.toml: was not read within" in problem
        assert time.monotonic() - began < 0.5
