"""Choose the user's interpreter, start a worker under it, and enforce its limits."""

from tirlens.worker_client.analysis_client import WorkerClient
from tirlens.worker_client.blocking import BlockingClient, analyze_blocking
from tirlens.worker_client.interpreter import Interpreter, find_interpreter, interpreters
from tirlens.worker_client.measuring import Measurer
from tirlens.worker_client.probing import probe

__all__ = [
    "BlockingClient",
    "Interpreter",
    "Measurer",
    "WorkerClient",
    "analyze_blocking",
    "find_interpreter",
    "interpreters",
    "probe",
]
