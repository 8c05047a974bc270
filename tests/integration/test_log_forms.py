"""Logs for people on a terminal, JSON elsewhere; each log has a switch, and the audit log is JSON always."""
import contextlib
import json
import os
import pty
import re
import subprocess

import pytest

from conftest import BINARY, Mock, chat, free_ports, request, wait_http
from keys_site import decision, model, site, write
from test_replay import until


class Terminal:
    """`semroute serve` whose standard output and error are a terminal."""

    def __init__(self, directory, config, mock, env=None):
        self.port, self.api = free_ports(), free_ports()
        ours, theirs = pty.openpty()
        self.child = subprocess.Popen(
            [BINARY, "serve", "-c", write(config, directory / "site.yaml", mock.port), "--gateway", f"127.0.0.1:{self.port}",
             "--api", "off", "--metrics", "off", "--extproc", "off"],
            stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **(env or {})})
        os.close(theirs)
        os.set_blocking(ours, False)
        self.out, self.text, self.args = ours, b"", ["serve"]
        wait_http(self.port, "/ready", self)

    def output(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while piece := os.read(self.out, 65536):
                self.text += piece
        return self.text.decode()

    def line(self, pattern):
        """What it finds in lines that are there to their end."""
        found = until(lambda: re.search(pattern, self.output().rpartition("\n")[0]), bool)
        return found[0]

    def stop(self):
        self.child.terminate()
        self.child.wait(30)
        os.close(self.out)


@pytest.fixture
def serve(tmp_path):
    with contextlib.ExitStack() as stack:
        mock = Mock(tmp_path / "mock.log", 2)
        stack.callback(mock.stop)

        def start(env=None, **own):
            rule = decision("code", model="two", rules={"keyword": "code"})
            config = site(decisions=[rule], signals={"keywords": [{"name": "code", "operator": "OR", "keywords": ["python"]}]},
                          access_log="stdout", **own)
            terminal = Terminal(tmp_path, config, mock, env)
            stack.callback(terminal.stop)
            return terminal
        yield start


def ask(terminal, text="python"):
    return request(terminal.port, "POST", "/v1/chat/completions", chat(text), {"x-request-id": "id-7"})


def test_on_a_terminal(serve):
    terminal = serve()
    assert ask(terminal).status == 200
    terminal.line(r"\d\d:\d\d:\d\d\.\d{3} \x1b\[32minfo \x1b\[0m ready  gateway http://")
    line = terminal.line(r"[^\n]*id-7[^\n]*")
    assert re.match(r"\d\d:\d\d:\d\d\.\d{3}  \x1b\[32mrouted  \x1b\[0m 200 gateway  code -> two  [\d.]+ ms \(first [\d.]+\)  "
                    r"\d+\+\d+ tokens\x1b\[2m  id-7\x1b\[0m", line), line
    assert '{"' not in terminal.output()


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours(serve, env):
    terminal = serve(env)
    assert ask(terminal).status == 200
    terminal.line(r"info  ready  gateway")
    assert terminal.line(r"[^\n]*id-7[^\n]*") and "\033" not in terminal.output()


def test_each_log_has_a_switch(serve):
    terminal = serve(log_format="json", access_log_format="text")
    assert ask(terminal).status == 200
    assert json.loads(terminal.line(r'\{"time"[^\n]*"event":"ready"[^\n]*\}'))["level"] == "info"
    assert "code -> two" in terminal.line(r"[^\n]*id-7[^\n]*")
    terminal = serve(access_log_format="json")
    assert ask(terminal).status == 200
    assert json.loads(terminal.line(r'\{"time"[^\n]*id-7[^\n]*\}'))["decision"] == "code"
    terminal.line(r"info \x1b\[0m ready")


def test_refused_and_failed(serve):
    terminal = serve({"NO_COLOR": "1"})
    assert request(terminal.port, "POST", "/v1/chat/completions", b"{", {"x-request-id": "id-bad"}).status == 400
    assert re.search(r"refused  400 gateway .*invalid_json  id-bad", terminal.line(r"[^\n]*id-bad[^\n]*"))
    with contextlib.suppress(Exception):
        request(terminal.port, "BAD METHOD", "/")
    assert "gateway" in terminal.line(r"[^\n]*refused  400 gateway  [^\n]*127\.0\.0\.1[^\n]*")
