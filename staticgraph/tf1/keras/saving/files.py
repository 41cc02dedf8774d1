"""Models in files: architecture as JSON, weights as safetensors, in an archive whose every byte is checked.

Loading builds layers from a table of classes; nothing in a file is ever run. Functions and classes of a
program are found in `custom_objects`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.boundary import CAUGHT, arose_below
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import InvalidFileError, headline, hint, misuse, told
from staticgraph.formats.tf.checkpoints.checkpoint_state import update_checkpoint_state
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.attributes import check, dump, parse, read_json
from staticgraph.runtime.files.checkpoint import checkpoint_file
from staticgraph.tf1.keras import losses, metrics, optimizers, state
from staticgraph.tf1.keras.saving import hdf5
from staticgraph.tf1.keras.serialization import (
    deserialize_keras_object,
    layers_by_name,
    serialize_keras_object,
)

_WEIGHTS, _MODEL, _OPTIMIZER = "weights.safetensors", "model.json", "optimizer.safetensors"
_MODEL_KIND, _WEIGHTS_KIND = "keras model", "keras weights"
_OTHER_COPY = "take another copy of it, or save the model again"
_HDF5 = (".h5", ".hdf5", ".keras")  # ends of names of files that are not our own


def to_json(model: Any, **options: Any) -> str:
    """The architecture as JSON, in Keras's format. `options` go to `json.dumps`."""
    described = {**serialize_keras_object(model), "keras_version": "2.2.4-tf", "backend": "tensorflow"}
    return json.dumps(described, default=_plain, **options)


def _plain(value: Any) -> Any:
    """Convert a value that JSON cannot hold to one that it can. TypeError if there is none."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, set):
        return sorted(value)
    raise misuse(TypeError, f"{value!r} in the config of a layer cannot be written as JSON")


def from_json(text: str, custom_objects: Any = None) -> Any:
    """The model of `to_json`, with new weights."""
    try:
        described = read_json(text)
    except (ValueError, RecursionError) as error:
        raise misuse(ValueError, f"the architecture of a model is no JSON: {error}") from None
    return from_config(described, custom_objects)


def from_config(config: Any, custom_objects: Any = None) -> Any:
    """The model of {"class_name": ..., "config": ...}, with new weights."""
    if not isinstance(config, Mapping) or not {"class_name", "config"} <= config.keys():
        raise misuse(
            TypeError,
            "model_from_config() takes a dict with class_name and config: see Sequential.from_config",
        )
    try:
        return _described(config, custom_objects)
    except CAUGHT as error:
        if not arose_below(error):  # from_config of a user's layer
            raise
        text = f"no model has this architecture: {type(error).__name__}: {error}"
        raise misuse(ValueError, text, "give the text of to_json() or the dict of get_config()") from error


def _described(config: Any, custom_objects: Any) -> Any:
    described = {"class_name": config["class_name"], "config": config["config"]}
    return deserialize_keras_object(described, layers_by_name(), custom_objects, "layer")


# Weights


def _is_hdf5(path: str, save_format: str | None) -> bool:
    return save_format in ("h5", "hdf5", "keras") or (save_format is None and path.endswith(_HDF5))


def _refuse_overwriting(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise misuse(FileExistsError, f"{path} exists already", "pass overwrite=True")


def layer_weights(model: Any) -> dict[str, list[Any]]:
    """The weights of each layer by its name, in order. Those of a subclass itself stand under "" ."""
    found = {layer.name: list(layer.weights) for layer in model.layers if layer.weights}
    listed = {id(v) for weights in found.values() for v in weights}
    rest = [v for v in model.weights if id(v) not in listed]
    return found | ({"": rest} if rest else {})


def _tensors(values: Mapping[str, Any]) -> list[Any]:
    return safetensors.write(
        {key: (as_dtype(value.dtype), np.asarray(value)) for key, value in values.items()}
    )


def _weight_members(model: Any) -> dict[str, list[Any]]:
    by_layer = layer_weights(model)
    flat = [(f"{name}/{i}", v) for name, weights in by_layer.items() for i, v in enumerate(weights)]
    values = state.batch_get_value([v for _, v in flat])
    return {_WEIGHTS: _tensors({key: value for (key, _), value in zip(flat, values, strict=True)})}


def save_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: Any = None) -> None:
    """Write the weights. A name without a suffix is the prefix of a checkpoint, as with `train.Saver`.

    With `save_format="tf"` the checkpoint is TensorFlow's own, whose root is the model: see `Checkpoint`.
    """
    path = path_of(filepath, "filepath")
    if not model.built:
        raise misuse(ValueError, f"model {model.name} has no weights before it is built, called or fitted")
    if _is_hdf5(path, save_format):
        _refuse_overwriting(path, overwrite)
        hdf5.save_weights(model, path)
        return
    target = checkpoint_file(path)
    _refuse_overwriting(target, overwrite)
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    if save_format in ("tf", "tensorflow"):
        from staticgraph.formats.tf.checkpoints.object_checkpoint import write_objects  # rarely used

        write_objects(model, path, state.get_session())
    else:
        container.write(target, _WEIGHTS_KIND, {}, _weight_members(model))
    update_checkpoint_state(os.path.dirname(path) or ".", path)


def _read_arrays(members: Mapping[str, Any], name: str) -> dict[str, np.ndarray]:
    return {key: np.array(array) for key, (_, array) in safetensors.read(members[name], name).items()}


def _stored(path: str) -> str:
    return path if os.path.isfile(path) or path.endswith(_HDF5) else checkpoint_file(path)


def load_weights(model: Any, filepath: Any, by_name: bool = False) -> None:
    """Set the weights from a file of `save_weights` or `save_model`, or from a checkpoint of TensorFlow's."""
    path = _stored(path_of(filepath, "filepath"))
    if not model.built:
        raise misuse(
            ValueError, f"model {model.name} must be built, called or fitted before it can load weights"
        )
    from staticgraph.formats.tf.tensor_bundle import is_bundle  # for TensorFlow's files

    if is_bundle(path_of(filepath, "filepath")):
        _load_objects(model, path_of(filepath, "filepath"))
        return
    if _begins_as_hdf5(path):
        found = hdf5.load_weights(path)
    else:
        found = _grouped(_load(path)[1])
    _assign(model, found, by_name, path)


