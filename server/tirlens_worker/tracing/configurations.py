"""The configurations of an autotuned kernel, as text."""

from __future__ import annotations

from typing import List, Mapping

from ..program import compilations, load
from ..program.values_as_text import NoTextError, text_of
from ..protocol import Configurations, KernelRequest
from .evaluate import Traced


def configurations_of(
    loaded: load.Loaded, request: KernelRequest, traced: Traced
) -> Configurations:
    """The configurations of the kernel whose call, the last one, yielded `traced`."""
    names = loaded.namespace_at(request.span.line)
    found: List[Mapping[str, str]] = []
    problems: List[str] = []
    for configuration in compilations.take_configurations():
        try:
            found.append({name: text_of(value, names) for name, value in configuration.items()})
        except NoTextError as error:
            problems.append(str(error))
    reason = problems[0] if problems else ""
    return Configurations(request.name, traced.call, tuple(found), len(problems), reason)
