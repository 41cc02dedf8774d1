"""Sessions that initialise themselves, call hooks, run threads and survive a loss."""

from staticgraph.tf1.training.monitored.creators import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from staticgraph.tf1.training.monitored.scaffold import Scaffold
from staticgraph.tf1.training.monitored.session import MonitoredSession, SingularMonitoredSession
from staticgraph.tf1.training.monitored.session_manager import SessionManager
from staticgraph.tf1.training.monitored.training import MonitoredTrainingSession

__all__ = [
    "ChiefSessionCreator",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "Scaffold",
    "SessionCreator",
    "SessionManager",
    "SingularMonitoredSession",
    "WorkerSessionCreator",
]
