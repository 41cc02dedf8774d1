"""Files that somebody made to do harm, each by a few lines of code: a table of names and makers.

A maker writes its file into a folder and returns its path. Checksums are right wherever the format has them:
what refuses such a file must have understood it.
"""

from __future__ import annotations

import base64
import io
import json
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.runtime.files import container
from tests.saving.nets import line

Maker = Callable[[Path], Path]
FILES: dict[str, Maker] = {}
_MANY = 100_000


def makers(made: dict[str, Any], make: Callable[..., Path]) -> dict[str, Maker]:
    """A part of the table: what one function is given, by name."""
    return {name: lambda folder, given=given: make(folder, given) for name, given in made.items()}


def written(path: Path, data: bytes) -> Path:
    """The path of a file of these bytes."""
    path.write_bytes(data)
    return path


# Saved graphs: the file around the members


def _parts(folder: Path) -> dict[str, bytes]:
    path = line(folder / "whole.sg")
    return {name: bytes(view) for name, view in container.unpack(memoryview(path.read_bytes())).items()}


def _changed_archive(folder: Path, change: Callable[[bytes], bytes]) -> Path:
    path = line(folder / "net.sg")
    path.write_bytes(change(path.read_bytes()))
    return path


def _zipped(folder: Path, change: Callable[[zipfile.ZipFile, dict[str, bytes]], Any]) -> Path:
    """A zip file as other programs write it."""
    path = folder / "net.sg"
    with zipfile.ZipFile(path, "w") as file:
        change(file, _parts(folder))
    return path


def _all(file: zipfile.ZipFile, parts: dict[str, bytes], *more: Any, **options: Any) -> None:
    for name, data in parts.items():
        file.writestr(name, data, **options)
    for name in more:
        file.writestr(name, b"x" * 10)


def _link(name: str, target: bytes) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


def _number(where: int, form: str, value: int) -> Callable[[bytes], bytes]:
    """Write a number at a place, counted from the end."""

    def change(data: bytes) -> bytes:
        out = bytearray(data)
        struct.pack_into(form, out, len(data) + where, value)
        return bytes(out)

    return change


FILES |= makers({
    "sg: a script before the archive": lambda d: b"#!/bin/sh\nrm -rf ~\n" + d,
    "sg: an archive in the archive": lambda d: d + d,
    "sg: 2**64 members": _number(-98 + 32, "<Q", 2**64 - 1),
    "sg: no members": _number(-98 + 32, "<Q", 0),
    "sg: a directory that lies in itself": _number(-98 + 48, "<Q", 2**63),
    "sg: a directory before the file": _number(-98 + 48, "<q", -100),
    "sg: two members in one place": lambda d: _again(d, 1),
    "sg: text": lambda d: b"import os\n",
    "sg: an old saved object": lambda d: b"\x80\x04cos\nsystem\n(S'id'\ntR.",
}, _changed_archive)


def _again(data: bytes, member: int) -> bytes:
    """The directory says that a member begins where the one before it does."""
    start = data.index(b"PK\x01\x02")
    places = [i for i in range(start, len(data) - 4) if data[i : i + 4] == struct.pack("<HH", 1, 24)]
    out = bytearray(data)
    out[places[member] + 20 : places[member] + 28] = data[places[member - 1] + 20 : places[member - 1] + 28]
    return bytes(out)


FILES |= makers({
    "sg: a member above the folder": lambda f, parts: _all(f, parts, "../../evil"),
    "sg: a member at the root": lambda f, parts: _all(f, parts, "/etc/cron.d/evil"),
    "sg: a member on another drive": lambda f, parts: _all(f, parts, "C:\\evil"),
    "sg: a member that is a folder": lambda f, parts: _all(f, parts, "graph.json/"),
    "sg: a module among the members": lambda f, parts: _all(f, parts, "__init__.py"),
    "sg: compressed members": lambda f, parts: _all(f, parts, compress_type=zipfile.ZIP_DEFLATED),
    "sg: a bomb": lambda f, _: f.writestr("graph.json", bytes(1 << 26), compress_type=zipfile.ZIP_DEFLATED),
    "sg: a link to a file": lambda f, parts: (_all(f, parts), f.writestr(*_link("w", b"/etc/passwd"))),
}, _zipped)