def _load_objects(model: Any, prefix: str) -> None:
    """Set the weights from an object-based checkpoint whose root is the model."""
    from staticgraph.formats.tf.checkpoints.object_checkpoint import found_objects  # for TensorFlow's files

    status = found_objects(model, prefix)
    if status is None:
        text = f"checkpoint {prefix} was written by a Saver, which knows no model"
        raise misuse(ValueError, text, "Saver(model.weights).restore(session, path) restores it by names")
    status.assert_nontrivial_match().run_restore_ops(state.get_session())


def _grouped(flat: Mapping[str, np.ndarray]) -> dict[str, list[np.ndarray]]:
    """Arrays by layer, from arrays by layer and number."""
    made: dict[str, dict[int, np.ndarray]] = {}
    for key, array in flat.items():
        name, _, number = key.rpartition("/")
        if not number.isdigit():
            raise InvalidFileError(f"the weight {key!r} has no number")
        made.setdefault(name, {})[int(number)] = array
    return {name: [arrays[i] for i in sorted(arrays)] for name, arrays in made.items()}


def _assign(model: Any, found: Mapping[str, list[np.ndarray]], by_name: bool, path: str) -> None:
    wanted = layer_weights(model)
    if by_name:
        pairs = [(wanted[name], found[name]) for name in wanted if name in found]
    else:
        if len(wanted) != len(found):
            text = f"{path} has weights of {len(found)} layers, model {model.name} of {len(wanted)}"
            raise misuse(ValueError, text, "by_name=True loads layers of equal names alone")
        same = set(wanted) == set(found)
        ordered = [found[name] for name in wanted] if same else list(found.values())
        pairs = list(zip(wanted.values(), ordered, strict=True))
    for variables, arrays in pairs:
        if len(variables) != len(arrays):
            text = (
                f"{path} has {len(arrays)} weights where {variables[0].name} and others are {len(variables)}"
            )
            raise misuse(ValueError, text)
    state.batch_set_value([pair for p in pairs for pair in zip(*p, strict=True)])


# Models


def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: Any = None,
    signatures: Any = None,
) -> None:
    """Write a model: what `load_model` needs to go on with it, the state of the optimizer included."""
    path = path_of(filepath, "filepath")
    _refuse_overwriting(path, overwrite)
    described = json.loads(to_json(model))
    described["training"] = _training_config(model) if include_optimizer else None
    if _is_hdf5(path, save_format):
        hdf5.save_model(model, path, described)
        return
    values = model.optimizer.get_weights() if described["training"] is not None else []
    members = {
        _MODEL: [dump(described).encode()],
        **_weight_members(model),
        _OPTIMIZER: _tensors({str(i): value for i, value in enumerate(values)}),
    }
    container.write(path, _MODEL_KIND, {}, members)


