"""Static analysis of the text of a file: its kernels, directives, calls and their arguments.

Nothing is executed or imported; only the standard library's `ast` is used. Of other files, the
modules that hand on names of a framework are read.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from tirlens.source.assemble import Assembler
from tirlens.source.builders import Builders
from tirlens.source.built import BuiltKernels
from tirlens.source.compile_targets import compile_targets
from tirlens.source.dependencies import Reach, statements
from tirlens.source.directives import comments, directives, typechecks
from tirlens.source.find import find
from tirlens.source.literal_values import literal_values
from tirlens.source.looked_for import looked_for
from tirlens.source.module_names import names_of
from tirlens.source.own_calls import OwnCalls
from tirlens.source.parse import parse
from tirlens.source.source_file import Directive, KernelSource, SourceFile, Statement, SyntaxProblem

__all__ = [
    "Directive",
    "KernelSource",
    "Reach",
    "SourceFile",
    "Statement",
    "SyntaxProblem",
    "read",
]


def read(text: str, path: Path | None = None) -> SourceFile:
    """The kernels of `text`, in order, with candidates for their arguments.

    The names that helper modules hand on are followed from its file `path`.  No text raises an
    error: a part that does not parse is a `SyntaxProblem`, and the kernels in the rest are found.
    """
    parsed = parse(text)
    names = names_of(parsed.tree, path)
    builders = Builders(names, parsed.nodes)
    found = find(parsed.tree, names, builders)
    notes = comments(parsed)
    written = directives(notes)
    statements_that_build = BuiltKernels(parsed, names, builders, found)
    calls = OwnCalls(parsed, names, (*found, *statements_that_build.runners))
    built = statements_that_build.kernels(written, calls)
    used = {item.span for kernel in built for item in kernel.directives}
    assembler = Assembler(parsed, names, found, calls)
    assembler.attach(item for item in written if item.span not in used)
    built = [
        replace(kernel, directives=(*assembler.file_directives, *kernel.directives))
        for kernel in built
    ]
    kernels = (*assembler.kernels(typechecks(notes)), *built)
    framework_import = names.framework_import(parsed.tree)
    return SourceFile(
        kernels=tuple(sorted(kernels, key=lambda kernel: kernel.span.line)),
        problems=(*parsed.problems, *assembler.problems),
        directives=tuple(assembler.file_directives),
        framework_hint=names.framework,
        framework_import=None if framework_import is None else parsed.span(framework_import),
        statements=statements(parsed, names),
        literal_values=literal_values(parsed.nodes),
        compile_targets=compile_targets(parsed.nodes),
        has_tensor_expressions=any(
            isinstance(node, ast.Call) and builders.is_tensor_expression(node)
            for node in (parsed.nodes if builders.exist else ())
        ),
        handed_on=names.handed_on,
        looked_for="" if kernels else looked_for(parsed.nodes, names),
        text=text,
    )
