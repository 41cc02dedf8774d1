"""Messages in the format of protocol buffers: TensorFlow 1.15's, by its names, without that library.

>>> from staticgraph import messages
>>> config = messages.ConfigProto(gpu_options=messages.GPUOptions(allow_growth=True))
>>> print(config, end="")
gpu_options {
  allow_growth: true
}
 Made by tools/type_stubs.py."""

from staticgraph.formats.tf.messages import (
    checkpoint as checkpoint,
    config as config,
    event as event,
    example as example,
    graph as graph,
    message as message,
    meta_graph as meta_graph,
    object_graph as object_graph,
    projector as projector,
    saved_slices as saved_slices,
    step_stats as step_stats,
    summary as summary,
    tensor as tensor,
    tensor_bundle as tensor_bundle,
    tensors as tensors,
    text_format as text_format,
    types as types,
    variable as variable,
    wire as wire,
)
from staticgraph.formats.tf.messages.checkpoint import (
    CheckpointState as CheckpointState,
)
from staticgraph.formats.tf.messages.config import (
    AutoParallelOptions as AutoParallelOptions,
    ClusterDef as ClusterDef,
    ConfigProto as ConfigProto,
    DebugOptions as DebugOptions,
    DebugTensorWatch as DebugTensorWatch,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    JobDef as JobDef,
    OptimizerOptions as OptimizerOptions,
    RPCOptions as RPCOptions,
    RewriterConfig as RewriterConfig,
    RunOptions as RunOptions,
    ScopedAllocatorOptions as ScopedAllocatorOptions,
    ServerDef as ServerDef,
    SessionMetadata as SessionMetadata,
    ThreadPoolOptionProto as ThreadPoolOptionProto,
    VerifierConfig as VerifierConfig,
)
from staticgraph.formats.tf.messages.event import (
    Event as Event,
    LogMessage as LogMessage,
    SessionLog as SessionLog,
    TaggedRunMetadata as TaggedRunMetadata,
)
from staticgraph.formats.tf.messages.example import (
    BytesList as BytesList,
    Example as Example,
    Feature as Feature,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    FloatList as FloatList,
    Int64List as Int64List,
    SequenceExample as SequenceExample,
)
from staticgraph.formats.tf.messages.graph import (
    AttrValue as AttrValue,
    FunctionDef as FunctionDef,
    FunctionDefLibrary as FunctionDefLibrary,
    GradientDef as GradientDef,
    GraphDef as GraphDef,
    NameAttrList as NameAttrList,
    NodeDef as NodeDef,
    OpDef as OpDef,
    OpDeprecation as OpDeprecation,
    OpList as OpList,
    VersionDef as VersionDef,
)
from staticgraph.formats.tf.messages.message import (
    Message as Message,
    UnknownFieldError as UnknownFieldError,
)
from staticgraph.formats.tf.messages.meta_graph import (
    Any as Any,
    AssetFileDef as AssetFileDef,
    CollectionDef as CollectionDef,
    MetaGraphDef as MetaGraphDef,
    SavedModel as SavedModel,
    SaverDef as SaverDef,
    SignatureDef as SignatureDef,
    TensorInfo as TensorInfo,
)
from staticgraph.formats.tf.messages.object_graph import (
    TrackableObjectGraph as TrackableObjectGraph,
)
from staticgraph.formats.tf.messages.projector import (
    EmbeddingInfo as EmbeddingInfo,
    ProjectorConfig as ProjectorConfig,
    SpriteMetadata as SpriteMetadata,
)
from staticgraph.formats.tf.messages.saved_slices import (
    SavedSlice as SavedSlice,
    SavedSliceMeta as SavedSliceMeta,
    SavedTensorSliceMeta as SavedTensorSliceMeta,
    SavedTensorSlices as SavedTensorSlices,
)
from staticgraph.formats.tf.messages.step_stats import (
    AllocationDescription as AllocationDescription,
    AllocationRecord as AllocationRecord,
    AllocatorMemoryUsed as AllocatorMemoryUsed,
    CostGraphDef as CostGraphDef,
    DeviceStepStats as DeviceStepStats,
    MemoryStats as MemoryStats,
    NodeExecStats as NodeExecStats,
    NodeOutput as NodeOutput,
    RunMetadata as RunMetadata,
    StepStats as StepStats,
    TensorDescription as TensorDescription,
)
from staticgraph.formats.tf.messages.summary import (
    HistogramProto as HistogramProto,
    Summary as Summary,
    SummaryDescription as SummaryDescription,
    SummaryMetadata as SummaryMetadata,
)
from staticgraph.formats.tf.messages.tensor import (
    ResourceHandleProto as ResourceHandleProto,
    TensorProto as TensorProto,
    TensorShapeProto as TensorShapeProto,
    VariantTensorDataProto as VariantTensorDataProto,
)
from staticgraph.formats.tf.messages.tensor_bundle import (
    BundleEntryProto as BundleEntryProto,
    BundleHeaderProto as BundleHeaderProto,
    TensorSliceProto as TensorSliceProto,
)
from staticgraph.formats.tf.messages.tensors import (
    make_ndarray as make_ndarray,
    make_tensor_proto as make_tensor_proto,
)
from staticgraph.formats.tf.messages.types import (
    DataType as DataType,
    data_type as data_type,
    dtype_of as dtype_of,
)
from staticgraph.formats.tf.messages.variable import (
    SaveSliceInfoDef as SaveSliceInfoDef,
    VariableDef as VariableDef,
)
from staticgraph.formats.tf.messages.wire import (
    DecodeError as DecodeError,
)
