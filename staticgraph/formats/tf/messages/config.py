"""The options of sessions, runs and servers, as TF1 took them.

One native function runs a whole step here, so that most of them have nothing to change.
"""

from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.scalars import Enum


class AutoParallelOptions(Message):
    """Options of TF1 for spreading work over replicas."""

    schema = """
        bool enable = 1
        int32 num_replicas = 2
    """


class ScopedAllocatorOptions(Message):
    """Operations whose outputs shared memory."""

    schema = """
        repeated string enable_op = 1
    """


class VerifierConfig(Message):
    """Options of TF1 for checking a rewritten graph."""

    Toggle = Enum(DEFAULT=0, ON=1, OFF=2)
    schema = """
        int64 verification_timeout_in_ms = 1
        enum VerifierConfig.Toggle structure_verifier = 2
    """


class RewriterConfig(Message):
    """Options of TF1 for rewriting a graph before a run."""

    MemOptType = Enum(
        DEFAULT_MEM_OPT=0,
        NO_MEM_OPT=1,
        MANUAL=2,
        SWAPPING_HEURISTICS=4,
        RECOMPUTATION_HEURISTICS=5,
        SCHEDULING_HEURISTICS=6,
        HEURISTICS=3,
    )
    NumIterationsType = Enum(DEFAULT_NUM_ITERS=0, ONE=1, TWO=2)
    Toggle = Enum(DEFAULT=0, ON=1, OFF=2, AGGRESSIVE=3)
    schema = """
        enum RewriterConfig.Toggle layout_optimizer = 1
        bool disable_model_pruning = 2
        enum RewriterConfig.Toggle constant_folding = 3
        enum RewriterConfig.MemOptType memory_optimization = 4
        AutoParallelOptions auto_parallel = 5
        string memory_optimizer_target_node_name_scope = 6
        enum RewriterConfig.Toggle arithmetic_optimization = 7
        enum RewriterConfig.Toggle dependency_optimization = 8
        enum RewriterConfig.Toggle loop_optimization = 9
        enum RewriterConfig.Toggle function_optimization = 10
        enum RewriterConfig.Toggle debug_stripper = 11
        enum RewriterConfig.NumIterationsType meta_optimizer_iterations = 12
        enum RewriterConfig.Toggle shape_optimization = 13
        enum RewriterConfig.Toggle remapping = 14
        enum RewriterConfig.Toggle scoped_allocator_optimization = 15
        ScopedAllocatorOptions scoped_allocator_opts = 16
        int32 min_graph_nodes = 17
        enum RewriterConfig.Toggle pin_to_host_optimization = 18
        bool disable_meta_optimizer = 19
        int64 meta_optimizer_timeout_ms = 20
        bool fail_on_optimizer_errors = 21
        enum RewriterConfig.Toggle implementation_selector = 22
        enum RewriterConfig.Toggle auto_mixed_precision = 23
        repeated string optimizers = 100
        repeated RewriterConfig.CustomGraphOptimizer custom_optimizers = 200
        VerifierConfig inter_optimizer_verifier_config = 300
        VerifierConfig post_optimization_verifier_config = 301
    """

    class CustomGraphOptimizer(Message):
        """A rewriter of the user."""

        schema = """
            string name = 1
            map<string, AttrValue> parameter_map = 2
        """


class OptimizerOptions(Message):
    """Switches of TF1's graph optimizer and its XLA."""

    GlobalJitLevel = Enum(DEFAULT=0, OFF=-1, ON_1=1, ON_2=2)
    Level = Enum(L1=0, L0=-1)
    schema = """
        bool do_common_subexpression_elimination = 1
        bool do_constant_folding = 2
        enum OptimizerOptions.Level opt_level = 3
        bool do_function_inlining = 4
        enum OptimizerOptions.GlobalJitLevel global_jit_level = 5
        int64 max_folded_constant_in_bytes = 6
    """


class GraphOptions(Message):
    """Options of a graph's execution."""

    schema = """
        bool enable_recv_scheduling = 2
        OptimizerOptions optimizer_options = 3
        int64 build_cost_model = 4
        bool infer_shapes = 5
        bool place_pruned_graph = 6
        bool enable_bfloat16_sendrecv = 7
        int32 timeline_step = 8
        int64 build_cost_model_after = 9
        RewriterConfig rewrite_options = 10
    """


