"""Signatures that differ from TensorFlow's on purpose, each with its reason."""

from __future__ import annotations

from fnmatch import fnmatchcase

EXPLAINED = {  # by name, or by a pattern of names
    "*DType": "element types are those of the package; a program has no use for one made by a number",
    "ConditionalAccumulatorBase": "made by its own classes, which tell it what they have",
    "*QueueBase": "queues are made by their own classes, which tell the base what they have",
    "*ReaderBase": "readers are made by their own classes",
    "OpError": "the message comes first, as in Python; TensorFlow's order is understood as well",
    "Operation": "operations are made by functions, never by their class",
    "RaggedTensor": "ragged tensors are made by the methods from_..., never by their class",
    "Tensor": "tensors are made by functions, never by their class",
    "contrib.distribute.*": "MPI chooses how processes communicate: such choices are accepted as None",
    "contrib.layers.embed_sequence": "the sizes have to be given: TensorFlow refuses its own defaults too",
    "contrib.learn.Estimator": "model_fn has to be given: TensorFlow refuses its own default too",
    "contrib.tpu.TPUEstimator": "model_fn has to be given; there are no TPUs, and one way to export",
    "data.Dataset": "datasets are made by functions, never by the class",
    "data.Iterator": "iterators are made by datasets and by `from_structure`",
    "flags.*": "flags are parsed here, not by another library: bounds and lists, but no modules of origin",
    "keras.backend.foldl": "one function here, and in the root: its further parameters come before the name",
    "keras.backend.foldr": "one function here, and in the root: its further parameters come before the name",
    "keras.backend.map_fn": "one function here, and in the root: its further parameters come before the name",
    "keras.layers.*Conv*": "one number is for each axis: the default means the same",
    "keras.layers.*Pool*": "one number is for each axis: the default means the same",
    "keras.layers.CuDNN*": "options are taken by name",
    "keras.layers.Wrapper.build": "a layer is always built for a shape",
    "keras.layers.*.call": "states and constants are given with the inputs",
    "keras.layers.StackedRNNCells.from_config": "classes of one's own are found by registering them",
    "keras.*.add_weight": "there is one device and nothing to choose: such choices are accepted as None",
    "keras.losses.SparseCategoricalCrossentropy": "the default name is that of the class",
    "keras.models.model_from_json": "the text has another name",
    "keras.preprocessing.image.NumpyArrayIterator": "made by `ImageDataGenerator.flow`",
    "keras.preprocessing.image.img_to_array": "the default is the type that None stood for",
    "test.Benchmark*": "nothing is written to a file of measurements",
    "test.TestCase.*": "that of Python, whose parameters have other names",
    "VariableScope.get_variable": "the store of variables, TensorFlow's first parameter, is the graph's own",
    "errors.*Error": "the message comes first, as in Python; TensorFlow's order is understood as well",
    "layers.Conv[23]D": "one number is for each axis: the default means the same",
    "sparse?split": "the first parameter only says that all are given by name: any value is refused",
}


def reason(name: str) -> str | None:
    """Why a signature differs; None if there is no reason.

    >>> reason("layers.Conv2D")
    'one number is for each axis: the default means the same'
    >>> reason("layers.Dense")
    """
    return next((text for pattern, text in EXPLAINED.items() if fnmatchcase(name, pattern)), None)
