"""`semroute tail`: the requests of a running router as they end, over the API listener."""
import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import time

import pytest

from conftest import BINARY, chat, request
from test_replay import PATIENCE, SECRETS, TOKEN, Site, config, secret_body, until


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def one(stack, tmp_path):
    return Site(stack, tmp_path, config(guards={"tenant_header": "x-tenant"}))


def followers(one, headers=None):
    text = request(one.gateway.metrics_port, "GET", "/metrics", headers=headers).body.decode()
    return int(re.search(r"^semroute_followers (\d+)", text, re.MULTILINE)[1])


class Tail:
    """A `semroute tail` that follows; `lines` gives what it printed, once so many lines are there."""

    def __init__(self, stack, one, *flags, terminal=False, env=None):
        before = followers(one)
        out, theirs = pty.openpty() if terminal else os.pipe()
        self.child = subprocess.Popen([BINARY, "tail", "--api", f"127.0.0.1:{one.gateway.api_port}", *flags], stdout=theirs,
                                      stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm", **(env or {})})
        os.close(theirs)
        self.out, self.text = out, b""
        os.set_blocking(out, False)
        stack.callback(self.stop)
        until(lambda: followers(one), lambda count: count > before)

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while piece := os.read(self.out, 65536):
                self.text += piece
        return self.text.decode()

    def lines(self, count):
        return until(lambda: self.read().splitlines(), lambda lines: len(lines) >= count)

    def stop(self):
        self.child.terminate()
        self.child.wait(PATIENCE)
        self.child.stderr.close()
        os.close(self.out)


def test_requests_as_they_end(stack, one):
    tail = Tail(stack, one)
    assert one.ask("python please").status == 200
    first, = tail.lines(1)
    first = json.loads(first)
    assert first["decision"] == "code" and first["selected_model"] == "large" and first["outcome"] == "routed"
    assert first["total_ms"] > 0 and first["signals"] == {"keyword": ["code"]} and first["door"] == "gateway"
    assert one.gateway.post(b"{").status == 400
    assert one.ask("hello", stream=True).status == 200
    refused, stream = map(json.loads, tail.lines(3)[1:])
    assert refused["outcome"] == "refused" and stream["streaming"] and stream["selected_model"] == "small"
    assert one.get().status == 404  # replay is off all the same


def test_nothing_is_collected_without_followers(stack, one):
    assert one.ask("before").status == 200
    tail = Tail(stack, one, "--count", "1")
    assert one.ask("python after").status == 200
    assert json.loads(tail.lines(1)[0])["request_id"] == "id-python-aft"
    assert tail.child.wait(PATIENCE) == 0
    until(lambda: followers(one), lambda count: count == 0)


@pytest.mark.parametrize("flags, expected", [
    (("--model", "large"), ["python"]), (("--decision", "code"), ["python"]), (("--outcome", "default"), ["plain"]),
    (("--tenant", "red & blue"), ["plain"]), (("--min-ms", "600000"), []), (("--max-ms", "600000"), ["python", "plain"]),
])
def test_filters(stack, one, flags, expected):
    some, every = Tail(stack, one, *flags), Tail(stack, one)
    assert one.ask("python").status == 200
    assert request(one.gateway.port, "POST", "/v1/chat/completions", chat("plain"),
                   {"x-tenant": "red & blue", "x-request-id": "id-plain"}).status == 200
    every.lines(2)
    assert [json.loads(line)["request_id"] for line in some.lines(len(expected))] == [f"id-{word}" for word in expected]


def test_lines_for_people(stack, one):
    plain, coloured = Tail(stack, one, "--text"), Tail(stack, one, terminal=True)
    assert request(one.gateway.port, "POST", "/v1/chat/completions", chat("python"), {"x-tenant": "red"}).status == 200
    line, = plain.lines(1)
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}  routed   200  code -> large  [\d.]+ ms \(first [\d.]+\)  \d+\+\d+ tokens"
                        r"  [\d.e-]+ USD  tenant red  keyword:code", line), line
    assert "\033[32mrouted" in coloured.lines(1)[0]
    grey = Tail(stack, one, terminal=True, env={"NO_COLOR": "1"})
    assert one.ask("python").status == 200
    assert "\033" not in grey.lines(1)[0]


def test_a_name_cannot_move_the_cursor(stack, tmp_path):
    data = config()
    data["routing"]["decisions"][0]["name"] = "co\033[2Jde\u009b1m"
    one = Site(stack, tmp_path, data)
    tail = Tail(stack, one, "--text")
    assert one.ask("python").status == 200
    line, = tail.lines(1)
    assert "co?[2Jde?1m" in line and "\033" not in line and "\u009b" not in line


