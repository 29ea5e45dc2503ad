"""Configurations ranked in the editor, and the best one written as the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.rpc import Client

LISTED = """\
import tilelang
import tilelang.language as T


# tirlens: matmul(4096, 4096, 4096)
@tilelang.autotune(configs=[{"block_M": m, "num_stages": s} for m in (16, 128) for s in (1, 3)])
@tilelang.jit(out_idx=[2])
def matmul(M, N, K, block_M=16, block_N=128, num_stages=1, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, 64), dtype)
            B_shared = T.alloc_shared((64, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=num_stages):
                T.copy(A[by * block_M, k * 64], A_shared)
                T.copy(B[k * 64, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


# tirlens: matmul(4096, 4096, 4096)
"""
HEADER = 6


def lens_of(client: Client, uri: str) -> dict[str, Any]:
    """The command of the lens part that ranks."""
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    (found,) = (one for one in lenses if one["command"]["title"] == "rank configurations")
    return found["command"]


def last(client: Client, method: str) -> Any:
    found = [params for name, params in client.asked if name == method]
    return found[-1] if found else None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_best_configuration_is_written_or_all_are_shown(
    tmp_path: Path, tilelang_python: Path
) -> None:
    with Client(environment={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as client:
        client.initialize(trusted=True, interpreter=str(tilelang_python), device="h100-sxm")
        path = tmp_path / "a.py"
        path.write_text(LISTED)
        uri = client.open(path)
        client.wait_ready(uri)
        client.replies = {
            "window/showMessageRequest": {"title": "Write as defaults"},
            "workspace/applyEdit": {"applied": True},
        }
        command = lens_of(client, uri)
        client.request("workspace/executeCommand", command)
        client.wait(lambda: last(client, "workspace/applyEdit") is not None, 120.0)

        question = last(client, "window/showMessageRequest")
        assert (
            "4 configurations, 0 refused. Predicted best: block_M=128, num_stages=3"
            in (question["message"])
        )
        ((where, edits),) = last(client, "workspace/applyEdit")["edit"]["changes"].items()
        assert where == uri
        rows = LISTED.splitlines()
        for one in sorted(edits, key=lambda one: -one["range"]["start"]["character"]):
            start, end = one["range"]["start"], one["range"]["end"]
            row = rows[start["line"]]
            rows[start["line"]] = (
                row[: start["character"]] + one["newText"] + (row[end["character"] :])
            )
        header = 'def matmul(M, N, K, block_M=128, block_N=128, num_stages=3, dtype="float16"):'
        assert [row for row in rows if row.startswith("def matmul")] == [header]

        titles = [
            value["title"]
            for method, params in client.notifications
            if method == "$/progress" and (value := params["value"])["kind"] == "begin"
        ]
        assert "TIRLens: ranking the configurations of matmul" in titles

        client.replies = {"window/showMessageRequest": {"title": "Show all"}}
        client.request("workspace/executeCommand", command)
        client.wait(
            lambda: any(
                method == "window/showMessage"
                and "matmul.configurations.md is" in params["message"]
                for method, params in client.notifications
            ),
            120.0,
        )
        (table,) = (tmp_path / "cache").rglob("matmul.configurations.md")
        assert table.read_text().count("\n| ") == 2 + 4
