"""The code that the frameworks make of a kernel: CUDA source and lowered IR, with source lines.

Both are made without a GPU and without a compiler.  tilelang writes the lines of statements into
its CUDA source (``TL_EMIT_LINE_DIRECTIVES``, from 0.1.14 on).  In the IR a statement has the
comment of its line, which is removed again.

Sources: tilelang ``engine/lower.py``; apache-tvm ``python/tvm/tirx/build.py``.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ...protocol import ASSEMBLY, CUDA, LIBRARY_LINE, NO_LINE, TIR, GeneratedText
from .. import removed_names
from ..compile_options import PASS_CONFIGS
from ..ir import dialect
from ..locations import spans
from .lower import LoweringError, exact_architecture, message

# The function by which TVM compiles CUDA source.
_COMPILE = "tvm_callback_cuda_compile"
_LINE_DIRECTIVES = "tl.emit_line_directives"
# What marks the line of a statement in the printed IR.
_MARK = "@tirlens:"
_MARKED = re.compile(r"\s*# " + _MARK + r"(-?\d+)\s*$")
# The name of a function that has none.
_PRIVATE = "main"
_DIRECTIVE = re.compile(r'^\s*#line (\d+) "(.*)"\s*$')


def generate(
    prim_func: Any, framework: str, target: Mapping[str, Any], path: str, languages: Sequence[str]
) -> List[GeneratedText]:
    """The generated code of `prim_func` for `target`, in each of `languages`.

    `path` is the file whose lines are linked.

    Raises:
        LoweringError: the framework raises an error, or yields no kernel.
    """
    if target.get("kind") == "llvm":
        return [_assembly(prim_func, framework, target)]
    try:
        if framework == "tilelang":
            functions, source = _lower_tilelang(prim_func, target)
        elif framework != "tvm":
            raise LoweringError("the code that {} makes is not read yet".format(framework))
        else:
            functions, source = _lower_tvm(prim_func, target, CUDA in languages)
    except LoweringError:
        raise
    except Exception as error:
        raise LoweringError(message(str(error)) or type(error).__name__) from error
    if not functions:
        raise LoweringError("the lowered code has no kernel")
    texts: List[GeneratedText] = []
    if CUDA in languages:
        texts.append(_without_directives(source, path))
    if TIR in languages:
        texts.append(_print_functions(functions, path))
    return texts


def _assembly(prim_func: Any, framework: str, target: Mapping[str, Any]) -> GeneratedText:
    """The assembly that LLVM makes for the processor that is the target's ``arch``."""
    if framework != "tvm":
        raise LoweringError("kernels of {} are not compiled for a CPU".format(framework))
    tvm = importlib.import_module("tvm")
    # `tvm.compile` is patched while a file is executed; this is the original.
    compile_now = importlib.import_module("tvm.driver").compile
    name = str(dialect.attributes(prim_func).get("global_symbol") or _PRIVATE)
    try:
        made = compile_now(
            prim_func.with_attr("global_symbol", name),
            target=tvm.target.Target({"kind": "llvm", "mcpu": str(target.get("arch", ""))}),
        )
        module = getattr(made, "mod", made)
        show = getattr(module, "inspect_source", None) or module.get_source
        return GeneratedText(ASSEMBLY, str(show("asm")), ())
    except Exception as error:
        raise LoweringError(message(str(error)) or type(error).__name__) from error


def _lower_tilelang(prim_func: Any, target: Mapping[str, Any]) -> Tuple[List[Any], str]:
    tvm = importlib.import_module("tvm")
    engine = importlib.import_module("tilelang.engine.lower")
    configs = importlib.import_module("tilelang.transform").PassConfigKey
    arch = exact_architecture(str(target.get("arch", "")))
    tvm_target = tvm.target.Target(dict(target, arch=arch))
    options: Mapping[Any, Any] = dialect.attributes(prim_func).get(PASS_CONFIGS) or {}
    config: Dict[str, Any] = {str(key): value for key, value in options.items()}
    if any(str(key.value) == _LINE_DIRECTIVES for key in configs):
        config[_LINE_DIRECTIVES] = True
    with tvm.transform.PassContext(opt_level=3, config=config), tvm_target:
        lowered = engine.lower(prim_func, target=tvm_target, enable_device_compile=False)
    functions = [function for _, function in lowered.device_mod.functions.items()]
    return functions, str(lowered.kernel_source)


