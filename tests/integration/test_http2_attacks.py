"""HTTP/2 from hostile clients: malformed heads, floods, slow heads, resets; the gateway refuses them and serves others."""
import json
import socket
import struct
import threading

import h2.events
import h2.exceptions
import pytest
from conftest import builtin_on, chat, request
from http2 import CHAT, PATIENCE, Client, until
from test_http_behaviour import wait_for_encoders

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4
ENHANCE_YOUR_CALM = 11


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


@pytest.fixture(scope="module")
def gateway(default_site):
    yield default_site[0]
    assert request(default_site[0].port, "GET", "/v1/models").status == 200  # whatever came, others are served


def head(method="GET", path="/v1/models", scheme="http", authority="localhost", more=()):
    fields = [(":method", method), (":path", path), (":scheme", scheme), (":authority", authority)]
    return [f for f in fields if f[1] is not None] + list(more)


# What no client of HTTP/1.1 could say here either, or what would be read in two ways: refused, one way or the other.
MALFORMED = {
    "two hosts": (head(more=[("host", "other")]), 400),
    "user in the authority": (head(authority="a@b"), 400),
    "no authority": (head(authority=None), "reset"),
    "another scheme": (head(scheme="ftp"), 400),
    "no scheme": (head(scheme=None), "reset"),
    "no path": (head(path=None), "reset"),
    "empty path": (head(path=""), "reset"),
    "space in the path": (head(path="/v1/models HTTP/1.1\tx: y"), "reset"),
    "a path that is none": (head(path="v1/models"), "reset"),
    "two methods": (head(more=[(":method", "POST")]), "reset"),
    "a late pseudo header": (head(more=[("x", "y"), (":path", "/")]), "reset"),
    "an unknown pseudo header": ([(":vip", "1")] + head(), "reset"),
    "a status": ([(":status", "200")] + head(), "reset"),
    "an extended connect": ([(":protocol", "websocket")] + head("CONNECT"), "reset"),
    "connect": ([(":method", "CONNECT"), (":authority", "localhost:80")], 501),
    "a method of two words": (head("GET /x"), "reset"),
    "an unknown method": (head("NOTHING"), 501),
    "connection": (head(more=[("connection", "close")]), "reset"),
    "keep-alive": (head(more=[("keep-alive", "timeout=5")]), "reset"),
    "proxy-connection": (head(more=[("proxy-connection", "close")]), "reset"),
    "upgrade": (head(more=[("upgrade", "websocket")]), "reset"),
    "transfer-encoding": (head("POST", CHAT, more=[("transfer-encoding", "chunked")]), "reset"),
    "te": (head(more=[("te", "gzip")]), "reset"),
    "upper case": (head(more=[("X-Upper", "1")]), "reset"),
    "a line end in a value": (head(more=[("x", "a\r\nhost: b")]), "reset"),
    "a line end in a name": (head(more=[("x\r\nhost", "b")]), "reset"),
    "a NUL": (head(more=[("x", "a\0b")]), "reset"),
    "two lengths": (head("POST", CHAT, more=[("content-length", "2"), ("content-length", "2")]), "reset"),
    "a length that is no number": (head("POST", CHAT, more=[("content-length", "+2")]), "reset"),
}


def ending(client, stream):
    """The status of the answer, or "reset"."""
    def found():
        for event in client.events:
            if isinstance(event, h2.events.ResponseReceived) and event.stream_id == stream:
                return int(dict(event.headers)[":status"])
            if isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
                return "reset"
        return "reset" if client.closed else None
    while found() is None:
        client.read()
    return found()


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_heads(gateway, name):
    fields, expected = MALFORMED[name]
    with Client(gateway.port, checks=False) as client:
        assert ending(client, client.send(fields)) == expected
        if not client.closed:
            assert client.answer(client.get("/v1/models"))[0] == 200


def test_a_body_of_another_length(gateway):
    for announced, body in ((b"5", b"{}"), (b"1", b"{}")):
        with Client(gateway.port, checks=False) as client:
            stream = client.send(head("POST", CHAT, more=[("content-length", announced.decode())]), body)
            assert ending(client, stream) in ("reset", 400)


def test_no_second_way_of_writing_a_path(gateway):
    """Path tricks are refused or normalised as in HTTP/1.1."""
    for path in ("/v1/../metrics", "/v1//models", "/%2e%2e/metrics", "/v1/models#x", "//v1/models", "/v1/models;x", "*"):
        plain = request(gateway.port, "GET", path).status
        with Client(gateway.port, checks=False) as client:
            got = ending(client, client.send(head(path=path)))
        assert got == plain or got == "reset", (path, got, plain)