def _training_config(model: Any) -> Any:
    """Return the training of a model as data.

    None if the model is not compiled, or if its training cannot be written as data.
    """
    if not model._training:
        return None
    loss, loss_weights, chosen, weighted, _ = model._training["arguments"]
    try:
        made = {
            "optimizer": serialize_keras_object(model.optimizer),
            "loss": _named(loss),
            "loss_weights": loss_weights,
            "metrics": _named(chosen),
            "weighted_metrics": _named(weighted),
        }
    except NotImplementedError:
        return None
    return json.loads(json.dumps(made, default=_plain))


def _named(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_named(v) for v in value]
    if isinstance(value, dict):
        return {key: _named(v) for key, v in value.items()}
    return value if value is None or isinstance(value, str) else serialize_keras_object(value)


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model of `save_model`, ready to go on. InvalidFileError for a damaged file.

    `custom_objects`: the layers, losses and other functions of the program that the model uses, by name.
    """
    path = path_of(filepath, "filepath")
    if _begins_as_hdf5(path):
        described, arrays, of_optimizer = hdf5.load_model(path)
        weights = arrays
    else:
        described, flat, of_optimizer = _load(path, _MODEL_KIND)
        weights = _grouped(flat)
    try:
        model = _described(described, custom_objects)
        if weights:
            _assign(model, weights, False, path)
        if compile and described.get("training"):
            _compile(model, described["training"], custom_objects or {})
            if of_optimizer and model.outputs:
                model._function("train", [None] * len(model.outputs))
                model.optimizer.set_weights(of_optimizer)
    except CAUGHT as error:
        if (named := _about_file(error, path)) is not None:
            raise named from (error if custom_objects else None)  # of a layer of the user's, perhaps
        if not arose_below(error):  # such as of a layer of the user's
            raise
        found = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        text = f"{path}: the description of the model {found}"
        raise misuse(InvalidFileError, text, _OTHER_COPY) from None
    return model


def _about_file(error: Exception, path: str) -> Exception | None:
    """An error about an argument of a layer, such as a negative size, as one about the file it is from."""
    if not told(error) or type(error) not in (ValueError, TypeError, NotImplementedError):
        return None
    text = headline(error)
    return misuse(type(error), text if path in text else f"{path}: {text}", hint(error) or _OTHER_COPY)


def _compile(model: Any, config: Mapping[str, Any], custom_objects: Mapping[str, Any]) -> None:
    model.compile(
        optimizers.deserialize(config["optimizer"], custom_objects),
        _found(config["loss"], losses, custom_objects),
        _found(config["metrics"], metrics, custom_objects),
        config["loss_weights"],
        weighted_metrics=_found(config["weighted_metrics"], metrics, custom_objects),
    )


def _found(value: Any, module: Any, custom_objects: Mapping[str, Any]) -> Any:
    """Losses or metrics from their names and configs."""
    if isinstance(value, list):
        return [_found(v, module, custom_objects) for v in value]
    if isinstance(value, dict) and set(value) != {"class_name", "config"}:
        return {key: _found(v, module, custom_objects) for key, v in value.items()}
    if isinstance(value, dict):
        return module.deserialize(value, custom_objects)
    return custom_objects.get(value, value)


def _load(path: str, kind: str | None = None) -> tuple[Any, dict[str, np.ndarray], list[np.ndarray]]:
    """Return the description of a model, its weights, and the weights of its optimizer.

    A file of weights alone has no description, which is then None, and no weights of an optimizer.
    """

    def weights(_: Any, members: Mapping[str, Any]) -> Any:
        return None, _read_arrays(members, _WEIGHTS), []

    def model(_: Any, members: Mapping[str, Any]) -> Any:
        described = check(parse(members[_MODEL], _MODEL), _MODEL, dict)
        of_optimizer = _read_arrays(members, _OPTIMIZER)
        ordered = [of_optimizer[str(i)] for i in range(len(of_optimizer))]
        return described, _read_arrays(members, _WEIGHTS), ordered

    if kind is None and _kind(path) == _WEIGHTS_KIND:
        return container.read(path, _WEIGHTS_KIND, {}, (_WEIGHTS,), weights)
    return container.read(path, _MODEL_KIND, {}, (_MODEL, _WEIGHTS, _OPTIMIZER), model)


def _kind(path: str) -> str:
    """The kind that a file says it is of, for choosing how to read it."""
    return _MODEL_KIND if _MODEL_KIND.encode() in _head(path) else _WEIGHTS_KIND


def _begins_as_hdf5(path: str) -> bool:
    return _head(path).startswith(b"\x89HDF\r\n\x1a\n")


def _head(path: str) -> bytes:
    """The first bytes of a plain file, none of anything else."""
    from staticgraph.runtime.files.plain_file import opener  # only for reading

    try:
        with open(path, "rb", opener=opener) as file:
            return file.read(4096)
    except OSError:
        return b""
