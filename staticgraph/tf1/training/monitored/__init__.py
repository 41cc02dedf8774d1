"""Sessions that initialise themselves, call hooks, run threads and survive a loss."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.training.monitored.creators": (
            "ChiefSessionCreator SessionCreator WorkerSessionCreator"
        ),
        "staticgraph.tf1.training.monitored.scaffold": "Scaffold",
        "staticgraph.tf1.training.monitored.session": "MonitoredSession SingularMonitoredSession",
        "staticgraph.tf1.training.monitored.session_manager": "SessionManager",
        "staticgraph.tf1.training.monitored.training": "MonitoredTrainingSession",
    },
)
