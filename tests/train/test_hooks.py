"""Hooks that write, wait and measure, with a clock and a writer of the tests."""

import json
import logging

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import OutOfRangeError
from staticgraph.formats.tf.messages import RunOptions
from staticgraph.tf1.training.hooks import stopping, timer
from tests.train.stand_ins import Clock, Writer


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in (timer, stopping):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def step():
    """An operation that increments the global step."""
    return sg.train.get_or_create_global_step().assign_add(1)


def train(step, hooks, times, before=lambda turn: None):
    with sg.train.MonitoredSession(hooks=hooks) as sess:
        for turn in range(times):
            before(turn)
            sess.run(step)


def test_a_timer_of_seconds(clock):
    every = sg.train.SecondOrStepTimer(every_secs=2.0)
    assert every.should_trigger_for_step(1)
    assert every.update_last_triggered_step(1) == (None, None)
    clock.now += 1.5
    assert not every.should_trigger_for_step(5)
    clock.now += 0.5
    assert every.should_trigger_for_step(6)
    assert not every.should_trigger_for_step(1)
    assert every.update_last_triggered_step(6) == (2.0, 5)


def test_values_are_logged_every_so_many_seconds(clock, step, caplog):
    hook = sg.train.LoggingTensorHook({"step": "global_step"}, every_n_secs=10)

    def before(turn):
        clock.now += 4.0

    with caplog.at_level(logging.INFO, "tensorflow"):
        train(step, [hook], 7, before)
    logged = [r.getMessage() for r in caplog.records if r.getMessage().startswith("step =")]
    assert logged == ["step = 1", "step = 4 (12.000 sec)", "step = 7 (12.000 sec)"]


def test_values_are_logged_as_numpy_prints_them(step, caplog):
    sg.constant(0.1, name="tenth")
    sg.constant([1e-7, 1.0], name="small")
    with caplog.at_level(logging.INFO, "tensorflow"):
        train(step, [sg.train.LoggingTensorHook(["tenth", "small"], every_n_iter=1)], 1)
    assert "tenth = 0.1, small = [0.0000001 1.       ]" in caplog.messages


def test_a_name_with_several_outputs_is_refused():
    sg.split(sg.constant([1.0, 2.0]), 2, name="halves")
    with pytest.raises(ValueError, match="with 2 outputs") as caught:
        sg.train.LoggingTensorHook(["halves"], every_n_iter=1).begin()
    assert "'halves:0'" in str(caught.value)


def test_a_tensor_of_another_graph_is_refused():
    with sg.Graph().as_default():
        other = sg.constant(1.0)
    with pytest.raises(ValueError, match="not of the default graph"):
        sg.train.LoggingTensorHook([other], every_n_iter=1).begin()


def test_steps_per_second(clock, step, caplog):
    writer = Writer()
    hook = sg.train.StepCounterHook(every_n_steps=4, summary_writer=writer)

    def before(turn):
        clock.now += 0.5

    with caplog.at_level(logging.INFO, "tensorflow"):
        train(step, [hook], 10, before)
    written = [(s.value[0].tag, s.value[0].simple_value, at) for _, s, at in writer.written]
    assert written == [("global_step/sec", 2.0, 5), ("global_step/sec", 2.0, 9)]
    assert "global_step/sec: 2" in caplog.text


def test_a_global_step_that_stays_is_told_five_times(step, caplog):
    train(sg.constant(1.0), [sg.train.StepCounterHook()], 9)
    assert sum("stays at 0" in r.getMessage() for r in caplog.records) == 5


def test_summaries_at_the_first_run_and_every_so_many_steps(step):
    writer = Writer()
    value = sg.train.get_global_step().value() * 10
    train(step, [sg.train.SummarySaverHook(save_steps=3, summary_writer=writer, summary_op=value)], 8)
    start = ("log", 1, 1)
    assert writer.written == [
        start,
        ("summary", 10, 1),
        ("summary", 40, 4),
        ("summary", 70, 7),
        ("flush", None, None),
    ]


def test_summaries_of_a_scaffold(step):
    sg.summary.scalar("five", sg.constant(5.0))
    sg.summary.scalar("six", sg.constant(6.0))
    scaffold, writer = sg.train.Scaffold(), Writer()
    hook = sg.train.SummarySaverHook(save_secs=1e9, summary_writer=writer, scaffold=scaffold)
    with sg.train.MonitoredSession(sg.train.ChiefSessionCreator(scaffold), [hook]) as sess:
        sess.run(step)
    (_, merged, at) = writer.written[1]
    assert [(v.tag, v.simple_value) for v in sg.summary.Summary.FromString(merged).value] == [
        ("five", 5.0),
        ("six", 6.0),
    ]
    assert at == 1


def test_the_first_run_waits_for_the_global_step(clock, step, caplog):
    hook = sg.train.GlobalStepWaiterHook(2500)
    hook.begin()
    with sg.Session() as sess, caplog.at_level(logging.INFO, "tensorflow"):
        sess.run(sg.global_variables_initializer())
        variable = sg.train.get_global_step()
        clock.on_sleep = lambda: sess.run(variable.assign_add(700))
        context = sg.train.SessionRunContext(sg.train.SessionRunArgs(None), sess)
        assert hook.before_run(context) is None
        assert sess.run(variable) == 2800
        slept = clock.now
        assert hook.before_run(context) is None
    assert clock.now == slept == 102.0
    assert [r.getMessage().rpartition(" ")[2] for r in caplog.records] == ["training.", "1400."]


def test_final_operations_that_read_an_ended_input(caplog):
    class Ended:
        def run(self, fetches, feed_dict=None):
            raise OutOfRangeError("end")

    with pytest.raises(OutOfRangeError):
        sg.train.FinalOpsHook(sg.constant(1.0)).end(Ended())
    assert "take from an input that has ended" in caplog.text


def test_traces_of_single_runs(step, tmp_path):
    asked = []

    class Spy(sg.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            asked.append(run_values.options.trace_level)

    train(step, [sg.train.ProfilerHook(save_steps=3, output_dir=str(tmp_path)), Spy()], 7)
    full = RunOptions.TraceLevel.Value("FULL_TRACE")
    assert asked == [0, 0, full, 0, 0, full, 0]
    timelines = sorted(tmp_path.glob("timeline-*.json"))
    assert [path.name for path in timelines] == ["timeline-3.json", "timeline-6.json"]
    assert "traceEvents" in json.loads(timelines[0].read_text())


def test_a_checkpoint_hook_takes_the_saver_of_the_collection(step, tmp_path):
    with pytest.raises(RuntimeError, match="has 0 savers"):
        sg.train.CheckpointSaverHook(str(tmp_path), save_steps=1)._saver()
    saver = sg.train.Saver()
    sg.add_to_collection(sg.GraphKeys.SAVERS, saver)
    train(step, [sg.train.CheckpointSaverHook(str(tmp_path), save_steps=5)], 3)
    assert saver.last_checkpoints == [str(tmp_path / "model.ckpt-0"), str(tmp_path / "model.ckpt-3")]
