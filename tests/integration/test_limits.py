"""Limits that hold: descriptors, connections, the time of a request, model files that change, clients that half-close."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest
from conftest import BINARY, ROOT, Gateway, chat, request
from test_http_behaviour import Wire, post_bytes

WAIT = 40

CONFIG = """
version: v0.3
providers:
  defaults: {{default_model: one}}
  models:
  - {{name: one, backend_refs: [{{name: a, endpoint: "127.0.0.1:{port}"}}]}}
global: {{semroute: {{loops: 4, gateway: {{{limits}}}}}}}
"""


def config(mock, **limits):
    return CONFIG.format(port=mock.port, limits=", ".join(f"{k}: {v}" for k, v in limits.items()))


@pytest.fixture
def mock(start):
    return start.mock(workers=1)


@pytest.fixture
def limited(tmp_path):
    """A gateway that a shell started with limits of descriptors."""
    running = []

    def begin(text, soft, hard):
        run = tmp_path / "run"
        run.write_text(f'#!/bin/sh\nulimit -Sn {soft} && ulimit -Hn {hard} && exec "{BINARY}" "$@"\n')
        run.chmod(0o755)
        running.append(Gateway(text, tmp_path, binary=run))
        return running[-1]

    yield begin
    for gateway in running:
        gateway.stop()


def soft_limit(gateway):
    text = pathlib.Path(f"/proc/{gateway.pid}/limits").read_text()
    return int(re.search(r"Max open files\s+(\d+)", text).group(1))


def descriptors(gateway):
    return len(os.listdir(f"/proc/{gateway.pid}/fd"))


def connect(port, address="127.0.0.1"):
    s = socket.socket()
    s.settimeout(WAIT)
    s.bind((address, 0))
    s.connect(("127.0.0.1", port))
    return s


def is_closed(s):
    """Reads to the end; true unless the connection stays open."""
    try:
        while s.recv(65536):
            pass
        return True
    except ConnectionError:
        return True


def until(condition, what):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


def test_the_limit_of_descriptors_is_raised(limited, mock):
    gateway = limited(config(mock), 256, 4096)
    assert soft_limit(gateway) == 4096
    assert gateway.post(chat("hello")).status == 200
    until(lambda: "max_connections" in gateway.output(), gateway.output)  # 10,000 do not fit: said, and lowered


def test_admin_listeners_answer_when_the_gateway_is_full(limited, mock):
    gateway = limited(config(mock), 200, 200)
    held = []
    for _ in range(400):
        held.append(connect(gateway.port))
    for _ in range(20):
        assert request(gateway.metrics_port, "GET", "/health", timeout=WAIT).status == 200
    assert descriptors(gateway) < 200
    for s in held:
        s.close()
    until(lambda: answers(gateway), gateway.output)
    # an upstream connection finds room too
    until(lambda: answers(gateway, "POST", "/v1/chat/completions", chat("hello")), gateway.output)


def answers(gateway, method="GET", path="/health", body=None):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return request(gateway.port, method, path, body).status == 200
    return False


def took(port, held):
    """True when one more connection is at its loop; connections that ended just now may still count."""
    s = connect(port)
    with contextlib.suppress(OSError):
        s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        if b"200" in s.recv(4096).split(b"\r\n")[0]:
            held.append(s)
            return True
    s.close()
    return False


def test_connections_are_counted_for_the_process(start, mock):
    """Not for each loop: 8 connections are 8 wherever the kernel puts them."""
    gateway = start.gateway(config(mock, max_connections=8))
    held = []
    for _ in range(8):
        until(lambda: took(gateway.port, held), gateway.output)
    ninth = Wire(gateway.port)
    assert ninth.read()[0] == 503
    held[0].close()
    until(lambda: answers(gateway), gateway.output)
    for s in held[1:]:
        s.close()


def test_one_client_cannot_take_all_connections(start, mock):
    gateway = start.gateway(config(mock, max_connections=100, max_connections_per_client=3))
    held = []
    for _ in range(3):
        until(lambda: took(gateway.port, held), gateway.output)
    fourth = connect(gateway.port)
    fourth.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b"503" in fourth.recv(4096).split(b"\r\n")[0]
    other = connect(gateway.port, "127.0.0.2")
    other.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b"200" in other.recv(4096).split(b"\r\n")[0]
    for s in held:
        s.close()
    until(lambda: answers(gateway), gateway.output)


def drip(s, data, stop):
    with contextlib.suppress(OSError):
        for i in range(len(data)):
            if stop.wait(0.1):
                return
            s.sendall(data[i:i + 1])


@pytest.mark.parametrize("part", ("head", "body", "chunks"))
def test_slow_drips_end(start, mock, part):
    """A byte now and then keeps no connection for ever."""
    gateway = start.gateway(config(mock, header_timeout_ms=1500, body_timeout_ms=1500, request_timeout_ms=3000))
    s = connect(gateway.port)
    begin = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
    rest = b"x-slow: " + b"a" * 4000
    if part == "body":
        begin, rest = begin + b"Content-Length: 4000\r\n\r\n", b"{" + b" " * 3999
    elif part == "chunks":
        begin, rest = begin + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"1\r\n \r\n" * 600
    stop = threading.Event()
    s.sendall(begin)
    thread = threading.Thread(target=drip, args=(s, rest, stop))
    thread.start()
    answer = s.recv(4096)
    assert b"408" in answer.split(b"\r\n")[0], answer
    assert is_closed(s)
    stop.set()
    thread.join()
    assert gateway.post(chat("hello")).status == 200


def test_a_half_closed_client_gets_its_answer(start, mock):
    gateway = start.gateway(config(mock))
    body = json.dumps(chat("hello")).encode()
    for stream in (False, True):
        body = json.dumps(chat("hello", stream=stream)).encode()
        for extra in (b"x-mock-chunks: 5\r\nx-mock-chunk-delay-ms: 200\r\n", b"x-mock-delay-ms: 1500\r\n"):
            s = connect(gateway.port)
            s.sendall(post_bytes(body, extra))
            s.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: s.recv(65536), b""))
            assert b"HTTP/1.1 200 OK" in answer and answer.endswith((b"}", b"0\r\n\r\n", b"[DONE]\n\n")), answer
    one = connect(gateway.port)
    one.sendall(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    one.shutdown(socket.SHUT_WR)
    answer = b"".join(iter(lambda: one.recv(65536), b""))
    assert answer.split(b"\r\n")[0].endswith(b"200 OK"), answer
    assert b"100 Continue" not in answer
    two = connect(gateway.port)
    two.sendall(2 * post_bytes(json.dumps(chat("hello")).encode()))
    two.shutdown(socket.SHUT_WR)
    answer = b"".join(iter(lambda: two.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 200 OK") == 2


def test_a_client_that_left_before_its_answer_cancels_the_upstream(start, mock):
    """A whole close looks like a half one until bytes are sent to it."""
    gateway = start.gateway(config(mock))
    s = connect(gateway.port)
    s.sendall(post_bytes(json.dumps(chat("hello")).encode(), b"x-mock-delay-ms: 60000\r\n"))
    until(lambda: request(mock.port, "GET", "/mock/stats").json()["requests"] >= 1, mock.output)
    s.close()
    until(lambda: request(mock.port, "GET", "/mock/stats").json()["canceled"] >= 1, gateway.output)


def head(port, path, extra=b""):
    s = connect(port)
    s.sendall(b"HEAD %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n" % (path.encode(), extra))
    answer = b"".join(iter(lambda: s.recv(65536), b""))
    top, _, body = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), top.lower(), body


def test_head_has_the_headers_of_get_and_no_body(start, mock):
    gateway = start.gateway(config(mock))
    for port in (gateway.port, gateway.metrics_port, gateway.api_port):
        for path in ("/health", "/ready", "/v1/models", "/v1/models/one", "/v1/models/none", "/nope", "/v1/chat/completions"):
            got = request(port, "GET", path)
            status, top, body = head(port, path)
            assert body == b"" and status == got.status, (path, top, body)
            assert b"content-length: %d" % len(got.body) in top, (path, top)
    status, _, body = head(gateway.port, "/health", b"Content-Length: 1\r\nContent-Length: 2\r\n")
    assert status == 400 and body == b""


def test_a_model_file_that_shrinks_under_the_process(start, mock, tmp_path):
    """Another program truncates a model in place: what was loaded stays."""
    models = tmp_path / "models"
    shutil.copytree(ROOT / "models", models, symlinks=False)
    text = config(mock) + """
