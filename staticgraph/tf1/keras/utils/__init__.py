"""Helpers of programs that use models (TF1's `tf.keras.utils`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.keras.engine.network": "get_source_inputs",
        "staticgraph.tf1.keras.serialization": (
            "custom_object_scope CustomObjectScope deserialize_keras_object get_custom_objects "
            "serialize_keras_object"
        ),
        "staticgraph.tf1.keras.utils.arrays": "normalize to_categorical",
        "staticgraph.tf1.keras.utils.download": "get_file",
        "staticgraph.tf1.keras.utils.multi_gpu": "multi_gpu_model",
        "staticgraph.tf1.keras.utils.drawing": "model_to_dot plot_model",
        "staticgraph.tf1.keras.utils.progress": "Progbar",
        "staticgraph.tf1.keras.utils.sequence": "Sequence",
    },
)
