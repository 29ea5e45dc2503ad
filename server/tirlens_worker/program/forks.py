"""Forks of tilelang for other processors, by what only their programs write.

A kernel for one of them fails under tilelang at the first name of the fork.  The reason for the
reader is the fork, not the name.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import Iterator, NamedTuple, Optional, Tuple


class Fork(NamedTuple):
    """A fork: what it is for, and the patterns of its own names and targets."""

    name: str
    processors: str
    address: str
    names: str
    targets: str = ""


# Each from the fork's own language, tests and examples.
_FORKS = (
    Fork(
        "tilelang-mlir-ascend",
        "Huawei's Ascend NPUs",
        "https://github.com/tile-ai/tilelang-mlir-ascend",
        r"npuir_\w+|serial_npu",
        targets=r"npuir",
    ),
    Fork(
        "tilelang-ascend",
        "Huawei's Ascend NPUs",
        "https://github.com/tile-ai/tilelang-ascend",
        r"is_npu|workspace_idx|alloc_(ub|L1|L0[ABC])|(set|wait)_(cross_)?flag|pipe_barrier"
        r"|barrier_all|gemm_v\d|npu_\w+|ascend_\w+",
        r"ascendc|pto",
    ),
    Fork(
        "tilelang-musa",
        "the GPUs of Moore Threads",
        "https://github.com/tile-ai/tilelang-musa",
        r"requires_musa\w*|musa_\w+",
        r"musa( .*)?",
    ),
    Fork(
        "tilelang-metax",
        "the GPUs of MetaX",
        "https://github.com/tile-ai/tilelang-metax",
        r"requires_maca\w*|maca_\w+",
        targets=r"maca( .*)?",
    ),
    Fork(
        "tilelang-tpu",
        "Sophgo's TPUs",
        "https://github.com/xwhzz/tilelang-tpu",
        r"ppl_\w+",
        targets=r"ppl",
    ),
)


def fork_message(tree: ast.AST, error: BaseException) -> Optional[Tuple[int, str]]:
    """The line and the reason of a program that is for a fork of tilelang; None for others.

    A program may name the target of a fork beside others: it is the reason of an `error` that
    mentions it.
    """
    tilelang = sys.modules.get("tilelang")
    for line, fork, what in _marks(tree):
        if tilelang is None or hasattr(getattr(tilelang, "language", None), what):
            continue
        if what.startswith("target=") and what.split('"')[1] not in str(error):
            continue
        message = (
            "this is a program for {0}, for {1}: {2} is not in tilelang {3}. It needs a Python with"
            " {0} ({4}), and {1} are not modelled"
        )
        version = getattr(tilelang, "__version__", "")
        return line, message.format(fork.name, fork.processors, what, version, fork.address)
    return None


def _marks(tree: ast.AST) -> Iterator[Tuple[int, Fork, str]]:
    """What in a program belongs to a fork, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_of_tilelang(node.value):
            yield from _matching(node.lineno, "names", node.attr)
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "target" and isinstance(keyword.value, ast.Constant):
                    for line, fork, what in _matching(
                        node.lineno, "targets", str(keyword.value.value)
                    ):
                        yield line, fork, 'target="{}"'.format(what)
                elif keyword.arg is not None and _is_of_tilelang(node.func):
                    yield from _matching(node.lineno, "names", keyword.arg)


def _is_of_tilelang(node: ast.AST) -> bool:
    """Whether an expression is a usual name of tilelang or its language, or an attribute of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("T", "tl", "tilelang", "language")


def _matching(line: int, kind: str, text: str) -> Iterator[Tuple[int, Fork, str]]:
    for fork in _FORKS:
        if re.fullmatch(getattr(fork, kind) or "(?!)", text):
            yield line, fork, text
