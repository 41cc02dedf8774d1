"""`sg.watch`, the hook and the callback: what they write, as TensorBoard reads it."""

import os

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import staticgraph as sg
from staticgraph.applications.dashboard.runs import Runs
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.tf1.summary import points
from staticgraph.tf1.summary.points import PointWriter, _Rates


@pytest.fixture(autouse=True)
def no_writers(monkeypatch):
    monkeypatch.setattr(points, "_writers", {})


def read(folder):
    """Events as TensorBoard finds them."""
    sizes = {"scalars": 0, "images": 0, "histograms": 0, "tensors": 0}
    return EventAccumulator(str(folder), sizes).Reload()


def scalars(folder, tag):
    return [(event.step, event.value) for event in read(folder).Scalars(tag)]


def test_tensorboard_shows_the_same(tmp_path):
    for step in range(5):
        sg.watch(loss=1.5 - step, accuracy=np.float32(step), run=tmp_path)
    sg.watch({"a/b": 7}, step=100, run=tmp_path)
    sg.watch(
        image=np.zeros((4, 6, 3), np.uint8),
        grey=np.zeros((4, 6), np.uint8),
        weights=np.ones((3, 3)),
        note="hello",
        run=tmp_path,
    )
    found = read(tmp_path)
    assert scalars(tmp_path, "loss") == [(step, 1.5 - step) for step in range(5)]
    assert scalars(tmp_path, "accuracy") == [(step, float(step)) for step in range(5)]
    assert scalars(tmp_path, "a/b") == [(100, 7.0)]
    assert [event.step for event in found.Images("image/image/0")] == [101]
    assert (found.Images("grey/image/0")[0].width, found.Images("grey/image/0")[0].height) == (6, 4)
    assert found.Histograms("weights")[0].histogram_value.num == 9
    assert found.Tensors("note")[0].tensor_proto.string_val[0] == b"hello"


def test_a_point_is_in_its_file_when_the_call_returns(tmp_path):
    runs = Runs([str(tmp_path)])
    for step in range(3):
        sg.watch(loss=step, run=tmp_path / "run")
        runs._next_look = 0.0
        runs.follow()
        assert runs.runs["run"].series["loss"].steps.tolist() == list(range(step + 1))


def test_a_process_has_a_new_run_unless_it_names_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sg.watch(loss=1.0)
    sg.watch(loss=2.0)
    [first] = os.listdir("runs")
    points._writers.clear()
    sg.watch(loss=3.0)
    second, *rest = set(os.listdir("runs")) - {first}
    assert not rest
    assert scalars(f"runs/{first}", "loss") == [(0, 1.0), (1, 2.0)]
    assert scalars(f"runs/{second}", "loss") == [(0, 3.0)]


def test_a_training_that_begins_again_in_its_folder_replaces_the_first(tmp_path):
    for _ in range(2):
        points._writers.clear()
        for step in range(3):
            sg.watch(loss=step, run=tmp_path)
    runs = Runs([str(tmp_path)])
    runs.follow()
    [run] = runs.runs.values()
    assert run.series["loss"].steps.tolist() == [0, 1, 2]


def test_a_graph_and_a_plan(tmp_path):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    y = sg.nn.relu(x * 2.0)
    with sg.Session() as sess:
        plan = sess.plan(y, shapes={x: [4, 3]})
        sg.watch(graph=sess.graph, plan=plan, run=tmp_path)
    found = read(tmp_path)
    assert found.Graph().node[0].name == "x"
    assert "Relu" in found.Tensors("plan")[0].tensor_proto.string_val[0].decode()


@pytest.mark.parametrize(
    "value, message",
    [
        (lambda: sg.constant(1.0, name="loss"), "fetch it with the step"),
        (lambda: sg.Variable(1.0), "fetch it with the step"),
        (lambda: None, "loss cannot be shown"),
        (lambda: object(), "loss cannot be shown"),
        (lambda: 1j, "loss cannot be shown"),
    ],
)
def test_what_has_no_value_is_refused(tmp_path, value, message):
    with pytest.raises(TypeError, match=message):
        sg.watch(loss=value(), run=tmp_path)


@pytest.mark.parametrize("step", ["a", 1.5, [1, 2], -0.0])
def test_a_step_is_a_whole_number(tmp_path, step):
    with pytest.raises(InvalidArgumentError, match="a step is one whole number"):
        sg.watch(loss=1.0, step=step, run=tmp_path)


@pytest.mark.parametrize("step", [0, 1, 300, 2**62, -1, -(2**63)])
@pytest.mark.parametrize(
    "number", [0.5, 1e300, -7, 2**70, np.float16(0.25), True, sg.bfloat16.as_numpy_dtype(3)]
)
def test_an_event_is_that_of_the_messages(tmp_path, step, number):
    sg.watch({"größe": number}, step=step, run=tmp_path)
    [file] = tmp_path.iterdir()
    *_, event = sg.summary.summary_iterator(file)
    assert event.step == step and event.wall_time > 1.7e9
    [value] = event.summary.value
    with np.errstate(over="ignore"):
        assert (value.tag, value.simple_value) == ("größe", float(np.float32(number)))


