"""Progress is drawn over itself where that is possible, and is plain lines elsewhere."""

import io

import pytest

from staticgraph.applications.solver.report import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, monkeypatch, steps=3):
    """Return the output of an epoch, of which one step was done before."""
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr("time.monotonic", iter(range(100)).__next__)
    progress = Progress(epochs=2)
    progress.epoch(1, begun=1, steps=steps)
    for step in range(1, steps):
        progress.step({"loss": 1.0 / step, "accuracy": 0.25 * step})
    progress.end({"loss": 2.0, "accuracy": 0.5})
    return stream.getvalue()


WHOLE = "3/3 [==============================] - 2s 667ms/step - loss: 0.7500 - accuracy: 0.3750 - val_loss: 2.0000"


def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    head, *drawn = shown(Terminal(), monkeypatch).replace("\n", "\r").split("\r")
    assert head == "epoch 2/2"
    assert drawn[1].startswith("2/3 [===================>..........] - ETA: ")
    assert drawn[-2].startswith(WHOLE)


@pytest.mark.parametrize("columns", [20, 40])
def test_a_bar_never_wraps_while_it_is_drawn_over(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    _, *drawn = shown(Terminal(), monkeypatch, steps=9).split("\r")
    assert len(drawn) > 5 and all(len(line) < columns for line in drawn[:-1])
    assert "val_accuracy: 0.5000" in drawn[-1]


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_line_for_an_epoch_where_nothing_can_be_drawn_over(monkeypatch, stream):
    monkeypatch.setenv("TERM", "dumb")
    text = shown(stream(), monkeypatch)
    assert text == (
        "epoch 2/2  3/3 - 2s - loss: 0.7500 - accuracy: 0.3750 - val_loss: 2.0000 - val_accuracy: 0.5000\n"
    )
