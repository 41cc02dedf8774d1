"""Training without code: a network, its data and a solver, described in one TOML file.

* `description`: what a file may say; `places`: where in it a key stands; `reading`: from one to the other.
* `values`, `kinds`, `objective`: what a key may be; layers, optimizers, schedules, losses, metrics by name.
* `sources`, `csv_table`, `image_folder`: from files to arrays; `data`: what trains, and what validates.
* `network`: from a description to a graph; `lines`: its nodes name the lines of the file.
* `loop`: the training; `snapshots`: its whole state as a file; `stopping`: signals; `report`: what is shown.
"""
