"""A folder of pictures: each folder in it is a class, called after it. Pillow, an extra, reads the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.applications.solver.description import DataTable
from staticgraph.applications.solver.errors import DataError, told
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.domains.image.codecs import decode_picture

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
