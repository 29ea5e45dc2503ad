"""The batch and the length of sequences that a repository's benchmarks say of a kernel's package.

They are for kernels of which no call says them: a benchmark of the package often calls the kernel
in a way that is not followed, but names its batch.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from tirlens.evaluation.modules import Modules, module_names
from tirlens.evaluation.search_result import Target
from tirlens.evaluation.syntax import words_of
from tirlens.repository.calling_files import by_nearness, kind_of
from tirlens.repository.word_index import WordIndex
from tirlens.source.literal_values import literal_values
from tirlens.syntax_trees import FunctionNode, parameters

# What names without their underscores, in lower case, mean.
_MEANINGS = {
    **dict.fromkeys(("batch", "batchsize", "bs", "bsz", "numbatches", "numbatch"), "batch"),
    **dict.fromkeys(("seqlen", "seqlength", "sequencelength", "slen", "nctx"), "length"),
    "numtokens": "tokens",
}
# Single letters that mean the batch where a program names it so.
_LETTERS = {"B": "batch", "b": "batch"}
_WORDS = ("batch", "batch_size", "bs", "bsz", "num_batches", "seq_len", "seqlen", "seq_length")
_KINDS = ("benchmark", "program")
_MAX_FILES = 8


def batch_sizes(
    index: WordIndex, modules: Modules, target: Target, function: FunctionNode, known: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Values for names of `function`, as expressions, all of one benchmark or program.

    Parameters
    ----------
    index, modules
        The repository.
    target, function
        A kernel and its definition.
    known
        The names to which a call of the kernel gives a value; nothing is said of their meanings.
    """
    decided = {_meaning(name) for name in known}
    wanted = {
        name: meaning
        for name in (*words_of(function), *(item.arg for item in parameters(function)))
        if (meaning := _meaning(name)) is not None and meaning not in decided
    }
    if not wanted:
        return {}
    for path in itertools.islice(_files(index, target), _MAX_FILES):
        scope = modules.scope(path)
        if scope is None:
            continue
        sizes = _sizes_in(scope.tree)
        found = {name: (sizes[one],) for name, one in wanted.items() if one in sizes}
        if found:
            return found
    return {}


def _files(index: WordIndex, target: Target) -> Iterator[str]:
    """The benchmarks, then the programs, that mention the kernel's module or its package."""
    *folders, module = module_names(target.path)
    own = {file for name in (*folders[-1:], module) for file in index.files_with(name)}
    named = {file for word in _WORDS for file in index.files_with(word)}
    files = (path for path in own & named if path != target.path)
    yield from by_nearness((path for path in files if kind_of(path) in _KINDS), target)


def _sizes_in(tree: ast.Module) -> dict[str, str]:
    """The sizes in a program by their meaning."""
    nodes = list(ast.walk(tree))
    rows = {name: (text,) for node in nodes for name, text in _median_row(node)}
    values: Mapping[str, Sequence[str]] = {**literal_values(nodes), **rows}
    found: dict[str, str] = {}
    for name, texts in values.items():
        meaning = _meaning(name)
        size = next((text for text in texts if text.isdigit() and int(text) > 0), None)
        if meaning is not None and size is not None:
            found.setdefault(meaning, size)
    return found


def _median_row(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names of ``parametrize("batch, heads", [(1, 8), (2, 8)])`` with the row in the middle."""
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "parametrize":
        return
    try:
        names, rows = (cast("object", ast.literal_eval(item)) for item in node.args[:2])
    except ValueError:
        return
    if not isinstance(names, str) or not isinstance(rows, (list, tuple)) or not rows:
        return
    listed = cast("Sequence[object]", rows)
    row = listed[len(listed) // 2]
    cells = cast("Sequence[object]", row)
    values = cells if isinstance(row, tuple) else (row,)
    for name, value in zip(names.split(","), values, strict=False):
        if type(value) is int:
            yield name.strip(), str(value)


def _meaning(name: str) -> str | None:
    return _LETTERS.get(name) or _MEANINGS.get(re.sub("_", "", name).lower())
