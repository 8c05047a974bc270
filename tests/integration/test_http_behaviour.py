"""HTTP/1.1 behaviour for clients and operators: keep-alive, pipelining, chunks, streaming, back-pressure, drain,
TLS."""
import contextlib
import http.server
import json
import signal
import socket
import ssl
import subprocess
import threading
import time

from conftest import BINARY, builtin_on, chat, free_ports, request
from second_router import is_open


def post_bytes(body, extra=b"", chunked=False):
    line = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + extra
    if chunked:
        pieces = [body[i:i + 7] for i in range(0, len(body), 7)]
        return (line + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) +
                b"0\r\n\r\n")
    return line + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Wire:
    """A raw connection that reads one HTTP/1.1 answer at a time."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.socket.makefile("rb")

    def read(self):
        status = int(self.file.readline().split()[1])
        headers = {}
        while (line := self.file.readline().strip()):
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.file.readline(), 16):
                body += self.file.read(size)
                self.file.readline()
            self.file.readline()
        else:
            body = self.file.read(int(headers.get("content-length", 0)))
        return status, headers, body

    def close(self):
        self.file.close()
        self.socket.close()


def test_keep_alive_and_pipelining(default_site):
    gateway, _ = default_site
    wire = Wire(gateway.port)
    bodies = [json.dumps(chat(f"hello {i}", model=("general", "coder")[i % 2])).encode() for i in range(6)]
    wire.socket.sendall(b"".join(post_bytes(b, chunked=i % 3 == 0) for i, b in enumerate(bodies)))
    for i in range(6):
        status, headers, body = wire.read()
        assert status == 200 and headers["x-vsr-selected-model"] == ("general", "coder")[i % 2]
        assert json.loads(body)["choices"]
    wire.close()


def test_chunked_requests_arrive_whole(default_site):
    gateway, mock = default_site
    body = json.dumps(chat("What is the boiling point of water on Mount Everest?")).encode()
    wire = Wire(gateway.port)
    data = post_bytes(body, chunked=True)
    for i in range(0, len(data), 11):
        wire.socket.sendall(data[i:i + 11])
    status, headers, _ = wire.read()
    wire.close()
    assert status == 200
    worker = ("general", "coder", "reasoner", "expert").index(headers["x-vsr-selected-model"])
    assert json.loads(mock.last_body(worker))["messages"][-1]["content"].startswith("What is the boiling")


class Stepwise(http.server.ThreadingHTTPServer):
    """An upstream that streams ten events, each when `go` is released."""
    daemon_threads = True

    def __init__(self, port):
        self.go = go = threading.Semaphore(0)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for number in range(10):
                    go.acquire()
                    self.wfile.write(b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"%d "}}]}\n\n' % number)
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


def test_streams_are_flushed_per_chunk(start):
    port = free_ports(4)
    upstream = Stepwise(port)
    try:
        gateway = start.gateway(builtin_on(port))
        wire = Wire(gateway.port)
        wire.socket.sendall(post_bytes(json.dumps(chat("hi", model="general", stream=True)).encode()))
        upstream.go.release()
        assert b"200" in wire.file.readline()
        while wire.file.readline().strip():
            pass
        for number in range(10):  # the next event is not sent before this one is here
            assert b'"content":"%d "' % number in wire.file.read(int(wire.file.readline(), 16) + 2)
            upstream.go.release()
        wire.close()
    finally:
        upstream.shutdown()
        upstream.server_close()


def test_a_leaving_client_cancels_the_upstream(default_site):
    gateway, mock = default_site
    wire = Wire(gateway.port)
    body = json.dumps(chat("hi", model="general", stream=True)).encode()
    wire.socket.sendall(post_bytes(body, b"x-mock-chunks: 1000\r\nx-mock-chunk-delay-ms: 20\r\n"))
    wire.file.readline()
    wire.close()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        stats = request(mock.port, "GET", "/mock/stats").json()
        if stats["canceled"] >= 1:
            return
        time.sleep(0.05)
    raise AssertionError(stats)


def wait_for_encoders(gateway):
    """They are opened in the background, and their memory counts."""
    end = time.monotonic() + 120
    while "semroute_encoders_open 2" not in gateway.metrics():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_slow_reader_does_not_fill_memory(default_site):
    gateway, _ = default_site
    wait_for_encoders(gateway)
    before = gateway.rss_kib()
    readers = []
    for _ in range(4):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.connect(("127.0.0.1", gateway.port))
        body = json.dumps(chat("hi", model="general")).encode()
        s.sendall(post_bytes(body, b"x-mock-body-bytes: 50000000\r\n"))
        readers.append(s)
    time.sleep(1.5)
    grown = gateway.rss_kib() - before
    assert grown < 40_000, f"{grown} KiB for readers that do not read"
    total = 0
    readers[0].settimeout(60)
    while total < 50_000_000:
        total += len(readers[0].recv(1 << 20))
    for s in readers:
        s.close()


def test_upstream_failures(start):
    mock = start.mock(workers=1)
    gateway = start.gateway(builtin_on(mock.port))
    assert gateway.post(chat("x", model="general"), headers={"x-mock-close": "head"}).status == 502
    refused = gateway.post(chat("x", model="coder"))
    assert refused.status == 502 and refused.json()["error"]["message"]
    cut = Wire(gateway.port)
    cut.socket.sendall(post_bytes(json.dumps(chat("x", model="general", stream=True)).encode(),
                                  b"x-mock-close: 200\r\nx-mock-chunks: 50\r\n"))
    received = b""
    while piece := cut.socket.recv(65536):
        received += piece
        if b'"error"' in received:
            break
    assert b'data: {"error"' in received, received[-400:]
    cut.close()


def test_request_ids_and_forwarding_headers(default_site):
    gateway, mock = default_site
    answer = gateway.post(chat("x", model="general"), headers={
        "x-request-id": "abc-123", "authorization": "Bearer sk-mine", "connection": "keep-alive, x-hop", "x-hop": "1",
        "x-vsr-selected-model": "forged", "x-selected-model": "forged"})
    assert answer.headers["x-request-id"] == "abc-123"
    sent = mock.last_head(0).lower()
    assert "x-request-id: abc-123" in sent and "authorization: bearer sk-mine" in sent
    assert "x-hop" not in sent and "forged" not in sent
    assert f"host: 127.0.0.1:{mock.port}" in sent
    assert "x-forwarded-for: 127.0.0.1" in sent
    assert gateway.post(chat("x", model="general")).headers["x-request-id"]


def test_health_ready_metrics(default_site):
    gateway, _ = default_site
    assert gateway.get("/health").status == 200
    assert gateway.get("/ready").status == 200
    assert "llm_model_requests_total" in gateway.get("/metrics").body.decode()
    assert "llm_model_requests_total" in gateway.metrics()
    api = request(gateway.api_port, "GET", "/health")
    assert api.body == b'{"status": "healthy", "service": "classification-api"}'


def test_sigterm_drains(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port))
    wires = [Wire(gateway.port) for _ in range(2)]
    body = json.dumps(chat("hi", model="general", stream=True)).encode()
    for wire, chunks in zip(wires, (20, 100000)):
        wire.socket.sendall(post_bytes(body, b"x-mock-chunks: %d\r\nx-mock-chunk-delay-ms: 50\r\n" % chunks))
        wire.file.readline()
    gateway.signal(signal.SIGTERM)
    end = time.monotonic() + 20  # before the time for a drain is over
    while is_open(gateway.port):
        assert time.monotonic() < end, "a draining gateway still accepts"
        time.sleep(0.02)
    assert gateway.child.poll() is None
    wires[1].close()
    rest = wires[0].file.read()
    assert b"[DONE]" in rest
    assert gateway.wait() == 0


def test_a_taken_port_is_an_error_that_names_the_flag(start, tmp_path):
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.listen()
    port = holder.getsockname()[1]
    process = start.process([BINARY, "serve", "--gateway", f"127.0.0.1:{port}",
                             "--metrics", "off", "--api", "off", "--extproc", "off"])
    assert process.wait() != 0
    assert str(port) in process.output() and "--gateway" in process.output()
    holder.close()


def make_certificate(directory):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", directory / "key.pem", "-out", directory / "cert.pem", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    return directory / "cert.pem", directory / "key.pem"


def test_tls_on_both_sides(start, tmp_path):
    """A TLS gateway is the upstream of a second gateway, which verifies it."""
    cert, key = make_certificate(tmp_path)
    mock = start.mock()
    tls = f"""
  semroute:
    gateway:
      tls: {{cert_file: {cert}, key_file: {key}}}
"""
    inner = start.gateway(builtin_on(mock.port).rstrip() + tls, wait=False)
    context = ssl.create_default_context(cafile=str(cert))
    end = time.monotonic() + 60
    while True:
        with contextlib.suppress(ConnectionError, TimeoutError, ssl.SSLEOFError), \
                socket.create_connection(("127.0.0.1", inner.port), timeout=30) as s, \
                context.wrap_socket(s, server_hostname="localhost") as secure:
            secure.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            if secure.recv(100).startswith(b"HTTP/1.1 200"):
                break
        assert time.monotonic() < end, inner.output()
        time.sleep(0.05)
    outer = """
version: v0.3
providers:
  defaults: {default_model: general}
  models:
  - name: general
    backend_refs: [{name: inner, base_url: "https://localhost:%d/v1"%s}]
"""
    trusting = start.gateway(outer % (inner.port, f", tls_ca_file: {cert}"))
    assert trusting.post(chat("x", model="general")).status == 200
    doubting = start.gateway(outer % (inner.port, ""))
    refused = doubting.post(chat("x", model="general"))
    assert refused.status == 502 and "certificate" in refused.json()["error"]["message"].lower()
