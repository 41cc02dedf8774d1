"""Parts of `tf.contrib` and `tf.train` that are plain Python: vocabularies, tables, clusters."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.areas import TREE

learn = tf.contrib.learn


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def rows(processor, documents):
    return np.array(list(processor.transform(documents))).tolist()


def test_a_vocabulary_survives_its_file(tmp_path):
    path = str(tmp_path / "vocab")
    processor = learn.preprocessing.VocabularyProcessor(4, min_frequency=1)
    documents = ["ein été ein", "no été", "ein"]
    list(processor.fit_transform(documents))
    processor.save(path)
    again = learn.preprocessing.VocabularyProcessor.restore(path)
    assert rows(again, ["no ein été"]) == rows(processor, ["no ein été"]) == [[0, 1, 2, 0]]
    assert len(again.vocabulary_) == 3
    assert list(again.reverse([[1, 2, 0]])) == ["ein été <UNK>"]
    assert again.min_frequency == 1


def content(**changes):
    right = {
        "format": "staticgraph vocabulary processor 1",
        "max_document_length": 4,
        "min_frequency": 0,
        "support_reverse": True,
        "words": ["<UNK>", "a"],
    }
    return json.dumps({**right, **changes}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        pickle.dumps({"words": ["a"]}),
        content()[:-5],
        content(format="another"),
        content(words=[]),
        content(words=["<UNK>", "a", "a"]),
        content(words=[1, 2]),
        content(words=None),
        content(words={"<UNK>": 1, "a": 2}),
        content(max_document_length=True),
        content(max_document_length=10**15),
        content(max_document_length=-1),
        content(max_document_length="4"),
    ],
)
def test_another_file_holds_no_vocabulary(tmp_path, data):
    path = tmp_path / "vocab"
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="no vocabulary processor"):
        learn.preprocessing.VocabularyProcessor.restore(str(path))


def test_a_vocabulary_of_ones_own_is_used_and_not_saved(tmp_path):
    class Lengths:
        def get(self, word):
            return len(word)

        def add(self, word):
            pass

        def freeze(self):
            pass

    processor = learn.preprocessing.VocabularyProcessor(
        3,
        vocabulary=Lengths(),
        tokenizer_fn=lambda documents: (document.split("/") for document in documents),
    )
    assert np.array(list(processor.fit_transform(["aa/b/ccc/d"]))).tolist() == [[2, 1, 3]]
    with pytest.raises(ValueError, match="Lengths"):
        processor.save(str(tmp_path / "vocab"))


def test_tables_with_and_without_a_header(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("2,3,setosa\n1.5,2,3,0\n4,5,6.5,1\n")
    table = learn.datasets.base.load_csv_with_header(str(path), np.int64, np.float32)
    assert table.data.tolist() == [[1.5, 2, 3], [4, 5, 6.5]]
    assert table.target.tolist() == [0, 1]
    assert (table.data.dtype, table.target.dtype) == (np.float32, np.int64)
    path.write_text("1,2\n3,4\n")
    table = learn.datasets.base.load_csv_without_header(str(path), np.int64, np.float32, target_column=0)
    assert (table.data.tolist(), table.target.tolist()) == ([[2], [4]], [1, 3])


@pytest.mark.parametrize("text", ["5,3,a\n1,2,3,0\n", "1,3,a\n1,x,3,0\n", "2,2,a\n1,2,0\n1,0\n"])
def test_a_table_that_is_not_as_its_header_says(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(tf.errors.DataLossError, match=r"table\.csv"):
        learn.datasets.base.load_csv_with_header(str(path), np.int64, np.float32)


def test_a_file_is_downloaded_once(tmp_path, capsys):
    source = tmp_path / "source.txt"
    source.write_text("abc")
    download = learn.datasets.base.maybe_download
    path = download("copy.txt", str(tmp_path / "new" / "folder"), source.as_uri())
    assert Path(path).read_text() == "abc"
    source.unlink()
    assert download("copy.txt", str(tmp_path / "new" / "folder"), source.as_uri()) == path
    assert capsys.readouterr().out == "Successfully downloaded copy.txt 3 bytes.\n"
    with pytest.raises(OSError, match="source"):
        download("other.txt", str(tmp_path), source.as_uri())
    assert [entry.name for entry in tmp_path.iterdir()] == ["new"]


def test_a_server_alone_is_this_process():
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as sess:
        assert sess.run(tf.constant(3)) == 3
    server.join()
    alone = tf.train.Server(tf.train.ClusterSpec({"worker": ["localhost:2222"]}))
    assert alone.server_def == {
        "cluster": {"worker": ["localhost:2222"]},
        "job_name": "worker",
        "task_index": 0,
    }


def test_a_server_of_several_says_what_it_cannot_do():
    cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:1"]})
    server = tf.train.Server(cluster, job_name="worker", task_index=1)
    for use in (server.join, lambda: server.target):
        with pytest.raises(tf.errors.UnimplementedError, match="2 other tasks"):
            use()
    with pytest.raises(ValueError, match="no task 2"):
        tf.train.Server(cluster, job_name="worker", task_index=2)


def test_servers_for_all_tasks_are_this_process():
    cluster = tf.train.ClusterSpec({"local": ["here:1", "here:2"]})
    first = tf.train.Server(cluster, job_name="local", task_index=0)
    with pytest.raises(tf.errors.UnimplementedError, match="1 other task"):
        first.join()
    second = tf.train.Server(cluster, job_name="local", task_index=1)
    with tf.device("/job:local/task:1"):
        total = tf.reduce_sum(tf.ones([3]))
    with tf.Session(first.target) as sess:
        assert sess.run(total) == 3.0
    second.join()


def test_variables_under_a_device_setter():
    with tf.device(tf.train.replica_device_setter(cluster={"ps": ["a:1"], "worker": ["b:1"]})):
        w = tf.Variable(3.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(w) == 3.0


def test_variables_are_counted(capsys):
    variables = [tf.Variable(tf.zeros([3, 4]), name="a"), tf.Variable(tf.zeros([2], tf.float64), name="b")]
    assert tf.contrib.slim.model_analyzer.analyze_vars(variables, print_info=True) == (14, 64)
    assert "a:0 (float32 3x4) [12, bytes: 48]" in capsys.readouterr().out
    assert tf.contrib.slim.model_analyzer.analyze_ops(tf.get_default_graph()) >= 14


def test_sparse_tensors_are_tensors():
    sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
    assert tf.contrib.framework.is_tensor(sparse) and not tf.contrib.framework.is_tensor([1.0])


def test_reductions_over_gpus_are_those_of_tensors():
    nccl = tf.contrib.nccl
    with tf.Graph().as_default(), tf.Session() as sess:
        pair = [tf.constant([1.0, 5.0]), tf.constant([2.0, 3.0])]
        found = sess.run([f(pair)[1] for f in (nccl.all_sum, nccl.all_prod, nccl.all_min, nccl.all_max)])
        total, same = sess.run([nccl.reduce_sum(pair), nccl.broadcast(pair[0])])
        with pytest.raises(ValueError, match="no tensors"):
            nccl.all_sum([])
    assert [one.tolist() for one in found] == [[3.0, 8.0], [2.0, 15.0], [1.0, 3.0], [2.0, 5.0]]
    assert (total.tolist(), same.tolist()) == ([3.0, 8.0], [1.0, 5.0])


def test_a_package_shows_the_function_of_the_name_of_a_module():
    assert TREE.lookup("contrib.framework.python.ops.arg_scope") is tf.contrib.framework.arg_scope
    assert TREE.lookup("contrib.framework.python.ops.add_arg_scope") is tf.contrib.framework.add_arg_scope
