"""Requests to a worker, made of a text by the project's own discovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tirlens import source
from tirlens_worker.protocol import Analyze, CallCandidate, KernelRequest


def request_of(
    path: Path,
    text: str,
    *,
    limit_s: float = 20.0,
    calls: tuple[str, ...] = (),
    target: Mapping[str, Any] | None = None,
) -> Analyze:
    """The request for all kernels of `text`; `calls` are required candidates of each."""
    found = source.read(text)
    kernels = tuple(
        KernelRequest(
            name=kernel.name,
            style=kernel.style,
            span=kernel.span,
            prim_func=kernel.prim_func,
            candidates=kernel.candidates,
            bindings=kernel.bindings,
            local_to=kernel.local_to,
            prelude=kernel.prelude,
            definition=kernel.definition,
        )
        for kernel in found.kernels
    )
    if calls:
        required = tuple(CallCandidate(call, "option", required=True) for call in calls)
        kernels = tuple(replace(kernel, candidates=required) for kernel in kernels)
    return Analyze(
        1,
        str(path),
        text,
        kernels,
        time_limit_s=limit_s,
        target=target or {},
        compile_targets=found.compile_targets,
    )
