"""Named items of a data set, one example at a time: `slim.dataset` and `slim.dataset_data_provider`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.slim_data.readers import parallel_read


class DataDecoder(ABC):
    """Makes items of a record."""

    @abstractmethod
    def decode(self, data: Any, items: Any) -> list[Any]:
        """Return the tensors of the items."""

    @abstractmethod
    def list_items(self) -> list[str]:
        """Return the names of all items."""


class DataProvider:
    """Tensors by the names of items.

    Args:
        items_to_tensors: The tensor of each item.
        num_samples: The number of examples in the data set.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Any) -> list[Any]:
        """Return the tensors of a list of items. ValueError if it is no list, or has an unknown item."""
        self._validate_items(items)
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Any:
        """Return the names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """Return the number of examples in the data set."""
        return self._num_samples

    def _validate_items(self, items: Any) -> None:
        if not isinstance(items, list | tuple):
            raise misuse(ValueError, "items must be a list or tuple")
        valid = self.list_items()
        if unknown := [item for item in items if item not in valid]:
            raise misuse(ValueError, f"Item {unknown} is invalid. Valid entries include: {list(valid)}")


class Dataset:
    """The files of a data set and how to read them; other arguments become attributes too.

    Args:
        data_sources: Names or patterns of files.
        reader: Makes a reader, such as `tf.TFRecordReader`.
        decoder: Makes items of a record, such as a `TFExampleDecoder`.
        num_samples: The number of examples.
        items_to_descriptions: A text about each item.
        kwargs: Attributes, such as `num_classes`.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int,
        items_to_descriptions: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        self.__dict__.update(kwargs)


class DatasetDataProvider(DataProvider):
    """The items of the next example of a `Dataset`.

    Args:
        dataset: A `Dataset`.
        num_readers: The number of readers, each with a file of its own.
        reader_kwargs: Arguments of each reader.
        shuffle: If True, files and examples come in random order.
        num_epochs: The number of times that each file is read, counted by a local variable; None for ever.
        common_queue_capacity: The size of the queue of records.
        common_queue_min: The records that stay in a shuffled queue.
        record_key: The item with the key of a record.
        seed: The seed of the order.
        scope: The name of the operations.

    Raises:
        ValueError: The data set has an item `record_key` of its own, or there are no files.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs,
            num_readers,
            reader_kwargs,
            shuffle,
            None,
            common_queue_capacity,
            common_queue_min,
            seed,
            scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        if record_key in tensors:
            text = f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            raise misuse(ValueError, text)
        super().__init__(tensors | {record_key: key}, dataset.num_samples)
