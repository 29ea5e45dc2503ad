"""The self-contained HTML page of ``tirlens report --html``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from time import localtime, strftime

from tirlens.cli.traced_file import Traced
from tirlens.ide import labels
from tirlens.ide.notebook_file import NO_CELLS
from tirlens.ide.report_page import FileView, Page, page_data, static_page
from tirlens.pipeline import FileReport
from tirlens.pipeline.kernel_views import kernel_views

#: Of how many kernels the page has the timeline and the banks: of those that take the longest.
MAX_DETAILED_KERNELS = 64


def page(files: Sequence[FileReport], traced: Sequence[Traced]) -> str:
    """The page for some files; `traced` has the text and the facts of each."""
    detailed = _slowest(files)
    views = [
        _file_view(file, one, [number for at, number in detailed if at == index])
        for index, (file, one) in enumerate(zip(files, traced, strict=True))
    ]
    names = [view.name for view in views]
    title = names[0] if len(names) == 1 else labels.count(len(names), "file")
    return static_page(page_data(Page(title, views)))


def _slowest(files: Sequence[FileReport]) -> set[tuple[int, int]]:
    """The numbers of the files and kernels whose details the page has."""
    times_s = [
        (kernel.time_s or 0.0, (at, number))
        for at, file in enumerate(files)
        for number, kernel in enumerate(file.kernels)
    ]
    return {place for _, place in sorted(times_s, reverse=True)[:MAX_DETAILED_KERNELS]}


def _file_view(file: FileReport, traced: Traced, detailed: Sequence[int]) -> FileView:
    needs = [
        (item.span.line, f"{item.kernel} needs {', '.join(item.names)}") for item in file.needs
    ]
    problems = [
        (problem.span.line if problem.span else 1, f"{problem.kind}: {problem.message}")
        for problem in file.problems
    ]
    return FileView(
        path=file.path,
        name=PurePath(file.path).name,
        kernels=kernel_views(file, traced.result, detailed),
        origin=_origin(file),
        problems=[*problems, *needs],
        text=traced.text if file.kernels else None,
        cells=traced.notebook or NO_CELLS,
    )


def _origin(file: FileReport) -> str:
    """Which text the report is of: the file as it was saved, and what it was traced with."""
    found = [file.path]
    try:
        saved_s = Path(file.path).stat().st_mtime
        found.append(f"saved {strftime('%Y-%m-%d %H:%M:%S', localtime(saved_s))}")
    except OSError:
        pass
    frameworks = {f"{kernel.framework} {kernel.framework_version}" for kernel in file.kernels}
    return ", ".join([*found, *sorted(frameworks)])
