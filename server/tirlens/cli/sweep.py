"""``tirlens sweep``: the time and bound of a kernel over its sizes."""

from __future__ import annotations

import argparse

from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note, print_problems
from tirlens.cli.output import stream, write_json
from tirlens.cli.sweep_output import write_csv, write_python, write_table
from tirlens.cli.tuned_kernel import read_kernel, show_progress
from tirlens.cli.worker_pool import worker_pool
from tirlens.pipeline import FileReport
from tirlens.tuning import (
    NotAnalysedError,
    SpaceError,
    SubjectError,
    Sweep,
    check_sizes,
    parse_axis,
    start_of,
    sweep,
    sweep_json,
    tuned_sweep,
)


def execute(arguments: argparse.Namespace) -> int:
    """Estimate the kernel at the sizes that the options name, and give the exit status."""
    if len(arguments.call) > 1 or len(arguments.device) > 1:
        raise UsageError("one --call and one --device, please")
    if arguments.space and not arguments.tune:
        raise UsageError("--space gives the configurations of --tune")
    if arguments.format == "python" and not arguments.tune:
        raise UsageError("--format python has the configurations that --tune finds")
    try:
        axes = [parse_axis(text) for text in arguments.bind]
        space = [parse_axis(text) for text in arguments.space]
    except SpaceError as error:
        raise UsageError(str(error)) from error
    if not axes:
        raise UsageError("--bind NAME=A..B, please: the sizes to estimate, such as M=1..16384:x2")
    arguments.bind = []
    with worker_pool(arguments.jobs, scheduler=arguments.scheduler) as pool:
        tuned = read_kernel(arguments, pool)
        subject = tuned.subject
        (device,) = subject.devices(arguments.device)
        analyse = tuned.analyse(pool)
        tell = show_progress(pool, "points")
        try:
            start = pool.run(start_of(subject, analyse))
            check_sizes(subject, start, axes)
            with tuned.estimators(pool, (device,), 0, arguments.fresh) as estimate_of:
                found = pool.run(
                    tuned_sweep(
                        subject, start, axes, space, device, estimate_of, analyse, pool.jobs, tell
                    )
                    if arguments.tune
                    else sweep(subject, start, axes, device, estimate_of, pool.jobs, tell)
                )
        except NotAnalysedError as error:
            print_problems([FileReport(path=tuned.path, problems=error.problems)])
            print_note(str(error))
            return 1
        except (SpaceError, SubjectError) as error:
            raise UsageError(str(error)) from error
    _write(arguments, found)
    return 0 if all(point.estimate.time_s is not None for point in found.points) else 1


def _write(arguments: argparse.Namespace, found: Sweep) -> None:
    with stream(arguments.output) as file:
        if arguments.format == "json":
            write_json(file, sweep_json(found))
        elif arguments.format == "csv":
            write_csv(file, found)
        elif arguments.format == "python":
            write_python(file, found)
        else:
            write_table(file, arguments.color, found)
