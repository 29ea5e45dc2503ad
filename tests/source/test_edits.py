"""Where a change can be written into a text, and where it is not for us to say how."""

from __future__ import annotations

import pytest

from tirlens.source import edits, read
from tirlens.source.edits import (
    ArrayExtent,
    Change,
    Editor,
    LongerRows,
    LoopKind,
    LoopVariables,
    Opening,
    Sizes,
    Threads,
)
from tirlens_worker.facts import Span

FACTORY = """\
import tilelang.language as T
WARPS = 4
THREADS = 128

def matmul(N, block=64, stages=2, *, threads=128):
    tile = block
    @T.prim_func
    def main(A: T.Tensor((N,), "float16")):
        with T.Kernel(N // block, threads=threads) as bx:
            shared = T.alloc_shared((block, 32), "float16")
            for k in T.Pipelined(N // block, num_stages=stages):
                T.copy(A[k * block], shared)
    return main
"""
KERNEL = "    def main"


def at(text: str, part: str) -> Span:
    """The line of the first `part`."""
    line = text[: text.index(part)].count("\n") + 1
    return Span(line, 0, line, 0)


def edited(text: str, change: Change, call: str = "") -> str | None:
    """The line that the edit of a change leaves; None where there is no edit."""
    edit = Editor(read(text)).edit(change, call)
    if edit is None:
        return None
    lines, span = text.split("\n"), edit.span
    before, after = lines[span.line - 1][: span.column], lines[span.end_line - 1][span.end_column :]
    return before + edit.new_text + after


def loop(text: str, kind: str = "Pipelined", stages: int | None = 3) -> LoopKind:
    return LoopKind(at(text, "for k"), kind, stages)


def over(iterator: str) -> str:
    return FACTORY.replace("T.Pipelined(N // block, num_stages=stages)", iterator)


SIGNATURE = "def matmul(N, block=64, stages=3, *, threads=128):"


@pytest.mark.parametrize(
    ("text", "call", "expected"),
    [
        (FACTORY, "matmul(4096)", SIGNATURE),
        (FACTORY, "matmul(4096, block=128)", SIGNATURE),
        (FACTORY, "matmul(4096, 128)", SIGNATURE),
        # The call gives the value, or nobody knows whether it does.
        (FACTORY, "matmul(4096, 128, 2)", None),
        (FACTORY, "matmul(4096, stages=2)", None),
        (FACTORY, "matmul(*sizes)", None),
        (FACTORY, "matmul(**sizes)", None),
        (FACTORY, "other(4096)", None),
        (FACTORY, "", None),
        (over("T.Pipelined(N, num_stages=1)"), "", "num_stages=3):"),
        (over("T.Pipelined(N, num_stages=WARPS)"), "", "WARPS = 3"),
        (over("T.Pipelined(N)"), "", "T.Pipelined(N, num_stages=3):"),
        (over("T.Pipelined(0, N, 2)"), "", None),
        (over("T.Pipelined(N, num_stages=WARPS // 2)"), "", None),
        (over("T.Pipelined(N, num_stages=tile)"), "", None),
        (over("T.Pipelined(N, **given)"), "", None),
        (over("T.serial(N // 2)"), "", "for k in T.Pipelined(N // 2, num_stages=3):"),
        (over("T.serial(1, N)"), "", "for k in T.Pipelined(1, N, num_stages=3):"),
        (over("range(N)"), "", "for k in T.Pipelined(N, num_stages=3):"),
        (over("T.serial(N, annotations={})"), "", None),
        (over("turns(N)"), "", None),
    ],
)
def test_stages(text: str, call: str, expected: str | None) -> None:
    found = edited(text, loop(text), call)
    assert found == expected if found is None or expected is None else found.endswith(expected)


def test_the_kind_of_a_loop() -> None:
    text = over("range(N)")
    assert edited(text, loop(text, "parallel", None)) == "            for k in T.parallel(N):"
    text = over("T.serial(N)")
    assert edited(text, loop(text, "parallel", None)) == "            for k in T.parallel(N):"


