"""Small files of all the kinds that commands read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import staticgraph as sg


def written(folder: Path) -> dict[str, Path]:
    """A net of one layer, with its training step, as files of all kinds, by kind."""
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    labels = sg.placeholder(sg.int32, [None], name="labels")
    logits = sg.layers.dense(x, 3, activation=sg.nn.relu, name="layer")
    loss = sg.losses.sparse_softmax_cross_entropy(labels, logits)
    train = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    functions = {
        "predict": sg.Signature({"logits": logits}),
        "train": sg.Signature({"loss": loss}, step=train),
    }
    v2 = sg.messages.SaverDef.V2
    for name in ("own", "theirs"):
        (folder / name).mkdir()
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        sg.save(folder / "net.sg", signatures=functions, session=session)
        sg.onnx.export({"logits": logits}, folder / "net.onnx", session=session)
        sg.train.Saver().save(session, str(folder / "own" / "model"), write_meta_graph=False)
        sg.train.Saver(write_version=v2).save(session, str(folder / "theirs" / "model"))
        sg.save_weights(folder / "net.npz")
        sg.save_weights(folder / "net.safetensors")
        sg.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"logits": logits})
        frozen = sg.graph_util.convert_variables_to_constants(
            session, session.graph.as_graph_def(), ["layer/Relu"]
        )
    sg.io.write_graph(frozen, folder, "net.pb", as_text=False)
    sg.io.write_graph(frozen, folder, "net.pbtxt")
    np.savez(folder / "feeds.npz", x=np.ones((5, 4), np.float32), labels=np.zeros(5, np.int32))
    found = {
        "graph": "net.sg",
        "onnx": "net.onnx",
        "npz": "net.npz",
        "safetensors": "net.safetensors",
        "frozen": "net.pb",
        "text": "net.pbtxt",
        "saved_model": "saved",
        "own": "own/model",
        "theirs": "theirs/model",
        "meta": "theirs/model.meta",
        "feeds": "feeds.npz",
    }
    return {kind: folder / name for kind, name in found.items()}
