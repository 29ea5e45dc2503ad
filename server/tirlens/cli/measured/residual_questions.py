"""The question of why a matched kernel does not take its predicted time."""

from __future__ import annotations

import argparse

from tirlens.hardware import Device, DeviceError, load
from tirlens.measured.matching.residuals import Residual
from tirlens.measured.mechanisms import Mechanism, Question, find_mechanisms
from tirlens.measured.mechanisms.questions import question_of


def question_for(residual: Residual, arguments: argparse.Namespace) -> Question | None:
    """The question of a residual, with the device of its prediction; None where it has none."""
    device = device_of(residual.device_id, arguments)
    return None if device is None else question_of(residual, device)


def mechanisms_of(residual: Residual, arguments: argparse.Namespace) -> tuple[Mechanism, ...]:
    """The mechanisms of a residual; empty in the band, or without evidence."""
    question = question_for(residual, arguments)
    return () if question is None else find_mechanisms(question)


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
