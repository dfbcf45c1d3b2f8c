"""``textsobol serve``."""

import re
import signal
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from typer.testing import CliRunner

from textsobol.cli import app
from textsobol.cli.options import ModelOptions
from textsobol.serve.server import listen

run = CliRunner().invoke


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["textsobol.cli.serve"], "find_spec", lambda name: None)
    result = run(app, ["serve"])
    assert result.exit_code == 1
    assert 'pip install "textsobol[serve]"' in result.output


def test_other_addresses_are_refused_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(*given: Any, **named: Any) -> None:
        pytest.fail("a model was loaded")

    monkeypatch.setattr(ModelOptions, "make_explainer", load)
    result = run(app, ["serve", "--host", "0.0.0.0"])
    assert result.exit_code == 1
    assert "give --token" in " ".join(result.output.split())
    result = run(app, ["serve", "--host", "0.0.0.0", "--token", "short"])
    assert "at least 16" in " ".join(result.output.split())


def test_a_port_that_is_taken_is_said() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="try --port"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_a_directory_that_is_no_corpus_is_said(tmp_path: Any) -> None:
    result = run(app, ["serve", "--port", "0", "--corpus", str(tmp_path)])
    assert result.exit_code == 1
    assert "holds no explained texts" in " ".join(result.output.split())


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "textsobol", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().decode().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address), process.stderr.read()
        with urllib.request.urlopen(address, timeout=30) as response:
            assert b"Playground" in response.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        shown = process.stderr.read().decode()
    assert "stopped" in shown
    assert "Traceback" not in shown
