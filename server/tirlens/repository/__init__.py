"""Calls of a file's kernels in the other files of its repository, from their text alone."""

from tirlens.repository.repository import Repository, merge_calls, root_of
from tirlens.repository.search import RepositoryCall, Search, Target, find_calls
from tirlens.repository.word_index import WordIndex

__all__ = [
    "Repository",
    "RepositoryCall",
    "Search",
    "Target",
    "WordIndex",
    "find_calls",
    "merge_calls",
    "root_of",
]
