"""A session with threads beside the training loop."""

import threading

import pytest

import staticgraph as sg
from staticgraph.tf1.summary import Summary
from staticgraph.tf1.training import supervisor_threads
from tests.train.stand_ins import Clock, Writer, events


@pytest.fixture
def step():
    return sg.train.get_or_create_global_step().assign_add(1)


def test_a_training_is_restored_by_the_next(step, tmp_path):
    for expected in (1, 2):
        sv = sg.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
        with sv.managed_session() as sess:
            assert sess.run(step) == expected
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
    assert (tmp_path / "graph.pbtxt").exists()
    assert [log.status for _, log in events(tmp_path, "session_log")] == [1, 2, 1, 2]


def test_the_checkpoint_thread_saves(step, tmp_path):
    sv = sg.train.Supervisor(logdir=str(tmp_path), save_model_secs=1e9, save_summaries_secs=0)
    saved, save = threading.Event(), sv.saver.save

    def noting(*args, **kwargs):
        path = save(*args, **kwargs)
        saved.set()
        return path

    sv.saver.save = noting
    with sv.managed_session():
        assert saved.wait(60)
    assert sg.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-0")


def test_summaries_and_steps_per_second(step, monkeypatch):
    clock, writer = Clock(), Writer()
    monkeypatch.setattr(supervisor_threads, "time", clock)
    sv = sg.train.Supervisor(summary_op=sg.constant(7.0), summary_writer=writer)
    with sg.Session() as sess:
        sess.run(sv.init_op)
        counter = supervisor_threads.StepCounterThread(sv.coord, 120, sess, writer, sv.global_step)
        counter.start_loop()
        for _ in range(3):
            sess.run(step)
        clock.now += 2.0
        counter.run_loop()
        supervisor_threads.SummaryThread(
            sv.coord, 120, sess, sv.summary_op, writer, sv.global_step
        ).run_loop()
    (_, rate, at), summary = writer.written
    assert (rate.value[0].tag, rate.value[0].simple_value, at) == ("global_step/sec", 1.5, 3)
    assert summary == ("summary", 7.0, 3)


def test_a_summary_at_the_global_step(step):
    writer = Writer()
    sv = sg.train.Supervisor(summary_writer=writer)
    with sg.Session() as sess:
        sess.run([sv.init_op])
        sess.run(step)
        sv.summary_computed(sess, Summary())
        sv.summary_computed(sess, Summary(), global_step=9)
    assert [at for _, _, at in writer.written] == [1, 9]
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        sg.train.Supervisor(summary_writer=None, graph=sg.get_default_graph()).summary_computed(None, b"")


def test_a_loop_beside_the_training(step):
    sv, turns = sg.train.Supervisor(), []

    def turn(by):
        turns.append(by)
        if len(turns) == 3:
            sv.request_stop()

    with sv.managed_session() as sess:
        sv.loop(0.0, turn, args=(2,))
        while not sv.should_stop():
            sess.run(step)
    assert turns == [2, 2, 2]


def test_who_is_not_the_chief_starts_no_services(step):
    sv = sg.train.Supervisor(is_chief=False, logdir="/never/made", init_op=None, saver=None)
    assert (sv.save_path, sv.summary_writer, sv.save_model_secs) == (None, None, None)
    with pytest.raises(RuntimeError, match="Only chief"):
        sv.start_standard_services(None)


def test_operations_of_collections_are_used(step):
    init, saver = sg.global_variables_initializer(), sg.train.Saver()
    sg.add_to_collection(sg.GraphKeys.INIT_OP, init)
    sg.add_to_collection(sg.GraphKeys.SAVERS, saver)
    sv = sg.train.Supervisor(local_init_op=None)
    assert sv.init_op is init
    assert sv.saver is saver
    assert sv.session_manager is not None
    assert sg.get_default_graph().finalized