def _sealed(folder: Path, members: dict[str, bytes]) -> Path:
    """Our own archive, with whatever members."""
    path = folder / "net.sg"
    path.write_bytes(b"".join(container.pack({name: [data] for name, data in members.items()})))
    return path


def _manifest(folder: Path, text: Any) -> Path:
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    return _sealed(folder, _parts(folder) | {"manifest.json": data})


_HEAD = {"format": 1, "kind": "graph", "producer": "evil"}
FILES |= makers({
    "manifest: deep lists": b"[" * _MANY,
    "manifest: deep objects": b'{"a":' * _MANY,
    "manifest: a number of a million digits": b'{"format":' + b"9" * 1_000_000 + b"}",
    "manifest: a key twice": b'{"kind":"graph","kind":"graph"}',
    "manifest: another encoding": json.dumps(_HEAD).encode("utf-16"),
    "manifest: infinity": b'{"format":Infinity}',
    "manifest: a list": [_HEAD],
    "manifest: a later format": _HEAD | {"format": 2**70},
    "manifest: an earlier format": _HEAD | {"format": -1},
    "manifest: a truth value for a format": _HEAD | {"format": True},
    "manifest: a method": _HEAD | {"members": {}, "__class__": "os.system"},
    "manifest: members that are not there": _HEAD | {"members": {"../graph.json": {"sha256": ""}}},
    "manifest: no checksums": _HEAD | {"members": {"graph.json": {}, "weights.safetensors": {}}},
}, _manifest)


# Saved graphs: operations


