"""Files: saved graphs (`.sg`) and checkpoints of variables. A file is data: reading one runs nothing in it.

* `container`: several members in one mapped file, every byte checked, with a manifest
* `arrays`: files of arrays, for other programs too; `code`: machine code in a file
* `attributes`, `graph_json`: operations as JSON, from a closed set of types
* `signature`: functions of a file: named inputs and outputs, and what they need
* `values`: values of variables into a file and out of it
* `graph_file`: a saved graph; `loaded`: what it is after loading; `summary`: what is in it, without loading
* `checkpoint`: a file of variables alone
"""
