"""Every way in which a worker fails, of two workers of a model, and of both: only a request of which the client has a
part fails, it ends with an error that the client reads, and the counts say why. The worker that fails is a server of
bytes; the others are mock workers."""
import contextlib
import http.client
import json
import re
import socket
import struct
import threading

import pytest

from conftest import Gateway, Mock, chat, free_ports, request
from test_pools import until

SITE = """
version: v0.3
listeners: [{{name: main, address: 127.0.0.1, port: {port}, timeout: {timeout}}}]
providers:
  models:
    - {{name: first, backend_refs: [{{name: bad, endpoint: "127.0.0.1:{bad}"}}, {{name: good, endpoint: "127.0.0.1:{good}"}}]}}
    - {{name: second, backend_refs: [{{name: spare, endpoint: "127.0.0.1:{spare}"}}]}}
  defaults: {{default_model: second}}
routing:
  signals: {{keywords: [{{name: sums, operator: OR, keywords: [sum]}}]}}
  decisions:
    - name: sums
      rules: {{operator: AND, conditions: [{{type: keyword, name: sums}}]}}
      modelRefs: [{{model: first}}, {{model: second}}]
global: {{semroute: {{gateway: {{upstream: {{response_timeout_ms: {patience}, idle_timeout_ms: {patience}}}}}}}}}
"""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'
PLAIN = b'{"choices":[{"index":0,"message":{"content":"'


