"""The options of sessions, runs and servers, as TF1 took them.

One native function runs a whole step here, so that most of them have nothing to change.
 Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class AutoParallelOptions(Message):
    """Options of TF1 for spreading work over replicas."""
    enable: typing.Any
    num_replicas: typing.Any
class ScopedAllocatorOptions(Message):
    """Operations whose outputs shared memory."""
    enable_op: typing.Any
class VerifierConfig(Message):
    """Options of TF1 for checking a rewritten graph."""
    Toggle: typing.Any
    verification_timeout_in_ms: typing.Any
    structure_verifier: typing.Any
    DEFAULT: typing.Any
    ON: typing.Any
    OFF: typing.Any
class RewriterConfig(Message):
    """Options of TF1 for rewriting a graph before a run."""
    MemOptType: typing.Any
    NumIterationsType: typing.Any
    Toggle: typing.Any
    class CustomGraphOptimizer(Message):
        """A rewriter of the user."""
        name: typing.Any
        parameter_map: typing.Any
    layout_optimizer: typing.Any
    disable_model_pruning: typing.Any
    constant_folding: typing.Any
    memory_optimization: typing.Any
    auto_parallel: typing.Any
    memory_optimizer_target_node_name_scope: typing.Any
    arithmetic_optimization: typing.Any
    dependency_optimization: typing.Any
    loop_optimization: typing.Any
    function_optimization: typing.Any
    debug_stripper: typing.Any
    meta_optimizer_iterations: typing.Any
    shape_optimization: typing.Any
    remapping: typing.Any
    scoped_allocator_optimization: typing.Any
    scoped_allocator_opts: typing.Any
    min_graph_nodes: typing.Any
    pin_to_host_optimization: typing.Any
    disable_meta_optimizer: typing.Any
    meta_optimizer_timeout_ms: typing.Any
    fail_on_optimizer_errors: typing.Any
    implementation_selector: typing.Any
    auto_mixed_precision: typing.Any
    optimizers: typing.Any
    custom_optimizers: typing.Any
    inter_optimizer_verifier_config: typing.Any
    post_optimization_verifier_config: typing.Any
    DEFAULT_MEM_OPT: typing.Any
    NO_MEM_OPT: typing.Any
    MANUAL: typing.Any
    SWAPPING_HEURISTICS: typing.Any
    RECOMPUTATION_HEURISTICS: typing.Any
    SCHEDULING_HEURISTICS: typing.Any
    HEURISTICS: typing.Any
    DEFAULT_NUM_ITERS: typing.Any
    ONE: typing.Any
    TWO: typing.Any
    DEFAULT: typing.Any
    ON: typing.Any
    OFF: typing.Any
    AGGRESSIVE: typing.Any
class OptimizerOptions(Message):
    """Switches of TF1's graph optimizer and its XLA."""
    GlobalJitLevel: typing.Any
    Level: typing.Any
    do_common_subexpression_elimination: typing.Any
    do_constant_folding: typing.Any
    opt_level: typing.Any
    do_function_inlining: typing.Any
    global_jit_level: typing.Any
    max_folded_constant_in_bytes: typing.Any
    DEFAULT: typing.Any
    OFF: typing.Any
    ON_1: typing.Any
    ON_2: typing.Any
    L1: typing.Any
    L0: typing.Any
class GraphOptions(Message):
    """Options of a graph's execution."""
    enable_recv_scheduling: typing.Any
    optimizer_options: typing.Any
    build_cost_model: typing.Any
    infer_shapes: typing.Any
    place_pruned_graph: typing.Any
    enable_bfloat16_sendrecv: typing.Any
    timeline_step: typing.Any
    build_cost_model_after: typing.Any
    rewrite_options: typing.Any
