"""Sessions that initialise themselves, call hooks, run threads and survive a loss."""

from staticgraph.train.monitored.creators import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from staticgraph.train.monitored.scaffold import Scaffold
from staticgraph.train.monitored.session import MonitoredSession, SingularMonitoredSession
from staticgraph.train.monitored.session_manager import SessionManager
from staticgraph.train.monitored.training import MonitoredTrainingSession

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
