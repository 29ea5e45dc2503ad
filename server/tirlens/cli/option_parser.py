"""The commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tirlens.cli.option_groups import (
    Commands,
    add_analysis,
    add_by_launches,
    add_measured,
    add_output,
    add_record,
    add_search,
    add_sections,
    add_selection,
    default_text,
    positive,
)
from tirlens.cli.server_options import add_daemon, add_mcp, add_serve
from tirlens.settings import DEFAULT_TIMEOUT_S
from tirlens.version import __version__

# As the file of an option.
STANDARD_OUTPUT = "-"
FORMATS = ("table", "json", "csv", "markdown", "sarif")
SHELLS = ("bash", "zsh", "fish", "tcsh")
#: Of commands that read measured operations and do not list them.
_NO_TABLE_OF_OPERATIONS = {
    "active_experts": None,
    "merge_devices": False,
    "print_signposts": False,
    "no_host_ops": True,
}
COMPARISONS = ("table", "json", "csv", "markdown", "sarif", "github")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command and its options; wrong usage ends the program with status 2."""
    parser = command_parser()
    arguments = parser.parse_args(argv)
    if "pythons" in arguments:
        if len(arguments.pythons) > 1 and arguments.command != "compare":
            parser.error("one --python, please; tirlens compare takes two")
        arguments.python = next(iter(arguments.pythons), None)
    if getattr(arguments, "csv", None) == STANDARD_OUTPUT:
        # The table in place of the other output: a reader of CSV cannot tell them apart.
        arguments.csv, arguments.format = None, "csv"
    return arguments


def command_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="tirlens",
        description="What each line of a TVMScript or tilelang kernel costs, without a GPU.",
    )
    parser.add_argument("--version", action="version", version=f"tirlens {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        _analyze, _report, _compare, _tune, _sweep, _residual, _lower, _measure, _capture,
        _devices, _calibrate, _doctor, _toolchain, add_serve, add_mcp, add_daemon, _completion,
    ):  # fmt: skip
        add(commands)
    return parser


def _analyze(commands: Commands) -> None:
    parser = commands.add_parser("analyze", help="the cost of every kernel of some files")
    add_analysis(parser)
    parser.add_argument("--format", choices=FORMATS, default="table")
    add_by_launches(parser)


def _report(commands: Commands) -> None:
    parser = commands.add_parser("report", help="the wide table, advice and roofline picture")
    add_analysis(parser, "*")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    parser.add_argument("--html", metavar="FILE", help="also write a self-contained page")
    add_by_launches(parser)
    parser.add_argument(
        "--performance",
        action="store_true",
        help="kernels as rows of the performance report, as measured operations are",
    )
    add_measured(parser)


def _tune(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        help="the configurations of a kernel ranked by predicted time, none compiled or run",
        description="Ranks the configurations of an autotuned kernel, or those of --space, by "
        "their predicted times. None of them is compiled or run, and no GPU is needed.",
    )
    parser.add_argument("file", metavar="FILE", help="a file with the kernel")
    add_selection(parser)
    parser.add_argument(
        "--top", type=positive, metavar="N", help="only the best N (default: 20 in a table, all)"
    )
    add_search(parser)
    parser.add_argument("--format", choices=("table", "json", "python"), default="table")


def _sweep(commands: Commands) -> None:
    parser = commands.add_parser(
        "sweep",
        help="the time and bound of a kernel over its sizes, and where the bound changes",
        description="Estimates a kernel at each of the sizes of --bind NAME=A..B: parameters of "
        "its call, or dynamic dimensions. NAME=1..16384:x2 doubles, NAME=64..512:+64 adds.",
    )
    parser.add_argument("file", metavar="FILE", help="a file with the kernel")
    add_selection(parser)
    parser.add_argument(
        "--tune", action="store_true", help="find the best configuration at each of the sizes"
    )
    add_search(parser)
    parser.add_argument("--format", choices=("table", "json", "csv", "python"), default="table")


