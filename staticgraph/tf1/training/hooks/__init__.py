"""Hooks: what happens around the runs of a monitored session."""

from staticgraph.tf1.training.hooks.around import FeedFnHook, FinalOpsHook
from staticgraph.tf1.training.hooks.checkpoints import CheckpointSaverHook, CheckpointSaverListener
from staticgraph.tf1.training.hooks.profiling import ProfilerHook
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from staticgraph.tf1.training.hooks.stopping import GlobalStepWaiterHook, StopAtStepHook
from staticgraph.tf1.training.hooks.summaries import StepCounterHook, SummarySaverHook
from staticgraph.tf1.training.hooks.timer import SecondOrStepTimer
from staticgraph.tf1.training.hooks.watching import (
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
)

__all__ = [
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "ProfilerHook",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
]