class GPUOptions(Message):
    """Options of TF1 for GPUs, mainly for their memory."""
    class Experimental(Message):
        """Options that could change."""
        class VirtualDevices(Message):
            """A GPU in parts."""
            memory_limit_mb: typing.Any
        virtual_devices: typing.Any
        use_unified_memory: typing.Any
        num_dev_to_dev_copy_streams: typing.Any
        collective_ring_order: typing.Any
        timestamped_allocator: typing.Any
        kernel_tracker_max_interval: typing.Any
        kernel_tracker_max_bytes: typing.Any
        kernel_tracker_max_pending: typing.Any
    per_process_gpu_memory_fraction: typing.Any
    allocator_type: typing.Any
    deferred_deletion_bytes: typing.Any
    allow_growth: typing.Any
    visible_device_list: typing.Any
    polling_active_delay_usecs: typing.Any
    polling_inactive_delay_msecs: typing.Any
    force_gpu_compatible: typing.Any
    experimental: typing.Any
class ThreadPoolOptionProto(Message):
    """A pool of threads."""
    num_threads: typing.Any
    global_name: typing.Any
class RPCOptions(Message):
    """Options of TF1 for communication with other machines."""
    use_rpc_for_inprocess_master: typing.Any
    compression_algorithm: typing.Any
    compression_level: typing.Any
    cache_rpc_response: typing.Any
    disable_session_connection_sharing: typing.Any
class SessionMetadata(Message):
    """The name of a session."""
    name: typing.Any
    version: typing.Any
class JobDef(Message):
    """The addresses of the tasks of a job."""
    name: typing.Any
    tasks: typing.Any
class ClusterDef(Message):
    """The jobs of a cluster."""
    job: typing.Any
class ConfigProto(Message):
    """The options of a session.

>>> config = sg.ConfigProto(intra_op_parallelism_threads=2)
>>> config.gpu_options.allow_growth = True  # accepted as TensorFlow has it
>>> sess = sg.Session(config=config)"""
    class Experimental(Message):
        """Options that could change."""
        collective_group_leader: typing.Any
        executor_type: typing.Any
        recv_buf_max_chunk: typing.Any
        use_numa_affinity: typing.Any
        collective_deterministic_sequential_execution: typing.Any
        collective_nccl: typing.Any
        share_session_state_in_clusterspec_propagation: typing.Any
        disable_thread_spinning: typing.Any
        share_cluster_devices_in_session: typing.Any
        session_metadata: typing.Any
        optimize_for_static_graph: typing.Any
    device_count: typing.Any
    intra_op_parallelism_threads: typing.Any
    placement_period: typing.Any
    device_filters: typing.Any
    inter_op_parallelism_threads: typing.Any
    gpu_options: typing.Any
    allow_soft_placement: typing.Any
    log_device_placement: typing.Any
    use_per_session_threads: typing.Any
    graph_options: typing.Any
    operation_timeout_in_ms: typing.Any
    session_inter_op_thread_pool: typing.Any
    rpc_options: typing.Any
    cluster_def: typing.Any
    isolate_session_state: typing.Any
    experimental: typing.Any
class ServerDef(Message):
    """A server of a cluster."""
    cluster: typing.Any
    job_name: typing.Any
    task_index: typing.Any
    default_session_config: typing.Any
    protocol: typing.Any
class DebugTensorWatch(Message):
    """A tensor that is watched."""
    node_name: typing.Any
    output_slot: typing.Any
    debug_ops: typing.Any
    debug_urls: typing.Any
    tolerate_debug_op_creation_failures: typing.Any
class DebugOptions(Message):
    """Options for watching tensors in a run."""
    debug_tensor_watch_opts: typing.Any
    global_step: typing.Any
    reset_disk_byte_usage: typing.Any
class RunOptions(Message):
    """The options of one run."""
    TraceLevel: typing.Any
    class Experimental(Message):
        """Options that could change."""
        collective_graph_key: typing.Any
        use_run_handler_pool: typing.Any
    trace_level: typing.Any
    timeout_in_ms: typing.Any
    inter_op_thread_pool: typing.Any
    output_partition_graphs: typing.Any
    debug_options: typing.Any
    report_tensor_allocations_upon_oom: typing.Any
    experimental: typing.Any
    NO_TRACE: typing.Any
    SOFTWARE_TRACE: typing.Any
    HARDWARE_TRACE: typing.Any
    FULL_TRACE: typing.Any
