"""Files: saved graphs (`.sg`) and checkpoints of variables. A file is data: reading one runs nothing in it.

* `atomic`: a file is replaced as a whole or not at all
* `archive`: several members in one zip file, uncompressed and aligned, every byte checked
* `container`: an archive with a manifest: kind, format, checksums
* `safetensors`: arrays by name in one member
* `strict_json`: JSON of which nothing is taken for granted
* `attributes`: attribute values as JSON, from a closed set of types
* `graph_json`: operations as JSON
* `signature`: named inputs and outputs, and what they need
* `values`: values of variables into a file and out of it
* `graph_file`: a saved graph: operations, variables, counters of random operations
* `loaded`: what a saved graph is after loading
* `checkpoint`: a file of variables alone
"""
