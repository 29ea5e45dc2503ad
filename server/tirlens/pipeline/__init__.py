"""From a text to a request for the worker, from the worker's result to reports and their JSON.

Both the language server and the command line go through here, so that they cannot disagree.
"""

from tirlens.pipeline.devices import machine_device
from tirlens.pipeline.options import Options
from tirlens.pipeline.reports import FileReport, report
from tirlens.pipeline.requests import request
from tirlens.pipeline.schema import SCHEMA_VERSION, to_json

__all__ = [
    "SCHEMA_VERSION",
    "FileReport",
    "Options",
    "machine_device",
    "report",
    "request",
    "to_json",
]
