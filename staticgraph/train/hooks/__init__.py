"""Hooks: what happens around the runs of a monitored session."""

from staticgraph.train.hooks.around import FeedFnHook, FinalOpsHook
from staticgraph.train.hooks.checkpoints import CheckpointSaverHook, CheckpointSaverListener
from staticgraph.train.hooks.profiling import ProfilerHook
from staticgraph.train.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from staticgraph.train.hooks.stopping import GlobalStepWaiterHook, StopAtStepHook
from staticgraph.train.hooks.summaries import StepCounterHook, SummarySaverHook
from staticgraph.train.hooks.timer import SecondOrStepTimer
from staticgraph.train.hooks.watching import LoggingTensorHook, NanLossDuringTrainingError, NanTensorHook

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
