"""Optimizers, schedules and moving averages; sessions with hooks, checkpoints, threads (TF1's `tf.train`). Made by tools/type_stubs.py."""

from staticgraph.formats.tf.checkpoints.checkpoint_manager import (
    CheckpointManager as CheckpointManager,
)
from staticgraph.formats.tf.checkpoints.checkpoint_reader import (
    NewCheckpointReader as NewCheckpointReader,
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
    warm_start as warm_start,
)
from staticgraph.formats.tf.checkpoints.checkpoint_state import (
    CheckpointState as CheckpointState,
    checkpoint_exists as checkpoint_exists,
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
    get_checkpoint_mtimes as get_checkpoint_mtimes,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
    remove_checkpoint as remove_checkpoint,
    update_checkpoint_state as update_checkpoint_state,
)
from staticgraph.formats.tf.checkpoints.imported_meta_graph import (
    import_meta_graph as import_meta_graph,
)
from staticgraph.formats.tf.checkpoints.new_checkpoints import (
    checkpoints_iterator as checkpoints_iterator,
)
from staticgraph.formats.tf.checkpoints.object_checkpoint import (
    Checkpoint as Checkpoint,
)
from staticgraph.formats.tf.checkpoints.saver import (
    Saver as Saver,
)
from staticgraph.formats.tf.checkpoints.vocabularies import (
    VocabInfo as VocabInfo,
)
from staticgraph.formats.tf.meta_graph.meta_graph import (
    export_meta_graph as export_meta_graph,
)
from staticgraph.state.moving_averages import (
    ExponentialMovingAverage as ExponentialMovingAverage,
)
from staticgraph.tf1.training import (
    queue_runner as queue_runner,
)
from staticgraph.tf1.training.cluster import (
    ClusterSpec as ClusterSpec,
    Server as Server,
    replica_device_setter as replica_device_setter,
)
from staticgraph.tf1.training.coordinator import (
    Coordinator as Coordinator,
    LooperThread as LooperThread,
)
from staticgraph.tf1.training.hooks import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    ProfilerHook as ProfilerHook,
    SecondOrStepTimer as SecondOrStepTimer,
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
    StepCounterHook as StepCounterHook,
    StopAtStepHook as StopAtStepHook,
    SummarySaverHook as SummarySaverHook,
    WatchHook as WatchHook,
)
from staticgraph.tf1.training.input_batches import (
    batch as batch,
    batch_join as batch_join,
    maybe_batch as maybe_batch,
    maybe_batch_join as maybe_batch_join,
    maybe_shuffle_batch as maybe_shuffle_batch,
    maybe_shuffle_batch_join as maybe_shuffle_batch_join,
    shuffle_batch as shuffle_batch,
    shuffle_batch_join as shuffle_batch_join,
)
from staticgraph.tf1.training.input_producers import (
    input_producer as input_producer,
    limit_epochs as limit_epochs,
    match_filenames_once as match_filenames_once,
    range_input_producer as range_input_producer,
    slice_input_producer as slice_input_producer,
    string_input_producer as string_input_producer,
)
from staticgraph.tf1.training.monitored import (
    ChiefSessionCreator as ChiefSessionCreator,
    MonitoredSession as MonitoredSession,
    MonitoredTrainingSession as MonitoredTrainingSession,
    Scaffold as Scaffold,
    SessionCreator as SessionCreator,
    SessionManager as SessionManager,
    SingularMonitoredSession as SingularMonitoredSession,
    WorkerSessionCreator as WorkerSessionCreator,
)
from staticgraph.tf1.training.queue_runner import (
    QueueRunner as QueueRunner,
    add_queue_runner as add_queue_runner,
    start_queue_runners as start_queue_runners,
)
from staticgraph.tf1.training.supervisor import (
    Supervisor as Supervisor,
    basic_train_loop as basic_train_loop,
)
from staticgraph.tf1.training.sync_replicas import (
    SyncReplicasOptimizer as SyncReplicasOptimizer,
)
from staticgraph.train.optimizers.optimizer import (
    Optimizer as Optimizer,
)
from staticgraph.train.optimizers.proximal import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from staticgraph.train.optimizers.rule_optimizer import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from staticgraph.train.schedules import (
    cosine_decay as cosine_decay,
    cosine_decay_restarts as cosine_decay_restarts,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    linear_cosine_decay as linear_cosine_decay,
    natural_exp_decay as natural_exp_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant_decay as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from staticgraph.train.step_count import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
)
