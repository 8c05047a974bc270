"""A request that the HTTP parser refuses is answered, counted and in the access log, like any other."""
import json
import socket
import time

import pytest

from conftest import Gateway
from keys_site import site, write


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    directory = tmp_path_factory.mktemp("refused")
    gateway = Gateway(write(site(access_log="stdout"), directory / "site.yaml", 1).read_text(), directory)
    yield gateway
    gateway.stop()


@pytest.mark.parametrize("sent,status", [
    (b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nsecret-words", 400),
    (b"secret-words\r\n\r\n", 400),
    (b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX-Big: " + b"secret-words" * 10000 + b"\r\n\r\n", 431),
    (b"CONNECT secret-words:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
])
def test_refused_by_the_parser(gateway, sent, status):
    before = len(gateway.output())
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as s:
        s.sendall(sent)
        assert int(s.recv(65536).split()[1]) == status
    lines, end = [], time.monotonic() + 60
    while not lines and time.monotonic() < end:
        lines = [json.loads(line) for line in gateway.output()[before:].splitlines() if f'"status":{status}' in line]
        time.sleep(0.02)
    assert len(lines) == 1, gateway.output()[before:]
    line = lines[0]
    assert line["door"] == "gateway" and line["outcome"] == "refused" and line["peer"].startswith("127.0.0.1")
    assert line["error"] and "secret" not in json.dumps(line)