class Raw:
    """A socket that speaks frames by hand."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0))

    def flood(self, piece, most=200_000):
        """Sends until the server has closed; False: it never did."""
        gone = threading.Event()

        def read():
            try:
                while self.socket.recv(65536):
                    pass
            except OSError:
                pass
            gone.set()
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            for i in range(most):
                self.socket.sendall(piece(i))
                if gone.is_set():
                    return True
        except OSError:
            return True
        return gone.wait(PATIENCE)


# GET /v1/models of localhost, with the static table of HPACK: method 2, scheme 6, path and authority as literals.
REQUEST = b"\x82\x86\x04\x0a/v1/models\x01\x09localhost"
ASKING = b"\x83\x86\x04\x14/v1/chat/completions\x01\x09localhost"


@pytest.mark.parametrize("piece", [
    pytest.param(lambda i: frame(HEADERS, END_HEADERS, 2 * i + 1, ASKING) + frame(RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08"), id="rapid reset"),
    pytest.param(lambda i: frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, REQUEST) + frame(RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08"),
                 id="rapid reset of what is answered at once"),
    pytest.param(lambda i: frame(PING, 0, 0, b"12345678") * 16, id="ping"),
    pytest.param(lambda i: frame(SETTINGS, 0, 0) * 16, id="settings"),
    pytest.param(lambda i: frame(HEADERS, END_HEADERS, 1, ASKING) if i == 0 else frame(0, 0, 1) * 16, id="empty data"),
])
def test_floods_end_the_connection(gateway, piece):
    before = floods(gateway)
    client = Raw(gateway.port)
    assert client.flood(piece)
    client.socket.close()
    until(lambda: floods(gateway) > before, gateway.metrics)


def floods(gateway):
    for line in gateway.metrics().splitlines():
        if line.startswith('semroute_http2_resets_total{kind="flood"}'):
            return float(line.split()[-1])
    return 0.0


def test_a_head_without_end_is_cut(gateway):
    """CONTINUATION frames without end: memory does not grow, and the connection ends."""
    wait_for_encoders(gateway)
    before = gateway.rss_kib()
    client = Raw(gateway.port)
    filler = b"\x00\x08x-filler\x7f\xe1\x06" + b"x" * 992
    assert client.flood(lambda i: frame(HEADERS, END_STREAM, 1, ASKING) if i == 0 else frame(CONTINUATION, 0, 1, filler))
    client.socket.close()
    assert gateway.rss_kib() - before < 20_000


def test_a_slow_head_is_cut(start):
    """A header block that comes a byte at a time has the time of a head, however busy the connection looks."""
    gateway = start.gateway(builtin_on(start.mock().port).rstrip() + "\n  semroute:\n    gateway: {header_timeout_ms: 500}\n")
    client = Raw(gateway.port)
    client.socket.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 1, ASKING)[:9 + 5])
    stop = threading.Event()

    def trickle():
        try:
            while not stop.wait(0.1):
                client.socket.sendall(b"\x86")
        except OSError:
            pass
    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        while client.socket.recv(65536):
            pass
    except ConnectionResetError:
        pass
    stop.set()
    thread.join()
    client.socket.close()


def test_a_body_that_stops_is_refused(start):
    gateway = start.gateway(builtin_on(start.mock().port).rstrip() + "\n  semroute:\n    gateway: {body_timeout_ms: 300}\n")
    with Client(gateway.port) as client:
        stream = client.send(client.head(more=[("content-type", "application/json")]), b"{", end=False)
        status, _, body = client.answer(stream)
        assert status == 408 and json.loads(body)["error"]["message"]
        assert client.answer(client.get("/v1/models"))[0] == 200


def test_idle_connections_end(start):
    config = builtin_on(start.mock().port).rstrip() + "\n  semroute:\n    gateway: {idle_timeout_ms: 5000}\n"
    gateway = start.gateway(config)
    with Client(gateway.port) as client:
        assert client.answer(client.get("/v1/models"))[0] == 200
        assert client.wait(h2.events.ConnectionTerminated).error_code == 0
        while client.read():
            pass


def test_more_streams_than_allowed_are_refused(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port).rstrip() + "\n  semroute:\n    gateway: {http2: {max_streams: 2}}\n")
    with Client(gateway.port) as client:
        send, client.flush = client.flush, lambda: None  # all at once: none is answered before the last one has come
        streams = [client.post(chat("hello", "general"), [("x-mock-delay-ms", "2000")]) for _ in range(4)]
        client.flush = send
        client.flush()
        for stream in streams[2:]:
            assert client.wait(h2.events.StreamReset, stream).error_code == 7  # REFUSED_STREAM: it may be sent again
        assert [client.answer(stream)[0] for stream in streams[:2]] == [200, 200]


def test_it_may_be_switched_off(start):
    gateway = start.gateway(builtin_on(start.mock().port).rstrip() + "\n  semroute:\n    gateway: {http2: {enabled: false}}\n")
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as s:
        s.sendall(PREFACE)
        assert s.recv(100).startswith(b"HTTP/1.1 505")


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_preface_in_pieces(gateway, cut):
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.sendall(PREFACE[:cut])
        request(gateway.port, "GET", "/health")  # the server had time to read the piece
        s.sendall(PREFACE[cut:] + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS | END_STREAM, 1, REQUEST))
        data = b""
        while b'"object"' not in data:
            piece = s.recv(65536)
            assert piece
            data += piece
        assert data[3] == SETTINGS


def test_what_begins_like_a_preface_is_http1(gateway):
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as s:
        s.sendall(b"P")
        request(gateway.port, "GET", "/health")
        s.sendall(b"OST /v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 404")