@pytest.mark.parametrize(
    ("launch", "call", "expected"),
    [
        ("threads=threads", "matmul(1)", "def matmul(N, block=64, stages=2, *, threads=256):"),
        ("threads=threads", "matmul(1, threads=128)", None),
        ("threads=THREADS", "matmul(1)", "THREADS = 256"),
        ("threads=128", "", "        with T.Kernel(N // block, threads=256) as bx:"),
        ("prelude=None", "", "        with T.Kernel(N // block, prelude=None, threads=256) as bx:"),
        ("threads=(128, 1)", "", None),
    ],
)
def test_threads(launch: str, call: str, expected: str | None) -> None:
    text = FACTORY.replace("threads=threads", launch)
    assert edited(text, Threads(at(text, "with T.Kernel"), 256), call) == expected


def test_a_variable_that_is_bound_twice_is_left_alone() -> None:
    text = FACTORY.replace("THREADS = 128", "THREADS = 128\nTHREADS = 64")
    text = text.replace("threads=threads)", "threads=THREADS)")
    assert edited(text, Threads(at(text, "with T.Kernel"), 256)) is None


def test_a_parameter_that_the_function_changes_is_left_alone() -> None:
    text = FACTORY.replace("tile = block", "threads = threads // 2")
    assert edited(text, Threads(at(text, "with T.Kernel"), 256), "matmul(1)") is None


def test_an_opening_statement() -> None:
    change = Opening(at(FACTORY, KERNEL), "use_swizzle(8)")
    edit = Editor(read(FACTORY)).edit(change)
    assert edit is not None
    assert edit.new_text == "            T.use_swizzle(8)\n"
    assert edit.span == Span(10, 0, 10, 0)
    assert edit.title == "T.use_swizzle(8)"
    # Of two launches in one kernel neither is meant.
    twice = FACTORY.replace(
        "    return main", "        with T.Kernel(N):\n            T.copy(A, A)"
    )
    assert Editor(read(twice)).edit(change) is None


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("(block, 32)", "(block, 32 + 8)"),
        ("[block, tile]", "[block, tile + 8]"),
        ("(2, N // 4)", "(2, N // 4 + 8)"),
        ("(2, a if b else c)", None),
        ("shape", None),
    ],
)
def test_longer_rows(shape: str, expected: str | None) -> None:
    text = FACTORY.replace("(block, 32)", shape)
    found = edited(text, LongerRows(at(text, KERNEL), "shared", 8))
    whole = expected and f'            shared = T.alloc_shared({expected}, "float16")'
    assert found == whole


@pytest.mark.parametrize(
    ("header", "order", "expected"),
    [
        ("i, j in T.Parallel(64, N)", (1, 0), "j, i in T.Parallel(N, 64)"),
        (
            "i, j in T.Parallel(64, N + 1, coalesced_width=4)",
            (1, 0),
            "j, i in T.Parallel(N + 1, 64, coalesced_width=4)",
        ),
        ("i, j, k in T.Parallel(2, 3, 4)", (0, 2, 1), "i, k, j in T.Parallel(2, 4, 3)"),
        ("i, j in T.Parallel(*tile)", (1, 0), None),
        ("(i, j) in T.Parallel(64, N)", (1, 0), None),
        ("i in T.Parallel(64)", (1, 0), None),
        ("i, j in pairs", (1, 0), None),
    ],
)
def test_the_variables_of_a_loop_in_another_order(
    header: str, order: tuple[int, ...], expected: str | None
) -> None:
    text = over("T.serial(N)").replace("for k in T.serial(N)", f"for {header}")
    found = edited(text, LoopVariables(at(text, f"for {header}"), order))
    assert found == (expected and f"            for {expected}:")


