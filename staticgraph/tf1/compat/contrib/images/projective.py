"""`tf.contrib.image`: projective transforms of images, such as rotations and translations.

A transform is a vector (a0, a1, a2, b0, b1, b2, c0, c1): the pixel (x, y) of the result is that of the image
at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), with k = c0 x + c1 y + 1.
"""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.images.sampling import bilinear, nearest


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> sg.Tensor:
    """Images seen through projective transforms; what lies outside of an image is zero.

    Args:
        images: [batch, height, width, channels], [height, width, channels] or [height, width].
        transforms: One transform [8], or one for each image [batch, 8].
        interpolation: "NEAREST" or "BILINEAR".
        output_shape: Height and width of the result, by default those of the images.
        name: The name of the scope.

    Returns:
        Images of the same type. Gradients are those of the values; transforms have none, as in TensorFlow.

    Raises:
        TypeError: The rank of images or transforms is another.
        ValueError: There is no such interpolation.
    """
    mode = interpolation.upper()
    if mode not in ("NEAREST", "BILINEAR"):
        raise misuse(ValueError, f"transform: interpolation is NEAREST or BILINEAR, not {interpolation!r}")
    with sg.name_scope(name, "transform"):
        given = sg.convert_to_tensor(images, name="images")
        batch, rank = _batch_of(given), given.shape.ndims
        count, height, width, channels = (size_of(batch, axis) for axis in range(4))
        if output_shape is not None:
            known = sg.get_static_value(sg.convert_to_tensor(output_shape))
            height, width = (int(n) for n in known) if known is not None else sg.unstack(output_shape, num=2)
        flat = sg.stop_gradient(_rows(transforms, 8, "transforms"))[:, None, :]
        y = sg.cast(sg.range(height * width) // width, sg.float32)
        x = sg.cast(sg.range(height * width) % width, sg.float32)
        k = flat[..., 6] * x + flat[..., 7] * y + 1.0
        to_x = (flat[..., 0] * x + flat[..., 1] * y + flat[..., 2]) / k
        to_y = (flat[..., 3] * x + flat[..., 4] * y + flat[..., 5]) / k
        everywhere = sg.zeros([count, 1])
        to_x, to_y = to_x + everywhere, to_y + everywhere
        if mode == "NEAREST":
            found = nearest(batch, to_y, to_x)
        else:
            exact = batch if batch.dtype.is_floating else sg.cast(batch, sg.float32)
            found = sg.cast(bilinear(exact, to_y, to_x), batch.dtype)
        made = sg.reshape(found, [count, height, width, channels])
        return made if rank == 4 else made[0] if rank == 3 else made[0, :, :, 0]


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None) -> sg.Tensor:
    """Turn images about their centres, counterclockwise.

    Args:
        images: As for `transform`.
        angles: In radians: one, or one for each image.
        interpolation: "NEAREST" or "BILINEAR".
        name: The name of the scope.

    Returns:
        Images of the same size.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(rotate([[1, 2], [3, 4]], 3.14159265 / 2)).tolist()
    [[2, 4], [1, 3]]
    """
    with sg.name_scope(name, "rotate"):
        given = sg.convert_to_tensor(images)
        sizes = sg.cast(sg.shape(_batch_of(given)), sg.float32)
        return transform(given, angles_to_projective_transforms(angles, sizes[1], sizes[2]), interpolation)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> sg.Tensor:
    """Move images.

    Args:
        images: As for `transform`.
        translations: How far to the right and down: [2], or [batch, 2].
        interpolation: "NEAREST" or "BILINEAR".
        name: The name of the scope.

    Returns:
        Images of the same size.
    """
    with sg.name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> sg.Tensor:
    """The transforms [angles, 8] that turn images of a size about their centres.

    Args:
        angles: In radians: one, or a vector.
        image_height: The height of the images, a float.
        image_width: The width.
        name: The name of the scope.

    Raises:
        TypeError: Angles of rank 2 or more.
    """
    with sg.name_scope(name, "angles_to_projective_transforms"):
        angles = sg.convert_to_tensor(angles, name="angles", dtype=sg.float32)
        if angles.shape.ndims not in (0, 1):
            raise misuse(TypeError, f"angles have rank 0 or 1, their shape is {angles.shape}")
        angles = sg.reshape(angles, [-1])
        down, right = image_height - 1.0, image_width - 1.0
        cos, sin, zero = sg.cos(angles), sg.sin(angles), sg.zeros_like(angles)
        x_offset = (right - (cos * right - sin * down)) / 2.0
        y_offset = (down - (sin * right + cos * down)) / 2.0
        return sg.stack([cos, -sin, x_offset, sin, cos, y_offset, zero, zero], 1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> sg.Tensor:
    """The transforms [batch, 8] that move images to the right and down, of [2] or [batch, 2]."""
    with sg.name_scope(name, "translations_to_projective_transforms"):
        x, y = sg.unstack(_rows(translations, 2, "translations"), num=2, axis=1)
        zero, one = sg.zeros_like(x), sg.ones_like(x)
        return sg.stack([one, zero, -x, zero, one, -y, zero, zero], 1)


def compose_transforms(*transforms: Any) -> sg.Tensor:
    """The transform that has the effect of several, the last first on coordinates of the result.

    Args:
        transforms: Each [8] or [batch, 8].

    Returns:
        [batch, 8].
    """
    if not transforms:
        raise misuse(ValueError, "compose_transforms: there are no transforms")
    with sg.name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for each in transforms[1:]:
            composed = sg.matmul(composed, flat_transforms_to_matrices(each))
        return matrices_to_flat_transforms(composed)


def flat_transforms_to_matrices(transforms: Any) -> sg.Tensor:
    """Transforms [8] or [batch, 8] as matrices [batch, 3, 3]."""
    with sg.name_scope("flat_transforms_to_matrices"):
        flat = sg.reshape(sg.convert_to_tensor(transforms, name="transforms"), [-1, 8])
        return sg.reshape(sg.concat([flat, sg.ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> sg.Tensor:
    """Matrices [3, 3] or [batch, 3, 3] as transforms [batch, 8]."""
    with sg.name_scope("matrices_to_flat_transforms"):
        flat = sg.reshape(sg.convert_to_tensor(transform_matrices, name="transform_matrices"), [-1, 9])
        return (flat / flat[:, 8:])[:, :8]


def _batch_of(images: Any) -> Any:
    """Images as [batch, height, width, channels]."""
    match images.shape.ndims:
        case 2:
            return images[None, :, :, None]
        case 3:
            return images[None]
        case 4:
            return images
    raise misuse(TypeError, f"images have a known rank from 2 to 4, their shape is {images.shape}")


def _rows(given: Any, size: int, what: str) -> Any:
    """Vectors [size] or [batch, size] as [batch, size] of float32."""
    vectors = sg.convert_to_tensor(given, name=what, dtype=sg.float32)
    if vectors.shape.ndims not in (1, 2):
        raise misuse(TypeError, f"{what} have rank 1 or 2, their shape is {vectors.shape}")
    return sg.reshape(vectors, [-1, size])
