"""The math fidelity that the types of a matrix product need.

A pass multiplies 5 bits of SrcA, the weights, with 7 bits of SrcB, the activations; the leading 1
of a mantissa is one of them.  The second pass adds the other bits of the weights, the third those
of the activations, the fourth the product of both rests.

Source: tenstorrent/tt-metal, ``tech_reports/matrix_engine/matrix_engine.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware import Device

#: Bits of a mantissa, the leading 1 included (tt-metal, ``tech_reports/data_formats``).
MANTISSA_BITS: Mapping[str, int] = {"BFLOAT16": 8, "BFLOAT8_B": 7, "BFLOAT4_B": 3}
_BITS_OF_WEIGHTS, _BITS_OF_ACTIVATIONS = 5, 7
_CLASSES: Mapping[str, str] = {
    "BFLOAT16": "tensor.bfloat16",
    "BFLOAT8_B": "tensor.float8",
    "BFLOAT4_B": "tensor.float4",
    "FLOAT32": "tensor.tf32",
}


def needed_fidelity(activations: str, weights: str, result: str) -> str | None:
    """The least fidelity that loses no bit of the operands that the result can have.

    None where one of the types is not known: float32 has more bits than any fidelity multiplies,
    integers have none.
    """
    bits = [MANTISSA_BITS.get(name) for name in (activations, weights, result)]
    left, right, kept = bits
    if left is None or right is None or kept is None:
        return None
    rest_of_weights = right > _BITS_OF_WEIGHTS
    # The 8th bit of the activations is lost in a result of 3 bits.
    rest_of_activations = left > _BITS_OF_ACTIVATIONS and kept > _BITS_OF_WEIGHTS
    if rest_of_weights and rest_of_activations:
        return "HiFi4"
    if rest_of_activations:
        return "HiFi3"
    return "HiFi2" if rest_of_weights else "LoFi"


def sustained_flop_per_s(
    device: Device, operands: tuple[str, str, str], fidelity: str
) -> float | None:
    """The rate that all cores of a device sustain for products at a fidelity; None if not known."""
    widest = max(operands[:2], key=lambda name: MANTISSA_BITS.get(name, 99))
    name = _CLASSES.get(widest)
    rates = device.fidelities.get(fidelity, {})
    if name is None:
        return None
    # A device without rates of bfloat4_b of its own multiplies them as bfloat8_b.
    rate = rates.get(name) or (rates.get("tensor.float8") if name == "tensor.float4" else None)
    return None if rate is None else rate.flop_per_s * rate.sustained_fraction


def speed_up(device: Device, operands: tuple[str, str, str], now: str, then: str) -> float | None:
    """How many times as fast products are at the fidelity `then` as at `now`; None if unknown."""
    before, after = (sustained_flop_per_s(device, operands, name) for name in (now, then))
    return None if before is None or after is None else after / before
