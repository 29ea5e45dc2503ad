"""Edits of a measured kernel that were committed since are counted, from a repository of git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.measured.matching.stored_times import StoredTime, store
from tirlens.model import analyze
from tirlens.pipeline import FileReport, MeasuredFiles, with_measured
from tirlens.pipeline.committed_texts import committed_digests
from tirlens.source import read
from tirlens.source.digest import KernelDigests

TEXT = """\
import tilelang.language as T


@T.prim_func
def scale(A: T.Tensor((1024,), "float16")):
    with T.Kernel(8, threads=128) as bx:
        for i in T.Parallel(128):
            A[bx * 128 + i] = A[bx * 128 + i] * {factor}
"""
BEGIN = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def digest(text: str) -> str:
    source = read(text)
    (kernel,) = source.kernels
    found = KernelDigests(source).at(kernel.span.line)
    assert found is not None
    return found


def text(factor: int, comment: str = "") -> str:
    return TEXT.format(factor=factor) + comment


def commit(path: Path, content: str, hours: float) -> None:
    path.write_text(content)
    at = (BEGIN + timedelta(hours=hours)).isoformat()
    environment: Mapping[str, str] = {
        **os.environ, "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c",
    }  # fmt: skip
    for command in (["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=path.parent, env=environment, check=True)


def measured(content: str) -> StoredTime:
    return StoredTime(
        "scale.py", "scale", "scale", "scale", "h100-sxm", 1e-3, BEGIN, "ncu", digest(content)
    )


def edits(path: Path, now: str, files: MeasuredFiles, **options: Any) -> int | None:
    source = read(now)
    kernel = replace(
        analyze(gemm(), load("h100-sxm")),
        name="scale",
        definition="scale",
        call="scale",
        span=source.kernels[0].span,
        bindings={},
    )
    report = FileReport((kernel,), source=source, path=str(path))
    found, _ = with_measured(
        report,
        files.times_of(path),
        committed=lambda: files.committed_of(path, is_awaited=True),
        **options,
    )
    (one,) = found.kernels[0].measured
    return one.edits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path / "scale.py"


@pytest.mark.parametrize("committed_at", [-1, 1], ids=["before", "after the measurement"])
def test_committed_edits_are_counted(path: Path, committed_at: float) -> None:
    commit(path, text(1), -5)
    commit(path, text(2), committed_at)
    store(path.parent / "tirlens-measured.toml", [measured(text(2))])
    commit(path, text(3), 2)
    commit(path, text(3, "# a comment\n"), 3)
    commit(path, text(4), 4)
    texts = [digest(text(factor)) for factor in (2, 3, 4)]
    base = [digest(text(1))] if committed_at > 0 else []
    assert committed_digests(path, [measured(text(2))]) == {"scale": (*base, *texts)}
    files = MeasuredFiles()
    assert edits(path, text(4), files) == 2
    # What is not committed is one more, and so are the texts of the session.
    assert edits(path, text(5), files) == 3
    assert edits(path, text(6), files, before={"scale": (texts[-1], digest(text(5)))}) == 4
    assert edits(path, text(2), files) is None


def test_without_the_measured_text_the_number_is_not_known(path: Path) -> None:
    commit(path, text(1), -1)
    store(path.parent / "tirlens-measured.toml", [measured(text(9))])
    commit(path, text(2), 1)
    assert edits(path, text(2), MeasuredFiles()) is None


def test_without_git_the_number_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "scale.py"
    path.write_text(text(2))
    store(tmp_path / "tirlens-measured.toml", [measured(text(1))])
    assert edits(path, text(2), MeasuredFiles()) is None


def test_the_repository_is_read_in_a_thread(path: Path) -> None:
    commit(path, text(1), -1)
    store(path.parent / "tirlens-measured.toml", [measured(text(1))])
    commit(path, text(2), 1)
    files = MeasuredFiles()
    assert files.committed_of(path) == {}
    awaited = files.committed_of(path, is_awaited=True)
    assert awaited == {"scale": (digest(text(1)), digest(text(2)))}
    assert files.committed_of(path) == awaited
