"""The layered layout: nothing overlaps, areas hold what is theirs, arrows lead down from box to box."""

import itertools
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from staticgraph.draw.layout import lay_out
from staticgraph.draw.layout import ranks as numbers
from staticgraph.draw.layout.model import Arc, Node, Place, Plan
from staticgraph.draw.layout.ranks import nearest
from tests.viz.graphs import outputs_of


def random_plan(seed: int, count: int = 40) -> Plan:
    """Boxes in areas up to three deep, arrows forwards, some far, some with texts, a few back."""
    draw = np.random.default_rng(seed)
    paths = [(), ("a",), ("a", "b"), ("a", "c"), ("d",), ("d", "e", "f")]
    nodes = tuple(
        Node(int(draw.integers(30, 150)), int(draw.integers(18, 60)), paths[draw.integers(len(paths))])
        for _ in range(count)
    )
    arcs = []
    for target in range(1, count):
        for _ in range(draw.integers(0, 4)):
            source = int(draw.integers(max(0, target - 12), target))
            label = (int(draw.integers(20, 70)), 11) if draw.random() < 0.3 else (0, 0)
            arcs.append(Arc(source, target, int(draw.integers(1, 9)), label))
    for _ in range(3):
        target, source = sorted(int(n) for n in draw.integers(0, count, 2))
        arcs.append(Arc(source, target, ranking=False))
    return Plan(nodes, tuple(arcs), {path[:n]: (60, 14) for path in paths for n in range(1, len(path) + 1)})


def with_sides(plan: Plan, seed: int) -> Plan:
    """The plan with some of its boxes in the first or last rank, and arrows any way."""
    draw = np.random.default_rng(seed)
    nodes = tuple(replace(node, path=(), side=int(draw.choice([-1, 0, 0, 0, 1]))) for node in plan.nodes)
    turned = (Arc(a.target, a.source) if draw.random() < 0.2 else a for a in plan.arcs)
    return Plan(nodes, tuple(turned))


def sides(place: Place) -> tuple[int, int, int, int]:
    left, top = place.x - place.width // 2, place.y - place.height // 2
    return left, top, left + place.width, top + place.height


def overlap(a: Place, b: Place) -> bool:
    (l1, t1, r1, b1), (l2, t2, r2, b2) = sides(a), sides(b)
    return l1 < r2 and l2 < r1 and t1 < b2 and t2 < b1


def holds(outer: Place, inner: Place) -> bool:
    (l1, t1, r1, b1), (l2, t2, r2, b2) = sides(outer), sides(inner)
    return l1 < l2 and t1 < t2 and r2 < r1 and b2 < b1