def test_above_the_rate_a_sample_is_shown(stack, one):
    tail = Tail(stack, one, "--per-second", "1")
    for _ in range(30):
        assert one.ask("python").status == 200
    shown = json.loads(tail.lines(1)[0])
    assert shown["decision"] == "code"
    end, missed = time.monotonic() + PATIENCE, 0
    os.set_blocking(tail.child.stderr.fileno(), False)
    while missed + len(tail.read().splitlines()) < 30 and time.monotonic() < end:
        missed += sum(map(int, re.findall(rb"(\d+) more requests", tail.child.stderr.read() or b"")))
        time.sleep(0.05)
    assert missed + len(tail.read().splitlines()) == 30 and missed > 0


def test_a_reader_that_stops_reading_costs_nothing(stack, one):
    """It gets what its connection takes; the others, and requests, go on."""
    stuck = stack.enter_context(socket.create_connection(("127.0.0.1", one.gateway.api_port)))
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.sendall(b"GET /api/v1/requests/events?per_second=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n")
    until(lambda: followers(one), lambda count: count == 1)
    tail = Tail(stack, one, "--per-second", "1000")
    before = one.gateway.rss_kib()
    for number in range(300):
        assert one.ask(f"{number} python").status == 200
    tail.lines(300)
    assert one.gateway.rss_kib() - before < 32 << 10


def test_who_may_follow(stack, tmp_path):
    one = Site(stack, tmp_path, config(admin={"token": TOKEN}))
    admin = {"authorization": f"Bearer {TOKEN}"}
    done = subprocess.run([BINARY, "tail", "--api", f"127.0.0.1:{one.gateway.api_port}"], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 1 and b"401" in done.stderr
    child = subprocess.Popen([BINARY, "tail", "--api", f"127.0.0.1:{one.gateway.api_port}"], stdout=subprocess.PIPE,
                             env={**os.environ, "SEMROUTE_ADMIN_TOKEN": TOKEN})
    stack.callback(child.stdout.close)
    until(lambda: followers(one, admin), lambda count: count == 1)
    one.ask("python")
    assert json.loads(child.stdout.readline())["decision"] == "code"
    # another token: the stream ends
    one.gateway.config_path.write_text(one.gateway.config_path.read_text().replace(TOKEN, "another-token"))
    assert child.wait(PATIENCE) == 0


def test_followers_are_limited(stack, one):
    for number in range(8):
        taken = stack.enter_context(socket.create_connection(("127.0.0.1", one.gateway.api_port)))
        taken.sendall(b"GET /api/v1/requests/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        until(lambda: followers(one), lambda count: count == number + 1)
    assert request(one.gateway.api_port, "GET", "/api/v1/requests/events").status == 503
    assert request(one.gateway.api_port, "GET", "/api/v1/requests/events?min_ms=x").status == 503


def test_mistakes(one):
    run = lambda *flags: subprocess.run([BINARY, "tail", *flags], capture_output=True, text=True, timeout=PATIENCE)  # noqa: E731
    assert run("--api", "127.0.0.1:1").returncode == 3
    assert run("--json", "--text").returncode == 2 and run("--min-ms", "-1").returncode == 2
    asked = run("--api", f"127.0.0.1:{one.gateway.api_port}", "--per-second", "5000")
    assert asked.returncode == 1 and "per_second" in asked.stderr
    asked = run("--api", f"127.0.0.1:{one.gateway.api_port}", "--outcome", "rooted")  # would show nothing, for ever
    assert asked.returncode == 1 and "outcome is routed, default" in asked.stderr
    assert request(one.gateway.port, "GET", "/api/v1/requests/events").status == 404


def test_the_stream_ends_with_the_server(stack, one):
    tail = Tail(stack, one)
    one.gateway.stop()
    assert tail.child.wait(PATIENCE) == 3 and b"has ended the stream" in tail.child.stderr.read()


def test_no_text_and_no_key_is_shown(stack, one):
    documents, lines = Tail(stack, one), Tail(stack, one, "--text")
    headers = {"authorization": f"Bearer {SECRETS['key']}", "x-note": SECRETS["header"]}
    for stream in (False, True):
        assert one.gateway.post(secret_body(stream=stream), headers=headers).status == 200
    shown = "\n".join(documents.lines(2) + lines.lines(2))
    assert not [name for name, secret in SECRETS.items() if secret in shown]