routing:
  signals: {domains: [{name: math}]}
  decisions:
  - {name: sums, priority: 1, rules: {operator: AND, conditions: [{type: domain, name: math}]},
     modelRefs: [{model: one}]}
"""
    gateway = start.gateway(text, env={"SEMROUTE_MODELS": str(models)})
    assert gateway.post(chat("What is the integral of x squared?", model="auto")).status == 200
    for file in models.rglob("*.safetensors"):
        os.truncate(file, 100)
    for text in ("Solve 2x = 6 for x", "Who wrote the Iliad?", "Derive the quadratic formula"):
        assert gateway.post(chat(text, model="auto")).status == 200
    explain = request(gateway.api_port, "POST", "/api/v1/explain", {"text": "What is 17 times 23?"})
    assert explain.status == 200
    assert gateway.child.poll() is None


def resident(gateway):
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{gateway.pid}/status").read_text()).group(1))


KEPT_WHOLE = """
version: v0.3
providers: {{defaults: {{default_model: one}}, models: [{{name: one, backend_refs: [{{name: a, endpoint: "127.0.0.1:{port}"}}]}}]}}
routing:
  signals: {{keywords: [{{name: deep, operator: OR, keywords: [deep]}}]}}
  decisions: [{{name: deep, priority: 1, rules: {{type: keyword, name: deep}}, modelRefs: [{{model: one}}]}}]
global: {{semroute: {{loops: 4, workers: 2}}}}
"""


def test_the_memory_of_large_bodies_is_given_back(start, mock):
    """What each thread keeps for the next request has a limit, whatever the largest body was: 8 MiB, where glibc by itself
    keeps twice the largest block that it has seen."""
    gateway = start.gateway(KEPT_WHOLE.format(port=mock.port))
    gateway.post(chat("hello"))
    allowed = resident(gateway) + (4 + 2) * (8 << 20)
    for megabytes in (4, 8, 12, 12, 12, 12):
        body = chat("a " * (megabytes << 19))
        threads = [threading.Thread(target=gateway.post, args=(body,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    end = time.monotonic() + WAIT
    while resident(gateway) > allowed and time.monotonic() < end:
        time.sleep(0.1)
    assert resident(gateway) <= allowed
