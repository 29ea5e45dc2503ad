"""The page of ``tirlens report --measured FILE --html PAGE``: a measured step to look at.

It is one document that loads nothing.  Its script and style sheet are built from
``vscode-client/src/page/measured``; texts and positions are made here, and of the numbers of its
script only those of the time axis, which can be zoomed, are formatted there.
"""

from tirlens.ide.measured_page.changes_data import comparison_data, comparison_document
from tirlens.ide.measured_page.matched_tables import (
    MatchedKernel,
    matched_table,
    unmatched_table,
)
from tirlens.ide.measured_page.operation_table import operation_table
from tirlens.ide.measured_page.page_data import (
    MeasuredView,
    measured_document,
    measured_page_data,
)
from tirlens.ide.measured_page.schema import SCHEMA_VERSION
from tirlens.ide.measured_page.stack_data import Stack, StackPart
from tirlens.ide.measured_page.table_data import Column, TableView

__all__ = [
    "SCHEMA_VERSION",
    "Column",
    "MatchedKernel",
    "MeasuredView",
    "Stack",
    "StackPart",
    "TableView",
    "comparison_data",
    "comparison_document",
    "matched_table",
    "measured_document",
    "measured_page_data",
    "operation_table",
    "unmatched_table",
]
