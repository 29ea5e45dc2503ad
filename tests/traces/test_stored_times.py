"""The file of measured times: read, written, merged, and what is wrong in it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.measured.matching.stored_times import (
    StoredTime,
    StoredTimesError,
    latest,
    read_stored,
    store,
    stored_path,
    to_text,
)

DATE = datetime(2026, 11, 28, 13, 0, 5, tzinfo=timezone.utc)
ENTRY = StoredTime(
    file="kernels/gemm.py",
    kernel="matmul",
    function="gemm",
    call="matmul(4096, 4096, 4096)",
    device_id="h100-sxm",
    time_s=2.61e-3,
    measured_at=DATE,
    tool="tirlens measure",
    digest="0123456789abcdef",
    sizes={"M": 4096},
    board="NVIDIA H100 80GB HBM3",
    low_s=2.58e-3,
    high_s=2.7e-3,
    samples=100,
)
TEXTS = st.text(min_size=1, max_size=20)
ENTRIES = st.builds(
    StoredTime,
    file=TEXTS.map(lambda text: f"k/{text}".replace("\\", "")),
    kernel=TEXTS,
    function=TEXTS,
    call=TEXTS,
    device_id=st.sampled_from(["h100-sxm", "a100"]),
    time_s=st.floats(1e-9, 1e3).map(lambda value: float(f"{value:.4g}")),
    measured_at=st.integers(0, 10**6).map(lambda s: DATE + timedelta(seconds=s)),
    tool=TEXTS,
    digest=st.sampled_from(["", "abc"]),
    sizes=st.dictionaries(TEXTS, st.integers(-(2**40), 2**40), max_size=2),
    board=st.sampled_from(["", "B"]),
    low_s=st.none() | st.just(1e-3),
    high_s=st.none() | st.just(0.5),
    samples=st.none() | st.integers(1, 10**9),
)


@pytest.mark.slow
@given(st.lists(ENTRIES, max_size=8))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, entries: list) -> None:
    path = tmp_path_factory.mktemp("stored") / "tirlens-measured.toml"
    path.write_text(to_text(entries), encoding="utf-8", newline="\n", errors="replace")
    found, problems = read_stored(path)
    clean = [
        replace(
            one,
            **{
                name: getattr(one, name).encode("utf-8", "replace").decode()
                for name in ("file", "kernel", "function", "call", "tool")
            },
        )
        for one in entries
    ]
    assert not problems
    assert list(found) == latest(clean)
    assert to_text(found) == path.read_text(encoding="utf-8")


def test_the_text_has_a_line_for_each_entry() -> None:
    text = to_text([replace(ENTRY, device_id="rtx-4090"), ENTRY])
    lines = [line for line in text.splitlines() if line.startswith("  {")]
    assert lines[0] == (
        '  {file = "kernels/gemm.py", kernel = "matmul", function = "gemm", '
        'call = "matmul(4096, 4096, 4096)", sizes = {"M" = 4096}, device = "h100-sxm", '
        'board = "NVIDIA H100 80GB HBM3", time_s = 0.00261, low_s = 0.00258, high_s = 0.0027, '
        'samples = 100, measured_at = 2026-11-28T13:00:05Z, tool = "tirlens measure", '
        'digest = "0123456789abcdef"},'
    )
    assert "rtx-4090" in lines[1]


def test_a_new_measurement_takes_the_place_of_that_before(tmp_path: Path) -> None:
    path = tmp_path / "tirlens-measured.toml"
    store(path, [ENTRY, replace(ENTRY, device_id="a100")])
    store(path, [replace(ENTRY, time_s=2e-3, measured_at=DATE + timedelta(days=1))])
    found, _ = read_stored(path)
    assert {one.device_id: one.time_s for one in found} == {"a100": 2.61e-3, "h100-sxm": 2e-3}


def test_both_sides_of_a_merge_are_a_file(tmp_path: Path) -> None:
    """As `git merge` with ``merge=union``, or by hand: all lines of both sides."""

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip

    path = tmp_path / "tirlens-measured.toml"
    git("init", "-q", "-b", "main")
    (tmp_path / ".gitattributes").write_text("tirlens-measured.toml merge=union\n")
    store(path, [ENTRY])
    git("add", ".")
    git("commit", "-qm", "a")
    git("checkout", "-qb", "other")
    later = replace(ENTRY, time_s=1e-3, measured_at=DATE + timedelta(hours=2))
    store(path, [later, replace(ENTRY, call="matmul(1)")])
    git("commit", "-qam", "b")
    git("checkout", "-q", "main")
    earlier = replace(ENTRY, time_s=3e-3, measured_at=DATE + timedelta(hours=1))
    store(path, [earlier, replace(ENTRY, call="matmul(2)"), replace(ENTRY, call="matmul(9, 9)")])
    git("commit", "-qam", "c")
    git("merge", "-q", "other", "-m", "d")
    found, problems = read_stored(path)
    assert not problems
    assert {one.call: one.time_s for one in found} == {
        "matmul(1)": 2.61e-3, "matmul(2)": 2.61e-3, "matmul(9, 9)": 2.61e-3,
        "matmul(4096, 4096, 4096)": 1e-3,
    }  # fmt: skip


GOOD = to_text([ENTRY])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no list"),
        ("measured = 3", "has no list"),
        ("<<<<<<< HEAD\n" + GOOD, "not a TOML file"),
        ("\x00", "not a TOML file"),
        ("measured = [\n" + "[" * 5000, "TOML|nested"),
        ("#" * (2 << 20), "larger than"),
    ],
)
def test_another_file_is_refused_and_left_alone(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tirlens-measured.toml"
    path.write_text(text)
    with pytest.raises(StoredTimesError, match=message):
        read_stored(path)
    with pytest.raises(StoredTimesError, match=message):
        store(path, [ENTRY])
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("time_s = 0.00261", "time_s = -1", "no time in seconds"),
        ("time_s = 0.00261", "time_s = nan", "no time in seconds"),
        ("time_s = 0.00261", "time_s = inf", "no time in seconds"),
        ("time_s = 0.00261", "time_s = true", "no time in seconds"),
        ("time_s = 0.00261, ", "", "time_s is missing"),
        ('kernel = "matmul", ', "", "kernel is missing"),
        ('"kernels/gemm.py"', '"/etc/passwd"', "no relative path"),
        ("2026-11-28T13:00:05Z", "2026-11-28", "no date and time"),
        ("samples = 100", "samples = 0", "no count"),
        ("4096}", '"x"}', "no whole numbers"),
        ('"tirlens measure"', f'"{"x" * 5000}"', "at most 4096"),
    ],
)
def test_a_wrong_entry_is_named_and_the_others_are_read(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "tirlens-measured.toml"
    both = to_text([ENTRY, replace(ENTRY, call="other()")])
    assert old in both
    text = both.replace(old, new, 1)
    path.write_text(text)
    found, problems = read_stored(path)
    assert len(found) == 1
    assert "entry 1" in problems[0]
    assert message in problems[0]
    # Writing would lose the entry.
    with pytest.raises(StoredTimesError, match="entry 1"):
        store(path, [ENTRY])
    assert path.read_text() == text


def test_the_file_is_the_nearest_above_or_of_the_repository(tmp_path: Path) -> None:
    kernel = tmp_path / "a" / "b" / "k.py"
    kernel.parent.mkdir(parents=True)
    assert stored_path(kernel) == kernel.parent / "tirlens-measured.toml"
    (tmp_path / ".git").mkdir()
    assert stored_path(kernel) == tmp_path / "tirlens-measured.toml"
    nearer = tmp_path / "a" / "tirlens-measured.toml"
    store(nearer, [])
    assert stored_path(kernel) == nearer
