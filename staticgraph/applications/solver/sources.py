"""From what `[data]` names to arrays: inputs, labels as numbers, and the names of classes.

In a folder of pictures, each folder is a class, called after it. Pillow, an extra, reads the files.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.applications.solver.csv_table import label_numbers, read_csv
from staticgraph.applications.solver.description import DataTable, Description
from staticgraph.applications.solver.errors import DataError, meant, told
from staticgraph.applications.solver.objective import Answer
from staticgraph.compiler.graph.boundary import CAUGHT
from staticgraph.compiler.graph.errors import InvalidArgumentError, OpError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.domains.image.codecs import decode_picture
from staticgraph.tf1.keras.datasets import cifar10, cifar100, fashion_mnist, mnist

Classes = tuple[str, ...]
Raw = tuple[np.ndarray, np.ndarray]  # inputs, and labels as they are found
# RuntimeError: an encrypted member; MemoryError, of CAUGHT: an array larger than any file.
_UNREADABLE: tuple[type[Exception], ...] = (*CAUGHT, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class Examples:
    """Inputs [examples, ...] and their labels; `classes` are the names of labels, where they were names."""

    inputs: np.ndarray
    labels: np.ndarray
    classes: Classes = ()

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> Examples:
        return Examples(self.inputs[rows], self.labels[rows], self.classes)


def load(described: Description, answer: Answer) -> tuple[Examples, Examples | None]:
    """All examples that are told, and those that are told to validate with."""
    table = described.data
    if table.source == "dataset":
        known, own = _dataset(described)
        kept = own if table.validation is None else None
        pairs = [known, kept]
    else:
        pairs = [_raw(described, str(getattr(table, table.source)), table.source)]
        if isinstance(table.validation, str):
            pairs.append(_raw(described, table.validation, "validation"))
    found: list[Examples] = []
    for raw in filter(None, pairs):
        classes = found[0].classes if found else None
        found.append(_examples(described, answer, *raw, classes))
    if len(found) > 1 and found[0].inputs.shape[1:] != found[1].inputs.shape[1:]:
        shapes = " and ".join(str(list(e.inputs.shape[1:])) for e in found)
        raise described.error(
            f"an example to train on and one to validate with have shapes {shapes}", "data", "validation"
        )
    return found[0], found[1] if len(found) > 1 else None


def _raw(described: Description, name: str, key: str) -> Raw:
    """Read the content of a file or folder."""
    path, source = described.file(name), described.data.source
    if not path.exists():
        raise described.error(f"there is no {path}", "data", key, hint=_neighbour(path))
    if path.is_dir() != (source == "images"):
        kinds = ("a folder", "a file") if path.is_dir() else ("a file", "a folder")
        raise described.error(f"{path} is {kinds[0]}, and {source} takes {kinds[1]}", "data", key)
    try:
        match source:
            case "npz":
                return _arrays(path, described)
            case "csv":
                return read_csv(path, described)
            case _:
                return read_images(path, described.data)
    except OSError as error:
        raise DataError(told(f"{path} cannot be read: {error.strerror or error}")) from None


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent} either"
    close = meant(path.name, sorted(p.name for p in path.parent.iterdir()))
    return close if close.startswith("did") else "paths count from the folder of the description"


def _arrays(path: Path, described: Description) -> Raw:
    """Two arrays of an `.npz` file; one with Python objects is refused, since those could run code."""
    table, found = described.data, []
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            for key, given in (("inputs", table.inputs), ("labels", table.labels)):
                name = key if given is None else given
                if not isinstance(name, str) or name not in file.files:
                    text, where = f"{path.name} has no array {name!r}", "npz" if given is None else key
                    hint = f'it has {", ".join(file.files) or "none"}; name one: {key} = "..."'
                    raise described.error(text, "data", where, hint=hint)
                found.append(file[name])
    except _UNREADABLE as error:
        if isinstance(error, OpError):
            raise
        raise DataError(told(f"{path} is not a file of arrays that can be read: {error}")) from None
    return found[0], found[1]


def _digits() -> tuple[Raw, Raw | None]:
    try:
        from sklearn.datasets import load_digits  # an extra
    except ImportError:
        text = 'the digits are a part of scikit-learn: pip install "staticgraph[examples]"'
        raise DataError(text) from None
    found = load_digits()
    return (found.images.astype(np.float32)[..., None], found.target), None


def _keras(module: Any) -> Callable[[], tuple[Raw, Raw | None]]:
    def read() -> tuple[Raw, Raw | None]:
        train, test = module.load_data()
        return _with_channels(*train), _with_channels(*test)

    return read


def _with_channels(images: np.ndarray, labels: np.ndarray) -> Raw:
    return images if images.ndim == 4 else images[..., None], labels.reshape(-1)


DATASETS: dict[str, Callable[[], tuple[Raw, Raw | None]]] = {
    "digits": _digits,
    "mnist": _keras(mnist),
    "fashion_mnist": _keras(fashion_mnist),
    "cifar10": _keras(cifar10),
    "cifar100": _keras(cifar100),
}


def _dataset(described: Description) -> tuple[Raw, Raw | None]:
    name = str(described.data.dataset)
    if name not in DATASETS:
        hint = meant(name, DATASETS).replace("it takes", "there are")
        raise described.error(f"there is no data set {name!r}", "data", "dataset", hint=hint)
    try:
        return DATASETS[name]()
    except OSError as error:
        raise DataError(told(f"the data set {name} cannot be had: {error}")) from None


def _examples(
    described: Description, answer: Answer, inputs: np.ndarray, labels: np.ndarray, classes: Classes | None
) -> Examples:
    """The arrays, checked and in the shape that the description says."""
    if not len(inputs) or len(inputs) != len(labels):
        text = f"there are {len(inputs)} inputs and {len(labels)} labels"
        raise described.error(text, "data", described.data.source)
    if inputs.dtype.kind not in "biuf":
        text = f"the inputs are {inputs.dtype}, and must be numbers"
        raise described.error(text, "data", described.data.source)
    if inputs.dtype.kind == "f":
        finite = np.isfinite(inputs.reshape(len(inputs), -1)).all(1)
        if not finite.all():
            text = f"example {int(np.argmin(finite))} has a NaN or an infinite number among its inputs"
            raise described.error(text, "data", described.data.source)
    if (shape := described.data.shape) is not None:
        if np.prod(shape) != np.prod(inputs.shape[1:]):
            text = f"an example has the shape {list(inputs.shape[1:])}, which cannot become {shape}"
            raise described.error(text, "data", "shape")
        inputs = inputs.reshape(-1, *shape)
    numbers, names = _labels(described, answer, labels, classes)
    return Examples(inputs, numbers, names)


def _labels(
    described: Description, answer: Answer, labels: np.ndarray, known: Classes | None
) -> tuple[np.ndarray, Classes]:
    """Labels as numbers, and what they stand for where they are names."""
    what = f"{getattr(described.data, described.data.source)}: the label"
    if labels.dtype.kind == "U" and (answer is Answer.NUMBER or (not known and _are_whole(labels))):
        labels = label_numbers(labels, what)
    if labels.dtype.kind == "U":
        names = known or tuple(sorted(set(labels.ravel().tolist())))
        numbers = {name: n for n, name in enumerate(names)}
        if new := sorted(set(labels.ravel().tolist()) - set(names)):
            text = f"the class {new[0]!r} is validated with, and there is no example to train on"
            raise described.error(text, "data", "validation")
        labels = np.array([numbers[name] for name in labels.ravel()]).reshape(labels.shape)
    else:
        names = ()
    if labels.dtype.kind not in "biuf":
        raise DataError(told(f"{what}s are {labels.dtype}, and must be numbers"))
    wrong = ~np.isfinite(labels.astype(np.float64))
    if answer is not Answer.NUMBER:
        wrong |= (labels < 0) | (labels != np.round(labels))
    if answer is Answer.YES:
        wrong |= labels > 1
    if wrong.any():
        n = int(np.argmax(wrong.reshape(len(labels), -1).any(1)))
        hint = "the loss decides what labels are" if answer is not Answer.NUMBER else None
        text = f"{what} of example {n} is {labels[n]}, and must be {answer.value}"
        raise DataError(told(text, hint=hint))
    return labels.astype(np.int64 if answer is Answer.CLASS else np.float32), names


def _are_whole(texts: np.ndarray) -> bool:
    return all(text.lstrip("+-").isdecimal() for text in texts.ravel().tolist())


_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF")


def read_images(path: Path, table: DataTable) -> tuple[np.ndarray, np.ndarray]:
    """The pictures as uint8 [examples, height, width, channels], and the names of their classes."""
    folders = sorted(f for f in path.iterdir() if f.is_dir() and not f.name.startswith("."))
    if not folders:
        raise DataError(told(f"{path} has no folders", hint="it needs a folder of pictures for each class"))
    pictures: list[np.ndarray] = []
    labels: list[str] = []
    first: Path | None = None
    for folder in folders:
        files = sorted(f for f in folder.iterdir() if f.suffix.lower() in _ENDINGS)
        if not files:
            hint = f"it needs files that end in {', '.join(_ENDINGS)}; or remove the folder"
            raise DataError(told(f"the class {folder.name} has no pictures: {folder}", hint=hint))
        for file in files:
            picture = _picture(file, table)
            first = first or file
            if pictures and picture.shape != pictures[0].shape:
                sizes = " and ".join(" × ".join(map(str, p.shape[:2])) for p in (pictures[0], picture))
                text = f"{first} and {file} are of different sizes, {sizes}"
                raise DataError(told(text, hint="scale all of them: size = [height, width]"))
            pictures.append(picture)
            labels.append(folder.name)
    return np.stack(pictures), np.array(labels)


def _picture(file: Path, table: DataTable) -> np.ndarray:
    """One file as uint8 [height, width, channels], of the size that the description says."""
    try:
        pixels = decode_picture(file.read_bytes(), _FORMATS, "L" if table.channels == 1 else "RGB")
        return pixels if table.size is None else _scaled(pixels, *table.size)
    except InvalidArgumentError:
        raise DataError(told(f"{file} is not a picture that can be read")) from None
    except ImportError as error:
        raise DataError(str(error)) from None


def _scaled(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """A picture of another size; each of its pixels is a mean of those that it stands for."""
    if pixels.shape[:2] == (height, width):
        return pixels
    from PIL import Image  # an extra, which has read the picture

    plane: Any = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    scaled = Image.fromarray(plane).resize((width, height), Image.Resampling.BILINEAR)
    return np.array(scaled).reshape(height, width, -1)
