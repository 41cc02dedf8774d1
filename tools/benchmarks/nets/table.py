"""All nets by name, in the order of the report."""

from __future__ import annotations

from benchmarks.nets import convolutions, graph_net, images, recommend, seq2seq, simulation, transformers

NETS = {
    name: entry
    for family in (transformers, images, seq2seq, graph_net, recommend, simulation, convolutions)
    for name, entry in family.NETS.items()
}
