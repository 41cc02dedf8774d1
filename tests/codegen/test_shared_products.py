"""Products that differ in numbers alone have one text, and the bits that they have alone."""

import pytest

from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.gemm.several import Apart, Several, one_of
from staticgraph.compiler.codegen.gemm.share_text import _Join, emit_together
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Index
from tests.codegen.contraction_cases import Conv, matmul, processor
from tests.codegen.open_products import B, OpenProduct


def relu_of_biased(x, at):
    from staticgraph.compiler.graph.dtypes import float32
    from staticgraph.compiler.kernel.expr import Const, Load

    return scalar.maximum(x + Load("bias", (at[1],), float32), Const(0.0, float32))


def _image(channels: int, pixels: int = 8, **how) -> Conv:
    return Conv((B, pixels, pixels, channels), (3, 3), channels, before=1, after=1, **how)


CLASSES = {
    "open rows": [matmul(r * B, n, k) for r, n, k in ((64, 576, 32), (64, 384, 64), (16, 384, 48))],
    "of other depths": [matmul(64 * B, n, k) for n, k in ((96, 384), (96, 576), (96, 192))],
    "epilogue": [matmul(m, n, 64, c=relu_of_biased) for m, n in ((128, 96), (256, 192), (64, 48))],
    "open sums": [matmul(m, n, u * B, turn_a=True) for m, n, u in ((96, 384, 64), (48, 384, 256))],
    "turned": [matmul(m, 256, k, turn_b=True) for m, k in ((128, 300), (192, 300), (128, 600))],
    "depthwise": [_image(c, depthwise=True).contraction("y") for c in (384, 576)],
    "weights": [_image(c).contraction("w") for c in (64, 128)],
    "a window of two axes": [_image(c, p).contraction("y") for c, p in ((32, 16), (64, 16))],
}


@pytest.mark.takes_long
@pytest.mark.parametrize("vector_bytes", [64, 32])
@pytest.mark.parametrize("name", CLASSES)
def test_products_of_one_form_share_functions_and_have_the_same_bits(name, vector_bytes, rng):
    members = CLASSES[name]
    codes = dict(emit_together(members, processor(vector_bytes)))
    assert codes.keys() == {*range(len(members))}
    for n, c in enumerate(members):
        alone, together = OpenProduct(c, vector_bytes), OpenProduct(c, vector_bytes, codes[n])
        assert [p.chunks for p in alone.code.phases] == [p.chunks for p in together.code.phases]
        for size in (0, 1, 3) if alone.code.sizes else (1,):
            arrays = alone.inputs(size, rng)
            meant, found = alone.run(size, arrays), together.run(size, arrays, threads=2)
            assert all(found[key].tobytes() == value.tobytes() for key, value in meant.items())


@pytest.mark.parametrize("name", ["open rows", "of other depths", "epilogue", "open sums", "depthwise"])
def test_there_is_one_text(name):
    codes = dict(emit_together(CLASSES[name], processor(64)))
    functions = {tuple(phase.code.name for phase in code.phases) for code in codes.values()}
    assert len(functions) == 1
    assert len({tuple(phase.numbers for phase in code.phases) for code in codes.values()}) == len(codes)


def test_a_product_like_no_other_has_the_text_that_it_has_alone():
    members = [matmul(64 * B, 576, 160), matmul(10, 30, 50)]
    codes = dict(emit_together(members, processor(64)))
    assert [codes[n] == emit(c, processor(64)) for n, c in enumerate(members)] == [True, True]


def test_numbers_of_several_products_compute_as_each_of_them_does():
    a, b = Several((96, 160, 576)), Several((4, 4, 12))
    for made, meant in [
        (a + b, (100, 164, 588)),
        (1 - a, (-95, -159, -575)),
        (a // b, (24, 40, 48)),
        (-(-a // 100), (1, 2, 6)),
        (2 * a % 100, (92, 20, 52)),
    ]:
        assert tuple(one_of(made, n) for n in range(3)) == meant
    assert (a // 48 * 48 - a + 64) == Several((64, 48, 64))
    assert a % 16 == 0 and a > b and a != 0  # numbers, and answers that all give
    assert isinstance(a % 16, int)


def test_an_index_or_an_open_size_has_one_counterpart_in_each_product():
    i, j, k = (Index(name, 4 + n) for n, name in enumerate("ijk"))
    n, m = symbol("n"), symbol("m")
    joined = _Join(2)._of([(i, n, i), (j, n, j)])
    assert joined[0] is joined[2] and joined[0].extent.values == (4, 5) and joined[1] is n
    for first, second in (((i, i), (j, k)), ((n, n), (n, m)), ((n,), (4,))):
        with pytest.raises(Apart):
            _Join(2)._of([first, second])


@pytest.mark.parametrize(
    ("decide", "ways"),
    [
        (lambda a: a > 100, [False, True, True]),
        (lambda a: a == 96, [True, False, False]),
        (lambda a: range(a), (96, 160, 576)),
        (lambda a: f"{a}", (96, 160, 576)),
        (lambda a: bool(a - 96), [False, True, True]),
        (lambda a: a < Several((100, 100, 600)), [True, False, True]),
        (lambda a: a == Several((96, 0, 576)), [True, False, True]),
    ],
)
def test_what_the_products_would_decide_otherwise_divides_them(decide, ways):
    with pytest.raises(Apart) as raised:
        decide(Several((96, 160, 576)))
    assert raised.value.ways == ways
