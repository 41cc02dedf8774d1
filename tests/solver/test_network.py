"""The graph of a description: what it computes, what it is saved as, and which lines its nodes name."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.applications.solver.errors import DescriptionError
from staticgraph.applications.solver.kinds import LAYERS, MERGING, OPTIMIZERS, SCHEDULES
from staticgraph.applications.solver.objective import LOSSES, METRICS, Answer, metrics_of
from staticgraph.compiler.graph.errors import GraphError
from tests.everywhere import interpreting
from tests.solver.descriptions import SPIRAL, built, described, spiral, with_spiral

# What each layer is told besides its type, and the shape of an example that it takes; the others take 6 × 6 × 3.
SHAPES = {"1d": (6, 3), "2d": (6, 6, 3), "3d": (4, 4, 4, 2)}
TOLD = {
    "dense": "units = 2",
    "embedding": "input_dim = 9\noutput_dim = 2",
    "activation": 'activation = "swish"',
    "simple_rnn": "units = 2",
    "gru": "units = 2\nreturn_sequences = true",
    "lstm": "units = 2\ndropout = 0.1",
    "repeat_vector": "n = 2",
    "reshape": "target_shape = [-1, 2]",
    "permute": "dims = [2, 1, 3]",
    "gaussian_noise": "stddev = 0.1",
    "depthwise_conv2d": "kernel_size = [2, 3]",
}


def told(type: str) -> str:
    if type in TOLD:
        return TOLD[type]
    if "conv" in type:
        weight = "pointwise" if "separable" in type else "kernel"
        return f'filters = 2\nkernel_size = 3\n{weight}_regularizer = {{type = "l2", l = 0.01}}'
    return "rate = 0.3" if "dropout" in type else ""


def shape(type: str) -> tuple[int, ...]:
    if type in ("simple_rnn", "gru", "lstm"):
        return SHAPES["1d"]
    if type in ("repeat_vector", "embedding"):
        return (6,)
    return SHAPES.get(type[-2:], SHAPES["2d"])


@pytest.mark.takes_long
@pytest.mark.parametrize("type", [name for name in LAYERS if name not in MERGING])
def test_every_layer_can_be_described(tmp_path, type):
    layer = f'[[layer]]\ntype = "{type}"\n{told(type)}\n[[layer]]\ntype = "flatten"\n'
    text = SPIRAL[: SPIRAL.index("[[layer]]")].replace('normalize = "standard"', "") + layer
    text += SPIRAL[SPIRAL.rindex("[[layer]]") :]
    np.savez(tmp_path / "spiral.npz", inputs=np.ones((40, *shape(type))), labels=np.arange(40) % 3)
    _, network = built(described(tmp_path, text))
    assert network.rows[0].type == type and network.rows[0].line == 7
    assert [list(t.shape.as_list()) for t in network.answers.values()] == [[None], [None, 3]]


def test_layers_with_several_inputs(tmp_path):
    extra = "".join(
        f'[[layer]]\ntype = "{type}"\ninputs = ["hidden", "batch_normalization"]\n'
        for type in sorted(MERGING)
    )
    described = with_spiral(
        tmp_path, SPIRAL.replace('[[layer]]\ntype = "dropout"', f'{extra}\n[[layer]]\ntype = "dropout"')
    )
    _, network = built(described)
    assert {row.type for row in network.rows} >= MERGING


def run(network, data, *fetches, batch=None):
    batch = batch or next(data.batches(0))
    with interpreting(), sg.Session(graph=network.graph) as session:
        session.run(network.initialize)
        return session.run(list(fetches), {network.inputs: batch.inputs, network.labels: batch.labels})


@pytest.mark.parametrize("type", OPTIMIZERS)
def test_every_optimizer_takes_steps(tmp_path, type):
    more = {"momentum": "momentum = 0.9\nuse_nesterov = true"}.get(type, "")
    text = SPIRAL.replace('type = "adam"', f'type = "{type}"\n{more}')
    data, network = built(with_spiral(tmp_path, text, "train.clip_norm=1"))
    batch = next(data.batches(0))
    feeds = {network.inputs: batch.inputs, network.labels: batch.labels}
    with interpreting(), sg.Session(graph=network.graph) as session:
        session.run(network.initialize)
        weights = [v for name, v in network.graph.variables.items() if name.endswith("/kernel")]
        before = session.run(weights)
        for _ in range(2):
            session.run(network.step, feeds)
        assert session.run(network.counter) == 2
        for old, new in zip(before, session.run(weights), strict=True):
            assert (old != new).any() and np.isfinite(new).all()


RATES = {
    "cosine_decay": ("", [0.01, 0.005, 0.0]),
    "cosine_decay_restarts": ("first_decay_steps = 18", [0.01, 0.01, 0.005]),
    "exponential_decay": ("decay_rate = 0.25", [0.01, 0.005, 0.0025]),
    "inverse_time_decay": ("decay_rate = 1", [0.01, 0.01 / 1.5, 0.005]),
    "linear_cosine_decay": ("", None),
    "natural_exp_decay": ("decay_rate = 1", [0.01, 0.01 * np.exp(-0.5), 0.01 * np.exp(-1)]),
    "noisy_linear_cosine_decay": ("", None),
    "piecewise_constant": ("boundaries = [17, 20]\nvalues = [1, 0.1, 0.3]", [1, 0.1, 0.3]),
    "polynomial_decay": ("end_learning_rate = 0", [0.01, 0.005, 0.0]),
}


@pytest.mark.parametrize("type", SCHEDULES)
def test_every_schedule_gives_the_learning_rate(tmp_path, type):
    more, expected = RATES[type]
    text = SPIRAL.replace("[train]", f'[schedule]\ntype = "{type}"\n{more}\n[train]')
    if type == "piecewise_constant":
        text = text.replace("learning_rate = 0.01\n", "")
    _, network = built(with_spiral(tmp_path, text))
    with sg.Session(graph=network.graph) as session:
        found = []
        for step in (0, 18, 36):
            session.run(network.counter.initializer)
            session.run(network.counter.assign(step))
            found.append(session.run(network.rate))
    if expected is None:
        assert np.isfinite(found).all() and ("noisy" in type or found[0] > found[2])
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


LABELS = {
    Answer.CLASS: np.arange(40) % 3,
    Answer.YES: np.arange(40) % 2,
    Answer.NUMBER: np.linspace(1, 2, 40),
}


@pytest.mark.parametrize("type", LOSSES)
def test_every_loss_with_all_its_metrics(tmp_path, type):
    answer = LOSSES[type].answer
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "spiral.npz", inputs=rng.normal(size=(40, 2)), labels=LABELS[answer])
    metrics = [name for name in metrics_of(answer) if name != "top_5_accuracy"]
    text = SPIRAL.replace("softmax_cross_entropy", type).replace(
        "epochs = 3", f"epochs = 3\nmetrics = {metrics}"
    )
    positive = '\nactivation = "softplus"' if type == "poisson" else ""
    text = text if answer is Answer.CLASS else text.replace("units = 3", f"units = 1{positive}")
    data, network = built(described(tmp_path, text))
    values, _, answers = run(network, data, network.validated, network.step, network.answers)
    assert set(values) == {"loss", *metrics}
    assert all(v.shape == (8,) and np.isfinite(v).all() for v in values.values())
    assert {len(a) for a in answers.values()} == {8}


def test_every_metric_suits_some_loss():
    assert {name for answer in Answer for name in metrics_of(answer)} == set(METRICS)


def test_label_smoothing_is_that_of_targets(tmp_path):
    text = SPIRAL.replace('"softmax_cross_entropy"', '"softmax_cross_entropy"\nlabel_smoothing = 0.3')
    data, network = built(with_spiral(tmp_path, text))
    batch = next(data.batches(0))
    values, answers = run(network, data, network.validated, network.answers, batch=batch)
    targets = np.eye(3)[batch.labels] * 0.7 + 0.1
    np.testing.assert_allclose(
        values["loss"], -(targets * np.log(answers["probabilities"])).sum(1), rtol=1e-4
    )


def test_penalties_are_added_to_the_loss_of_training_alone(tmp_path):
    plain = SPIRAL.replace("rate = 0.2", "rate = 0.0")
    found = []
    for changes in ((), ("train.l2=0.5",), ("train.l1=0.5",)):
        data, network = built(with_spiral(tmp_path, plain, *changes))
        kernels = [network.graph.variables[f"{name}/kernel"] for name in ("hidden", "scores")]
        found.append(run(network, data, network.trained["loss"], network.validated["loss"], kernels))
    (loss, measured, kernels), (with_l2, *_), (with_l1, alike, _) = found
    assert with_l2 - loss == pytest.approx(0.5 * sum(np.square(k).sum() for k in kernels), rel=1e-4)
    assert with_l1 - loss == pytest.approx(0.5 * sum(np.abs(k).sum() for k in kernels), rel=1e-4)
    np.testing.assert_array_equal(measured, alike)


def test_an_activity_counts_once(tmp_path):
    text = SPIRAL.replace(
        'activation = "relu"', 'activation = "relu"\nactivity_regularizer = {type = "l2", l = 1.0}'
    )
    data, network = built(with_spiral(tmp_path, text))
    names = ("train/total_loss:0", "train/loss:0", "train/hidden/Relu:0")
    whole, loss, hidden = run(network, data, *map(network.graph.get_tensor_by_name, names))
    assert whole - loss == pytest.approx(np.square(hidden).sum() / 8, rel=1e-4)


def test_the_saved_graph_normalises_by_itself(tmp_path):
    _, network = built(with_spiral(tmp_path))
    inputs, _ = spiral()
    with sg.Session(graph=network.graph) as session:
        session.run(network.initialize)
        sg.save(tmp_path / "net.sg", signatures=network.signatures, session=session)
        here = session.run(network.answers, {network.inputs: inputs})
    net = sg.load(tmp_path / "net.sg")
    there = net(inputs=inputs)
    np.testing.assert_array_equal(there["class"], here["class"])
    assert list(net.signatures) == ["predict", "train", "evaluate"]
    assert net.step(inputs=inputs[:8], labels=np.zeros(8, int)).keys() == {"loss", "accuracy"}
    assert net.variables["global_step"] == 1


def test_nodes_name_the_lines_of_the_description(tmp_path):
    _, network = built(with_spiral(tmp_path))
    lines = {
        name: network.graph.get_operation_by_name(name).where for name in ("hidden/Relu", "train/hidden/Relu")
    }
    assert {where.short for where in lines.values()} == {"net.toml:7"}
    assert (
        str(lines["hidden/Relu"]) == '  net.toml:7, in hidden\n    7 | type = "dense"\n               ^^^^^^^'
    )
    assert network.step.where.short == "net.toml:28" and network.step.where.function == "optimizer"


UNFIT = {
    "ranks": (
        'type = "batch_normalization"',
        'type = "conv2d"\nfilters = 2\nkernel_size = 3',
        "in conv2d\n    13 | ",
    ),
    "what a layer says": (
        'type = "batch_normalization"',
        'type = "batch_normalization"\naxis = 0',
        "net.toml:13",
    ),
    "too few classes": (
        "units = 3",
        "units = 2",
        "net.toml:20: layer scores gives 2 scores, and the labels go up to 2",
    ),
    "two softmaxes": (
        "units = 3",
        'units = 3\nactivation = "softmax"',
        "net.toml:23: the loss softmax_cross_entropy makes",
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), UNFIT.values(), ids=UNFIT)
def test_layers_that_do_not_fit_are_named(tmp_path, before, after, expected):
    with pytest.raises((GraphError, DescriptionError)) as caught:
        built(with_spiral(tmp_path, SPIRAL.replace(before, after)))
    assert expected in str(caught.value)


def test_an_answer_of_another_shape_than_the_label(tmp_path):
    text = SPIRAL.replace("softmax_cross_entropy", "mean_squared_error")
    with pytest.raises(DescriptionError, match=r"layer scores answers with shape \[3\] for an example"):
        built(with_spiral(tmp_path, text))
