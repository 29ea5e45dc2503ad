"""Open documents by version, the cache of facts, and the queue of analyses."""

from tirlens.session.analysis import Analysis, Reading
from tirlens.session.configuration import Configuration
from tirlens.session.core import Session
from tirlens.session.document import Document
from tirlens.session.listener import Listener, Status

__all__ = ["Analysis", "Configuration", "Document", "Listener", "Reading", "Session", "Status"]
