"""The code that frameworks generate: the request for it, and the links of its lines to the source.

The worker links the lines of which the framework knows the statement.  Copies by TMA and the macros
of matrix instructions have no line of the user's; they are linked by the arrays that they name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from tirlens.pipeline.device_choice import choose_devices
from tirlens.pipeline.file_report import KernelIndex
from tirlens.pipeline.lowering_request import RequestIndex
from tirlens.pipeline.machine_code import MachineText, with_readable_listing
from tirlens.pipeline.options import Options
from tirlens.source.source_file import SourceFile
from tirlens_worker.facts import Branch, Gemm, KernelFacts, Loop, Mma, Node, Statement, While
from tirlens_worker.protocol import (
    CUDA,
    LIBRARY_LINE,
    NO_LINE,
    SASS,
    TIR,
    Analyze,
    CallCandidate,
    Compiler,
    GeneratedCode,
    GeneratedText,
    KernelRequest,
    Result,
)

LANGUAGES = (CUDA, TIR)
NO_CUDA_KERNEL = "code is generated for kernels with a grid on a CUDA device"
#: What nvcc may take is more than an analysis.
TIME_LIMIT_S = 150.0
# The line of the IR with the attributes of a function, which name its arrays.
_ATTRIBUTES = "T.func_attr("
_WORD = re.compile(r"[A-Za-z_]\w*")
# What code generators append to the name of an array: its descriptor, its pointer.
_SUFFIX = re.compile(r"(_desc|_ptr|_handle)?(_\d+)?$")


def generation_request(
    first: Analyze,
    result: Result,
    source: SourceFile,
    options: Options,
    languages: Sequence[str] = LANGUAGES,
    compiler: Compiler | None = None,
) -> Analyze | None:
    """The request for the code of the GPU kernels of `result`, the answer to `first`.

    Each kernel is requested by the call that yielded its facts, and compiled by `compiler` if there
    is one. Machine code comes with the CUDA source. None if there is no kernel for CUDA.
    """
    requests: dict[tuple[str, str], KernelRequest] = {}
    languages = (CUDA, *languages) if SASS in languages and CUDA not in languages else languages
    index, requested = KernelIndex(source), RequestIndex(first.kernels)
    choices = choose_devices(result.kernels, index.find, options)
    for facts, choice in zip(result.kernels, choices, strict=True):
        arch = choice.device.arch
        request = requested.find(facts)
        if request is None or not facts.launch.grid or not arch.startswith("sm_"):
            continue
        requests[facts.definition, facts.call] = replace(
            request,
            candidates=(CallCandidate(facts.call, facts.call_source, required=True),),
            allow_assumed=False,
            lower_to={"kind": "cuda", "arch": arch},
            emit=tuple(languages),
        )
    if not requests:
        return None
    limit_s = max(first.time_limit_s, TIME_LIMIT_S)
    kernels = tuple(requests.values())
    return replace(first, kernels=kernels, time_limit_s=limit_s, compiler=compiler)


def linked_code(answer: Result, kernels: Iterable[KernelFacts]) -> list[GeneratedCode]:
    """The generated code of `answer` with links to the document, and readable listings."""
    facts = {(kernel.definition, kernel.name, kernel.call): kernel for kernel in kernels}
    linked: list[GeneratedCode] = []
    for code in answer.generated:
        kernel = facts.get((code.kernel, code.name, code.call))
        code = code if kernel is None else with_array_links(code, kernel)
        linked.append(with_readable_listing(code))
    return linked


def with_array_links(code: GeneratedCode, kernel: KernelFacts) -> GeneratedCode:
    """`code` with the lines linked that only the arrays of `kernel` identify."""
    links = _ArrayLinks(kernel)
    texts = (text if text.language == SASS else links.link(text) for text in code.texts)
    return replace(code, texts=tuple(texts))


class _ArrayLinks:
    """Finds the statement of a generated line by the arrays that it names."""

    def __init__(self, kernel: KernelFacts) -> None:
        self._names = {buffer.id: buffer.name for buffer in kernel.buffers}
        self._statements: list[tuple[frozenset[str], int, bool]] = []
        for statement in _statements(kernel.body):
            site = next(iter(statement.sites), None)
            if site is not None and site.file is None:
                arrays = frozenset(self._names[access.buffer] for access in statement.accesses)
                is_product = isinstance(statement, (Gemm, Mma))
                self._statements.append((arrays, site.line, is_product))

    def link(self, text: GeneratedText) -> GeneratedText:
        """The text with lines for what has none; those of a library that no array identifies have
        the line of the library's code before them."""
        arrays = frozenset(self._names.values())
        lines: list[int] = []
        library_line = NO_LINE
        for content, line in zip(text.text.splitlines(), text.lines, strict=False):
            if line <= 0 and not content.lstrip().startswith(_ATTRIBUTES):
                is_library = line == LIBRARY_LINE
                named = frozenset(_array_names(content)) & arrays
                line = self._line_of(named, is_library) if named else NO_LINE
                if is_library:
                    line = library_line = line or library_line
            lines.append(line)
        return replace(text, lines=tuple(lines))

    def _line_of(self, named: frozenset[str], is_library: bool) -> int:
        candidates = [one for one in self._statements if named <= one[0]]
        if is_library:
            candidates = [one for one in candidates if one[2]] or candidates
        else:
            # A copy names both of its arrays, a single array may be any statement's.
            candidates = [one for one in candidates if len(named) > 1]
        lines = {line for _, line, _ in candidates}
        return lines.pop() if len(lines) == 1 else NO_LINE


def _array_names(text: str) -> Iterable[str]:
    for word in _WORD.findall(text):
        yield word
        yield _SUFFIX.sub("", word)


def _statements(nodes: Iterable[Node]) -> Iterable[Statement]:
    for node in nodes:
        if isinstance(node, Statement):
            yield node
        elif isinstance(node, (Loop, While)):
            yield from _statements(node.body)
        elif isinstance(node, Branch):
            yield from _statements((*node.then, *node.orelse))


def generated_json(code: GeneratedCode, lines: Mapping[str, int]) -> dict[str, object]:
    """The generated code of a kernel for a client; `lines` are those of the definitions."""
    registers = [kernel.registers_per_thread for kernel in code.compiled]
    known = (kernel.spill_store_bytes for kernel in code.compiled)
    spills = [bytes_ for bytes_ in known if bytes_ is not None]
    return {
        "kernel": code.kernel,
        "name": code.name,
        "call": code.call,
        "arch": code.arch,
        "line": lines.get(code.kernel),
        "error": code.error or None,
        "registers_per_thread": max(registers, default=None),
        "spill_bytes": max(spills, default=None),
        "compiled": [asdict(kernel) for kernel in code.compiled],
        "resources_error": code.resources_error or None,
        "texts": {text.language: _text_json(text) for text in code.texts},
    }


def _text_json(text: GeneratedText) -> dict[str, object]:
    found: dict[str, object] = {"text": text.text, "lines": list(text.lines)}
    if isinstance(text, MachineText):
        found["cuda_lines"] = list(text.cuda_lines)
        found["by_line"] = [
            {
                "function": function,
                "line": line,
                "instructions": code.instructions,
                "registers": code.registers,
                "operations": [asdict(operation) for operation in code.operations],
            }
            for function, lines in text.by_line.items()
            for line, code in lines.items()
        ]
    return found
