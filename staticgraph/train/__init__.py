"""Optimizers, schedules and moving averages; sessions with hooks, checkpoints, threads (TF1's `tf.train`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.formats.tf.checkpoints.checkpoint_reader": (
            "init_from_checkpoint list_variables load_checkpoint load_variable NewCheckpointReader warm_start"
        ),
        "staticgraph.formats.tf.checkpoints.checkpoint_state": (
            "checkpoint_exists CheckpointState generate_checkpoint_state_proto get_checkpoint_mtimes "
            "get_checkpoint_state latest_checkpoint remove_checkpoint update_checkpoint_state"
        ),
        "staticgraph.formats.tf.checkpoints.vocabularies": "VocabInfo",
        "staticgraph.formats.tf.checkpoints.checkpoint_manager": "CheckpointManager",
        "staticgraph.formats.tf.checkpoints.object_checkpoint": "Checkpoint",
        "staticgraph.tf1.training.cluster": "ClusterSpec replica_device_setter Server",
        "staticgraph.tf1.training.coordinator": "Coordinator LooperThread",
        "staticgraph.tf1.training.sync_replicas": "SyncReplicasOptimizer",
        "staticgraph.train.step_count": (
            "assert_global_step create_global_step get_global_step get_or_create_global_step global_step"
        ),
        "staticgraph.tf1.training.hooks": (
            "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook "
            "LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer "
            "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues StepCounterHook StopAtStepHook "
            "SummarySaverHook WatchHook"
        ),
        "staticgraph.tf1.training.input_batches": (
            "batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join "
            "shuffle_batch shuffle_batch_join"
        ),
        "staticgraph.tf1.training.input_producers": (
            "input_producer limit_epochs match_filenames_once range_input_producer slice_input_producer "
            "string_input_producer"
        ),
        "staticgraph.formats.tf.meta_graph.meta_graph": "export_meta_graph",
        "staticgraph.tf1.training.monitored": (
            "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator "
            "SessionManager SingularMonitoredSession WorkerSessionCreator"
        ),
        "staticgraph.state.moving_averages": "ExponentialMovingAverage",
        "staticgraph.formats.tf.checkpoints.new_checkpoints": "checkpoints_iterator",
        "staticgraph.train.optimizers.rule_optimizer": (
            "AdadeltaOptimizer AdagradOptimizer AdamOptimizer GradientDescentOptimizer MomentumOptimizer "
            "RMSPropOptimizer"
        ),
        "staticgraph.train.optimizers.optimizer": "Optimizer",
        "staticgraph.train.optimizers.proximal": "AdagradDAOptimizer FtrlOptimizer ProximalAdagradOptimizer "
        "ProximalGradientDescentOptimizer",
        "staticgraph.tf1.training.queue_runner": "add_queue_runner QueueRunner start_queue_runners",
        "staticgraph.formats.tf.checkpoints.imported_meta_graph": "import_meta_graph",
        "staticgraph.formats.tf.checkpoints.saver": "Saver",
        "staticgraph.train.schedules": (
            "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay "
            "natural_exp_decay noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay "
            "polynomial_decay"
        ),
        "staticgraph.tf1.training.supervisor": "basic_train_loop Supervisor",
    },
    modules={"queue_runner": "staticgraph.tf1.training.queue_runner"},
)
