"""Files: saved graphs (`.sg`) and checkpoints of variables. A file is data: reading one runs nothing in it.

* `archive`: several members in one zip file, uncompressed and aligned, every byte checked
* `mapped`: files that are read where they lie
* `container`: an archive with a manifest: kind, format, checksums
* `safetensors`: arrays by name in one member, or one file
* `npz`: the same in NumPy's format; `unzip` reads the archives of other programs
* `weights`: files of such arrays alone, for other programs
* `strict_json`: JSON of which nothing is taken for granted
* `attributes`: attribute values as JSON, from a closed set of types
* `graph_json`: operations as JSON
* `late_ops`: ops that are declared when they are needed
* `signature`: functions of a file: named inputs and outputs, and what they need
* `values`: values of variables into a file and out of it
* `graph_file`: a saved graph: operations, variables, counters of random operations
* `failure_file`: a run that failed: graph, feeds, variables, the error
* `kernels`: machine code in a saved graph; `compiled_ahead` makes it
* `loaded`: what a saved graph is after loading
* `summary`: what is in a file, told without loading it
* `checkpoint`: a file of variables alone
"""