def head(stream):
    return HEAD % (b"text/event-stream", b"transfer-encoding: chunked") if stream else \
        HEAD % (b"application/json", b"content-length: 100000")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def begun(stream):
    return head(stream) + (chunk(EVENT) if stream else PLAIN)


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def is_whole(text):
    """Is it a whole request, with a length or in chunks?"""
    head, end, body = text.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and (len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n"))


class Bad:
    """What a worker does with a request. Silence lasts until the other side ends the connection."""

    def __init__(self, fault):
        self.fault, self.requests = fault, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            text = b""
            while not is_whole(text):
                piece = connection.recv(65536)
                if not piece:
                    return
                text += piece
            self.requests += 1
            self.fault(connection, b'"stream": true' in text)

    def stop(self):
        self.listener.close()


def silence(connection):
    connection.settimeout(60)
    connection.recv(1)


def says(data):
    def fault(connection, stream):
        connection.sendall(data(stream) if callable(data) else data)
    return fault


def then(data, end):
    def fault(connection, stream):
        connection.sendall(data(stream))
        end(connection)
    return fault


def drip(connection, stream):
    connection.sendall(begun(stream))
    connection.settimeout(0.2)
    while True:
        connection.sendall(chunk(b":\n\n") if stream else b".")
        with contextlib.suppress(TimeoutError):
            if not connection.recv(1):
                return


def status(code, more=b""):
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n%scontent-length: 2\r\n\r\n{}" % (code, more)


BEFORE = {  # before a byte of the answer, and the reason that is counted
    "500": (says(status(500)), "5xx"),
    "503": (says(status(503, b"retry-after: 1\r\n")), "5xx"),
    "429": (says(status(429, b"retry-after: 1\r\n")), "429"),
    "close": (lambda connection, stream: None, "reset"),
    "reset": (lambda connection, stream: reset(connection), "reset"),
    "hang": (lambda connection, stream: silence(connection), "timeout"),
    "hang inside the head": (then(lambda stream: head(stream)[:40], silence), "timeout"),
    "garbage": (says(b"\x00\xff what is this?\r\n\r\n"), "garbage"),
    "garbage inside the head": (says(b"HTTP/1.1 200 OK\r\nno header\r\n\r\n"), "garbage"),
    "silence after the head": (then(head, silence), "timeout"),
    "reset after the head": (then(head, reset), "reset"),
    "head without an end": (then(lambda stream: head(stream)[:40], lambda connection: None), "reset"),
}
INSIDE = {  # and the code of the event that ends a stream
    "silence after the first byte": (then(begun, silence), "stalled", "upstream_timeout"),
    "drip": (drip, "deadline", "upstream_timeout"),
    "truncated": (says(begun), "lost", "upstream_lost"),
    "reset after the first byte": (then(begun, reset), "lost", "upstream_lost"),
}
STREAMED = {"garbage inside a stream": (says(lambda stream: begun(stream) + b"zz\r\nnonsense\r\n"), "lost", "upstream_lost")}


@contextlib.contextmanager
def site(tmp_path, fault, reason):
    """Where the fault is one of time, the good worker has to be faster than that, on whatever machine."""
    bad, mock = Bad(fault), Mock(tmp_path / "mock.log", workers=2)
    gateway = Gateway(SITE.format(port=free_ports(), bad=bad.port, good=mock.port, spare=mock.port + 1,
                                  timeout="10s" if fault == drip else "100s",
                                  patience=8000 if reason in ("timeout", "stalled") else 60000), tmp_path)
    try:
        yield gateway, bad, mock
    finally:
        gateway.stop()
        mock.stop()
        bad.stop()


def ask(gateway, stream, path="/v1/chat/completions", model="first"):
    """The status and the body; status None: the connection ended inside the answer."""
    try:
        answer = gateway.post({**chat("a sum", model, stream=stream), "max_tokens": 9}, path, timeout=60)
        return answer.status, answer.body
    except http.client.IncompleteRead as cut:
        return None, cut.partial


def failures(gateway, reason, backend="bad"):
    lines = gateway.metrics().splitlines()
    return sum(int(line.split()[1]) for line in lines
               if line.startswith(f'semroute_upstream_failures_total{{backend="{backend}",reason="{reason}"}}'))


@pytest.mark.parametrize("stream", (False, True), ids=("plain", "stream"))
@pytest.mark.parametrize("fault", BEFORE)
def test_before_the_answer(tmp_path, fault, stream):
    """The other worker answers; without another worker the decision's next model does."""
    act, reason = BEFORE[fault]
    with site(tmp_path, act, reason) as (gateway, bad, mock):
        assert [ask(gateway, stream)[0] for _ in range(2)] == [200] * 2
        assert bad.requests > 0
        assert failures(gateway, reason) == bad.requests
        assert 'outcome="failed"' not in gateway.metrics()
        request(mock.port, "PUT", "/mock/behaviour", b"", {"x-mock-close": "head"})
        assert ask(gateway, stream, model="auto")[0] == 200
        assert failures(gateway, "reset", "good") > 0


@pytest.mark.parametrize("fault, stream", [(fault, stream) for fault in INSIDE for stream in (False, True)] +
                         [(fault, True) for fault in STREAMED])
def test_inside_the_answer(tmp_path, fault, stream):
    """Only what the worker began fails, and is counted; a stream ends with an error event."""
    act, reason, code = (INSIDE | STREAMED)[fault]
    with site(tmp_path, act, reason) as (gateway, bad, mock):
        answers = [ask(gateway, stream) for _ in range(2)]
        broken = [(status, body) for status, body in answers if status != 200 or b"error" in body]
        assert len(broken) == bad.requests == 1
        for status, body in broken:
            if stream:
                assert status == 200 and body.endswith(b"\n\n")
                error = json.loads(body.split(b"data: ")[-1])["error"]
                assert error["code"] == code and error["type"] == "upstream_error" and b"[DONE]" not in body
            else:
                assert status is None and body.startswith(PLAIN if "first" in fault or fault == "drip" else b"")
        assert failures(gateway, reason) == len(broken)
        until(lambda: f'semroute_requests_total{{door="gateway",outcome="failed"}} {len(broken)}\n' in gateway.metrics())


@pytest.mark.parametrize("path, name", [("/v1/messages", b"event: error\n"), ("/v1/responses", b"event: error\n"),
                                        ("/v1/completions", b"\n\n")])
def test_the_error_is_of_the_client_s_dialect(tmp_path, path, name):
    """Clients of named events read an error only from an event of that name."""
    with site(tmp_path, then(begun, silence), "stalled") as (gateway, bad, mock):
        bodies = []
        while not bad.requests:
            body = {"model": "first", "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
            if path != "/v1/messages":
                body = {"model": "first", "stream": True, "input" if "responses" in path else "prompt": "hi"}
            bodies.append(gateway.post(body, path, timeout=60).body)
        before, _, last = bodies[-1].rpartition(b"data: ")
        assert before.endswith(name)
        error = json.loads(last)
        detail = error if path == "/v1/responses" else error["error"]  # its event is the error
        assert detail["code"] == "upstream_timeout"
        assert ("type" in error) == (name == b"event: error\n")
