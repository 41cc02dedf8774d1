"""Event files: what is in them, when it is written, and who writes it."""

import gc
import logging
import os
import subprocess
import sys

import pytest

import staticgraph as sg
from staticgraph.formats.tf.messages import (
    Event,
    GraphDef,
    MetaGraphDef,
    RunMetadata,
    SessionLog,
    Summary,
    TaggedRunMetadata,
)
from staticgraph.formats.tf.messages.text_format import Parse
from staticgraph.tf1.summary import FileWriter, FileWriterCache, encode, summary_iterator
from staticgraph.tf1.summary.event_file import EventFileWriter


def files(folder) -> list[str]:
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def events(folder) -> list[Event]:
    return [event for path in files(folder) for event in summary_iterator(path)]


def steps(folder) -> list[int]:
    return [event.step for event in events(folder) if event.WhichOneof("what") != "file_version"]


@pytest.fixture
def net():
    with sg.Graph().as_default() as graph, sg.name_scope("net"):
        x = sg.placeholder(sg.float32, [None, 2], name="x")
        sg.multiply(x, sg.Variable([1.0, 2.0], name="w"), name="out")
    return graph


class TestWriting:
    def test_the_file_says_its_version_first_and_is_named_by_its_time(self, tmp_path):
        with FileWriter(tmp_path / "new" / "folder", filename_suffix=".train") as writer:
            writer.add_summary(encode.scalar("loss", 1.0), 7)
        (path,) = files(tmp_path / "new" / "folder")
        name = os.path.basename(path)
        assert name.startswith("events.out.tfevents.") and name.endswith(".train")
        first, second = summary_iterator(path)
        assert first.file_version == "brain.Event:2" and int(name.split(".")[3]) == int(first.wall_time)
        assert second.step == 7 and second.summary.value[0].simple_value == 1.0
        assert second.wall_time >= first.wall_time

    def test_without_events_there_is_no_file(self, tmp_path):
        FileWriter(tmp_path).close()
        assert files(tmp_path) == []

    def test_the_first_event_is_written_at_once_and_others_later(self, tmp_path):
        writer = FileWriter(tmp_path, flush_secs=10**6)
        for step in range(3):
            writer.add_summary(Summary(), step)
        assert steps(tmp_path) == [0]
        writer.flush()
        assert steps(tmp_path) == [0, 1, 2]
        writer.close()

    def test_without_a_delay_each_event_is_written_at_once(self, tmp_path):
        writer = FileWriter(tmp_path, flush_secs=0)
        for step in range(3):
            writer.add_summary(Summary(), step)
            assert steps(tmp_path) == list(range(step + 1))
        writer.close()

    def test_many_waiting_bytes_are_written(self, tmp_path):
        writer = EventFileWriter(tmp_path, flush_secs=10**6)
        for step in range(4):
            writer.add_event(Event(step=step, graph_def=bytes(1 << 19)))
        assert steps(tmp_path)[:3] == [0, 1, 2]
        writer.close()

    def test_a_writer_that_nobody_has_any_more_is_closed(self, tmp_path):
        writer = FileWriter(tmp_path, flush_secs=10**6)
        for step in range(3):
            writer.add_summary(Summary(), step)
        del writer
        gc.collect()
        assert steps(tmp_path) == [0, 1, 2]

    def test_writers_of_the_same_second_have_files_of_their_own(self, tmp_path):
        for step in range(4):
            with FileWriter(tmp_path) as writer:
                writer.add_summary(Summary(), step)
        assert len(files(tmp_path)) == 4 and steps(tmp_path) == [0, 1, 2, 3]

    def test_closed_and_opened_again(self, tmp_path):
        writer = FileWriter(tmp_path)
        writer.add_summary(Summary(), 1)
        writer.close()
        writer.close()
        for use in (
            lambda: writer.add_summary(Summary(), 2),
            lambda: writer.add_event(Event()),
            writer.flush,
        ):
            with pytest.warns(UserWarning, match="closed FileWriter") as caught:
                use()
            assert caught[0].filename == __file__
        writer.reopen()
        writer.reopen()
        writer.add_summary(Summary(), 3)
        writer.close()
        assert len(files(tmp_path)) == 2 and steps(tmp_path) == [1, 3]


def run(code: str, *arguments: object) -> None:
    """Run a program of its own, which must end well and say nothing."""
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


BEGIN = """
import os, sys
from staticgraph.summary import FileWriter, Summary
writer = FileWriter(sys.argv[1], flush_secs=10**6)
for step in range(3):
    writer.add_summary(Summary(), step)
"""


def test_what_waits_is_written_when_the_program_ends(tmp_path):
    run(BEGIN, tmp_path)
    assert steps(tmp_path) == [0, 1, 2]


