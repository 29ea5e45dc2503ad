"""The report page: the data of an editor's panel and of ``tirlens report --html``.

Both display the same JSON (its types are in `schema`) with the same script, ``report.js``, which
computes and formats no numbers: positions are fractions of a chart, and texts are those of
`labels`.  The script and its style sheet are built from ``vscode-client/src/page``.
"""

from tirlens.ide.report_page.kernel_data import Counterpart, KernelView
from tirlens.ide.report_page.page_data import Choices, FileView, Page, page_data
from tirlens.ide.report_page.schema import SCHEMA_VERSION
from tirlens.ide.report_page.static_page import static_page

__all__ = [
    "SCHEMA_VERSION",
    "Choices",
    "Counterpart",
    "FileView",
    "KernelView",
    "Page",
    "page_data",
    "static_page",
]
