"""The command line as a whole: every command has help with examples, a place in the manual, clear errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import staticgraph as sg
from pages.command_line_page import PAGE, page
from staticgraph.__main__ import COMMANDS, main, parser
from staticgraph.applications.cli.outcome import FAILED, INTERRUPTED, USAGE, UsageError, outcome
from staticgraph.applications.cli.terminal import Progress, out, width
from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = [command.__name__.rpartition(".")[2] for command in COMMANDS]


def staticgraph(*arguments: str, **more) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT), **more.pop("environment", {})}
    command = [sys.executable, "-W", "error", "-m", "staticgraph", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **more)


def test_the_page_of_the_manual_is_made_of_the_commands():
    assert PAGE.read_text() == page(), "run python tools/pages/command_line_page.py"
    assert all(f"## staticgraph {name}\n" in page() for name in NAMES)


def test_each_module_is_a_command():
    _, commands = parser("staticgraph")
    assert list(commands.choices) == NAMES


@pytest.mark.parametrize("columns", ["40", "80"])
def test_without_arguments_all_commands_are_told(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    assert main([]) == 0
    told = capsys.readouterr().out
    _, commands = parser("staticgraph")
    for name in NAMES:
        about = next(a.help for a in commands._get_subactions() if a.dest == name).partition("\n")[0]
        assert about in re.sub(r"\s+", " ", told)
        assert re.search(rf"^ +(python -m )?staticgraph {name}( \S.*)?$", told, re.MULTILINE)
    prose = [line for line in told.splitlines() if "staticgraph " not in line and not line.startswith("  ")]
    assert all(len(line) <= int(columns) for line in prose)


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize("name", NAMES)
def test_help_has_a_description_and_examples(name, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    told = capsys.readouterr().out
    _, commands = parser("staticgraph")
    one = commands.choices[name]
    assert one.description and re.sub(r"\s+", " ", one.description) in re.sub(r"\s+", " ", told)
    assert re.search(rf"\nexamples:\n  .*staticgraph {name}.*\n      \S", told)
    arguments = [action for action in one._actions if action.dest != "help"]
    assert all(action.help for action in arguments), "an argument is not described"


def test_a_command_that_does_not_exist(capsys):
    with pytest.raises(SystemExit) as left:
        main(["benhc", "net.sg"])
    assert left.value.code == USAGE
    assert "there is no command 'benhc': did you mean 'bench'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_an_argument_that_does_not_exist(name, capsys):
    with pytest.raises(SystemExit) as left:
        main([name, "--no-such-argument"])
    assert left.value.code == USAGE
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 2)
    assert f"{name} --help tells more" in told.err


def test_an_argument_that_is_misspelled(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "net.sg", "--bacth", "8"])
    assert "--bacth 8: no such argument, did you mean --batch?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--vresion"])
    assert "staticgraph: --vresion: no such argument, did you mean --version?" in capsys.readouterr().err


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("doctor", "train", "watch")])
def test_a_file_that_does_not_exist(name, tmp_path, capsys):
    more = [str(tmp_path / "out.sg")] if name == "convert" else []
    assert main([name, str(tmp_path / "none.sg"), *more]) == USAGE
    told = capsys.readouterr()
    assert "none.sg" in told.err and "Traceback" not in told.err and not told.out
    assert ".py" not in told.err, "a line of this test or of the launcher is no user's line"


def test_the_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"staticgraph {sg.__version__}\n"


def test_help_needs_no_compiler():
    program = "import sys, staticgraph.__main__ as m; m.main([]); print(*sys.modules, file=sys.stderr)"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = set(run.stderr.split())
    needless = {
        "llvmlite",
        "staticgraph.compiler.compile",
        "staticgraph.onnx",
        "staticgraph.formats.contents",
    }
    assert "staticgraph.applications.cli.bench" in loaded and not loaded & needless


class TestOutcome:
    @pytest.mark.parametrize(
        "error, status",
        [
            (UsageError("no"), USAGE),
            (NotFoundError("no"), USAGE),
            (InvalidArgumentError("no"), FAILED),
            (OSError("no"), FAILED),
            (KeyboardInterrupt(), INTERRUPTED),
        ],
    )
    def test_status(self, error, status, capsys):
        def work():
            raise error

        assert outcome(work) == status
        assert capsys.readouterr().err == ("" if status == INTERRUPTED else "no\n")

    def test_the_line_that_starts_the_program_is_not_told(self, tmp_path):
        (tmp_path / "launcher").write_text("from staticgraph.__main__ import main\nmain()\n")
        command = [sys.executable, str(tmp_path / "launcher"), "inspect", "none.sg"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert run.stderr.startswith("there is no file none.sg\n") and "launcher" not in run.stderr

    @pytest.mark.takes_long
    @pytest.mark.parametrize("change", ["sys.stdout.close()", "sys.stdout = None"])
    def test_a_script_that_ends_its_output(self, change, tmp_path):
        (tmp_path / "script.py").write_text(f"import sys\n{change}\nsys.exit(5)\n")
        run = staticgraph("run", "script.py", cwd=tmp_path)
        assert (run.returncode, run.stderr) == (5, "")

    def test_nothing_in_a_message_steers_the_terminal(self, capsys):
        def work():
            raise OSError("a\x1b[2Jb")

        assert outcome(work) == FAILED
        assert capsys.readouterr().err == "a\\x1b[2Jb\n"

    def test_an_error_of_ours_is_not_hidden(self):
        def work():
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            outcome(work)


@pytest.mark.skipif(os.name != "posix", reason="pipes are other things there")
@pytest.mark.parametrize("arguments", [[], ["--version"], ["doctor", "--help"]], ids=len)
def test_output_that_nobody_reads(arguments):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-W", "error", "-m", "staticgraph", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}  # else argparse says nothing
    with os.fdopen(write, "w") as closed:
        run = subprocess.run(command, env=environment, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (run.returncode, run.stderr) == (141, "")


def test_an_output_that_has_only_ascii():
    run = staticgraph("inspect", "näh.sg", environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert run.returncode == USAGE and "Traceback" not in run.stderr


def test_signs_that_the_output_has_not(monkeypatch, tmp_path):
    with open(tmp_path / "out", "w", encoding="ascii") as file:
        monkeypatch.setattr(sys, "stdout", file)
        out("3 × 4\na\x1b[2Jb")
    assert (tmp_path / "out").read_text() == "3 \\xd7 4\na\\x1b[2Jb\n"


def test_the_width(monkeypatch, capsys):
    assert width() is None
    monkeypatch.setenv("COLUMNS", "53")
    assert width() == 53
    monkeypatch.setenv("COLUMNS", "wide")
    assert width() is None


def test_progress_is_for_terminals_only(monkeypatch, capsys):
    with Progress() as tell:
        tell("compiling", at_once=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((12, 24)))
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2)
    with Progress() as tell:
        tell("run 1")
        assert capsys.readouterr().err == ""
        tell("measuring this and that", at_once=True)
        assert capsys.readouterr().err == "\rmeasuring t"
    assert capsys.readouterr().err == "\r           \r"
