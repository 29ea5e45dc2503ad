"""The request to the worker for the kernels of a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from tirlens import array_words
from tirlens.hardware import Device
from tirlens.pipeline.device_choice import choose_device
from tirlens.pipeline.model_sizes import FileMentions, models_of
from tirlens.pipeline.options import MOST_CALLS, Options
from tirlens.pipeline.problem_size import with_one_problem
from tirlens.source import Reach
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.facts import ModelSizes
from tirlens_worker.protocol import Analyze, CallCandidate, KernelRequest


def analysis_request(
    request_id: int, path: str, text: str, source: SourceFile, options: Options
) -> Analyze:
    """The request for the kernels of `source` that `options` select, without those turned off."""
    kernels = with_one_problem(selected_kernels(source, options))
    reach = Reach(source.statements)
    mentions = FileMentions.of(path, text)
    return Analyze(
        id=request_id,
        path=path,
        text=text,
        kernels=tuple(
            _kernel_request(
                kernel, options, {**_value_hints(kernel, source, reach), **kernel.hints}, mentions
            )
            for kernel in kernels
        ),
        target=target_of(choose_device(next(iter(kernels), None), None, options).device),
        time_limit_s=options.time_limit_s,
        compile_targets=source.compile_targets,
        handed_on=source.handed_on,
    )


def target_of(device: Device) -> Mapping[str, Any]:
    """The target that a program sees which asks for the GPU `device`."""
    if not device.arch.startswith("sm_"):
        return {}
    return {"kind": "cuda", "arch": device.arch, "sm_count": device.sm_count}


def selected_kernels(source: SourceFile, options: Options) -> list[KernelSource]:
    """The kernels of `source` that `options` select."""
    called = {name for call in options.calls if (name := root_name(call))}
    return [
        kernel
        for kernel in source.kernels
        if not kernel.off
        and (not options.by_launches or captured_calls(kernel))
        and (not called or called & _names(kernel))
        and (not options.kernels or _matches(kernel, options.kernels))
    ]


def captured_calls(kernel: KernelSource) -> list[CallCandidate]:
    """The captured calls of a kernel."""
    return [item for item in kernel.candidates if item.source == "captured"]


def root_name(call: str) -> str | None:
    """The first name of a call expression; None if it is not an expression."""
    try:
        node: ast.AST = ast.parse(array_words.expand(call.strip()), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _names(kernel: KernelSource) -> set[str]:
    return {kernel.name, kernel.name.split(".")[0], kernel.name.split(".")[-1]}


def _matches(kernel: KernelSource, patterns: tuple[str, ...]) -> bool:
    names = {*_names(kernel), kernel.prim_func or kernel.name}
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _value_hints(
    kernel: KernelSource, source: SourceFile, reach: Reach
) -> dict[str, tuple[str, ...]]:
    """The values that the text gives to names that can be parameters of a kernel.

    Only names in statements that the kernel depends on are included. A change of the rest of the
    text then changes the request only if it gives another value to one of them.
    """
    if kernel.local_to is None and kernel.style in ("prim_func", "ir_module", "built"):
        return {}
    if not source.statements:
        return dict(source.literal_values)
    texts = reach.of(reach.at([kernel.span.line]), ())
    words = frozenset[str]().union(*(source.statements[index].words for index in texts))
    return {name: values for name, values in source.literal_values.items() if name in words}


def _kernel_request(
    kernel: KernelSource,
    options: Options,
    hints: Mapping[str, tuple[str, ...]],
    mentions: FileMentions,
) -> KernelRequest:
    bindings = options.bindings_for(kernel)
    models = models_of(kernel, mentions, hints, options)
    candidates = tuple(_candidates(kernel, options, bindings))
    if models and models[0].is_chosen:
        candidates = (*_with_sizes_of(models[0], kernel, candidates, bindings), *candidates)
    return KernelRequest(
        name=kernel.name,
        style=kernel.style,
        span=kernel.span,
        prim_func=kernel.prim_func,
        candidates=candidates,
        bindings=bindings,
        hints=hints,
        relations=kernel.relations,
        models=models,
        local_to=kernel.local_to,
        prelude=kernel.prelude,
        definition=kernel.definition,
        is_certain=kernel.is_certain,
    )


def _candidates(
    kernel: KernelSource, options: Options, bindings: Mapping[str, int]
) -> Iterator[CallCandidate]:
    """The candidates in order of precedence, with bound parameters as arguments."""
    if options.by_launches:
        # Calls that differ in sizes alone are one candidate.
        distinct = {item.expression: item for item in reversed(captured_calls(kernel))}
        # What is not known of one of them is not of the others.
        yield from (
            replace(item, required=True, assumed={}) for item in reversed(distinct.values())
        )
        return
    if options.calls:
        for call in options.calls:
            if root_name(call) in _names(kernel):
                expression = array_words.expand(call)
                yield CallCandidate(expression, "option", kernel.span, required=True)
        return
    if options.all_calls:
        yield from _all_calls(kernel, bindings)
        return
    required = [item for item in kernel.candidates if item.required]
    yield from required
    fitting = {name: size for name, size in bindings.items() if name in kernel.parameters}
    if not required and kernel.required and set(kernel.required) <= set(fitting):
        arguments = ", ".join(f"{name}={size}" for name, size in fitting.items())
        source = "directive" if set(fitting) & set(kernel.bindings) else "option"
        yield CallCandidate(f"{kernel.name}({arguments})", source, kernel.span)
    for call in options.project.calls:
        if root_name(call) in _names(kernel):
            yield CallCandidate(array_words.expand(call), "settings", kernel.span)
    for item in kernel.candidates:
        if not item.required:
            if item.source == "captured":
                item = replace(item, assumed={})
            yield replace(item, expression=with_arguments(item.expression, kernel, fitting))


def _with_sizes_of(
    model: ModelSizes,
    kernel: KernelSource,
    candidates: Sequence[CallCandidate],
    bindings: Mapping[str, int],
) -> Iterator[CallCandidate]:
    """The calls that are not required with the sizes of the model that the user chose."""
    for item in candidates:
        values = {
            name: size
            for name, size in model.values.items()
            if name in kernel.parameters and name not in bindings
        }
        expression = with_arguments(item.expression, kernel, values)
        if not item.required and expression != item.expression:
            sizes = replace(model, values=values)
            yield replace(item, expression=expression, bindings={}, model=sizes)


def _all_calls(kernel: KernelSource, bindings: Mapping[str, int]) -> Iterator[CallCandidate]:
    """The distinct calls of a kernel, all of which are wanted where there are several."""
    fitting = {name: size for name, size in bindings.items() if name in kernel.parameters}
    distinct: dict[str, CallCandidate] = {}
    for item in kernel.candidates:
        expression = with_arguments(item.expression, kernel, fitting)
        distinct.setdefault(expression, replace(item, expression=expression, assumed={}))
    found = list(distinct.values())[:MOST_CALLS]
    yield from (replace(item, required=len(found) > 1) for item in found)


def with_arguments(expression: str, kernel: KernelSource, values: Mapping[str, int]) -> str:
    """The call `expression` of a kernel with the parameters in `values` given these values."""
    if not values or kernel.local_to is not None:
        return expression
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return expression
    if not isinstance(tree, ast.Call) or any(isinstance(a, ast.Starred) for a in tree.args):
        return expression
    missing = dict(values)
    for position, name in enumerate(kernel.parameters[: len(tree.args)]):
        if name in missing:
            tree.args[position] = ast.Constant(missing.pop(name))
    for keyword in tree.keywords:
        if keyword.arg in missing:
            keyword.value = ast.Constant(missing.pop(keyword.arg))
    if kernel.style == "factory":
        tree.keywords += [ast.keyword(name, ast.Constant(size)) for name, size in missing.items()]
    return ast.unparse(tree)
