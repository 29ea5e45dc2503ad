"""The names that frameworks give to the device functions of a kernel.

TVM's ``SplitHostDevice`` makes ``NAME_kernel`` of the first launch of the function NAME and
``NAME_kernel_1``, ``NAME_kernel_2`` of the following ones (``src/tir/transforms/
split_host_device.cc``); tilelang has a copy of this pass.  TVM before 0.10 wrote ``NAME_kernel0``.
They are declared ``extern "C"``, so that no tool shows them with parameters or template arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEVICE_FUNCTION = re.compile(r"(?P<function>.+)_kernel(?:(?P<old>\d+)|_(?P<number>\d+))?")


@dataclass(frozen=True)
class FunctionLaunch:
    """A launch of a function: `number` counts its launches from 0; None for all of them."""

    function: str
    number: int | None


def readings(name: str) -> tuple[FunctionLaunch, ...]:
    """The launches that the name of a measured operation may mean.

    It may be that of a device function, or that of the whole function, as TVM's own profiler has
    it. A C++ function of the same name is neither.
    """
    plain = name.strip()
    if "(" in plain or "<" in plain:
        return ()
    found = [FunctionLaunch(plain, None)]
    match = _DEVICE_FUNCTION.fullmatch(plain)
    if match is not None:
        number = match["old"] or match["number"] or "0"
        if len(number) < 4:
            found.append(FunctionLaunch(match["function"], int(number)))
    return tuple(found)
