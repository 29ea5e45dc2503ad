"""Options that several commands have."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from tirlens.math_fidelity import PASSES, fidelity_of
from tirlens.settings import DEFAULT_MIN_PERCENTAGE, DEFAULT_TIMEOUT_S

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # pyright: ignore[reportPrivateUsage]


def add_analysis(parser: argparse.ArgumentParser, files: str = "+") -> None:
    """The files, and how they are analysed and written."""
    parser.add_argument("files", nargs=files, metavar="FILE", help="a file, a folder or a pattern")
    add_selection(parser)
    parser.add_argument(
        "--math-fidelity",
        type=_fidelity,
        metavar="|".join(PASSES),
        help="passes of the matrix products of Tensix cores; default: what ttnn.matmul chooses",
    )
    parser.add_argument(
        "--lower",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="have tilelang lower its kernels for the exact threads, shared memory and vector "
        "widths; needs no GPU and takes seconds a kernel the first time (default: yes)",
    )
    parser.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="have NVIDIA's compiler, where it is at hand, compile kernels for their registers and "
        "local memory; needs no GPU and takes seconds a kernel the first time (default: yes)",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help=default_text(DEFAULT_TIMEOUT_S)
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="files that are analysed at a time (default: as processors and memory allow)",
    )
    add_scheduler(parser)
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="analyse unchanged files again, too: they may read other files, or the clock",
    )
    parser.add_argument(
        "--min-percentage",
        type=_percentage,
        metavar="P",
        help="leave out lines below P %% of their kernel's time; "
        + default_text(DEFAULT_MIN_PERCENTAGE),
    )
    parser.add_argument("--id-range", metavar="A-B", help="only these rows of the breakdown")
    parser.add_argument(
        "--no-advice", dest="advice", action="store_false", help="leave out what would be faster"
    )
    add_output(parser)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which kernels, with which arguments, on what, under which interpreter."""
    for option, metavar, help_text in (
        ("--kernel", "NAME", "only this kernel; may be repeated, as the next two"),
        ("--call", "EXPR", "arguments for a kernel, such as 'matmul(4096, 4096, 1024)'"),
        ("--bind", "NAME=VALUE", "the size of a dynamic dimension"),
        ("--device", "ID|FILE.toml", "see tirlens devices; compare takes several"),
    ):
        parser.add_argument(option, action="append", default=[], metavar=metavar, help=help_text)
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        type=_model,
        metavar="ID",
        help="sizes of a language model, such as qwen3-32b; report and compare take several",
    )
    parser.add_argument(
        "--python",
        dest="pythons",
        action="append",
        default=[],
        metavar="INTERPRETER",
        help="the Python that has the framework; compare takes two",
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """How the calls of a search are evaluated, and where it is written."""
    parser.set_defaults(advice=False)
    parser.add_argument(
        "--space",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUES",
        help="values of a parameter: NAME=64,128,256, NAME=2..4, NAME=16..256:x2, NAME=32..128:+32",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="for a step of a search; " + default_text(DEFAULT_TIMEOUT_S),
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="processes that evaluate (default: as processors and memory allow)",
    )
    add_scheduler(parser)
    parser.add_argument(
        "--fresh", action="store_true", help="evaluate again what an earlier search has evaluated"
    )
    add_output(parser)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """What executes the analyses in place of this machine."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="analyse in a running Dask cluster, such as tcp://host:8786, whose processes have "
        "this tirlens and the same paths (pip install 'tirlens[dask]')",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the result is written, and in colour or not."""
    parser.add_argument(
        "--color",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="default: where the output is a terminal",
    )
    parser.add_argument("--output", metavar="FILE", help="write the result here")


def add_by_launches(parser: argparse.ArgumentParser) -> None:
    """Whether captured calls count as often as they are launched."""
    parser.add_argument(
        "--by-launches",
        action="store_true",
        help="weigh all captured calls by their launches: the cost of the captured step. "
        "A capture file as FILE implies it",
    )


def add_measured(parser: argparse.ArgumentParser) -> None:
    """The options of measured operations."""
    group = parser.add_argument_group("measured operations")
    group.add_argument(
        "--measured",
        nargs="*",
        metavar="TRACE",
        help="traces of profilers; files of kernels beside them are matched with their operations. "
        "A trace is recognised without this option, too",
    )
    group.add_argument("--csv", metavar="FILE", help="also write the operations here as CSV")
    add_sections(group)
    group.add_argument(
        "--print-signposts", action="store_true", help="list the signposts between operations"
    )
    group.add_argument("--no-host-ops", action="store_true", help="leave out operations of hosts")
    group.add_argument(
        "--raw-op-codes", action="store_true", help="operations as the trace names them alone"
    )
    group.add_argument(
        "--merge-devices",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="operations of several hosts and devices as one: the longest, the mean of "
        "collectives (default: where all devices execute the same)",
    )
    group.add_argument(
        "--group-by",
        choices=("op", "memory", "category"),
        default="memory",
        help="what the summary sums: operations, those with the same memory of their first "
        "operand, or categories (default: memory)",
    )
    group.add_argument("--no-summary", action="store_true", help="leave out the summary")
    group.add_argument("--summary-file", metavar="FILE", help="also write the summary as CSV")
    group.add_argument(
        "--active-experts",
        type=positive,
        metavar="K",
        help="experts for each batch of sparse products whose rows do not have nnz",
    )
    add_record(group)


def add_sections(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """The section of a trace that counts."""
    group.add_argument(
        "--signpost", metavar="NAME", help="the last section of this name (a signpost, NVTX range "
        "or record_function); default: the last section"
    )  # fmt: skip
    group.add_argument("--start-signpost", metavar="NAME", help="from the first signpost NAME on")
    group.add_argument("--end-signpost", metavar="NAME", help="up to the next signpost NAME")
    group.add_argument("--ignore-signposts", action="store_true", help="the whole trace")
    group.add_argument(
        "--tracing-mode",
        action="store_true",
        help="the rows are in the order of execution, not the host's times: of traces that are "
        "replayed on the device",
    )


def add_record(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,  # pyright: ignore[reportPrivateUsage]
) -> None:
    """The file of stored measured times."""
    parser.add_argument(
        "--record",
        nargs="?",
        const="",
        metavar="FILE",
        help="store the measured times of kernels in this file, which is committed and displayed "
        "in the editor (default: tirlens-measured.toml in the folder of the repository)",
    )


def default_text(value: float) -> str:
    """A default that the settings of a project may replace."""
    return f"{value:g} unless the project says otherwise"


def positive(text: str) -> int:
    """A whole number above 0.

    Raises:
        ArgumentTypeError: the text is none.
    """
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def _percentage(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 100")
    return value


def _fidelity(text: str) -> str:
    try:
        return fidelity_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} {error}") from error


def _model(text: str) -> str:
    # Imported late: most commands, and the language server at its start, name no model.
    from tirlens.language_models import UnknownModelError, load

    try:
        return load(text).id
    except UnknownModelError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
