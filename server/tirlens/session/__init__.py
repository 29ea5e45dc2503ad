"""The open documents of an editor, their analyses and the events that result.

One save, from the document to the view::

    Session.save            marks the text as saved
    Analyses.start          begins a coroutine with a generation number and the configuration
      Readings              parses the text, in a thread
      find_environment      finds the interpreter and the project's settings, in a thread
      plan_job              plans the request, in a thread
      WorkerQueues.submit   sends the request to a worker process
      evaluate              runs the model, in a thread, and then the advice rules
      HintsChanged          event: the client asks again for hints, before the advice is known
      ViewChanged           event: the client asks again for hints and lenses
      IdleTiers.run         lowers and compiles when no worker is needed; evaluate after each
    view                    answers the client's requests from the document's last analysis
"""

from tirlens.session.analysis import Analysis, Reading
from tirlens.session.configuration import Configuration
from tirlens.session.document import Document
from tirlens.session.events import EventSink, Status
from tirlens.session.session import Session

__all__ = ["Analysis", "Configuration", "Document", "EventSink", "Reading", "Session", "Status"]