def test_numbers_that_are_not_finite(tmp_path):
    sg.watch(loss=float("nan"), weights=np.array([1.0, np.nan, np.inf]), run=tmp_path)
    [(_, loss)] = scalars(tmp_path, "loss")
    assert np.isnan(loss) and read(tmp_path).Histograms("weights")[0].histogram_value.num == 1


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


def test_rates_of_steps_and_examples(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(points, "time", clock)
    rates = _Rates()

    def after(step, seconds=0.125, examples=32):
        clock.now += seconds
        return [
            (value.tag.rpartition("/")[2], round(value.simple_value, 3))
            for part in rates.after(step, examples)
            for value in sg.summary.Summary.FromString(part).value
        ]

    assert [after(step) for step in range(4)] == [[]] * 4
    assert after(4) == [("steps_per_second", 8.0), ("examples_per_second", 256.0)]
    assert [after(5), after(0, examples=0), after(6)] == [[]] * 3  # a validation between the steps
    assert after(7) == [("steps_per_second", 6.0), ("examples_per_second", 192.0)]
    assert [after(step) for step in range(4)] == [[]] * 4  # a training that begins again
    assert [after(step, examples=0) for step in range(4, 8)][-1] == [("steps_per_second", 8.0)]


def test_a_hook_writes_at_the_global_step(tmp_path):
    w = sg.Variable(8.0, name="w")
    loss = sg.square(w, name="loss")
    step = sg.train.get_or_create_global_step()
    train = sg.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)
    hooks = [
        sg.train.WatchHook({"loss": loss}, tmp_path / "all"),
        sg.train.WatchHook(["loss", w], tmp_path / "some", every_n_steps=2),
    ]
    with sg.train.MonitoredTrainingSession(hooks=hooks) as sess:
        for _ in range(4):
            sess.run(train)
    # Fetched beside a training step, a tensor has its value before it, as the loss that was minimized.
    assert scalars(tmp_path / "all", "loss") == [(1, 64.0), (2, 16.0), (3, 4.0), (4, 1.0)]
    assert [at for at, _ in scalars(tmp_path / "some", "loss")] == [1, 3]
    assert [at for at, _ in scalars(tmp_path / "some", "w")] == [1, 3]
    assert "GradientDescent" in {node.name for node in read(tmp_path / "all").Graph().node}


def test_a_hook_beside_summaries_in_the_folder_of_checkpoints(tmp_path):
    """Both write to a folder that is trained twice; the second training goes on from the checkpoint."""
    for _ in range(2):
        with sg.Graph().as_default():
            w = sg.Variable(1.0, name="w")
            step = sg.train.get_or_create_global_step()
            sg.summary.scalar("summary", w)
            train = sg.group(w.assign_add(1.0), step.assign_add(1))
            hook = sg.train.WatchHook({"watched": w}, tmp_path)
            with sg.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=[hook], save_summaries_steps=1
            ) as sess:
                for _ in range(3):
                    sess.run(train)
    runs = Runs([str(tmp_path)])
    runs.follow()
    [run] = runs.runs.values()
    assert run.series["watched"].steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.series["summary"].steps.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_hook_is_told_what_is_wrong_before_training(tmp_path):
    with pytest.raises(ValueError, match="every_secs and every_steps"):
        sg.train.WatchHook({}, tmp_path, every_n_steps=1, every_n_secs=1.0)
    with sg.Graph().as_default():
        other = sg.constant(1.0)
    sg.train.get_or_create_global_step()
    with pytest.raises(ValueError, match="not of the default graph"):
        sg.train.MonitoredTrainingSession(hooks=[sg.train.WatchHook({"x": other}, tmp_path)])


def test_a_callback_writes_batches_and_epochs(tmp_path):
    keras = sg.keras
    model = keras.Sequential([keras.layers.Dense(1, input_shape=[3], name="layer")])
    model.compile("sgd", "mse")
    x, y = np.ones((8, 3), np.float32), np.ones((8, 1), np.float32)
    watch = keras.callbacks.Watch(tmp_path, histogram_freq=2)
    history = model.fit(
        x, y, batch_size=2, epochs=3, verbose=0, validation_data=(x, y), callbacks=[watch]
    ).history
    assert [step for step, _ in scalars(tmp_path, "batch/loss")] == list(range(12))
    for name in ("loss", "val_loss"):
        found = scalars(tmp_path, f"epoch/{name}")
        assert [step for step, _ in found] == [0, 1, 2]
        np.testing.assert_allclose([value for _, value in found], history[name], rtol=1e-6)
    kernel = next(tag for tag in read(tmp_path).Tags()["histograms"] if "kernel" in tag)
    assert [event.step for event in read(tmp_path).Histograms(kernel)] == [0, 2]


def test_writers_of_threads_lose_nothing(tmp_path):
    import threading

    writer = PointWriter(tmp_path)
    threads = [
        threading.Thread(target=lambda n=n: [writer.write({f"t{n}": i}, step=i) for i in range(50)])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert all(len(scalars(tmp_path, f"t{n}")) == 50 for n in range(4))
