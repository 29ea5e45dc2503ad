"""A factory with several kernels: those that its call does not return say which call it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rpc import Client

pytestmark = pytest.mark.slow
BODY = """\
    for i in T.thread_binding(rows, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""
HEAD = """\
@T.prim_func
def NAME(A: T.Buffer((rows * 128,), "float32")):
"""


def _indented(text: str, columns: int) -> str:
    return "".join(" " * columns + line for line in text.splitlines(keepends=True))


KERNEL = _indented(HEAD + BODY, 8)
# Both have one name, as they often have: only their lines tell them apart.
TEXT = f"""\
from tvm.script import tirx as T


def build(kind, rows=1000):
    if kind == "loops":
{KERNEL.replace("NAME", "main")}
    else:
{KERNEL.replace("NAME", "main")}
    return main


# tirlens: build("loops")
"""
FIRST, SECOND = (n for n, line in enumerate(TEXT.splitlines()) if "def main" in line)


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


@pytest.mark.parametrize(
    ("text", "calls", "silent", "saying"),
    [
        (TEXT + 'build("loops")\n', ("loops",), FIRST, SECOND),
        (TEXT.replace('"loops")\n', '"other")\n'), ("other",), SECOND, FIRST),
        (TEXT + '# tirlens: build("other")\n', ("loops", "other"), None, None),
    ],
    ids=["the first", "the second", "both"],
)
def test_what_a_call_leaves_out(
    client: Client,
    tmp_path: Path,
    tvm_python: Path,
    text: str,
    calls: tuple[str, ...],
    silent: int | None,
    saying: int | None,
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(text)
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(file)
    client.wait_ready(uri)
    report = client.command("tirlens.report", uri)["json"]["kernels"]
    assert [item["call"] for item in report] == [f'build("{call}")' for call in calls]
    hints = dict(client.hints(uri))
    # Each evaluated kernel has the hints of its lines.
    assert all((line + 1 in hints) == (line != saying) for line in (FIRST, SECOND)), hints
    if saying is None:
        assert not {FIRST, SECOND} & set(hints)
        assert client.hover(uri, FIRST, 14) is client.hover(uri, SECOND, 14) is None
        return
    assert silent not in hints
    assert hints[saying] == f'not used by build("{calls[0]}")'
    hover = client.hover(uri, saying, 14)
    assert hover is not None
    assert hover.startswith(f'**`main`**: not used by `build("{calls[0]}")`.')
    assert "`# tirlens: build(...)`" in hover
