"""Hooks: what happens around the runs of a monitored session."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.training.hooks.around": "FeedFnHook FinalOpsHook",
        "staticgraph.tf1.training.hooks.checkpoints": "CheckpointSaverHook CheckpointSaverListener",
        "staticgraph.tf1.training.hooks.points": "WatchHook",
        "staticgraph.tf1.training.hooks.profiling": "ProfilerHook",
        "staticgraph.tf1.training.hooks.run_hook": (
            "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues"
        ),
        "staticgraph.tf1.training.hooks.stopping": "GlobalStepWaiterHook StopAtStepHook",
        "staticgraph.tf1.training.hooks.summaries": "StepCounterHook SummarySaverHook",
        "staticgraph.tf1.training.hooks.timer": "SecondOrStepTimer",
        "staticgraph.tf1.training.hooks.watching": (
            "LoggingTensorHook NanLossDuringTrainingError NanTensorHook"
        ),
    },
)
