"""The choice of a kernel's configuration: each one traced and evaluated, none compiled or run.

A search starts from a `Subject`, a kernel with one call (`start_of`), plans the configurations
(`plan_search`), and ranks them (`rank`).  A sweep does so over sizes (`sweep`, `tuned_sweep`).  Who
searches brings the worker, as any function that answers an `Analyze`.
"""

from tirlens.tuning.calls import CallError, with_arguments
from tirlens.tuning.configurations import Arguments, Axis, SpaceError, parse_axis, product
from tirlens.tuning.estimator import Analyse, EstimateCalls, estimator
from tirlens.tuning.evaluation import Estimates, estimate_of, estimates_of
from tirlens.tuning.json_form import SCHEMA_VERSION, configuration_json, ranking_json, sweep_json
from tirlens.tuning.ranking import Configuration, Estimate, Ranking, worth_measuring
from tirlens.tuning.search import (
    NotAnalysedError,
    Plan,
    Progress,
    Start,
    plan_search,
    rank,
    start_of,
)
from tirlens.tuning.store import EstimateStore, store_key
from tirlens.tuning.subject import Subject, SubjectError, subject_of
from tirlens.tuning.sweep import Crossover, Point, Sweep, check_sizes, sweep, tuned_sweep

__all__ = [
    "SCHEMA_VERSION",
    "Analyse",
    "Arguments",
    "Axis",
    "CallError",
    "Configuration",
    "Crossover",
    "Estimate",
    "EstimateCalls",
    "EstimateStore",
    "Estimates",
    "NotAnalysedError",
    "Plan",
    "Point",
    "Progress",
    "Ranking",
    "SpaceError",
    "Start",
    "Subject",
    "SubjectError",
    "Sweep",
    "check_sizes",
    "configuration_json",
    "estimate_of",
    "estimates_of",
    "estimator",
    "parse_axis",
    "plan_search",
    "product",
    "rank",
    "ranking_json",
    "start_of",
    "store_key",
    "subject_of",
    "sweep",
    "sweep_json",
    "tuned_sweep",
    "with_arguments",
    "worth_measuring",
]
