"""Open documents by version, the cache of facts, and the queue of analyses."""

from tirlens.session.configuration import Configuration
from tirlens.session.core import Listener, Session, Status
from tirlens.session.document import Analysis, Document, Reading

__all__ = ["Analysis", "Configuration", "Document", "Listener", "Reading", "Session", "Status"]