class GPUOptions(Message):
    """Options of TF1 for GPUs, mainly for their memory."""

    schema = """
        double per_process_gpu_memory_fraction = 1
        string allocator_type = 2
        int64 deferred_deletion_bytes = 3
        bool allow_growth = 4
        string visible_device_list = 5
        int32 polling_active_delay_usecs = 6
        int32 polling_inactive_delay_msecs = 7
        bool force_gpu_compatible = 8
        GPUOptions.Experimental experimental = 9
    """

    class Experimental(Message):
        """Options that could change."""

        schema = """
            repeated GPUOptions.Experimental.VirtualDevices virtual_devices = 1
            bool use_unified_memory = 2
            int32 num_dev_to_dev_copy_streams = 3
            string collective_ring_order = 4
            bool timestamped_allocator = 5
            int32 kernel_tracker_max_interval = 7
            int32 kernel_tracker_max_bytes = 8
            int32 kernel_tracker_max_pending = 9
        """

        class VirtualDevices(Message):
            """A GPU in parts."""

            schema = """
                repeated float memory_limit_mb = 1
            """


class ThreadPoolOptionProto(Message):
    """A pool of threads."""

    schema = """
        int32 num_threads = 1
        string global_name = 2
    """


class RPCOptions(Message):
    """Options of TF1 for communication with other machines."""

    schema = """
        bool use_rpc_for_inprocess_master = 1
        string compression_algorithm = 2
        int32 compression_level = 3
        bool cache_rpc_response = 4
        bool disable_session_connection_sharing = 5
    """


class SessionMetadata(Message):
    """The name of a session."""

    schema = """
        string name = 1
        int64 version = 2
    """


class JobDef(Message):
    """The addresses of the tasks of a job."""

    schema = """
        string name = 1
        map<int32, string> tasks = 2
    """


class ClusterDef(Message):
    """The jobs of a cluster."""

    schema = """
        repeated JobDef job = 1
    """


class ConfigProto(Message):
    """The options of a session.

    >>> config = sg.ConfigProto(intra_op_parallelism_threads=2)
    >>> config.gpu_options.allow_growth = True  # accepted as TensorFlow has it
    >>> sess = sg.Session(config=config)
    """

    schema = """
        map<string, int32> device_count = 1
        int32 intra_op_parallelism_threads = 2
        int32 placement_period = 3
        repeated string device_filters = 4
        int32 inter_op_parallelism_threads = 5
        GPUOptions gpu_options = 6
        bool allow_soft_placement = 7
        bool log_device_placement = 8
        bool use_per_session_threads = 9
        GraphOptions graph_options = 10
        int64 operation_timeout_in_ms = 11
        repeated ThreadPoolOptionProto session_inter_op_thread_pool = 12
        RPCOptions rpc_options = 13
        ClusterDef cluster_def = 14
        bool isolate_session_state = 15
        ConfigProto.Experimental experimental = 16
    """

    class Experimental(Message):
        """Options that could change."""

        schema = """
            string collective_group_leader = 1
            string executor_type = 3
            int32 recv_buf_max_chunk = 4
            bool use_numa_affinity = 5
            bool collective_deterministic_sequential_execution = 6
            bool collective_nccl = 7
            bool share_session_state_in_clusterspec_propagation = 8
            bool disable_thread_spinning = 9
            bool share_cluster_devices_in_session = 10
            SessionMetadata session_metadata = 11
            bool optimize_for_static_graph = 12
        """


class ServerDef(Message):
    """A server of a cluster."""

    schema = """
        ClusterDef cluster = 1
        string job_name = 2
        int32 task_index = 3
        ConfigProto default_session_config = 4
        string protocol = 5
    """


class DebugTensorWatch(Message):
    """A tensor that is watched."""

    schema = """
        string node_name = 1
        int32 output_slot = 2
        repeated string debug_ops = 3
        repeated string debug_urls = 4
        bool tolerate_debug_op_creation_failures = 5
    """


class DebugOptions(Message):
    """Options for watching tensors in a run."""

    schema = """
        repeated DebugTensorWatch debug_tensor_watch_opts = 4
        int64 global_step = 10
        bool reset_disk_byte_usage = 11
    """


class RunOptions(Message):
    """The options of one run."""

    TraceLevel = Enum(NO_TRACE=0, SOFTWARE_TRACE=1, HARDWARE_TRACE=2, FULL_TRACE=3)
    schema = """
        enum RunOptions.TraceLevel trace_level = 1
        int64 timeout_in_ms = 2
        int32 inter_op_thread_pool = 3
        bool output_partition_graphs = 5
        DebugOptions debug_options = 6
        bool report_tensor_allocations_upon_oom = 7
        RunOptions.Experimental experimental = 8
    """

    class Experimental(Message):
        """Options that could change."""

        schema = """
            int64 collective_graph_key = 1
            bool use_run_handler_pool = 2
        """