@pytest.mark.takes_long
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_boxes_and_areas_do_not_overlap(seed, exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(numbers, "_EXACT", 0)
    plan = random_plan(seed)
    made = lay_out(plan)
    assert not any(overlap(a, b) for a, b in itertools.combinations(made.places, 2))
    for path, area in made.areas.items():
        for node, place in zip(plan.nodes, made.places, strict=True):
            inside = node.path[: len(path)] == path
            assert holds(area, place) if inside else not overlap(area, place)
        for other, place in made.areas.items():
            if other[: len(path)] != path and path[: len(other)] != other:
                assert not overlap(area, place)
            elif len(other) > len(path):
                assert holds(area, place)


@pytest.mark.parametrize("seed", range(6))
def test_arrows_join_their_boxes_and_those_that_rank_point_down(seed):
    plan = random_plan(seed)
    made = lay_out(plan)
    for arc, route in zip(plan.arcs, made.routes, strict=True):
        points = list(zip(route.points[::2], route.points[1::2], strict=True))
        assert len(points) % 3 == 1  # Bézier curves
        for (x, y), place in ((points[0], made.places[arc.source]), (points[-1], made.places[arc.target])):
            left, top, right, bottom = sides(place)
            assert left <= x <= right and (y in (top, bottom) or x == right)
        if arc.ranking:
            heights = [y for _, y in points]
            assert heights == sorted(heights)


def test_texts_of_arrows_lie_on_no_box_and_on_no_other_text():
    for seed in range(6):
        plan = random_plan(seed)
        made = lay_out(plan)
        texts = [
            Place(at[0] + arc.label[0] // 2, at[1], *arc.label)
            for arc, at in zip(plan.arcs, made.labels, strict=True)
            if at is not None
        ]
        assert len(texts) == sum(arc.label[0] > 0 for arc in plan.arcs)
        assert not any(overlap(a, b) for a in texts for b in made.places)
        assert not any(overlap(a, b) for a, b in itertools.combinations(texts, 2))
        assert all(sides(text)[2] <= made.width and sides(text)[0] >= 0 for text in texts)


def test_the_heaviest_way_is_straight():
    """A chain with boxes beside it, which would be pulled aside by each of them."""
    nodes = tuple(Node(80, 20) for _ in range(20))
    main = [Arc(n, n + 1, 40) for n in range(9)]
    made = lay_out(Plan(nodes, (*main, *(Arc(n, n - 10) for n in range(10, 20)))))
    assert len({place.x for place in made.places[:10]}) == 1


def test_a_tree_has_no_crossings():
    tree = nx.balanced_tree(3, 4)
    nodes = tuple(Node(20, 20) for _ in tree)
    made = lay_out(Plan(nodes, tuple(Arc(a, b) for a, b in tree.edges)))
    ends = [(made.places[a], made.places[b]) for a, b in tree.edges]
    for (a, b), (c, d) in itertools.combinations(ends, 2):
        if a.y == c.y:
            assert (a.x - c.x) * (b.x - d.x) >= 0


def test_circles_and_arrows_to_oneself_and_between_neighbours():
    nodes = tuple(Node(40, 20) for _ in range(4))
    made = lay_out(Plan(nodes, (Arc(0, 1), Arc(1, 2), Arc(2, 0), Arc(3, 3), Arc(0, 3, ranking=False))))
    assert [place.y for place in made.places[:3]] == sorted(place.y for place in made.places[:3])
    assert not any(overlap(a, b) for a, b in itertools.combinations(made.places, 2))
    assert made.routes[2].points[1] > made.routes[2].points[-1]  # up


def test_nodes_of_the_first_and_last_rank_and_rows_of_lonely_ones():
    nodes = (Node(30, 10, side=1), Node(30, 10, side=-1), *(Node(30, 20) for _ in range(20)))
    made = lay_out(Plan(nodes, ()))
    middle = [place.y for place in made.places[2:]]
    assert made.places[1].y < min(middle) <= max(middle) < made.places[0].y
    assert len(set(middle)) == 4  # six beside each other


def test_arrows_into_the_first_rank_out_of_the_last_and_within_them():
    nodes = (Node(30, 10, side=-1), Node(30, 10, side=-1), Node(30, 20), Node(30, 10, side=1))
    arcs = (Arc(0, 1), Arc(0, 2), Arc(2, 1), Arc(3, 2), Arc(3, 0))
    made = lay_out(Plan(nodes, arcs))
    assert made.places[0].y == made.places[1].y < made.places[2].y < made.places[3].y
    assert made.routes[2].points[1] > made.routes[2].points[-1]


@pytest.mark.parametrize("seed", range(6))
def test_any_arrows_between_any_boxes_have_a_layout(seed):
    plan = with_sides(random_plan(seed), seed)
    made = lay_out(plan)
    assert not any(overlap(a, b) for a, b in itertools.combinations(made.places, 2))
    heights = {
        side: [p.y for p, n in zip(made.places, plan.nodes, strict=True) if n.side == side]
        for side in (-1, 0, 1)
    }
    assert max(heights[-1]) < min(heights[0]) <= max(heights[0]) < min(heights[1])


def test_nothing_and_one_box():
    assert lay_out(Plan((), ())).places == ()
    assert lay_out(Plan((Node(30, 10),), ())).places == (Place(15, 5, 30, 10),)


def test_least_distances_agree_with_a_search():
    rng = np.random.default_rng(0)
    for _ in range(20):
        distances = [(a, b, int(rng.integers(0, 3))) for a, b in ((0, 1), (1, 2), (0, 3), (3, 2))]
        pulls = [(a, b, int(rng.integers(1, 5))) for a, b in ((0, 1), (1, 3), (0, 2), (2, 3), (1, 2))]

        def cost(x, pulls=pulls):
            return sum(w * abs(x[b] - x[a]) for a, b, w in pulls)

        found = nearest(4, distances, pulls)
        fits = [
            x for x in itertools.product(range(6), repeat=4) if all(x[b] - x[a] >= d for a, b, d in distances)
        ]
        assert all(found[b] - found[a] >= d for a, b, d in distances)
        assert cost(found) == min(map(cost, fits))


@pytest.mark.takes_long
def test_the_same_plan_has_one_layout():
    program = (
        "from tests.viz.test_layout import lay_out, random_plan; "
        "made = lay_out(random_plan(3)); print(made.places, made.routes, made.labels)"
    )
    assert len(outputs_of(program)) == 1


@pytest.mark.takes_long
def test_a_layout_of_many_boxes_is_made_in_steps_that_grow_with_them(monkeypatch):
    """Counted in lines that run, not in seconds."""

    def lines(plan: Plan) -> int:
        seen = [0]

        def trace(frame, event, argument):
            seen[0] += event == "line"
            return trace

        sys.settrace(trace)
        try:
            lay_out(plan)
        finally:
            sys.settrace(None)
        return seen[0]

    def row(count: int) -> Plan:
        nodes = tuple(Node(50, 20, (f"{number // 10}",)) for number in range(count))
        return Plan(nodes, tuple(Arc(a, a + far) for far in (1, 3) for a in range(count - far)))

    assert lines(random_plan(0, 120)) < 12 * lines(random_plan(0, 40))
    monkeypatch.setattr(numbers, "_EXACT", 0)  # as if they were too many for a flow of least cost
    assert lines(row(400)) < 5 * lines(row(100))


def test_many_numbers_keep_their_distances_and_are_drawn_to_each_other(monkeypatch):
    exact = nearest(60, *_random_distances())
    monkeypatch.setattr(numbers, "_EXACT", 0)
    distances, pulls = _random_distances()
    found = nearest(60, distances, pulls)
    assert all(found[b] - found[a] >= d for a, b, d in distances) and min(found) == 0
    assert found[10] == found[11]  # 0 apart in both directions

    def cost(x):
        return sum(w * abs(x[b] - x[a]) for a, b, w in pulls)

    assert cost(exact) <= cost(found) < 2 * cost(exact)


def _random_distances():
    rng = np.random.default_rng(3)
    pairs = [sorted(rng.choice(60, 2, replace=False)) for _ in range(150)]
    distances = [(int(a), int(b), int(rng.integers(1, 4))) for a, b in pairs if (a, b) != (10, 11)]
    pulls = [(a, b, 1) for a, b, _ in distances]
    return [*distances, (10, 11, 0), (11, 10, 0)], pulls


def test_what_would_take_many_minutes_is_refused_at_once():
    """An arrow from one box to each of a long row passes as many ranks as there are boxes."""
    count = 2000
    nodes = tuple(Node(50, 20) for _ in range(count))
    arcs = tuple(Arc(i, i + 1) for i in range(count - 1)) + tuple(Arc(0, i) for i in range(2, count))
    with pytest.raises(ValueError, match=r"too many to be laid out(.|\n)*max_nodes="):
        lay_out(Plan(nodes, arcs))
    with pytest.raises(ValueError, match="100,000 boxes"):
        lay_out(Plan(tuple(Node(50, 20) for _ in range(100_000)), ()))


def test_sideways_is_the_same_with_its_axes_exchanged():
    nodes = (Node(90, 20), Node(50, 20), Node(70, 30))
    made = lay_out(Plan(nodes, (Arc(0, 1), Arc(0, 2))), sideways=True)
    assert made.places[0].x < made.places[1].x == made.places[2].x
    assert [(place.width, place.height) for place in made.places] == [(90, 20), (50, 20), (70, 30)]
    assert not any(overlap(a, b) for a, b in itertools.combinations(made.places, 2))
    assert all(route.points[0] == made.places[0].x + 45 for route in made.routes)
