"""Optimizers, schedules and moving averages; sessions with hooks, checkpoints, threads (TF1's `tf.train`)."""

from typing import TYPE_CHECKING, Any

from staticgraph.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from staticgraph.train.moving_averages import ExponentialMovingAverage
from staticgraph.train.optimizers.adam import AdamOptimizer
from staticgraph.train.optimizers.adaptive import AdadeltaOptimizer, AdagradOptimizer, RMSPropOptimizer
from staticgraph.train.optimizers.descent import GradientDescentOptimizer, MomentumOptimizer
from staticgraph.train.optimizers.optimizer import Optimizer
from staticgraph.train.optimizers.proximal import (
    AdagradDAOptimizer,
    FtrlOptimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
)
from staticgraph.train.schedules import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)

# What runs a training loop or writes files is imported when it is first used: graphs are built without it.
if TYPE_CHECKING:
    from staticgraph.train.checkpoint_reader import (
        NewCheckpointReader,
        init_from_checkpoint,
        list_variables,
        load_checkpoint,
        load_variable,
        warm_start,
    )
    from staticgraph.train.checkpoint_state import (
        CheckpointState,
        checkpoint_exists,
        get_checkpoint_mtimes,
        get_checkpoint_state,
        latest_checkpoint,
        remove_checkpoint,
        update_checkpoint_state,
    )
    from staticgraph.train.cluster import ClusterSpec, Server, replica_device_setter
    from staticgraph.train.coordinator import Coordinator, LooperThread
    from staticgraph.train.hooks import (
        CheckpointSaverHook,
        CheckpointSaverListener,
        FeedFnHook,
        FinalOpsHook,
        GlobalStepWaiterHook,
        LoggingTensorHook,
        NanLossDuringTrainingError,
        NanTensorHook,
        ProfilerHook,
        SecondOrStepTimer,
        SessionRunArgs,
        SessionRunContext,
        SessionRunHook,
        SessionRunValues,
        StepCounterHook,
        StopAtStepHook,
        SummarySaverHook,
    )
    from staticgraph.train.input_batches import (
        batch,
        batch_join,
        maybe_batch,
        maybe_batch_join,
        maybe_shuffle_batch,
        maybe_shuffle_batch_join,
        shuffle_batch,
        shuffle_batch_join,
    )
    from staticgraph.train.input_producers import (
        input_producer,
        limit_epochs,
        match_filenames_once,
        range_input_producer,
        slice_input_producer,
        string_input_producer,
    )
    from staticgraph.train.meta_graph import export_meta_graph
    from staticgraph.train.monitored import (
        ChiefSessionCreator,
        MonitoredSession,
        MonitoredTrainingSession,
        Scaffold,
        SessionCreator,
        SessionManager,
        SingularMonitoredSession,
        WorkerSessionCreator,
    )
    from staticgraph.train.new_checkpoints import checkpoints_iterator
    from staticgraph.train.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
    from staticgraph.train.saver import Saver, import_meta_graph
    from staticgraph.train.supervisor import Supervisor, basic_train_loop

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterSpec",
    "Coordinator",
    "ExponentialMovingAverage",
    "FeedFnHook",
    "FinalOpsHook",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "Scaffold",
    "SecondOrStepTimer",
    "Server",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "update_checkpoint_state",
    "warm_start",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from staticgraph.train import (
            checkpoint_reader,
            checkpoint_state,
            cluster,
            coordinator,
            hooks,
            input_batches,
            input_producers,
            meta_graph,
            monitored,
            new_checkpoints,
            queue_runner,
            saver,
            supervisor,
        )

        for module in (
            saver, meta_graph, checkpoint_reader, checkpoint_state, cluster, new_checkpoints, coordinator,
            queue_runner, input_producers, input_batches, hooks, monitored, supervisor,
        ):  # fmt: skip
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'staticgraph.train' has no attribute {name!r}")
