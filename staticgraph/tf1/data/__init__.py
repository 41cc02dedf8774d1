"""Input pipelines (TF1's `tf.data`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.data.dataset": "Dataset",
        "staticgraph.tf1.data.file_datasets": "FixedLengthRecordDataset TextLineDataset TFRecordDataset",
        "staticgraph.tf1.data.iterators": (
            "get_output_classes get_output_shapes get_output_types Iterator make_initializable_iterator "
            "make_one_shot_iterator"
        ),
        "staticgraph.tf1.data.options": "Options",
    },
    modules={"experimental": "staticgraph.tf1.data.experimental"},
)
