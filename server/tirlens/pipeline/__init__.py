"""From a text to a request for the worker, and from the worker's result to reports and their JSON.

The language server and the command line share this package, and so give the same answers.
"""

from tirlens.hardware.detect import machine_device
from tirlens.pipeline.analysis_request import analysis_request
from tirlens.pipeline.device_choice import named_device
from tirlens.pipeline.edit_trials import Outcome, Trial, TrialKey, trials, with_outcomes
from tirlens.pipeline.file_report import FileReport, file_report
from tirlens.pipeline.kernel_json import line_json
from tirlens.pipeline.lowering_request import (
    complete_lowering,
    completed_parts,
    lowering_request,
    merge_lowerings,
    was_interrupted,
)
from tirlens.pipeline.measured_times import Digests, MeasuredFiles, with_measured
from tirlens.pipeline.options import Options
from tirlens.pipeline.part_cache import PartCache
from tirlens.pipeline.plan import Part, Plan, plan_analysis
from tirlens.pipeline.report_cache import ReportCache
from tirlens.pipeline.report_json import SCHEMA_VERSION, to_json
from tirlens.pipeline.tiers import FURTHER_TIERS, Tiers, complete_tier, merge_tiers

__all__ = [
    "FURTHER_TIERS",
    "SCHEMA_VERSION",
    "Digests",
    "FileReport",
    "MeasuredFiles",
    "Options",
    "Outcome",
    "Part",
    "PartCache",
    "Plan",
    "ReportCache",
    "Tiers",
    "Trial",
    "TrialKey",
    "analysis_request",
    "complete_lowering",
    "complete_tier",
    "completed_parts",
    "file_report",
    "line_json",
    "lowering_request",
    "machine_device",
    "merge_lowerings",
    "merge_tiers",
    "named_device",
    "plan_analysis",
    "to_json",
    "trials",
    "was_interrupted",
    "with_measured",
    "with_outcomes",
]
