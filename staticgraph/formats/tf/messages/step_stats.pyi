"""Messages in which a run reports times and memory by device and operation. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class AllocationDescription(Message):
    """A piece of memory."""
    requested_bytes: typing.Any
    allocated_bytes: typing.Any
    allocator_name: typing.Any
    allocation_id: typing.Any
    has_single_reference: typing.Any
    ptr: typing.Any
class AllocationRecord(Message):
    """When memory was taken."""
    alloc_micros: typing.Any
    alloc_bytes: typing.Any
class AllocatorMemoryUsed(Message):
    """Memory that an operation took."""
    allocator_name: typing.Any
    total_bytes: typing.Any
    peak_bytes: typing.Any
    live_bytes: typing.Any
    allocator_bytes_in_use: typing.Any
    allocation_records: typing.Any
class TensorDescription(Message):
    """A tensor and its memory."""
    dtype: typing.Any
    shape: typing.Any
    allocation_description: typing.Any
class NodeOutput(Message):
    """An output of an operation."""
    slot: typing.Any
    tensor_description: typing.Any
class MemoryStats(Message):
    """Memory that an operation kept."""
    temp_memory_size: typing.Any
    device_temp_memory_size: typing.Any
    persistent_memory_size: typing.Any
    device_persistent_memory_size: typing.Any
    persistent_tensor_alloc_ids: typing.Any
    device_persistent_tensor_alloc_ids: typing.Any
class NodeExecStats(Message):
    """One execution of an operation."""
    node_name: typing.Any
    all_start_micros: typing.Any
    op_start_rel_micros: typing.Any
    op_end_rel_micros: typing.Any
    all_end_rel_micros: typing.Any
    memory: typing.Any
    output: typing.Any
    timeline_label: typing.Any
    scheduled_micros: typing.Any
    thread_id: typing.Any
    referenced_tensor: typing.Any
    memory_stats: typing.Any
    all_start_nanos: typing.Any
    op_start_rel_nanos: typing.Any
    op_end_rel_nanos: typing.Any
    all_end_rel_nanos: typing.Any
    scheduled_nanos: typing.Any
class DeviceStepStats(Message):
    """Statistics of a device in a step."""
    device: typing.Any
    node_stats: typing.Any
    thread_names: typing.Any
class StepStats(Message):
    """Statistics of all devices in a step."""
    dev_stats: typing.Any
class CostGraphDef(Message):
    """Costs of operations."""
    class Node(Message):
        """The cost of one operation."""
        class InputInfo(Message):
            """Source of an input: a node and its output."""
            preceding_node: typing.Any
            preceding_port: typing.Any
        class OutputInfo(Message):
            """The memory of an output."""
            size: typing.Any
            alias_input_port: typing.Any
            shape: typing.Any
            dtype: typing.Any
        name: typing.Any
        device: typing.Any
        id: typing.Any
        input_info: typing.Any
        output_info: typing.Any
        temporary_memory_size: typing.Any
        is_final: typing.Any
        control_input: typing.Any
        compute_cost: typing.Any
        host_temp_memory_size: typing.Any
        device_temp_memory_size: typing.Any
        persistent_memory_size: typing.Any
        compute_time: typing.Any
        memory_time: typing.Any
        device_persistent_memory_size: typing.Any
        inaccurate: typing.Any
    node: typing.Any
class RunMetadata(Message):
    """Report of a run about itself: statistics, costs and graphs."""
    class FunctionGraphs(Message):
        """The graphs that a run executed."""
        partition_graphs: typing.Any
        pre_optimization_graph: typing.Any
        post_optimization_graph: typing.Any
    step_stats: typing.Any
    cost_graph: typing.Any
    partition_graphs: typing.Any
    function_graphs: typing.Any