def _residual(commands: Commands) -> None:
    parser = commands.add_parser(
        "residual",
        help="why measured kernels do not take their predicted time",
        description="Measured kernels of traces beside their predictions: the ratio of both, "
        "whether the measured time is in the band, and the counters that disagree. FILE is of "
        "kernels, or one bundle, which is evaluated again.",
    )
    add_analysis(parser, "*")
    parser.set_defaults(advice=False, by_launches=False, **_NO_TABLE_OF_OPERATIONS)
    group = parser.add_argument_group("measured operations")
    group.add_argument(
        "--measured", nargs="+", default=[], metavar="TRACE", help="traces of profilers"
    )
    add_sections(group)
    group.add_argument(
        "--bundle",
        metavar="FILE",
        help="write what can be attached to an issue: facts and figures without source text, "
        "paths and names. It is printed first, and on a terminal you are asked",
    )
    group.add_argument(
        "--keep-names", action="store_true", help="the bundle has the names of kernels and arrays"
    )
    group.add_argument("--yes", action="store_true", help="write the bundle without asking")
    parser.add_argument("--format", choices=("table", "json", "csv", "markdown"), default="table")


def _capture(commands: Commands) -> None:
    parser = commands.add_parser(
        "capture",
        help="run a program without a GPU, and record the kernels that it launches",
        usage="tirlens capture [options] -- COMMAND [ARGUMENT]...",
        description="Runs a program without a GPU and records the kernels that it launches, with "
        "their arguments and sizes. From then on these are the calls of these kernels.",
    )
    parser.add_argument(
        "--device",
        metavar="ID|FILE.toml",
        help="the GPU that the program sees: see tirlens devices",
    )
    parser.add_argument("--python", metavar="INTERPRETER", help="what python and pytest mean")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="default: tirlens-captured.json in the folder of the repository",
    )
    parser.add_argument(
        "--add", action="store_true", help="add to the calls that the file has, and replace none"
    )
    parser.add_argument("--quiet", action="store_true", help="leave out what the program prints")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="COMMAND")


def _lower(commands: Commands) -> None:
    parser = commands.add_parser("lower", help="the code that the framework makes of kernels")
    parser.add_argument("file", metavar="FILE", help="a file with kernels")
    parser.add_argument(
        "--emit",
        choices=("cuda", "tir", "sass"),
        default="cuda",
        help="CUDA source, lowered IR, or machine code (needs nvcc: see tirlens toolchain)",
    )
    parser.add_argument("--sass", action="store_true", help="the same as --emit sass --lines")
    add_selection(parser)
    parser.add_argument(
        "--lines", action="store_true", help="with the line of the source before each line"
    )
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help=default_text(DEFAULT_TIMEOUT_S)
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--output", metavar="FILE", help="write the result here")


def _compare(commands: Commands) -> None:
    parser = commands.add_parser(
        "compare",
        help="kernels on several devices, calls, frameworks or revisions, or two measured runs",
    )
    add_analysis(parser, "*")
    parser.set_defaults(**_NO_TABLE_OF_OPERATIONS)
    group = parser.add_argument_group("measured runs")
    add_sections(group)
    group.add_argument(
        "--measured",
        nargs="+",
        action="extend",
        default=[],
        metavar="TRACE",
        help="two measured runs, operation by operation: OLD NEW, each a trace or a folder with "
        "the traces of several runs; with --measured-base the traces of NEW",
    )
    group.add_argument(
        "--measured-base",
        nargs="+",
        action="extend",
        default=[],
        metavar="TRACE",
        help="traces of the runs before, or folders with them: the baseline of a gate",
    )
    group.add_argument(
        "--each",
        action="store_true",
        help="with --measured: a row for each execution, aligned by its order, instead of one row "
        "for all executions of an operation",
    )
    parser.add_argument(
        "--base",
        metavar="GITREV",
        help="compare with the files at a revision; A... for where this branch left A",
    )
    parser.add_argument(
        "--diff",
        action="append",
        default=[],
        choices=("cuda", "tir"),
        help="with two --python: the lines of the generated CUDA source or of the lowered IR that "
        "differ; may be repeated",
    )
    parser.add_argument(
        "--fail-above",
        action="append",
        default=[],
        metavar="LIMIT",
        help="with --base, two --python or --measured: end with status 3 where a kernel takes more "
        "than before by more than this: 5%% of its time and DRAM traffic, time=5%%, dram=2%%; or "
        "where it has no figures any more. Measured times must differ by more than their spread, "
        "too",
    )
    parser.add_argument(
        "--allow-uncompared",
        action="store_true",
        help="with --fail-above: do not fail for kernels that cannot be compared, because they "
        "have no figures on either side or their calls have nothing in common, or of which the "
        "measured baseline has nothing",
    )
    parser.add_argument("--format", choices=COMPARISONS, default="table")
    parser.add_argument(
        "--write",
        action="append",
        default=[],
        metavar="FILE",
        help="with --base, two --python or --measured: also write this .md, .sarif or .json; .csv "
        "or .html of measured runs",
    )


