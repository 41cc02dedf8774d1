"""Hooks: what happens around the runs of a monitored session. Made by tools/type_stubs.py."""

from staticgraph.tf1.training.hooks.around import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
)
from staticgraph.tf1.training.hooks.checkpoints import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
)
from staticgraph.tf1.training.hooks.points import (
    WatchHook as WatchHook,
)
from staticgraph.tf1.training.hooks.profiling import (
    ProfilerHook as ProfilerHook,
)
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from staticgraph.tf1.training.hooks.stopping import (
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    StopAtStepHook as StopAtStepHook,
)
from staticgraph.tf1.training.hooks.summaries import (
    StepCounterHook as StepCounterHook,
    SummarySaverHook as SummarySaverHook,
)
from staticgraph.tf1.training.hooks.timer import (
    SecondOrStepTimer as SecondOrStepTimer,
)
from staticgraph.tf1.training.hooks.watching import (
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
)
