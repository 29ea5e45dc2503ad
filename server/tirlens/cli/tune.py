"""``tirlens tune``: the configurations of a kernel, ranked by their predicted times."""

from __future__ import annotations

import argparse

from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note, print_problems
from tirlens.cli.output import stream, write_json
from tirlens.cli.ranking_output import write_python, write_table
from tirlens.cli.tuned_kernel import read_kernel, show_progress
from tirlens.cli.worker_pool import worker_pool
from tirlens.pipeline import FileReport
from tirlens.tuning import (
    NotAnalysedError,
    Ranking,
    SpaceError,
    SubjectError,
    parse_axis,
    plan_search,
    rank,
    ranking_json,
    start_of,
)


def execute(arguments: argparse.Namespace) -> int:
    """Rank what the options name, and give the exit status."""
    if len(arguments.call) > 1:
        raise UsageError("one --call, please: its configurations are ranked")
    with worker_pool(arguments.jobs, scheduler=arguments.scheduler) as pool:
        tuned = read_kernel(arguments, pool)
        subject = tuned.subject
        devices = subject.devices(arguments.device)
        try:
            axes = [parse_axis(text) for text in arguments.space]
            start = pool.run(start_of(subject, tuned.analyse(pool)))
            plan = plan_search(subject, start, axes)
        except NotAnalysedError as error:
            print_problems([FileReport(path=tuned.path, problems=error.problems)])
            print_note(str(error))
            return 1
        except (SpaceError, SubjectError) as error:
            raise UsageError(str(error)) from error

        tell = show_progress(pool, "configurations")
        with tuned.estimators(pool, devices, len(plan.calls), arguments.fresh) as estimate_of:
            estimate = estimate_of(subject)
            rankings = pool.run(rank(plan, subject, start, devices, estimate, pool.jobs, tell))
    _write(arguments, rankings)
    return 0 if any(ranking.timed for ranking in rankings) else 1


def _write(arguments: argparse.Namespace, rankings: tuple[Ranking, ...]) -> None:
    with stream(arguments.output) as file:
        if arguments.format == "json":
            write_json(file, ranking_json(rankings, arguments.top))
        elif arguments.format == "python":
            write_python(file, rankings, arguments.top)
        else:
            write_table(file, arguments.color, rankings, arguments.top)
    for ranking in rankings:
        if ranking.left_out:
            print_note(
                f"{ranking.left_out} configurations are left out: a value has no text in Python"
            )
