"""Modules that read and write what is no single node and operation: which has which.

A module is imported when a graph needs it.
"""

# The operations that are no single node, by the names of their ops, and what writes them.
EXCEPTIONS_OF = {
    "formats.tf.graph_def.exceptions": (
        "assert_true custom_gradient foreign foreign_handle initialized_value log_softmax pick print_line "
        "print_values pseudo_inverse seed segment_prod segment_sum softmax softmax_cross_entropy "
        "sparse_softmax_cross_entropy "
        "sparse_apply_adadelta sparse_apply_adagrad sparse_apply_adagrad_da sparse_apply_centered_rms_prop "
        "sparse_apply_ftrl sparse_apply_ftrl_v2 sparse_apply_momentum sparse_apply_proximal_adagrad "
        "sparse_apply_proximal_gradient_descent sparse_apply_rms_prop"
    ),
    "formats.tf.graph_def.write.tensor_arrays": (
        "gather tensor_array tensor_array_grow tensor_array_scatter tensor_array_write"
    ),
    "tf1.lookup.written_nodes": (
        "entries_of_file table_export table_find table_handle table_import table_size"
    ),
}

# The types of nodes that are no single operation, and what reads them.
READERS_OF = {
    "formats.tf.graph_def.read.arrays": (
        "Const Div Concat Gather BiasAddV1 MaxPoolV2 ShapeN ConcatOffset DynamicStitch "
        "ParallelDynamicStitch Print PrintV2 Assert"
    ),
    "formats.tf.graph_def.read.gradients": (
        "SoftplusGrad ResizeBilinearGrad ResizeBicubicGrad ResizeNearestNeighborGrad CropAndResizeGradImage "
        "CropAndResizeGradBoxes FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGrad "
        "FusedBatchNormGradV2 FusedBatchNormGradV3"
    ),
    "formats.tf.graph_def.read.optimizers": (
        "ResourceApplyGradientDescent "
        "ResourceApplyMomentum ResourceApplyAdam ResourceApplyAdaMax ResourceApplyAdagrad "
        "ResourceApplyAdagradDA ResourceApplyAdadelta ResourceApplyRMSProp ResourceApplyCenteredRMSProp "
        "ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyProximalGradientDescent "
        "ResourceApplyProximalAdagrad SparseApplyAdadelta SparseApplyAdagradDA SparseApplyAdagrad "
        "SparseApplyCenteredRMSProp SparseApplyMomentum SparseApplyFtrlV2 "
        "SparseApplyProximalGradientDescent SparseApplyProximalAdagrad SparseApplyFtrl SparseApplyRMSProp "
        "ResourceSparseApplyAdadelta ResourceSparseApplyAdagradDA ResourceSparseApplyAdagrad "
        "ResourceSparseApplyCenteredRMSProp ResourceSparseApplyMomentum ResourceSparseApplyFtrlV2 "
        "ResourceSparseApplyProximalGradientDescent ResourceSparseApplyProximalAdagrad "
        "ResourceSparseApplyFtrl ResourceSparseApplyRMSProp"
    ),
    "formats.tf.graph_def.read.state": (
        "Identity RefIdentity VarHandleOp ReadVariableOp VarIsInitializedOp ResourceGather "
        "AssignVariableOp AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd ResourceScatterSub "
        "ResourceScatterUpdate Merge RefMerge"
    ),
    "formats.tf.graph_def.read.tensor_arrays": (
        "TensorArrayV3 TensorArrayReadV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayScatterV3 "
        "TensorArrayConcatV3 TensorArraySplitV3 TensorArraySizeV3 TensorArrayCloseV3"
    ),
    "formats.tf.graph_nodes.functions": (
        "AdjustContrastv2 AdjustHue AdjustSaturation BatchNormWithGlobalNormalization BatchToSpace "
        "ClipByValue HSVToRGB InTopK NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 RGBToHSV "
        "SpaceToBatch NonMaxSuppressionV4 TopK UniqueV2 DynamicPartition Bucketize HistogramFixedWidth "
        "Reverse CTCLoss ParseExample ParseSingleExample"
    ),
    "formats.tf.graph_nodes.quantized": (
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel "
        "FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient "
        "FakeQuantWithMinMaxVarsPerChannelGradient"
    ),
    "formats.tf.graph_nodes.recurrent": (
        "LSTMBlockCell BlockLSTM GRUBlockCell LSTMBlockCellGrad BlockLSTMGrad"
    ),
    "formats.tf.graph_nodes.sparse": (
        "SparseToDense SparseTensorDenseMatMul SparseReorder SparseReshape SparseConcat SparseSlice "
        "SparseReduceSum SparseFillEmptyRows SparseFillEmptyRowsGrad SparseCross SparseSegmentMean "
        "SparseSegmentSqrtN SparseSegmentSum SparseSegmentMeanGrad SparseSegmentSqrtNGrad"
    ),
    "tf1.lookup.graph_nodes": (
        "HashTable HashTableV2 InitializeTable InitializeTableV2 LookupTableImport LookupTableImportV2 "
        "InitializeTableFromTextFile InitializeTableFromTextFileV2 LookupTableFind LookupTableFindV2 "
        "LookupTableSize LookupTableSizeV2 LookupTableExportV2"
    ),
}
