"""Messages by the file of this folder that has their schema; a file is imported when a message is needed."""

SCHEMAS = {
    "checkpoint": "CheckpointState",
    "config": (
        "AutoParallelOptions ClusterDef ConfigProto DebugOptions DebugTensorWatch GPUOptions GraphOptions "
        "JobDef OptimizerOptions RewriterConfig RPCOptions RunOptions ScopedAllocatorOptions ServerDef "
        "SessionMetadata ThreadPoolOptionProto VerifierConfig"
    ),
    "event": "Event LogMessage SessionLog TaggedRunMetadata",
    "example": (
        "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
    ),
    "graph": (
        "AttrValue FunctionDef FunctionDefLibrary GradientDef GraphDef NameAttrList NodeDef OpDef "
        "OpDeprecation OpList VersionDef"
    ),
    "meta_graph": "Any AssetFileDef CollectionDef MetaGraphDef SavedModel SaverDef SignatureDef TensorInfo",
    "object_graph": "TrackableObjectGraph",
    "projector": "EmbeddingInfo ProjectorConfig SpriteMetadata",
    "saved_slices": "SavedSlice SavedSliceMeta SavedTensorSliceMeta SavedTensorSlices",
    "step_stats": (
        "AllocationDescription AllocationRecord AllocatorMemoryUsed CostGraphDef DeviceStepStats MemoryStats "
        "NodeExecStats NodeOutput RunMetadata StepStats TensorDescription"
    ),
    "summary": "HistogramProto Summary SummaryDescription SummaryMetadata",
    "tensor": "ResourceHandleProto TensorProto TensorShapeProto VariantTensorDataProto",
    "tensor_bundle": "BundleEntryProto BundleHeaderProto TensorSliceProto",
    "variable": "SaveSliceInfoDef VariableDef",
}

# What else the public namespace has.
FUNCTIONS = {
    "message": "Message UnknownFieldError",
    "tensors": "make_ndarray make_tensor_proto",
    "types": "data_type DataType dtype_of",
    "wire": "DecodeError",
}