@pytest.mark.parametrize(
    ("now", "then", "threads", "stages", "call", "expected"),
    [
        (64, 128, None, None, "matmul(1)", "def matmul(N, block=128, stages=2, *, threads=128):"),
        (64, 128, 256, 4, "matmul(1)", "def matmul(N, block=128, stages=4, *, threads=256):"),
        # The value is another one, or the call gives it.
        (32, 128, None, None, "matmul(1)", None),
        (64, 128, None, None, "matmul(1, 64)", None),
        (64, 128, None, 4, "matmul(1, stages=2)", None),
    ],
)
def test_sizes_that_parameters_have(
    now: int, then: int, threads: int | None, stages: int | None, call: str, expected: str | None
) -> None:
    change = Sizes(
        at(FACTORY, KERNEL),
        (ArrayExtent("shared", 0, now, then),),
        None if threads is None else (at(FACTORY, "T.Kernel"), threads),
        None if stages is None else (at(FACTORY, "for k"), stages),
    )
    assert edited(FACTORY, change, call) == expected


@pytest.mark.parametrize(
    ("shape", "extents"),
    [
        # A number of its own, which others depend on; one name with two values; no such array.
        ("(64, 32)", (ArrayExtent("shared", 0, 64, 128),)),
        ("(block, block)", (ArrayExtent("shared", 0, 64, 128), ArrayExtent("shared", 1, 64, 32))),
        ("(block, 32)", (ArrayExtent("other", 0, 64, 128),)),
        ("(block, 32)", (ArrayExtent("shared", 2, 64, 128),)),
        ("(block * 2, 32)", (ArrayExtent("shared", 0, 128, 256),)),
    ],
)
def test_sizes_without_an_edit(shape: str, extents: tuple[ArrayExtent, ...]) -> None:
    text = FACTORY.replace("(block, 32)", shape)
    assert edited(text, Sizes(at(text, KERNEL), extents), "matmul(1)") is None


def test_sizes_of_variables_keep_the_text_between_them() -> None:
    text = (
        FACTORY.replace("block=64, ", "")
        .replace("    tile = block\n", "    block = 64  # rows\n    deep = 32\n")
        .replace("(block, 32)", "(block, deep)")
    )
    change = Sizes(
        at(text, KERNEL), (ArrayExtent("shared", 0, 64, 128), ArrayExtent("shared", 1, 32, 64))
    )
    assert edited(text, change, "matmul(1)") == "    block = 128  # rows\n    deep = 64"


def test_columns_are_those_of_characters() -> None:
    text = over("T.Pipelined(N, num_stages=1)").replace("for k", "é = 1; é = 2\n            for k")
    found = edited(text, loop(text))
    assert found == "            for k in T.Pipelined(N, num_stages=3):"


def test_what_stands_in_another_file_is_not_edited() -> None:
    place = at(FACTORY, "for k")
    elsewhere = Span(place.line, 0, place.line, 0, "common.py")
    assert Editor(read(FACTORY)).edit(LoopKind(elsewhere, "Pipelined", 3), "matmul(1)") is None


def test_a_text_that_does_not_parse_gives_no_edit() -> None:
    assert Editor(read("def f(:")).edit(Threads(Span(1, 0, 1, 0), 256)) is None


def test_a_change_of_another_kernel_parses_that_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The edits in 20 kernels of a file, then again where one of them is new and others moved."""
    head, body = FACTORY.split("def matmul")
    kernels = [f"def matmul_{n}" + body.replace("32", str(n)) for n in range(20)]
    parsed: list[str] = []
    parse = edits.parse
    monkeypatch.setattr(edits, "parse", lambda text: parsed.append(text) or parse(text))
    edits._edit_statement.cache_clear()
    edits._index_statement.cache_clear()

    def edit_all() -> list[int]:
        text = head + "\n".join(kernels)
        editor, found = Editor(read(text)), list[int]()
        for line, content in enumerate(text.splitlines(), 1):
            if "for k" in content:
                number = len(found)
                change = LoopKind(Span(line, 0, line, 0), "Pipelined", 3)
                edit = editor.edit(change, f"matmul_{number}(4096)")
                assert edit is not None
                assert text.splitlines()[edit.span.line - 1].startswith(f"def matmul_{number}(")
                found.append(edit.span.line)
        return found

    before = edit_all()
    assert len(before) == len(parsed) == 20
    kernels[7] = kernels[7].replace("tile = block", "tile = block\n    tile = tile + 1")
    assert edit_all() == [line + (n > 7) for n, line in enumerate(before)]
    assert len(parsed) == 21
