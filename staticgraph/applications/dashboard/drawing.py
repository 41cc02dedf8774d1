"""The picture of a run's graph, drawn by another process: a file may hold a graph that takes hours."""

from __future__ import annotations

import subprocess
import sys
import threading

from staticgraph.compiler.graph.errors import DataLossError
from staticgraph.compiler.support.own_process import command, limit

_SECONDS = 60.0
_MEMORY = 4 << 30  # bytes of addresses that the process may have
_LARGEST_PICTURE = 16 << 20


class Drawer:
    """Draws graphs in processes, which `stop` ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def picture(self, graph: bytes) -> bytes:
        """Return the picture of a serialised GraphDef, as SVG.

        Raises:
            DataLossError: The bytes are no graph that can be drawn in a minute, as the message says.
        """
        pipe = subprocess.PIPE
        with self._lock:
            if self._stopped:
                raise DataLossError("the server has stopped")
            process = subprocess.Popen(command(__name__, draw.__name__), stdin=pipe, stdout=pipe, stderr=pipe)
            self._processes.add(process)
        try:
            drawn, told = process.communicate(graph, _SECONDS)
        except subprocess.TimeoutExpired:
            raise DataLossError(f"drawing the graph takes more than {_SECONDS:.0f} s") from None
        finally:
            process.kill()
            process.communicate()  # closes the pipes
            with self._lock:
                self._processes.discard(process)
        if process.returncode or not drawn:
            lines = told.decode(errors="replace").strip().splitlines() or ["its drawing was ended"]
            raise DataLossError(f"the graph cannot be drawn: {lines[-1][:500]}")
        if len(drawn) > _LARGEST_PICTURE:
            raise DataLossError("the picture of the graph is too large to be shown")
        return drawn

    def stop(self) -> None:
        """End the processes; nothing more is drawn."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()


def draw() -> None:
    """Draw the GraphDef of the standard input to the standard output: the process of `picture`."""
    limit(_MEMORY)
    import staticgraph as sg
    from staticgraph.formats.tf.graph_def.importing import import_graph_def
    from staticgraph.formats.tf.messages.graph import GraphDef

    graph = sg.Graph()
    with graph.as_default():
        import_graph_def(GraphDef.FromString(sys.stdin.buffer.read()), name="")
    sys.stdout.buffer.write(sg.visualize(graph).svg.encode())
