"""Messages in which a run reports times and memory by device and operation."""

from staticgraph.formats.tf.messages.message import Message


class AllocationDescription(Message):
    """A piece of memory."""

    schema = """
        int64 requested_bytes = 1
        int64 allocated_bytes = 2
        string allocator_name = 3
        int64 allocation_id = 4
        bool has_single_reference = 5
        uint64 ptr = 6
    """


class AllocationRecord(Message):
    """When memory was taken."""

    schema = """
        int64 alloc_micros = 1
        int64 alloc_bytes = 2
    """


class AllocatorMemoryUsed(Message):
    """Memory that an operation took."""

    schema = """
        string allocator_name = 1
        int64 total_bytes = 2
        int64 peak_bytes = 3
        int64 live_bytes = 4
        int64 allocator_bytes_in_use = 5
        repeated AllocationRecord allocation_records = 6
    """


class TensorDescription(Message):
    """A tensor and its memory."""

    schema = """
        enum DataType dtype = 1
        TensorShapeProto shape = 2
        AllocationDescription allocation_description = 4
    """


class NodeOutput(Message):
    """An output of an operation."""

    schema = """
        int32 slot = 1
        TensorDescription tensor_description = 3
    """


class MemoryStats(Message):
    """Memory that an operation kept."""

    schema = """
        int64 temp_memory_size = 1
        int64 device_temp_memory_size = 2
        int64 persistent_memory_size = 3
        int64 device_persistent_memory_size = 4
        repeated int64 persistent_tensor_alloc_ids = 5
        repeated int64 device_persistent_tensor_alloc_ids = 6
    """


class NodeExecStats(Message):
    """One execution of an operation."""

    schema = """
        string node_name = 1
        int64 all_start_micros = 2
        int64 op_start_rel_micros = 3
        int64 op_end_rel_micros = 4
        int64 all_end_rel_micros = 5
        repeated AllocatorMemoryUsed memory = 6
        repeated NodeOutput output = 7
        string timeline_label = 8
        int64 scheduled_micros = 9
        uint32 thread_id = 10
        repeated AllocationDescription referenced_tensor = 11
        MemoryStats memory_stats = 12
        int64 all_start_nanos = 13
        int64 op_start_rel_nanos = 14
        int64 op_end_rel_nanos = 15
        int64 all_end_rel_nanos = 16
        int64 scheduled_nanos = 17
    """


class DeviceStepStats(Message):
    """Statistics of a device in a step."""

    schema = """
        string device = 1
        repeated NodeExecStats node_stats = 2
        map<uint32, string> thread_names = 3
    """


class StepStats(Message):
    """Statistics of all devices in a step."""

    schema = """
        repeated DeviceStepStats dev_stats = 1
    """


class CostGraphDef(Message):
    """Costs of operations."""

    schema = """
        repeated CostGraphDef.Node node = 1
    """

    class Node(Message):
        """The cost of one operation."""

        schema = """
            string name = 1
            string device = 2
            int32 id = 3
            repeated CostGraphDef.Node.InputInfo input_info = 4
            repeated CostGraphDef.Node.OutputInfo output_info = 5
            int64 temporary_memory_size = 6
            bool is_final = 7
            repeated int32 control_input = 8
            int64 compute_cost = 9
            int64 host_temp_memory_size = 10
            int64 device_temp_memory_size = 11
            int64 persistent_memory_size = 12
            int64 compute_time = 14
            int64 memory_time = 15
            int64 device_persistent_memory_size = 16
            bool inaccurate = 17
        """

        class InputInfo(Message):
            """Source of an input: a node and its output."""

            schema = """
                int32 preceding_node = 1
                int32 preceding_port = 2
            """

        class OutputInfo(Message):
            """The memory of an output."""

            schema = """
                int64 size = 1
                int64 alias_input_port = 2
                TensorShapeProto shape = 3
                enum DataType dtype = 4
            """


class RunMetadata(Message):
    """Report of a run about itself: statistics, costs and graphs."""

    schema = """
        StepStats step_stats = 1
        CostGraphDef cost_graph = 2
        repeated GraphDef partition_graphs = 3
        repeated RunMetadata.FunctionGraphs function_graphs = 4
    """

    class FunctionGraphs(Message):
        """The graphs that a run executed."""

        schema = """
            repeated GraphDef partition_graphs = 1
            GraphDef pre_optimization_graph = 2
            GraphDef post_optimization_graph = 3
        """
