"""The question of why a matched kernel does not take its predicted time."""

from __future__ import annotations

import argparse

from tirlens.hardware import Device, DeviceError, load
from tirlens.measured.matching.residuals import BandPosition, Residual
from tirlens.measured.mechanisms import (
    Mechanism,
    Question,
    explain_missing,
    find_mechanisms,
)
from tirlens.measured.mechanisms.questions import question_of


def question_for(residual: Residual, arguments: argparse.Namespace) -> Question | None:
    """The question of a residual, with the device of its prediction; None where it has none."""
    device = device_of(residual.device_id, arguments)
    return None if device is None else question_of(residual, device)


def mechanisms_of(residual: Residual, arguments: argparse.Namespace) -> tuple[Mechanism, ...]:
    """The mechanisms of a residual; empty in the band, or without evidence."""
    question = question_for(residual, arguments)
    return () if question is None else find_mechanisms(question)


def reasons_of(residual: Residual, arguments: argparse.Namespace) -> tuple[str, ...]:
    """In words why a time is outside its band, or what is missing to say it; and its notes."""
    mechanisms, missing = mechanisms_or_missing(question_for(residual, arguments), residual.in_band)
    texts = [*(mechanism.text for mechanism in mechanisms), missing, *residual.notes]
    return tuple(filter(None, texts))


def mechanisms_or_missing(
    question: Question | None, position: BandPosition | None
) -> tuple[tuple[Mechanism, ...], str]:
    """The mechanisms of a time at a `position` beside its band, else what is missing for them."""
    if question is None:
        if position is None:
            return (), "measured or predicted time is not known"
        return (), "" if position == "inside" else "one launch of several: no counters compared"
    mechanisms = find_mechanisms(question)
    return mechanisms, "" if mechanisms else explain_missing(question)


def device_of(device_id: str, arguments: argparse.Namespace) -> Device | None:
    """The device of a prediction: of the options, which may be files, or of the catalogue."""
    for name in (*arguments.device, device_id):
        try:
            device = load(name)
        except DeviceError:
            continue
        if device.id == device_id:
            return device
    return None
