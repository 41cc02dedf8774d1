"""Files: saved graphs (`.sg`) and checkpoints of variables. A file is data: reading one never runs what it holds.

    atomic        a file is replaced as a whole or not at all
    archive       several members in one zip file, uncompressed and aligned, every byte checked
    container     an archive with a manifest: kind, format, checksums
    safetensors   arrays by name in one member
    strict_json   JSON of which nothing is taken for granted
    attributes    attribute values as JSON, from a closed set of types
    graph_json    operations as JSON
    graph_file    a saved graph: the operations and variables that its outputs need
    loaded        what a saved graph is after loading
    checkpoint    a file of variables alone
"""
