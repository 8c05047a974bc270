"""Hostile and broken input from raw sockets: a clear OpenAI-shaped error, never a crash, never a smuggled request."""
import json
import re
import socket
import time

import pytest
from conftest import builtin_on, chat, request

LIMITS = """
  semroute:
    gateway:
      max_body_bytes: 1048576
      max_header_bytes: 16384
"""


@pytest.fixture
def site(start):
    mock = start.mock()
    config = builtin_on(mock.port)
    assert config.rstrip().rsplit("\n\n", 1)[-1].startswith("global:"), "LIMITS go under the last section"
    return start.gateway(config.rstrip() + LIMITS), mock


def raw(port, data, timeout=60, chunks=None):
    """Sends bytes, returns everything that comes back until the other side closes or goes quiet."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as s:
        try:
            s.sendall(data)
            for piece in chunks or ():
                time.sleep(0.01)
                s.sendall(piece)
        except OSError:
            pass
        answer = b""
        s.settimeout(timeout)
        try:
            while piece := s.recv(65536):
                answer += piece
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


def head(extra=b"", length=None, path=b"/v1/chat/completions"):
    line = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
    if length is not None:
        line += b"Content-Length: %d\r\n" % length
    return line + extra + b"\r\n"


def status_and_error(answer):
    status = int(answer.split(b" ", 2)[1])
    body = answer.split(b"\r\n\r\n", 1)[1]
    return status, json.loads(body)["error"]


@pytest.mark.parametrize("body, words", [
    (b'{"model":"auto","messages":[', "end of input"),
    (b'{"model":"auto","messages":[{"role":"user","content":"a\xff"}]}', "UTF-8"),
    (b'{"model":"auto" "messages":[]}', "at byte 16"),
    (b"[" * 2000 + b"]" * 2000, "deep"),
    (b'["not","an","object"]', "object"),
    (b'{"messages":[{"role":"user","content":"x"}]}', "model"),
    (b'{"model":"auto"}', "messages"),
    (b'{"model":7,"messages":[]}', "model"),
    (b'{"model":"auto","messages":{}}', "messages"),
    (b'{"model":"auto","messages":[{"role":"user","content":"x"}],"stream":"yes"}', "stream"),
    (b"", "body"),
    (b'{"model":"auto","messages":[{"role":"user","content":"a\x01b"}]}', "control"),
])
def test_malformed_bodies(site, body, words):
    gateway, _ = site
    answer = raw(gateway.port, head(length=len(body)) + body)
    status, error = status_and_error(answer)
    assert status == 400, answer
    assert words.lower() in error["message"].lower(), error
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize("name, data", [
    ("both lengths", head(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n\r\n"),
    ("two lengths", head(b"Content-Length: 4\r\nContent-Length: 5\r\n") + b"abcd"),
    ("bad length", head(b"Content-Length: 4x\r\n") + b"abcd"),
    ("negative length", head(b"Content-Length: -4\r\n") + b"abcd"),
    ("space before colon", head(b"Transfer-Encoding : chunked\r\n") + b"0\r\n\r\n"),
    ("unknown coding", head(b"Transfer-Encoding: gzip, chunked\r\n") + b"0\r\n\r\n"),
    ("doubled coding", head(b"Transfer-Encoding: chunked, chunked\r\n") + b"0\r\n\r\n"),
    ("odd coding", head(b"Transfer-Encoding: xchunked\r\n") + b"0\r\n\r\n"),
    ("folded header", head(b"X-A: b\r\n c\r\n", 0)),
    ("bad chunk size", head(b"Transfer-Encoding: chunked\r\n") + b"zz\r\nabc\r\n0\r\n\r\n"),
    ("nul in header", head(b"X-A: b\x00c\r\n", 0)),
    ("no host", b"GET /v1/models HTTP/1.1\r\n\r\n"),
    ("garbage", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n"),
])
def test_request_smuggling_and_garbage_is_refused(site, name, data):
    gateway, mock = site
    before = request(mock.port, "GET", "/mock/stats").body
    answer = raw(gateway.port, data + b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 4") or answer.startswith(b"HTTP/1.1 5"), (name, answer[:200])
    assert len(re.findall(rb"HTTP/1\.1 \d{3} ", answer)) == 1, (name, answer)
    assert request(mock.port, "GET", "/mock/stats").body == before


def test_header_and_body_limits(site):
    gateway, _ = site
    status, error = status_and_error(raw(gateway.port, head(b"X-Big: " + b"a" * 20000 + b"\r\n", 0)))
    assert status == 431 and "header" in error["message"].lower()
    status, error = status_and_error(raw(gateway.port, head(length=100 * 1024 * 1024) + b"{"))
    assert status == 413 and "1048576" in error["message"], error
    big = json.dumps(chat("x" * 2_000_000)).encode()
    pieces = [b"%x\r\n%s\r\n" % (len(big[i:i + 65536]), big[i:i + 65536]) for i in range(0, len(big), 65536)]
    answer = raw(gateway.port, head(b"Transfer-Encoding: chunked\r\n") + pieces[0], chunks=pieces[1:] + [b"0\r\n\r\n"])
    assert answer == b"" or status_and_error(answer)[0] == 413
    assert gateway.post(chat("still there", model="general")).status == 200


def test_slow_clients_get_408(start):
    timeouts = "      header_timeout_ms: 700\n      body_timeout_ms: 700\n"
    gateway = start.gateway(builtin_on(start.mock().port).rstrip() + LIMITS + timeouts)
    status, _ = status_and_error(raw(gateway.port, b"POST /v1/chat/completions HTTP/1.1\r\nHos"))
    assert status == 408
    status, _ = status_and_error(raw(gateway.port, head(length=1000) + b'{"model":'))
    assert status == 408


def test_wrong_verbs_and_paths(site):
    gateway, _ = site
    assert gateway.get("/v1/chat/completions").status == 405
    missing = gateway.get("/v1/nothing-here")
    assert missing.status == 404 and missing.json()["error"]["message"]
    assert gateway.post({"model": "nobody"}, path="/v1/audio/speech").status == 404
    assert gateway.post({"model": "general", "input": "x"}, path="/v1/rerank").status in (200, 404)
    assert request(gateway.port, "DELETE", "/v1/models").status == 405


def test_bodies_that_cannot_be_decompressed_are_refused_clearly(site):
    gateway, _ = site
    answer = request(gateway.port, "POST", "/v1/chat/completions", b"\x1f\x8b\x08\x00", {"content-encoding": "gzip"})
    assert answer.status == 400 and "ends before" in answer.json()["error"]["message"]
    answer = request(gateway.port, "POST", "/v1/chat/completions", b"\x1f\x8b\x08\x00", {"content-encoding": "br"})
    assert answer.status == 415 and "content-encoding" in answer.json()["error"]["message"]


def test_nothing_of_the_user_is_in_the_log(site):
    gateway, _ = site
    secret = "zebra-quartz-4711"
    gateway.post(chat(f"my password is {secret}"))
    gateway.post(b'{"model":"auto","messages":[{"role":"user","content":"' + secret.encode() + b'"')
    gateway.post(chat("x", model=secret))
    assert secret not in gateway.metrics()
    gateway.stop()
    assert secret not in gateway.output()
