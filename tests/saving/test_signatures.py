"""A file holds several functions over the same variables, and a training that is saved goes on exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError, InvalidArgumentError, SaveError, UninitializedError
from staticgraph.compiler.graph.graph import Graph
from tests.saving.nets import again


def trained(seed: int | None = 1) -> dict[str, Any]:
    """A small net with dropout, an optimizer that has slots, and a step counter, as keywords of `save`."""
    images = sg.placeholder(sg.float32, [None, 4], name="images")
    labels = sg.placeholder(sg.float32, [None, 1], name="labels")
    rate = sg.placeholder_with_default(0.5, [], name="rate")
    hidden = sg.layers.dense(images, 8, activation=sg.nn.relu)
    hidden = sg.nn.dropout(hidden, rate=rate, seed=seed)
    scores = sg.layers.dense(hidden, 1)
    loss = sg.losses.mean_squared_error(labels, scores)
    step = sg.train.get_or_create_global_step()
    train = sg.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    return {
        "predict": sg.Signature({"scores": scores}, [images, rate]),
        "train": sg.Signature({"loss": loss, "step": step}, step=train),
        "init": sg.Signature(step=sg.global_variables_initializer()),
    }


def batches(rng: np.random.Generator, count: int) -> list[dict[str, np.ndarray]]:
    shapes = {"images": (3, 4), "labels": (3, 1)}
    return [{n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()} for _ in range(count)]


def fed(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{name}:0": value for name, value in batch.items()}


def test_functions_share_their_variables(tmp_path: Path, rng: np.random.Generator):
    functions = trained()
    with sg.Session() as session:
        session.run(functions["init"].step)
        sg.save(tmp_path / "net.sg", signatures=functions)
        [batch] = batches(rng, 1)
        wanted = session.run(functions["predict"].outputs, fed({"images": batch["images"]}) | {"rate:0": 0})
    net, same = again(tmp_path / "net.sg")
    assert same
    assert list(net.signatures) == ["predict", "train", "init"]
    predict, train, init = net.signatures.values()
    assert (list(predict.inputs), list(train.inputs)) == (["images", "rate"], ["images", "labels", "rate"])
    assert (predict.required, train.required, init.required) == (["images"], ["images", "labels"], [])
    assert (predict.structure, init.structure, init.outputs, predict.step) == ("dict", "none", {}, None)
    np.testing.assert_array_equal(net(images=batch["images"], rate=0)["scores"], wanted["scores"])
    assert [int(train(**batch)["step"]) for _ in range(2)] != [0, 0]
    assert (net(images=batch["images"], rate=0)["scores"] != wanted["scores"]).any()
    assert init() is None
    assert net.variables["global_step"] == 0
    assert repr(predict).startswith("<net.sg(images: float32[?, 4], rate: float32[]) -> scores")
    with pytest.raises(FeedError, match=r"net\.sg: train needs a value for its input 'labels'"):
        train(images=batch["images"])


def test_a_training_goes_on_bit_for_bit(tmp_path: Path, rng: np.random.Generator):
    """Weights, slots, the step and the streams of seeded random operations are all in the file."""
    given = batches(rng, 6)
    functions = trained()
    with sg.Session() as session:
        session.run(functions["init"].step)
        fetches = [functions["train"].outputs, functions["train"].step]
        for batch in given[:3]:
            session.run(fetches, fed(batch))
        sg.save(tmp_path / "net.sg", signatures=functions)
        wanted = [session.run(fetches, fed(batch))[0]["loss"] for batch in given[3:]]
        values = {v.op.name: session.run(v) for v in sg.global_variables()}
    net = sg.load(tmp_path / "net.sg")
    assert [net.step(**batch)["loss"] for batch in given[3:]] == wanted
    assert net.variables.keys() == values.keys()
    assert all((net.variables[name] == value).all() for name, value in values.items())


@pytest.mark.takes_long
def test_without_a_seed_it_goes_on_where_that_is_asked_for(tmp_path: Path, rng: np.random.Generator):
    [batch] = batches(rng, 1)
    functions = trained(seed=None)
    with sg.Session() as session:
        session.run(functions["init"].step)
        for name, resume in (("on.sg", True), ("off.sg", False)):
            sg.save(tmp_path / name, signatures=functions, resume=resume)
        wanted = session.run([functions["train"].outputs["loss"], functions["train"].step], fed(batch))[0]
    net, same = again(tmp_path / "on.sg")
    assert same
    assert net.step(**batch)["loss"] == wanted
    assert len({sg.load(tmp_path / "on.sg").step(**batch)["loss"].item() for _ in range(4)}) == 1
    assert len({sg.load(tmp_path / "off.sg").step(**batch)["loss"].item() for _ in range(4)}) > 1


def test_a_graph_that_sets_its_variables_needs_no_values(tmp_path: Path, rng: np.random.Generator):
    [batch] = batches(rng, 1)
    sg.set_random_seed(3)
    functions = trained()
    sg.save(tmp_path / "net.sg", signatures=functions, session=sg.Session())
    net, same = again(tmp_path / "net.sg")
    assert same
    with pytest.raises(UninitializedError):
        net(images=batch["images"])
    with pytest.raises(UninitializedError, match="run the signature that sets it"):
        net.variables["global_step"]
    assert net.variables.size("dense/kernel") == 0
    net.signatures["init"]()
    assert net(images=batch["images"])["scores"].shape == (3, 1)
    net.variables["global_step"] = 7
    assert again(tmp_path / "net.sg")[1]
    with pytest.raises(UninitializedError, match="cannot save variable"):
        sg.save(tmp_path / "net.sg", signatures={"train": functions["train"]}, session=sg.Session())


def test_names_and_structures(tmp_path: Path):
    a, b = sg.constant(1.0, name="a"), sg.constant(2.0, name="b")
    functions = {"both": sg.Signature([a, b]), "one or two": sg.Signature(b), "ä": sg.Signature({"x": a})}
    sg.save(tmp_path / "net.sg", signatures=functions)
    net, same = again(tmp_path / "net.sg")
    assert same
    assert [function() for function in net.signatures.values()] == [[1, 2], 2, {"x": 1}]
    assert net() == [1, 2]
    assert not net.trains
    with pytest.raises(InvalidArgumentError, match="no training step"):
        net.step()


def test_a_step_alone_is_a_function_too(tmp_path: Path):
    count = sg.Variable(0, name="count")
    with sg.Session() as session:
        session.run(count.initializer)
        sg.save(tmp_path / "count.sg", step=count.assign_add(1))
    net, same = again(tmp_path / "count.sg")
    assert same
    assert [net(), net.step()] == [None, None]
    assert net.variables["count"] == 2


def test_variables_of_strings(tmp_path: Path):
    v = sg.Variable(["one", "zwölf"], name="v")
    with sg.Session() as session:
        session.run(v.initializer)
        functions = {"read": sg.Signature(v), "set": sg.Signature(step=v.assign(["new", "values"]))}
        sg.save(tmp_path / "net.sg", signatures=functions)
    for options in ({}, {"mapped": True}):
        net = sg.load(tmp_path / "net.sg", **options)
        assert [text.decode() for text in net()] == ["one", "zwölf"]
        net.signatures["set"]()
        assert net().tolist() == [b"new", b"values"]
    assert again(tmp_path / "net.sg")[1]
    assert sg.inspect(tmp_path / "net.sg").variables["v"].type == "string[2]"


def test_what_is_no_signature_is_refused(tmp_path: Path):
    x = sg.placeholder(sg.float32, [], name="x")
    with pytest.raises(SaveError, match="'empty' has neither outputs nor a step"):
        sg.save(tmp_path / "net.sg", signatures={"empty": sg.Signature()})
    with pytest.raises(SaveError, match="not a name for a signature"):
        sg.save(tmp_path / "net.sg", x, signatures={"": sg.Signature(x)})
    with Graph().as_default():
        other = sg.constant(1.0)
    with pytest.raises(SaveError, match="not an element of this graph"):
        sg.save(tmp_path / "net.sg", x, signatures={"other": sg.Signature(other)})
    with pytest.raises(SaveError, match="'predict' has neither"):
        sg.save(tmp_path / "net.sg")
    assert list(tmp_path.iterdir()) == []


def test_an_input_that_is_given_back_is_required(tmp_path: Path):
    x, y = sg.placeholder(sg.float32, [2], name="x"), sg.placeholder(sg.float32, [2], name="y")
    sg.save(tmp_path / "net.sg", outputs={"same": x, "twice": 2.0 * y})
    net = sg.load(tmp_path / "net.sg")
    assert net.signatures["predict"].required == ["x", "y"]
    with pytest.raises(FeedError, match="needs a value for its input 'x'"):
        net(y=[1, 2])
    np.testing.assert_array_equal(net(x=[3, 4], y=[1, 2])["same"], [3, 4])
