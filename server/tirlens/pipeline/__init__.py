"""From a text to a request for the worker, from the worker's result to reports and their JSON.

Both the language server and the command line go through here, so that they cannot disagree.
"""

from tirlens.hardware.detect import machine_device
from tirlens.pipeline.kept import KeptParts
from tirlens.pipeline.lowering import (
    finished,
    lowered_parts,
    lowering_plan,
    lowering_request,
    was_cut_off,
    with_lowered,
)
from tirlens.pipeline.modelled import Modelled
from tirlens.pipeline.options import Options
from tirlens.pipeline.parts import Part, Plan
from tirlens.pipeline.reports import FileReport, report
from tirlens.pipeline.requests import request
from tirlens.pipeline.schema import SCHEMA_VERSION, to_json

__all__ = [
    "SCHEMA_VERSION",
    "FileReport",
    "KeptParts",
    "Modelled",
    "Options",
    "Part",
    "Plan",
    "finished",
    "lowered_parts",
    "lowering_plan",
    "lowering_request",
    "machine_device",
    "report",
    "request",
    "to_json",
    "was_cut_off",
    "with_lowered",
]
