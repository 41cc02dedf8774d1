"""Sessions that initialise themselves, call hooks, run threads and survive a loss. Made by tools/type_stubs.py."""

from staticgraph.tf1.training.monitored.creators import (
    ChiefSessionCreator as ChiefSessionCreator,
    SessionCreator as SessionCreator,
    WorkerSessionCreator as WorkerSessionCreator,
)
from staticgraph.tf1.training.monitored.scaffold import (
    Scaffold as Scaffold,
)
from staticgraph.tf1.training.monitored.session import (
    MonitoredSession as MonitoredSession,
    SingularMonitoredSession as SingularMonitoredSession,
)
from staticgraph.tf1.training.monitored.session_manager import (
    SessionManager as SessionManager,
)
from staticgraph.tf1.training.monitored.training import (
    MonitoredTrainingSession as MonitoredTrainingSession,
)
