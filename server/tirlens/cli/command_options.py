"""The options of a command, checked."""

from __future__ import annotations

import argparse

from tirlens.cli.errors import UsageError
from tirlens.hardware import DeviceError, load
from tirlens.pipeline import Options
from tirlens.pipeline.analysis_request import root_name
from tirlens.settings import MAX_TIMEOUT_S
from tirlens.source.directives import integer


def options_of(arguments: argparse.Namespace) -> Options:
    """The options of a command, checked.

    Raises:
        UsageError: an option's value is wrong.
    """
    for name in arguments.device:
        try:
            load(name)
        except DeviceError as error:
            raise UsageError(str(error)) from error
    for call in arguments.call:
        if root_name(call) is None:
            raise UsageError(f"--call {call!r} is no call such as 'matmul(1024, 1024)'")
    check_timeout(arguments.timeout)
    return Options(
        device=arguments.device[0] if arguments.device else None,
        math_fidelity=_math_fidelity(arguments),
        model=_model(arguments),
        force_model=getattr(arguments, "force_model", False),
        bindings=dict(_binding(item) for item in arguments.bind),
        calls=tuple(arguments.call),
        kernels=tuple(arguments.kernel),
        force_device=getattr(arguments, "force_device", False),
        by_launches=getattr(arguments, "by_launches", False),
        all_calls=getattr(arguments, "all_calls", False),
        advice=arguments.advice,
    )


def _model(arguments: argparse.Namespace) -> str | None:
    """The option ``--model`` of commands that take one.

    Raises:
        UsageError: several are named.
    """
    named: list[str] = getattr(arguments, "model", [])
    if len(named) > 1:
        raise UsageError("one --model, please; tirlens report and compare take several")
    return named[0] if named else None


def _math_fidelity(arguments: argparse.Namespace) -> str | None:
    """The option ``--math-fidelity``.

    Raises:
        UsageError: none of the devices that are named has a choice of it.
    """
    fidelity: str | None = getattr(arguments, "math_fidelity", None)
    if fidelity and arguments.device and not any(load(d).fidelities for d in arguments.device):
        raise UsageError(
            f"--math-fidelity {fidelity}: {', '.join(arguments.device)} has no math fidelities; "
            "Tensix devices have them, such as wormhole-n150"
        )
    return fidelity


def check_timeout(timeout_s: float | None) -> None:
    """Check the option ``--timeout``.

    Raises:
        UsageError: it is no time, or too long.
    """
    if timeout_s is not None and not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise UsageError(
            f"--timeout must be a number of seconds above 0 and at most {MAX_TIMEOUT_S:,}"
        )


def _binding(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    size = integer(value) if equals else None
    if size is None or not name.strip().isidentifier():
        raise UsageError(
            f"--bind {text[:80]!r}: expected NAME=VALUE with a whole number below 2^63, "
            "such as M=4096"
        )
    return name.strip(), size
