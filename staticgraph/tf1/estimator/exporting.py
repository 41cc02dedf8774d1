"""Export of a trained model for use elsewhere: a SavedModel, and beside it a file for each of its signatures.

A file runs without the program that made the model: `sg.load(folder / "serving_default.sg")`.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from staticgraph.building.framework import GraphKeys, get_collection
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.log import log
from staticgraph.formats.tf.messages.meta_graph import SignatureDef
from staticgraph.formats.tf.saved_model.builder import SavedModelBuilder
from staticgraph.formats.tf.saved_model.tag_constants import SERVING
from staticgraph.runtime.session import Session
from staticgraph.saved.saving import save
from staticgraph.tf1.estimator.spec import EstimatorSpec
from staticgraph.tf1.training.monitored.scaffold import Scaffold


def export(
    base: Any,
    receiver: Any,
    spec: EstimatorSpec,
    checkpoint: str,
    assets: Mapping[str, str] | None,
    config: Any,
    as_text: bool = False,
) -> bytes:
    """Write the signatures of a model with the variables of a checkpoint; returns the path of the new folder.

    It has another name until it is complete. ValueError if the model has no signatures.
    """
    if not spec.export_outputs:
        text = "export_outputs must be defined in the EstimatorSpec, they are what an exported model gives"
        raise misuse(ValueError, text)
    saver = spec.scaffold.saver or Saver(sharded=True)
    prepare = spec.scaffold.local_init_op or Scaffold.default_local_init_op()
    folder = _unused(Path(path_of(base, "export_dir_base")))
    partial = folder.with_name(f"temp-{folder.name}")
    partial.mkdir(parents=True)
    with Session(config=config.session_config) as session:
        saver.restore(session, checkpoint)
        session.run(prepare)
        model = SavedModelBuilder(partial)
        signatures = _signatures(receiver.receiver_tensors, spec)
        files = get_collection(GraphKeys.ASSET_FILEPATHS)
        model.add_meta_graph_and_variables(
            session, [SERVING], signatures, files, main_op=prepare, saver=saver
        )
        model.save(as_text)
        for name, signature in spec.export_outputs.items():
            path = partial / f"{name}.sg"
            save(path, signature.outputs, receiver.receiver_tensors, session)
    for name, source in (assets or {}).items():
        target = partial / "assets.extra" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    partial.rename(folder)
    log.info("SavedModel written to: %s", folder)
    return os.fsencode(folder)


def _signatures(inputs: Mapping[str, Any], spec: EstimatorSpec) -> dict[str, SignatureDef]:
    """Return the signatures that the inputs allow, as TensorFlow does: some need serialized examples."""
    found = {}
    for name, output in (spec.export_outputs or {}).items():
        try:
            found[name] = output.as_signature_def(inputs)
        except ValueError as error:
            log.info("Signature %s is left out of the SavedModel: %s", name, error)
    return found


def _unused(base: Path) -> Path:
    """A folder that does not exist, called after the time in seconds: later ones have greater numbers."""
    number = int(time.time())
    while (base / str(number)).exists():
        number += 1
    return base / str(number)