def _lower_tvm(
    prim_func: Any, target: Mapping[str, Any], with_source: bool
) -> Tuple[List[Any], str]:
    tvm = importlib.import_module("tvm")
    build = importlib.import_module("tvm.tirx.build")
    host = tvm.target.Target("llvm" if tvm.runtime.enabled("llvm") else "c")
    tvm_target = tvm.target.Target(dict(target)).with_host(host)
    if "global_symbol" not in dialect.attributes(prim_func):
        # The host's code of a private function is not made, and its kernels are not split off.
        prim_func = prim_func.with_attr("global_symbol", _PRIVATE)
    module = tvm.IRModule.from_expr(prim_func)
    with tvm_target:
        module = tvm.tirx.transform.BindTarget(tvm_target)(module)
        pipeline, _, finish = tvm.tirx.get_default_tir_pipeline(tvm_target)
        _, by_target = build.split_host_device_mods(pipeline(module))
        modules = [(one, finish()(device)) for one, device in by_target.items()]
        functions = [function for _, one in modules for _, function in one.functions.items()]
        sources: List[str] = []
        if with_source:
            # The source is generated before it is compiled, which needs nvcc.
            before = tvm.get_global_func(_COMPILE, allow_missing=True)
            tvm.register_global_func(_COMPILE, _leave_uncompiled, override=True)
            try:
                sources = [build.codegen_build(one, at).inspect_source() for at, one in modules]
            finally:
                # The process may be a program of the user's.
                if before is not None:
                    tvm.register_global_func(_COMPILE, before, override=True)
    return functions, "\n".join(sources)


def _leave_uncompiled(*_: Any) -> bytearray:
    return bytearray()


def _without_directives(source: str, path: str) -> GeneratedText:
    """CUDA source without its line directives, and the line of the statement after each."""
    kept: List[str] = []
    lines: List[int] = []
    directive = NO_LINE
    # The line of each open block, by its indentation.
    blocks: List[Tuple[int, int]] = []
    for text in source.splitlines():
        match = _DIRECTIVE.match(text)
        if match:
            directive = _line_in(spans.sites_at(match[2], int(match[1])), path)
            continue
        indentation = len(text) - len(text.lstrip())
        if text.strip():
            closes = text.lstrip().startswith("}")
            while blocks and blocks[-1][0] >= indentation + closes:
                blocks.pop()
        line = directive or (blocks[-1][1] if blocks else NO_LINE)
        kept.append(text)
        lines.append(line if text.strip() else NO_LINE)
        if text.rstrip().endswith("{") and directive:
            blocks.append((indentation, directive))
        if not text.lstrip().startswith("#pragma"):
            directive = NO_LINE
    return GeneratedText(CUDA, "\n".join(kept) + "\n", tuple(lines))


def _print_functions(functions: Sequence[Any], path: str) -> GeneratedText:
    kept: List[str] = []
    lines: List[int] = []
    for function in functions:
        marks = {
            statement: "{}{}".format(_MARK, line)
            for statement in _statements(function.body)
            for line in [_line_in(_sites(statement), path)]
            if line != NO_LINE
        }
        line = NO_LINE
        for text in function.script(obj_to_annotate=marks).splitlines():
            match = _MARKED.search(text)
            if match and not text[: match.start()].strip():
                # A comment of its own is above a loop or branch.
                line = int(match[1])
                continue
            kept.append(text[: match.start()] if match else text)
            lines.append(int(match[1]) if match else line)
            line = NO_LINE
        kept.append("")
        lines.append(NO_LINE)
    return GeneratedText(TIR, "\n".join(kept), tuple(lines))


def _statements(body: Any) -> Iterator[Any]:
    found: List[Any] = []
    removed_names.post_order_visit(body, found.append)
    statement = removed_names.tir_package().Stmt
    return (node for node in found if isinstance(node, statement))


def _sites(statement: Any) -> spans.Sites:
    sites = spans.sites_of(statement)
    if sites:
        return sites
    return spans.native_sites(getattr(statement, "span", None))


def _line_in(sites: spans.Sites, path: str) -> int:
    """The first line in the file `path`; `LIBRARY_LINE` where all are in other files."""
    for site in sites:
        if site.file is None or site.file == path:
            return site.line
    return LIBRARY_LINE if sites else NO_LINE