@pytest.mark.takes_long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit()", "writer.close()", "writer.flush()"])
def test_a_forked_process_writes_nothing_twice(tmp_path, end: str):
    run(f"{BEGIN}\nif not os.fork():\n    {end}\n    sys.exit()\nos.wait()", tmp_path)
    assert len(files(tmp_path)) == 1 and steps(tmp_path) == [0, 1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_writes_a_file_of_its_own(tmp_path):
    run(
        f"{BEGIN}\nif not os.fork():\n    writer.add_summary(Summary(), 10)\n    sys.exit()\nos.wait()",
        tmp_path,
    )
    assert len(files(tmp_path)) == 2 and sorted(steps(tmp_path)) == [0, 1, 2, 10]


class TestWhatIsWritten:
    def test_how_a_tag_is_shown_is_written_once(self, tmp_path):
        with FileWriter(tmp_path) as writer:
            for step in range(2):
                writer.add_summary(encode.text("note", "x"), step)
        one, two = (event.summary.value[0] for event in events(tmp_path)[1:])
        assert one.metadata.plugin_data.plugin_name == "text" and not two.HasField("metadata")
        assert two.tensor == one.tensor

    def test_a_graph_with_what_belongs_to_it(self, tmp_path, net):
        FileWriter(tmp_path, net).close()
        _, graph, meta = events(tmp_path)
        found = GraphDef.FromString(graph.graph_def)
        assert [node.name for node in found.node] == [op.name for op in net.get_operations()]
        assert MetaGraphDef.FromString(meta.meta_graph_def).graph_def == found

    def test_a_graph_def_is_deprecated(self, tmp_path, net, caplog):
        with FileWriter(tmp_path, graph_def=net.as_graph_def()) as writer:
            writer.add_graph(net.as_graph_def())
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
        assert len(events(tmp_path)) == 4

    def test_what_is_no_graph(self, tmp_path, net):
        with FileWriter(tmp_path) as writer:
            with pytest.raises(ValueError, match="not both"):
                writer.add_graph(net, graph_def=net.as_graph_def())
            with pytest.raises(TypeError, match="and is str"):
                writer.add_graph("net")
            with pytest.raises(TypeError, match="and is GraphDef"):
                writer.add_meta_graph(net.as_graph_def())

    def test_logs_and_what_runs_report(self, tmp_path):
        metadata = RunMetadata(step_stats={"dev_stats": [{"device": "/cpu:0"}]})
        with FileWriter(tmp_path) as writer:
            writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path="model"), 1)
            writer.add_run_metadata(metadata, "first", 2)
            with pytest.raises(ValueError, match="'first'"):
                writer.add_run_metadata(metadata, "first", 3)
        _, log, tagged = events(tmp_path)
        assert (log.session_log.checkpoint_path, log.step) == ("model", 1)
        assert tagged.tagged_run_metadata == TaggedRunMetadata(
            tag="first", run_metadata=metadata.SerializeToString()
        )

    def test_one_writer_for_each_folder(self, tmp_path, net):
        with net.as_default():
            writer = FileWriterCache.get(str(tmp_path))
            assert FileWriterCache.get(str(tmp_path)) is writer and writer.get_logdir() == str(tmp_path)
        FileWriterCache.clear()
        assert events(tmp_path)[1].HasField("graph_def")
        with net.as_default():
            assert FileWriterCache.get(str(tmp_path)) is not writer
        FileWriterCache.clear()


class TestGraphs:
    def test_nodes(self, net):
        found = {node.name: node for node in net.as_graph_def(add_shapes=True).node}
        out = found["net/out"]
        assert (out.op, list(out.input)) == ("Mul", ["net/x", "net/w/read"])
        assert str(found["net/x"].attr["shape"].shape) == "dim {\n  size: -1\n}\ndim {\n  size: 2\n}\n"
        assert found["net/x"].attr["dtype"].type == out.attr["T"].type == sg.messages.DataType.DT_FLOAT
        assert [dim.size for dim in out.attr["_output_shapes"].list.shape[0].dim] == [-1, 2]
        initial = found["net/w/initial_value"].attr["value"].tensor
        assert sg.messages.make_ndarray(initial).tolist() == [1, 2]

    def test_other_outputs_control_inputs_and_devices(self):
        with sg.Graph().as_default() as graph:
            parts = sg.split(sg.constant([1.0, 2.0]), 2, name="parts")
            with sg.device("/gpu:1"), sg.control_dependencies([parts[0]]):
                sg.negative(parts[1], name="y")
        node = graph.as_graph_def().node[-1]
        assert list(node.input) == ["parts:1", "^parts"] and "1" in node.device
        assert "_output_shapes" not in node.attr

    def test_from_a_version_on(self, net):
        before = net.version
        with net.as_default():
            sg.constant(1.0, name="later")
        assert [node.name for node in net.as_graph_def(from_version=before).node] == ["later"]

    def test_the_graph_of_a_session(self, net):
        with sg.Session(graph=net) as session:
            assert session.graph_def == net.as_graph_def()

    @pytest.mark.parametrize("as_text", [True, False])
    def test_as_a_file(self, tmp_path, net, as_text: bool):
        path = sg.io.write_graph(net, tmp_path / "new", "graph", as_text)
        assert path == str(tmp_path / "new" / "graph")
        with open(path, "rb") as file:
            data = file.read()
        assert (Parse(data, GraphDef()) if as_text else GraphDef.FromString(data)) == net.as_graph_def()
