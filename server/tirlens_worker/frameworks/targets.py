"""Targets of the frameworks as plain attributes."""

from __future__ import annotations

import sys
from typing import Any, Dict, Mapping, Optional, Sequence

from ..facts import KernelFacts

#: A key of targets whose architecture is an answer to a program that stated none.
OPEN_ARCHITECTURE = "tirlens-open-architecture"
#: The attribute of a function with the target that tilelang compiles it for.
COMPILE_TARGET = "tirlens.target"
_ATTRIBUTES = ("arch", "mcpu", "mtriple", "mattr", "model", "num-cores")
_CPU_KINDS = ("llvm", "c", "hexagon")


def attributes_of(target: Any) -> Dict[str, Any]:
    """What a target object states of the device: ``kind``, ``tag``, ``arch``, ``mcpu``...

    Empty for None. The architecture is left out where the program has not stated one.
    """
    kind = getattr(getattr(target, "kind", None), "name", None)
    if kind is None:
        return {}
    found: Dict[str, Any] = {"kind": str(kind)}
    if OPEN_ARCHITECTURE in [str(key) for key in getattr(target, "keys", ())]:
        return found
    if getattr(target, "tag", ""):
        found["tag"] = str(target.tag)
    attributes = getattr(target, "attrs", {})
    for name in _ATTRIBUTES:
        value = attributes.get(name)
        if value is not None and value != "":
            found[name] = _plain(value)
    return found


def target_of_text(facts: KernelFacts, literals: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The target of a kernel: its own, else the one that its text compiles such kernels for.

    Parameters
    ----------
    literals
        As in `Analyze.compile_targets`. With GPUs of several kinds, or a target that is not known,
        the text does not decide.
    """
    if facts.target or not literals:
        return facts.target
    resolved = [_resolve(literal) for literal in literals]
    on_cpu = [target.get("kind") in _CPU_KINDS for target in resolved]
    has_threads = bool(facts.launch.grid or facts.launch.threads)
    if all(on_cpu) and not has_threads:
        return resolved[0]
    gpus = [target for target, is_cpu in zip(resolved, on_cpu) if not is_cpu]
    is_mixed = len(gpus) < len(resolved) and not has_threads
    if is_mixed or not gpus or any(target != gpus[0] for target in gpus):
        return {}
    return gpus[0]


def _resolve(literal: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of a literal, those of the framework's table for a tag."""
    tag: Optional[str] = literal.get("tag")
    tvm = sys.modules.get("tvm")
    if not tag or tvm is None:
        return literal
    try:
        named = attributes_of(tvm.target.Target(tag if len(literal) == 1 else dict(literal)))
    except Exception:
        # A tag that this version does not know.
        return literal
    return dict(named, tag=tag)


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, str):
        return str(value)
    try:
        return [str(one) for one in value]
    except TypeError:
        return str(value)