def _graph(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    parts = _parts(folder)
    manifest, graph = (json.loads(parts.pop(name)) for name in ("manifest.json", "graph.json"))
    change(graph)
    kept = {key: value for key, value in manifest.items() if key not in {*_HEAD, "members"}}
    members = {"graph.json": json.dumps(graph).encode(), **parts}
    container.write(folder / "net.sg", "graph", kept, {name: [data] for name, data in members.items()})
    return folder / "net.sg"


def _op(**record: Any) -> Callable[[dict[str, Any]], None]:
    """One more operation, the first."""
    told = {"name": "evil", "op": "no_op", "outputs": [], **record}
    return lambda graph: graph["operations"].insert(0, told)


def _constant(dtype: str, shape: list[int], data: bytes) -> Callable[[dict[str, Any]], None]:
    array = {"array": [dtype, shape, base64.b64encode(data).decode()]}
    return _op(op="constant", attrs={"value": array}, outputs=[[dtype, shape]])


FILES |= makers({
    "graph: an op that is a function": _op(op="eval"),
    "graph: an op that is a module": _op(op="os.system"),
    "graph: an op that is a method": _op(op="__reduce__"),
    "graph: an op that writes": _op(op="write_file"),
    "graph: an op that calls": _op(op="py_func", attrs={"func": "os.system"}, outputs=[["float32", []]]),
    "graph: an attribute that sets the class": _op(attrs={"__class__": "x"}),
    "graph: an attribute that sets a slot": _op(attrs={"inputs": [1]}),
    "graph: an attribute of another kind": _op(attrs={"x": {"py/object": "os.system"}}),
    "graph: a field that sets the class": _op(__class__="x"),
    "graph: a field for later": _op(__setstate__={"x": 1}),
    "graph: a name with a null": _op(name="a\0b"),
    "graph: a name of half a character": _op(name="\ud800"),
    "graph: an empty name": _op(name=""),
    "graph: a device with codes for the terminal": _op(device="\x1b]0;evil\x07"),
    "graph: an input of its own": _op(op="identity", inputs=["evil:0"], outputs=[["float32", []]]),
    "graph: an output of index -1": _op(op="identity", inputs=["x:-1"], outputs=[["float32", []]]),
    "graph: a constant of a terabyte": _constant("float32", [2**38], b"1234"),
    "graph: a constant of negative size": _constant("float32", [-1], b"1234"),
    "graph: strings that are not there": _constant("string", [2], struct.pack("<qq", 2**40, 2**40)),
    "graph: a thousand axes": _op(op="placeholder", outputs=[["float32", [1] * 1000]]),
    "graph: a size that is no number": _op(op="placeholder", outputs=[["float32", ["1e9"]]]),
    "graph: a size beyond all": _op(op="placeholder", outputs=[["float32", [2**62, 2**62]]]),
    "graph: deep attributes": _op(attrs={"x": json.loads("[" * 90 + "]" * 90)}),
    "graph: a region around itself": lambda g: g.update(regions=[0]),
    "graph: regions without end": lambda g: g.update(regions=[None, *range(_MANY)]),
    "graph: a variable twice": lambda g: g["variables"].append(g["variables"][0]),
    "graph: a part of code": lambda g: g.update(code="print()"),
}, _graph)


# Arrays in the safetensors format


def _safetensors(folder: Path, made: tuple[Any, bytes]) -> Path:
    header, body = made
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / "net.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    return folder / "net.safetensors"


def _entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


FILES |= makers({
    "safetensors: deep lists": (b"[" * _MANY, b""),
    "safetensors: a list": ([], b""),
    "safetensors: a name twice": (b'{"w":{},"w":{}}', b""),
    "safetensors: overlapping arrays": ({"w": _entry(), "v": _entry(data_offsets=[4, 12])}, bytes(12)),
    "safetensors: two arrays in one place": ({"w": _entry(), "v": _entry()}, bytes(8)),
    "safetensors: a gap": ({"w": _entry(data_offsets=[8, 16])}, bytes(16)),
    "safetensors: an array before the file": ({"w": _entry(data_offsets=[-8, 0])}, bytes(8)),
    "safetensors: an array backwards": ({"w": _entry(data_offsets=[8, 0])}, bytes(8)),
    "safetensors: three places": ({"w": _entry(data_offsets=[0, 8, 16])}, bytes(8)),
    "safetensors: a place that is no integer": ({"w": _entry(data_offsets=[0.0, 8.0])}, bytes(8)),
    "safetensors: a negative size": ({"w": _entry(shape=[-2, -1])}, bytes(8)),
    "safetensors: a size that overflows": ({"w": _entry(shape=[2**62, 4], data_offsets=[0, 0])}, b""),
    "safetensors: a terabyte": ({"w": _entry(shape=[2**38], data_offsets=[0, 2**40])}, bytes(8)),
    "safetensors: many axes": ({"w": _entry(shape=[2**60] * _MANY)}, bytes(8)),
    "safetensors: objects": ({"w": _entry(dtype="O")}, bytes(8)),
    "safetensors: a class for an entry": ({"w": _entry(__class__="x")}, bytes(8)),
    "safetensors: metadata that is no text": ({"__metadata__": {"w": ["x"]}, "w": _entry()}, bytes(8)),
    "safetensors: a truth value of 2": ({"w": _entry(dtype="BOOL", data_offsets=[0, 2])}, b"\2\0"),
    "safetensors: more at its end": ({"w": _entry()}, bytes(9)),
}, _safetensors)
FILES["safetensors: a header without end"] = lambda folder: written(
    folder / "net.safetensors", struct.pack("<Q", 2**64 - 1) + b"{}"
)


# Arrays in NumPy's format


def _npy(header: str, body: bytes = bytes(8)) -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + body


def _told(shape: str = "(2,)", descr: str = "'<f4'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"


def _npz(folder: Path, member: bytes) -> Path:
    with zipfile.ZipFile(folder / "net.npz", "w") as file:
        file.writestr("w.npy", member)
    return folder / "net.npz"


def _objects() -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([print], object), allow_pickle=True)
    return out.getvalue()


FILES |= makers({
    "npz: objects": _objects(),
    "npz: a header that is code": _npy("__import__('os').system('id')"),
    "npz: a header with a call": _npy(_told(descr="print()")),
    "npz: a header with more": _npy(_told().replace("}", "'x': 1, }")),
    "npz: a header without end": b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 1),
    "npz: a deep header": _npy("{" * 60_000),
    "npz: a negative size": _npy(_told("(-2,)")),
    "npz: a terabyte": _npy(_told("(274877906944,)")),
    "npz: a size that overflows": _npy(_told(f"({2**62}, 4)"), b""),
    "npz: many axes": _npy(_told("(1,) * 100"), bytes(4)),
    "npz: fields of a record": _npy(_told(descr="[('a', '<f4'), ('b', 'O')]")),
    "npz: a truth value of 2": _npy(_told(descr="'|b1'"), b"\2\0"),
    "npz: too few values": _npy(_told(), bytes(7)),
    "npz: a program": b"\x7fELF" + bytes(60),
}, _npz)


