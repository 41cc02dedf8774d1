"""`tensorflow.python.tools.freeze_graph`: a graph and a checkpoint as one GraphDef without variables."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.checkpoints.checkpoint_reader import list_variables
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.graph_def.files import read_graph
from staticgraph.formats.tf.graph_def.importing import import_graph_def
from staticgraph.formats.tf.graph_util import convert_variables_to_constants
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.session import Session


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str,
    filename_tensor_name: str,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
) -> Any:
    """Write a graph whose variables are constants with the values of a checkpoint.

    Args:
        input_graph: The file of the GraphDef.
        input_saver: Not used; the values are found by the names of the variables.
        input_binary: If the file is binary, else it is text.
        input_checkpoint: The prefix of the checkpoint.
        output_node_names: The names of the operations that are kept, with commas between them.
        restore_op_name: Not used.
        filename_tensor_name: Not used.
        output_graph: The file that is written, in binary form; none if it is empty.
        clear_devices: If the operations forget their devices.
        initializer_nodes: Operations that are run before, with commas between them.
        variable_names_whitelist: The only variables that become constants, with commas between them.
        variable_names_blacklist: Variables that do not become constants.

    Returns:
        The GraphDef.

    Raises:
        ValueError: There is no such file or checkpoint, or no output is named.
    """
    if not output_node_names:
        raise misuse(ValueError, "freeze_graph: output_node_names is empty", "name what the graph computes")
    graph_def = read_graph(input_graph)
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    with Graph().as_default() as graph:
        import_graph_def(graph_def, name="")
        known = [name for name, _ in list_variables(input_checkpoint)]
        made_by = {op.name: op for op in graph.get_operations()}
        variables = {name: made_by[name].outputs[0] for name in known if name in made_by}
        with Session() as session:
            Saver(variables).restore(session, input_checkpoint)
            if initializer_nodes:
                session.run(_listed(initializer_nodes))
            made = convert_variables_to_constants(
                session,
                graph_def,
                _listed(output_node_names),
                _listed(variable_names_whitelist) or None,
                _listed(variable_names_blacklist) or None,
            )
    if output_graph:
        write_file(output_graph, [made.SerializeToString()])
    return made


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
