"""Items of records that are `tf.train.Example`s, as `slim.tfexample_decoder` makes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.slim_data.providers import DataDecoder

Parsed = Mapping[str, Any]


class ItemHandler(ABC):
    """Makes an item of features. `keys` are the features that it needs: a name, or a list of names."""

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, list | tuple) else [keys]

    @property
    def keys(self) -> Sequence[str]:
        """The names of the features."""
        return self._keys

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        """Return the item, from the parsed features by their names."""


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes of the features by their names."""

    def __init__(self, keys: Any, func: Callable[[Parsed], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes [n, 4] of four features: by default `ymin`, `xmin`, `ymax` and `xmax`, each after `prefix`.

    Raises:
        ValueError: The keys are not four.
    """

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise misuse(ValueError, f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        sides = [keys_to_tensors[key] for key in self.keys]
        sides = [side.values if isinstance(side, sg.SparseTensor) else side for side in sides]
        return sg.transpose(sg.concat([sg.expand_dims(side, 0) for side in sides], 0))


class Tensor(ItemHandler):
    """A feature, with the shape that another feature holds, or with a given one.

    Args:
        tensor_key: The feature.
        shape_keys: The feature of the shape, or a list with one for each size.
        shape: The shape, instead of such features.
        default_value: The value of elements that a sparse feature lacks.

    Raises:
        ValueError: There are both features and a shape.
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise misuse(ValueError, "Cannot specify both shape_keys and shape parameters.")
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        self._shape_keys = shape_keys if isinstance(shape_keys, list) else [shape_keys] if shape_keys else []
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = sg.reshape(sg.stack(sizes), [-1])
        if isinstance(tensor, sg.SparseTensor):
            if shape is not None:
                tensor = sg.sparse_reshape(tensor, shape)
            return sg.sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else sg.reshape(tensor, shape)


class LookupTensor(Tensor):
    """A feature that a lookup table translates; see `Tensor`."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of `handler`, or of `backup` if that has no elements. ValueError if one is no ItemHandler."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for kind, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                text = f"{kind} handler is of type {type(given)} instead of ItemHandler"
                raise misuse(ValueError, text)
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = sg.equal(sg.reduce_prod(sg.shape(item)), 0)
        return sg.cond(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A sparse tensor whose last indices and whose values are features.

    Args:
        indices_key: The feature of the indices along the last axis.
        values_key: The feature of the values.
        shape_key: The feature of the shape.
        shape: The shape, instead of such a feature; by default that of the indices.
        densify: If True, the item is dense.
        default_value: The value of elements that a dense item lacks.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        else:
            shape = self._shape or indices.dense_shape
        rank = sg.shape(indices.indices)[1]
        last = sg.cast(indices.values, sg.int64)
        others = sg.slice(indices.indices, [0, 0], sg.stack([-1, rank - 1]))
        places = sg.concat([others, sg.reshape(last, [-1, 1])], 1)
        made = sg.SparseTensor(places, values.values, shape)
        return sg.sparse_tensor_to_dense(made, self._default_value) if self._densify else made


class Image(ItemHandler):
    """A picture, decoded by its format.

    Args:
        image_key: The feature with the file; `image/encoded` by default.
        format_key: The feature with the format, such as "jpeg", "png" or "raw"; `image/format` by default.
        shape: The shape of all pictures, None if it differs.
        channels: The number of channels.
        dtype: The type of the elements.
        repeated: If True, the feature is a vector of files.
        dct_method: A way to decode JPEG.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = sg.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key, self._format_key = image_key or "image/encoded", format_key or "image/format"
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: Parsed) -> Any:
        files, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return sg.map_fn(lambda file: self._decode(file, kind), files, dtype=self._dtype)
        return self._decode(files, kind)

    def _decode(self, file: Any, kind: Any) -> Any:
        def of_any_format() -> Any:
            return sg.cast(sg.image.decode_image(file, channels=self._channels), self._dtype)

        def of_jpeg() -> Any:
            made = sg.image.decode_jpeg(file, channels=self._channels, dct_method=self._dct_method)
            return sg.cast(made, self._dtype)

        def of_file() -> Any:
            return sg.cond(sg.image.is_jpeg(file), of_jpeg, of_any_format, name="cond_jpeg")

        is_raw = sg.logical_or(sg.equal(kind, "raw"), sg.equal(kind, "RAW"))
        raw = (is_raw, lambda: sg.io.decode_raw(file, self._dtype))
        image = sg.case([raw], default=of_file, exclusive=True)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else sg.reshape(image, self._shape)


class TFExampleDecoder(DataDecoder):
    """Items of a serialized `tf.train.Example`.

    Args:
        keys_to_features: How to parse each feature, such as a `tf.FixedLenFeature`.
        items_to_handlers: The `ItemHandler` of each item.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        """Return the tensors of the items, all by default."""
        parsed = sg.io.parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, sg.io.FixedLenFeature):
                parsed[key] = sg.reshape(parsed[key], feature.shape)
        made = []
        for item in items or self._items_to_handlers:
            handler = self._items_to_handlers[item]
            made.append(handler.tensors_to_item({key: parsed[key] for key in handler.keys}))
        return made


def _dense(feature: Any) -> Any:
    return sg.sparse_tensor_to_dense(feature) if isinstance(feature, sg.SparseTensor) else feature