def _npz_archive(folder: Path, change: Callable[[zipfile.ZipFile, bytes], Any]) -> Path:
    with zipfile.ZipFile(folder / "net.npz", "w") as file:
        change(file, _npy(_told()))
    return folder / "net.npz"


def _overlap(file: zipfile.ZipFile, member: bytes) -> None:
    """Two members of the directory that are one in the file, as in the best bombs."""
    file.writestr("w.npy", member)
    other = zipfile.ZipInfo("v.npy")
    for name in ("CRC", "compress_size", "file_size", "header_offset"):
        setattr(other, name, getattr(file.filelist[0], name))
    file.filelist.append(other)


def _bomb(file: zipfile.ZipFile, member: bytes) -> None:
    zeros = _npy(_told(f"({1 << 27},)", "'|u1'"), bytes(1 << 27))
    file.writestr("w.npy", zeros, compress_type=zipfile.ZIP_DEFLATED)


def _twice(file: zipfile.ZipFile, member: bytes) -> None:
    file.writestr("w.npy", member)
    file.writestr("v.npy", member)
    file.filelist[1].filename = "w"  # the same name without its end


def _outside(file: zipfile.ZipFile, member: bytes) -> None:
    file.writestr("w.npy", member)
    file.filelist[0].header_offset = 1 << 30


def _larger(file: zipfile.ZipFile, member: bytes) -> None:
    file.writestr("w.npy", member)
    file.filelist[0].compress_size = file.filelist[0].file_size = 1 << 30


def _secret(file: zipfile.ZipFile, member: bytes) -> None:
    file.writestr("w.npy", member)
    file.filelist[0].flag_bits |= 1


FILES |= makers({
    "npz: overlapping members": _overlap,
    "npz: a bomb": _bomb,
    "npz: a name twice": _twice,
    "npz: a member outside": _outside,
    "npz: a member larger than the file": _larger,
    "npz: an encrypted member": _secret,
    "npz: a rare compression": lambda f, m: f.writestr("w.npy", m, compress_type=zipfile.ZIP_LZMA),
    "npz: a link": lambda f, m: f.writestr(*_link("w.npy", b"/etc/passwd")),
    "npz: an archive in the archive": lambda f, m: f.writestr("w.npz", b"PK\x05\x06" + bytes(18)),
}, _npz_archive)


# What is no file


def _in_place(folder: Path, make: Callable[[Path], Any]) -> Path:
    make(folder / "net.sg")
    return folder / "net.sg"


FILES |= makers({
    "file: a folder": Path.mkdir,
    "file: a pipe": os.mkfifo,
    "file: a link to itself": lambda path: path.symlink_to(path),
    "file: a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "file: a link to a file of another kind": lambda path: path.symlink_to("/etc/passwd"),
    "file: empty": Path.touch,
    "file: a hole of a terabyte": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}, _in_place)
