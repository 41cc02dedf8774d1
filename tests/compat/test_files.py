"""Files, folders and the log by TF1's names."""

import io
import os

import pytest

import staticgraph.compat.tf1 as tf


def test_a_text_file_and_its_lines(tmp_path):
    path = str(tmp_path / "a.txt")
    with tf.gfile.GFile(path, "w") as file:
        file.write("one\ntwo\n")
    with tf.gfile.FastGFile(path) as file:
        assert file.size() == 8
        assert [*file] == ["one\n", "two\n"]
    assert tf.gfile.Open(path, "rb").read(3) == b"one"


def test_a_file_that_nothing_was_written_to_exists(tmp_path):
    with tf.gfile.GFile(tmp_path / "empty", "w"):
        pass
    assert tf.gfile.Exists(str(tmp_path / "empty"))


def test_a_missing_file_is_an_error_when_it_is_read(tmp_path):
    file = tf.gfile.GFile(str(tmp_path / "none"))
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
        file.read()


def test_folders(tmp_path):
    deep = os.path.join(tmp_path, "a", "b")
    tf.gfile.MakeDirs(deep)
    tf.gfile.MakeDirs(deep)
    assert tf.gfile.IsDirectory(deep)
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.MkDir(deep)
    assert tf.gfile.ListDirectory(str(tmp_path)) == ["a"]
    assert [folders for _, folders, _ in tf.gfile.Walk(str(tmp_path))] == [["a"], ["b"], []]
    tf.gfile.DeleteRecursively(os.path.join(tmp_path, "a"))
    assert tf.gfile.ListDirectory(str(tmp_path)) == []
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.ListDirectory(deep)


def test_copy_and_rename_do_not_overwrite_unless_told(tmp_path):
    first, second = str(tmp_path / "1"), str(tmp_path / "2")
    for path in (first, second):
        with tf.gfile.GFile(path, "w") as file:
            file.write(path)
    for change in (tf.gfile.Copy, tf.gfile.Rename):
        with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite=True"):
            change(first, second)
    tf.gfile.Copy(first, second, overwrite=True)
    assert tf.gfile.GFile(second).read() == first
    tf.gfile.Rename(first, second, overwrite=True)
    assert tf.gfile.Glob(str(tmp_path / "*")) == [second]
    tf.gfile.Remove(second)
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.Remove(second)


def test_the_log_goes_to_the_error_stream(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr("logging.root.handlers", [])
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.INFO)
        tf.logging.info("step %d", 3)
        tf.logging.debug("unseen")
        for _ in range(5):
            tf.logging.log_first_n(tf.logging.WARN, "twice", 2)
        for _ in range(5):
            tf.logging.log_every_n(tf.logging.WARN, "often", 2)
    finally:
        tf.logging.set_verbosity(before)
    lines = written.getvalue().splitlines()
    assert lines[0] == "INFO:tensorflow:step 3"
    assert lines[1:] == ["WARNING:tensorflow:twice"] * 2 + ["WARNING:tensorflow:often"] * 3


def test_text_and_bytes():
    assert tf.compat.as_bytes("é") == b"\xc3\xa9" and tf.compat.as_text(b"\xc3\xa9") == "é"
    assert tf.compat.as_str_any(1.5) == "1.5"
    with pytest.raises(TypeError, match="int"):
        tf.compat.as_text(3)


def test_options_are_records_of_known_fields():
    config = tf.ConfigProto(log_device_placement=True, gpu_options=tf.GPUOptions(allow_growth=True))
    config.gpu_options.per_process_gpu_memory_fraction = 0.3
    assert config.gpu_options.allow_growth and config.log_device_placement
    assert tf.ConfigProto() == tf.ConfigProto() != config
    with pytest.raises(ValueError, match="no field 'allow_groth'"):
        config.gpu_options.allow_groth = True
    with pytest.raises(ValueError, match="fields: allow_soft_placement"):
        tf.ConfigProto(soft=True)
