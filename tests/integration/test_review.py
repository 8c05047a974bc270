"""Edge cases of the main path: unusual targets, few file descriptors, slow bodies, early ends."""
import json
import os
import resource
import signal
import socket
import threading
import time

from conftest import builtin_on, chat
from test_http_behaviour import Wire, post_bytes
from test_pools import until


def test_absolute_form_targets(default_site):
    gateway, mock = default_site
    body = json.dumps(chat("hi", model="general")).encode()
    wire = Wire(gateway.port)
    wire.socket.sendall(post_bytes(body).replace(b"POST /v1/chat/completions ",
                                                 b"POST http://elsewhere:1/v1/chat/completions?a=1 "))
    assert wire.read()[0] == 200
    assert mock.last_head().startswith("POST /v1/chat/completions?a=1 HTTP/1.1")
    wire.socket.sendall(b"GET http://x/v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert wire.read()[0] == 200
    wire.close()


def test_few_file_descriptors(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port))
    body = json.dumps(chat("hi", model="general")).encode()
    kept = [Wire(gateway.port) for _ in range(8)]  # some on each event loop

    def all_go_on():
        for wire in kept:
            wire.socket.sendall(post_bytes(body))
            assert wire.read()[0] == 200

    all_go_on()
    held = len(os.listdir(f"/proc/{gateway.pid}/fd"))
    resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (held + 6, held + 6))
    for _ in range(5):
        crowd = [socket.create_connection(("127.0.0.1", gateway.port), timeout=60) for _ in range(60)]
        all_go_on()
        for connection in crowd:
            connection.close()
    for _ in range(20):
        assert gateway.post(chat("hi", model="general")).status == 200
    for wire in kept:
        wire.close()


def strict_site(start, **limits):
    """A gateway whose one decision takes everything and applies request_params."""
    mock = start.mock()
    configuration = ", ".join(f"{key}: {value}" for key, value in limits.items())
    return start.gateway(builtin_on(mock.port).replace("decisions:", f"""decisions:
    - name: all
      priority: 1000
      rules: {{operator: NOT, conditions: [{{type: keyword, name: code-marks}}]}}
      modelRefs: [{{model: general}}]
      plugins:
        - {{type: request_params, configuration: {{{configuration}}}}}
""", 1)), mock


def test_a_large_body_of_many_pieces_is_sent_on(start):
    gateway, mock = strict_site(start, strip_unknown="true")
    pieces = "".join(f'"u{i}":1,"seed":{i},' for i in range(100))
    text = "a " * (10 << 20)
    body = "{" + pieces + '"model":"auto","messages":[{"role":"user","content":"' + text + '"}]}'
    assert gateway.post(body.encode(), timeout=60).status == 200
    assert json.loads(mock.last_body())["messages"][0]["content"] == text


def test_duplicates_of_unknown_members_are_removed(start):
    gateway, mock = strict_site(start, strip_unknown="true")
    twins = "".join(f'"x":{i},' for i in range(100))
    body = "{" + twins + '"model":"auto","messages":[{"role":"user","content":"hi"}]}'
    assert gateway.post(body.encode()).status == 200
    assert b'"x"' not in mock.last_body()


def test_caps_hold_for_duplicates_and_for_numbers_in_strings(start):
    gateway, mock = strict_site(start, max_tokens_limit=100)
    for sent in ('"max_tokens":9000,"max_tokens":5', '"max_tokens":5,"max_tokens":9000', '"max_tokens":"9000"',
                 '"max_tokens":9e3', '"max_tokens":' + "9" * 80):
        body = "{" + sent + ',"model":"auto","messages":[{"role":"user","content":"hi"}]}'
        assert gateway.post(body.encode()).status == 200
        assert b"9" not in mock.last_body().split(b'"model"')[0], sent
    for sent in ('"max_tokens":5', '"max_tokens":"5"', '"max_tokens":null'):
        body = "{" + sent + ',"model":"auto","messages":[{"role":"user","content":"hi"}]}'
        assert gateway.post(body.encode()).status == 200
        assert sent.encode() in mock.last_body()


