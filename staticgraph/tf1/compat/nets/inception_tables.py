"""The layers of Inception nets, version 1 to 3, as tables."""

from __future__ import annotations

from staticgraph.tf1.compat.nets.inception_layers import Conv, Layer, Mixed, Pool, Side, Table

__all__: list[str] = []


def _v1(name: str, one: int, *depths: int, third: str = "0b") -> Mixed:
    """A module of the first paper: windows of 1, two of 3, which are behind smaller depths, and a pool."""
    before_two, two, before_three, three, pooled = depths
    return Mixed(
        f"Mixed_{name}",
        (
            (Conv("0a", "1x1", one),),
            (Conv("0a", "1x1", before_two), Conv("0b", "3x3", two)),
            (Conv("0a", "1x1", before_three), Conv(third, "3x3", three)),
            (Pool("Max", "0a"), Conv("0b", "1x1", pooled)),
        ),
    )


V1 = Table(
    "InceptionV1",
    (
        Conv("1a", "7x7", 64, 2),
        Pool("Max", "2a", stride=2),
        Conv("2b", "1x1", 64),
        Conv("2c", "3x3", 192),
        Pool("Max", "3a", stride=2),
    ),
    "SAME",
    (
        _v1("3b", 64, 96, 128, 16, 32, 32),
        _v1("3c", 128, 128, 192, 32, 96, 64),
        Pool("Max", "4a", stride=2),
        _v1("4b", 192, 96, 208, 16, 48, 64),
        _v1("4c", 160, 112, 224, 24, 64, 64),
        _v1("4d", 128, 128, 256, 24, 64, 64),
        _v1("4e", 112, 144, 288, 32, 64, 64),
        _v1("4f", 256, 160, 320, 32, 128, 128),
        Pool("Max", "5a", "2x2", 2),
        _v1("5b", 256, 160, 320, 32, 128, 128, third="0a"),  # so it is called in published checkpoints
        _v1("5c", 384, 192, 384, 48, 128, 128),
    ),
    stddev=0.01,
)


def _before(depth: int) -> Conv:
    """The convolution that reduces the depth first, in version 2."""
    return Conv("0a", "1x1", depth, stddev=0.09)


def _v2(name: str, one: int, *depths: int, pool: str = "Avg") -> Mixed:
    """A module of version 2: two convolutions of 3 in place of one of 5."""
    before_two, two, before_three, three, pooled = depths
    return Mixed(
        f"Mixed_{name}",
        (
            (Conv("0a", "1x1", one),),
            (_before(before_two), Conv("0b", "3x3", two)),
            (_before(before_three), Conv("0b", "3x3", three), Conv("0c", "3x3", three)),
            (Pool(pool, "0a"), Conv("0b", "1x1", pooled, stddev=0.1)),
        ),
    )


def _smaller_v2(name: str, one: int, before_two: int, two: int) -> Mixed:
    """A module of version 2 that halves the height and width."""
    return Mixed(
        f"Mixed_{name}",
        (
            (_before(128), Conv("1a", "3x3", one, 2)),
            (_before(before_two), Conv("0b", "3x3", two), Conv("1a", "3x3", two, 2)),
            (Pool("Max", "1a", stride=2),),
        ),
    )


V2 = Table(
    "InceptionV2",
    (
        Conv("1a", "7x7", 64, 2, stddev=1.0, separable=True),
        Pool("Max", "2a", stride=2),
        Conv("2b", "1x1", 64, stddev=0.1),
        Conv("2c", "3x3", 192),
        Pool("Max", "3a", stride=2),
    ),
    "SAME",
    (
        _v2("3b", 64, 64, 64, 64, 96, 32),
        _v2("3c", 64, 64, 96, 64, 96, 64),
        _smaller_v2("4a", 160, 64, 96),
        _v2("4b", 224, 64, 96, 96, 128, 128),
        _v2("4c", 192, 96, 128, 96, 128, 128),
        _v2("4d", 160, 128, 160, 128, 160, 96),
        _v2("4e", 96, 128, 192, 160, 192, 96),
        _smaller_v2("5a", 192, 192, 256),
        _v2("5b", 352, 192, 320, 160, 224, 128),
        _v2("5c", 352, 192, 320, 192, 224, 128, pool="Max"),
    ),
)