def _measure(commands: Commands) -> None:
    parser = commands.add_parser(
        "measure", help="run kernels on this machine's device, with the prediction beside"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file, a folder or a pattern")
    add_selection(parser)
    parser.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="NAME=V1,V2,...",
        help="set this argument of each --call to each of these values; several are combined",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", default=600.0, help="of a call; default: 600"
    )
    parser.add_argument(
        "--append", metavar="TABLE.csv", help="add a row for each kernel to this table"
    )
    add_record(parser)
    parser.add_argument(
        "--no-counters",
        dest="counters",
        action="store_false",
        help="do not read hardware counters with ncu, which compiles and runs each kernel again",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.set_defaults(advice=False)
    add_output(parser)


def _devices(commands: Commands) -> None:
    parser = commands.add_parser("devices", help="the catalogue, or one device with its sources")
    parser.add_argument("id", nargs="?", help="a device's id, another of its names, or a file")
    parser.add_argument("--detect", action="store_true", help="the devices of this machine")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_output(parser)


def _calibrate(commands: Commands) -> None:
    parser = commands.add_parser(
        "calibrate",
        help="measure this machine's GPU or CPU and write its device file",
        description="Measures the GPU of this machine, or with --cpu its CPU, with small kernels "
        "that the framework compiles, and writes a device file for --device. Takes some minutes.",
    )
    parser.add_argument(
        "device",
        nargs="?",
        metavar="ID",
        help="the device that the file of a GPU extends; default: by the name of the GPU",
    )
    parser.add_argument("--cpu", action="store_true", help="measure the CPU")
    parser.add_argument(
        "--python", metavar="INTERPRETER", help="a Python with tilelang or tvm; for a CPU with tvm"
    )
    parser.add_argument(
        "--target",
        choices=("host", "llvm"),
        default="host",
        help="with --cpu: what TVM compiles for, this machine or plain llvm (SSE2 on x86)",
    )
    parser.add_argument("--output", metavar="FILE", help="write the device file here")


def _doctor(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor", help="which interpreter would be used and why, and what isolates analyses"
    )
    parser.add_argument("file", nargs="?", default=".", help="for this file or folder; default: .")
    parser.add_argument("--python", metavar="INTERPRETER", help="what if this were asked for")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_output(parser)


def _toolchain(commands: Commands) -> None:
    parser = commands.add_parser(
        "toolchain", help="the compiler and disassembler of machine code, and their installation"
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=("install",),
        help="install nvcc and nvdisasm from PyPI into TIRLens's cache, about 350 MB",
    )
    parser.add_argument("--python", metavar="INTERPRETER", help="the kernels' environment")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--output", metavar="FILE", help="write the result here")


def _completion(commands: Commands) -> None:
    parser = commands.add_parser(
        "completion",
        help="a script for a shell, which completes commands, options and devices",
        description='Prints a script for a shell. In bash: eval "$(tirlens completion bash)"; in '
        "zsh and fish, write it into a folder of completions.",
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.add_argument("--output", metavar="FILE", help="write the script here")