def test_a_second_signal_cuts_what_is_open(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port))
    wire = Wire(gateway.port)
    body = json.dumps(chat("hi", model="general", stream=True)).encode()
    wire.socket.sendall(post_bytes(body, b"x-mock-chunks: 500\r\nx-mock-chunk-delay-ms: 100\r\n"))
    assert b"200" in wire.file.readline()
    gateway.signal(signal.SIGTERM)
    until(lambda: "requests in progress finish" in gateway.output())
    assert gateway.child.poll() is None
    gateway.signal(signal.SIGTERM)
    assert gateway.wait() == 0
    wire.close()


class Upstream:
    """One connection of a server that a test writes: `script` gets it and its reading file."""

    def __init__(self, script, family=socket.AF_INET, host="127.0.0.1"):
        self.listener = socket.create_server((host, 0), family=family)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, args=(script,), daemon=True)
        self.thread.start()

    def run(self, script):
        connection, _ = self.listener.accept()
        connection.settimeout(20)
        file = connection.makefile("rb")
        headers = {}
        file.readline()
        while (line := file.readline().strip()):
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        script(connection, file, headers)
        file.close()
        connection.close()

    def close(self):
        self.listener.close()
        self.thread.join(20)


def site_of(endpoint, more=""):
    return f"""
version: v0.3
providers:
  defaults: {{default_model: one}}
  models:
    - {{name: one, backend_refs: [{{name: only, endpoint: "{endpoint}"}}]}}
routing: {{modelCards: [{{name: one}}]}}
{more}
"""


def test_an_upstream_that_answers_early_gets_the_rest_of_the_body(start):
    def script(connection, file, headers):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        got = file.read(int(headers["content-length"]))
        connection.sendall(b"7\r\n%07d\r\n0\r\n\r\n" % len(got))

    upstream = Upstream(script)
    gateway = start.gateway(site_of(f"127.0.0.1:{upstream.port}"))
    body = json.dumps(chat("x" * 300000, model="one")).encode()
    wire = Wire(gateway.port)
    wire.socket.sendall(post_bytes(body)[:1000])
    assert b"200" in wire.file.readline()
    wire.socket.sendall(post_bytes(body)[1000:])
    while wire.file.readline().strip():
        pass
    assert wire.file.readline() == b"7\r\n"
    assert int(wire.file.read(7)) == len(body)
    wire.close()
    upstream.close()


def test_upstreams_on_ipv6(start):
    def script(connection, file, headers):
        assert headers["host"] == f"[::1]:{upstream.port}"
        file.read(int(headers["content-length"]))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    upstream = Upstream(script, socket.AF_INET6, "::1")
    gateway = start.gateway(site_of(f"[::1]:{upstream.port}"))
    assert gateway.post(chat("hi", model="one")).body == b"{}"
    upstream.close()


def test_what_decides_must_be_there_once(default_site):
    gateway, mock = default_site
    hi, bye = '[{"role":"user","content":"hi"}]', '[{"role":"user","content":"bye"}]'
    for members, field in ((f'"messages":{hi},"messages":{bye}', "messages"),
                           (f'"messages":{hi},"m\\u0065ssages":{bye}', "messages"),
                           ('"messages":[{"role":"user","content":"hi","content":"bye"}]', "content"),
                           ('"messages":[{"role":"user","role":"system","content":"hi"}]', "role"),
                           ('"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]', "text"),
                           (f'"messages":{hi},"stream":true,"stream":false', "stream")):
        answer = gateway.post(('{"model":"auto",' + members + "}").encode())
        assert answer.status == 400, members
        assert answer.json()["error"]["code"] == "duplicate_field" and answer.json()["error"]["param"] == field
        named = ('{"model":"general",' + members + "}").encode()
        assert gateway.post(named).status != 400 or mock.last_body() == named
