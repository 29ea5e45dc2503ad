"""Static analysis of the text of a file: its kernels, directives, calls and their arguments.

Nothing is executed or imported; only the standard library's `ast` is used.
"""

from __future__ import annotations

from tirlens.source.assemble import Assembler
from tirlens.source.call_sites import CallSites
from tirlens.source.dependencies import Reach, statements
from tirlens.source.directives import comments, directives, typechecks
from tirlens.source.find import find
from tirlens.source.literal_values import literal_values
from tirlens.source.module_names import names_of
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


def read(text: str) -> SourceFile:
    """The kernels of `text`, in order, with candidates for their arguments.

    No text raises an error: a part that does not parse is a `SyntaxProblem`, and the kernels in the
    rest are found.
    """
    parsed = parse(text)
    names = names_of(parsed.tree)
    found = find(parsed.tree, names)
    notes = comments(parsed)
    assembler = Assembler(parsed, names, found, CallSites(parsed, names))
    assembler.attach(directives(notes))
    return SourceFile(
        kernels=assembler.kernels(typechecks(notes)),
        problems=(*parsed.problems, *assembler.problems),
        directives=tuple(assembler.file_directives),
        framework_hint=names.framework,
        statements=statements(parsed, names),
        literal_values=literal_values(parsed.nodes),
        text=text,
    )
