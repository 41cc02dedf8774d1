"""Helpers of programs that use models (TF1's `tf.keras.utils`). Made by tools/type_stubs.py."""

from staticgraph.tf1.keras.engine.network import (
    get_source_inputs as get_source_inputs,
)
from staticgraph.tf1.keras.serialization import (
    CustomObjectScope as CustomObjectScope,
    custom_object_scope as custom_object_scope,
    deserialize_keras_object as deserialize_keras_object,
    get_custom_objects as get_custom_objects,
    serialize_keras_object as serialize_keras_object,
)
from staticgraph.tf1.keras.utils.arrays import (
    normalize as normalize,
    to_categorical as to_categorical,
)
from staticgraph.tf1.keras.utils.download import (
    get_file as get_file,
)
from staticgraph.tf1.keras.utils.drawing import (
    model_to_dot as model_to_dot,
    plot_model as plot_model,
)
from staticgraph.tf1.keras.utils.multi_gpu import (
    multi_gpu_model as multi_gpu_model,
)
from staticgraph.tf1.keras.utils.progress import (
    Progbar as Progbar,
)
from staticgraph.tf1.keras.utils.sequence import (
    Sequence as Sequence,
)
