"""The messages between the server and its workers, and their framing.

Each message is a JSON object in UTF-8 after a ``Content-Length: N`` header and an empty line, as
in the Language Server Protocol.  The worker sends a `Hello` first, which every version can read.
The server then sends one `Analyze` at a time and receives any number of `Progress` messages and
one `Result` with the same id.  The server ends a worker by closing the pipe.

This package runs on Python 3.8 and imports only the standard library and `facts`.
"""

from __future__ import annotations

from .answers import Configurations, Lowering, NeedsArguments, Problem, Progress, Result
from .connection import (
    CLOSED_STATUS,
    MARK,
    MOST_RESULT_BYTES,
    PROTOCOL_VERSION,
    FrameworkInfo,
    Hello,
)
from .generated_code import (
    ASSEMBLY,
    COMPILED_FILE,
    CUDA,
    LIBRARY_LINE,
    NO_LINE,
    SASS,
    TIR,
    Compilation,
    CompiledKernel,
    GeneratedCode,
    GeneratedText,
)
from .measurement import RUNS_FOR_COUNTERS, Answered, Measure, Measured, Timing
from .requests import Analyze, CallCandidate, Cancel, Compiler, KernelRequest

__all__ = [
    "ASSEMBLY",
    "CLOSED_STATUS",
    "COMPILED_FILE",
    "CUDA",
    "LIBRARY_LINE",
    "MARK",
    "MOST_RESULT_BYTES",
    "NO_LINE",
    "PROTOCOL_VERSION",
    "RUNS_FOR_COUNTERS",
    "SASS",
    "TIR",
    "Analyze",
    "Answered",
    "CallCandidate",
    "Cancel",
    "Compilation",
    "CompiledKernel",
    "Compiler",
    "Configurations",
    "FrameworkInfo",
    "GeneratedCode",
    "GeneratedText",
    "Hello",
    "KernelRequest",
    "Lowering",
    "Measure",
    "Measured",
    "NeedsArguments",
    "Problem",
    "Progress",
    "Result",
    "Timing",
]