def _pooled(depth: int) -> tuple[Layer, ...]:
    return Pool("Avg", "0a"), Conv("0b", "1x1", depth)


def _large_v3(name: str, pooled: int, before: str = "0a", five: str = "0b") -> Mixed:
    """A module of version 3 for images of 35 by 35."""
    return Mixed(
        f"Mixed_{name}",
        (
            (Conv("0a", "1x1", 64),),
            (Conv(before, "1x1", 48), Conv(five, "5x5", 64)),
            (Conv("0a", "1x1", 64), Conv("0b", "3x3", 96), Conv("0c", "3x3", 96)),
            _pooled(pooled),
        ),
    )


def _medium_v3(name: str, depth: int) -> Mixed:
    """A module for images of 17 by 17: windows of 7 by 7 as products of rows and columns."""
    return Mixed(
        f"Mixed_{name}",
        (
            (Conv("0a", "1x1", 192),),
            (Conv("0a", "1x1", depth), Conv("0b", "1x7", depth), Conv("0c", "7x1", 192)),
            (
                Conv("0a", "1x1", depth),
                Conv("0b", "7x1", depth),
                Conv("0c", "1x7", depth),
                Conv("0d", "7x1", depth),
                Conv("0e", "1x7", 192),
            ),
            _pooled(192),
        ),
    )


def _small_v3(name: str, column: str) -> Mixed:
    """A module for images of 8 by 8: rows and columns side by side."""
    return Mixed(
        f"Mixed_{name}",
        (
            (Conv("0a", "1x1", 320),),
            (Conv("0a", "1x1", 384), Side((Conv("0b", "1x3", 384), Conv(column, "3x1", 384)))),
            (
                Conv("0a", "1x1", 448),
                Conv("0b", "3x3", 384),
                Side((Conv("0c", "1x3", 384), Conv("0d", "3x1", 384))),
            ),
            _pooled(192),
        ),
    )


_HALVED = (Pool("Max", "1a", stride=2, padding="VALID"),)

V3 = Table(
    "InceptionV3",
    (
        Conv("1a", "3x3", 32, 2),
        Conv("2a", "3x3", 32),
        Conv("2b", "3x3", 64, padding="SAME"),
        Pool("Max", "3a", stride=2),
        Conv("3b", "1x1", 80),
        Conv("4a", "3x3", 192),
        Pool("Max", "5a", stride=2),
    ),
    "VALID",
    (
        _large_v3("5b", 32),
        _large_v3("5c", 64, "0b", "Conv_1_0c_5x5"),  # so they are called in published checkpoints
        _large_v3("5d", 64),
        Mixed(
            "Mixed_6a",
            (
                (Conv("Conv2d_1a_1x1", "3x3", 384, 2, "VALID"),),
                (
                    Conv("0a", "1x1", 64),
                    Conv("0b", "3x3", 96),
                    Conv("Conv2d_1a_1x1", "3x3", 96, 2, "VALID"),
                ),
                _HALVED,
            ),
        ),
        _medium_v3("6b", 128),
        _medium_v3("6c", 160),
        _medium_v3("6d", 160),
        _medium_v3("6e", 192),
        Mixed(
            "Mixed_7a",
            (
                (Conv("0a", "1x1", 192), Conv("1a", "3x3", 320, 2, "VALID")),
                (
                    Conv("0a", "1x1", 192),
                    Conv("0b", "1x7", 192),
                    Conv("0c", "7x1", 192),
                    Conv("1a", "3x3", 192, 2, "VALID"),
                ),
                _HALVED,
            ),
        ),
        _small_v3("7b", "0b"),
        _small_v3("7c", "0c"),
    ),
)
