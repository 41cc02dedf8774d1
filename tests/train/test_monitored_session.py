"""Sessions that initialise themselves, run threads and wait."""

import threading

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import AbortedError, DeadlineExceededError
from staticgraph.formats.tf.messages import RunMetadata, RunOptions
from staticgraph.tf1.summary import FileWriterCache, SessionLog
from staticgraph.tf1.training.monitored import session_manager
from tests.train.stand_ins import Clock, events


@pytest.fixture
def step():
    return sg.train.get_or_create_global_step().assign_add(1)


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(session_manager, "time", made)
    return made


def test_training_writes_checkpoints_graph_and_steps_per_second(step, tmp_path):
    hooks = [sg.train.StopAtStepHook(last_step=5)]
    sg.summary.scalar("step", sg.cast(sg.train.get_global_step(), sg.float32))
    with sg.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        hooks=hooks,
        save_checkpoint_steps=3,
        log_step_count_steps=2,
        save_summaries_steps=2,
    ) as sess:
        while not sess.should_stop():
            sess.run(step)
    assert sg.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-5")
    assert "global_step" in (tmp_path / "graph.pbtxt").read_text()
    FileWriterCache.get(str(tmp_path)).flush()
    logs = [(step, log.status) for step, log in events(tmp_path, "session_log")]
    saved, started = SessionLog.CHECKPOINT, SessionLog.START
    assert logs == [(0, saved), (1, started), (3, saved), (5, saved)]
    assert [(step, s.value[0].tag) for step, s in events(tmp_path, "summary")] == [
        (1, "step"),
        (3, "global_step/sec"),
        (3, "step"),
        (5, "global_step/sec"),
        (5, "step"),
    ]


def test_a_failing_thread_ends_the_training(step):
    class Fails(sg.train.SessionRunHook):
        def after_create_session(self, session, coord):
            thread = threading.Thread(target=self.work, args=(coord,))
            coord.register_thread(thread)
            thread.start()
            thread.join()

        def work(self, coord):
            with coord.stop_on_exception():
                raise KeyError("in a thread")

    sess = sg.train.MonitoredSession(hooks=[Fails()])
    assert sess.should_stop()
    with pytest.raises(KeyError, match="in a thread"):
        sess.close()
    assert not sg.get_default_graph().finalized


def test_a_run_that_fails_since_a_thread_lost_the_session_is_done_again(step):
    lost = []

    class Loses(sg.train.SessionRunHook):
        def after_create_session(self, session, coord):
            self.coord = coord

        def before_run(self, run_context):
            if not lost:
                lost.append(1)
                self.coord.request_stop(AbortedError("gone"))
                raise ValueError("what a lost session led to")

    with sg.train.MonitoredSession(hooks=[Loses()]) as sess:
        assert sess.run(step) == 1
    assert lost == [1]


def test_a_session_that_is_lost_while_it_is_made_is_made_again(step):
    attempts = []

    class Creator(sg.train.ChiefSessionCreator):
        def create_session(self):
            attempts.append(1)
            if len(attempts) < 3:
                raise AbortedError("gone")
            return super().create_session()

    with sg.train.MonitoredSession(Creator()) as sess:
        assert sess.run(step) == 1
    assert len(attempts) == 3


def test_a_closed_session_says_so_at_the_line_that_runs_it(step):
    sess = sg.train.MonitoredSession()
    sess.close()
    with pytest.raises(RuntimeError, match="already closed") as caught:
        sess.run(step)
    assert "sess.run(step)" in str(caught.value)


def test_options_are_joined_and_the_callers_stay_as_they_are(step):
    seen = []

    class Asks(sg.train.SessionRunHook):
        def before_run(self, run_context):
            return sg.train.SessionRunArgs(None, options=RunOptions(trace_level=3, timeout_in_ms=10))

        def after_run(self, run_context, run_values):
            seen.append((run_values.options, run_values.run_metadata))

    mine, metadata = RunOptions(timeout_in_ms=50), RunMetadata()
    with sg.train.MonitoredSession(hooks=[Asks()]) as sess:
        sess.run(step, options=mine, run_metadata=metadata)
    assert seen[0][0] == RunOptions(trace_level=3, timeout_in_ms=50)
    assert seen[0][1] is metadata
    assert mine == RunOptions(timeout_in_ms=50)


def test_a_graph_that_was_final_before_stays_so(step):
    sg.train.Scaffold().finalize()
    sg.train.MonitoredSession().close()
    assert sg.get_default_graph().finalized


def test_its_own_graph_is_open_again_wherever_it_is_closed(step):
    sess = sg.train.MonitoredSession()
    with sg.Graph().as_default() as other:
        other.finalize()
        sess.close()
        assert other.finalized
    assert not sg.get_default_graph().finalized


def test_what_is_switched_off(step, tmp_path):
    sess = sg.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_checkpoint_secs=0,
        save_summaries_steps=None,
        log_step_count_steps=-1,
    )
    with sess:
        sess.run(step)
    assert list(tmp_path.iterdir()) == []


def test_waiting_for_a_checkpoint(step, clock, tmp_path):
    saver, manager = sg.train.Saver(), sg.train.SessionManager(recovery_wait_secs=5)
    init = sg.global_variables_initializer()

    def write_in_the_second_pause():
        if clock.now >= 110:
            with sg.Session() as other:
                other.run([init, step])
                saver.save(other, str(tmp_path / "model"))

    clock.on_sleep = write_in_the_second_pause
    arguments = {"saver": saver, "checkpoint_dir": str(tmp_path), "wait_for_checkpoint": True}
    sess, restored = manager.recover_session("", **arguments)
    assert (restored, clock.now) == (True, 110.0)
    assert sess.run(sg.train.get_global_step()) == 1


def test_waiting_for_a_checkpoint_ends(step, clock, tmp_path):
    manager = sg.train.SessionManager(recovery_wait_secs=5)
    arguments = {"saver": sg.train.Saver(), "checkpoint_dir": str(tmp_path), "wait_for_checkpoint": True}
    assert manager.recover_session("", max_wait_secs=20, **arguments)[1] is False
    assert clock.now == 120.0


def test_waiting_for_variables_ends(step, clock):
    manager = sg.train.SessionManager(ready_op=sg.report_uninitialized_variables(), recovery_wait_secs=5)
    with pytest.raises(DeadlineExceededError, match="global_step"):
        manager.wait_for_session("", max_wait_secs=12)
    assert clock.now == 110.0


def test_a_worker_waits_for_what_its_local_init_op_does(step, clock):
    scaffold = sg.train.Scaffold(
        local_init_op=sg.global_variables_initializer(), ready_for_local_init_op=sg.no_op()
    )
    with sg.train.MonitoredTrainingSession(is_chief=False, scaffold=scaffold) as sess:
        assert sess.run(step) == 1


def test_several_items_of_a_collection_are_refused(step):
    for _ in range(2):
        sg.add_to_collection(sg.GraphKeys.READY_OP, sg.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match='"ready_op" has 2 items') as caught:
        sg.train.Scaffold().finalize()
    assert "Scaffold(ready_op=item)" in str(caught.value)


def test_a_checkpoint_by_its_path(step, tmp_path):
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run([step, step])
        path = sg.train.Saver().save(sess, str(tmp_path / "model"))
    with sg.train.SingularMonitoredSession(checkpoint_filename_with_path=path) as sess:
        assert sess.raw_session().run(sg.train.get_global_step()) == 1
