"""Suppression of boxes: the loop of the graph, and Python where the number of boxes to keep is fed."""

import numpy as np
import pytest

import staticgraph as sg

RNG = np.random.default_rng(0)
BOXES = RNG.uniform(size=(40, 4)).astype(np.float32)
BOXES[:, 2:] = BOXES[:, :2] + RNG.uniform(-0.3, 0.5, size=(40, 2))
BOXES[2] = 0
SCORES = np.round(RNG.uniform(size=40), 1).astype(np.float32)
SCORES[3:6] = np.nan, np.inf, -np.inf
OVERLAPS = RNG.uniform(size=(40, 40)).astype(np.float32)

boxes = overlaps = scores = most = None


@pytest.fixture(autouse=True)
def inputs() -> None:
    global boxes, overlaps, scores, most
    boxes, overlaps = sg.placeholder(sg.float32, [None, 4]), sg.placeholder(sg.float32, [None, None])
    scores, most = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.int32, [])


def kept(most: object, limit: float, least: float) -> list[sg.Tensor]:
    """All of them, whose results Python and the loop must agree on."""
    return [
        sg.image.non_max_suppression(boxes, scores, most, limit, least),
        *sg.image.non_max_suppression_padded(boxes, scores, most, limit, least, pad_to_max_output_size=True),
        sg.image.non_max_suppression_overlaps(overlaps, scores, most, limit, least),
    ]


@pytest.mark.parametrize(
    ("number", "count", "limit", "least"),
    [(0, 6, 0.5, -np.inf), (1, 0, 0.5, -np.inf), (40, 6, 0.5, -np.inf), (40, 60, 0.2, 0.3)],
)
def test_the_loop_keeps_what_python_keeps(number: int, count: int, limit: float, least: float):
    fed = BOXES[:number], SCORES[:number], OVERLAPS[:number, :number], count
    feeds = dict(zip((boxes, scores, overlaps, most), fed, strict=True))
    with sg.Session() as session:
        found, wanted = session.run([kept(count, limit, least), kept(most, limit, least)], feeds)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("device", ["cpu", "standin"])
def test_a_detector_whose_boxes_are_padded_calls_no_python(device: str):
    chosen, count = sg.image.non_max_suppression_padded(boxes, scores, 4, 0.5, pad_to_max_output_size=True)
    results = [sg.gather(boxes, chosen) * 2.0, count]
    feeds = {boxes: BOXES, scores: SCORES}
    with sg.Session(device=device) as session:
        found, number = session.run(results, feeds)
    assert number == 4 and found.shape == (4, 4)
    assert not any(op.definition.name.startswith("py_func") for op in sg.get_default_graph().get_operations())


@pytest.mark.parametrize(
    ("name", "shape", "of_scores", "told"),
    [
        ("non_max_suppression", (5, 4), (6,), "there are 5 boxes and 6 scores"),
        ("non_max_suppression", (), (6,), r"must be \[boxes, 4\]"),
        ("non_max_suppression", (5, 4), (), "must be a vector"),
        ("non_max_suppression_overlaps", (3, 2), (3,), "must be a square matrix"),
    ],
)
def test_sizes_that_do_not_agree(name: str, shape: tuple[int, ...], of_scores: tuple[int, ...], told: str):
    with pytest.raises(sg.errors.ShapeError, match=told):
        getattr(sg.image, name)(np.ones(shape, np.float32), np.ones(of_scores, np.float32), 3)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_fed_sizes_that_do_not_agree(number: int):
    """One box would do for many scores, by broadcasting."""
    by_boxes, *_, by_overlaps = kept(3, 0.5, -np.inf)
    cases = [
        (by_boxes, {boxes: BOXES[:number]}),
        (by_overlaps, {overlaps: OVERLAPS[:number, :number]}),
        (by_overlaps, {overlaps: OVERLAPS[:3, :5]}),
    ]
    with sg.Session() as session:
        for y, fed in cases:
            with pytest.raises(sg.errors.FedShapeError, match=r"test_suppression\.py"):
                session.run(y, {**fed, scores: [3.0, 1.0, 2.0]})


def test_a_constant_number_of_boxes_is_not_negative():
    with sg.Session() as session:
        feeds = {boxes: BOXES, scores: SCORES}
        assert session.run(sg.image.non_max_suppression(boxes, scores, -1), feeds).size == 0
