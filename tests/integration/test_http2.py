"""HTTP/2 from real clients, over ALPN and with prior knowledge: equal to HTTP/1.1 answer by answer; many streams,
back-pressure, cancel, drain."""
import json
import re
import signal
import socket
import ssl
import subprocess
import threading

import h2.events
import h2.settings
import httpx
import openai
import pytest
from conftest import builtin_on, chat, free_ports, request
from envoy import ENVOY, Process, wait_http
from http2 import CHAT, PATIENCE, Client, until

# Headers that no two answers share.
ITS_OWN = {"date", "x-request-id", "x-vsr-overhead-us", "connection", "keep-alive", "transfer-encoding"}


def metric(gateway, name):
    found = re.search("^" + re.escape(name) + r" ([0-9.e+]+)$", gateway.metrics(), re.M)
    return float(found.group(1)) if found else 0.0


@pytest.fixture
def secure(start, tmp_path):
    """A gateway with TLS, its mock, and its certificate, of which clients need to know."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    mock = start.mock()
    tls = f"\n  semroute:\n    access_log: {tmp_path}/access.log\n    gateway: {{tls: {{cert_file: {cert}, key_file: {key}}}}}\n"
    gateway = start.gateway(builtin_on(mock.port).rstrip() + tls, wait=False)
    until(lambda: "ready in" in gateway.output(), gateway.output)
    return gateway, mock, cert


def curl(url, *args):
    done = subprocess.run(["curl", "-sS", "-i", "-m", str(PATIENCE), *map(str, args), url], capture_output=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stderr
    heads, body = b"", done.stdout
    while body.startswith(b"HTTP/"):  # an interim answer stands before
        heads, _, body = body.partition(b"\r\n\r\n")
    lines = heads.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return lines[0].split()[0], int(lines[0].split()[1]), {k: v for k, v in headers.items() if k not in ITS_OWN}, body


REQUESTS = {
    "plain": (CHAT, ["-d", json.dumps(chat("hello", "general"))]),
    # The linear tier is sure of it: on a slow machine the neural one might be late for one of the two.
    "auto": (CHAT, ["-d", json.dumps(chat("Is a verbal contract binding on a landlord?"))]),
    "stream": (CHAT, ["-d", json.dumps(chat("hello", "general", stream=True))]),
    "unknown model": (CHAT, ["-d", json.dumps(chat("hello", "nothing"))]),
    "broken body": (CHAT, ["-d", "{"]),
    "no body": (CHAT, ["-X", "POST"]),
    "wrong method": (CHAT, ["-X", "DELETE"]),
    "nowhere": ("/nothing?x=1", []),
    "models": ("/v1/models", []),
    "head of models": ("/v1/models", ["-I"]),
    "head of nowhere": ("/nothing", ["-I"]),
    "options": ("/v1/models", ["-X", "OPTIONS"]),
    "messages": ("/v1/messages", ["-d", json.dumps({**chat("hello", "general"), "max_tokens": 9})]),
    "responses": ("/v1/responses", ["-d", json.dumps({"model": "general", "input": "hello"})]),
    "large": (CHAT, ["-d", json.dumps(chat("hello " * 20000, "general"))]),
    "expects 100": (CHAT, ["-H", "expect: 100-continue", "-d", json.dumps(chat("hello", "general"))]),
    "many headers": ("/v1/models", [x for i in range(200) for x in ("-H", f"x-{i}: 1")]),
    "long target": ("/v1/models?" + "x" * 9000, []),
    "bad host": ("/v1/models", ["-H", "host: a@b"]),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_both_protocols_give_the_same_answer(default_site, name):
    gateway, mock = default_site
    path, args = REQUESTS[name]
    if "-d" in args:
        args = ["-H", "content-type: application/json", *args]
    answers = []
    for flag in ("--http1.1", "--http2-prior-knowledge"):
        protocol, status, headers, body = curl(f"http://127.0.0.1:{gateway.port}{path}", flag, *args)
        assert protocol == {"--http1.1": "HTTP/1.1"}.get(flag, "HTTP/2")
        answers.append((status, headers, body))
    assert answers[0] == answers[1]


def test_heads_have_the_same_limit(start):
    gateway = start.gateway(builtin_on(start.mock().port).rstrip() + "\n  semroute:\n    gateway: {max_header_bytes: 1024}\n")
    url = f"http://127.0.0.1:{gateway.port}/v1/models"
    seen = set()
    for n in [*range(880, 980, 5), 3000, 9000]:
        answers = [curl(url, flag, "-H", "user-agent: x", "-H", "x-long: " + "x" * n)[1:] for flag in ("--http1.1", "--http2-prior-knowledge")]
        assert answers[0] == answers[1], n
        seen.add(answers[0][0])
    assert seen == {200, 431}


def test_the_upstream_sees_the_same_request(default_site):
    gateway, mock = default_site
    heads = []
    for flag in ("--http1.1", "--http2-prior-knowledge"):
        curl(f"http://127.0.0.1:{gateway.port}{CHAT}", flag, "-d", json.dumps(chat("hello", "general")), "-H",
             "content-type: application/json", "-H", "cookie: a=1; b=2", "-H", "x-mine: 1", "-H", "te: trailers")
        heads.append(mock.last_head())
    lines = [sorted(line.lower() for line in head.splitlines() if not line.lower().startswith(("x-request-id", "traceparent")))
             for head in heads]
    assert lines[0] == lines[1]
    with Client(gateway.port) as client:  # cookies in pieces become one field
        client.answer(client.post(chat("hello", "general"), [("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]))
    assert "cookie: a=1; b=2; c=3" in mock.last_head().lower()


def test_alpn_chooses(secure):
    gateway, _, cert = secure
    url = f"https://localhost:{gateway.port}/v1/models"
    for flag, protocol in (("--http2", "HTTP/2"), ("--http1.1", "HTTP/1.1"), ("--no-alpn", "HTTP/1.1")):
        assert curl(url, flag, "--cacert", cert)[:2] == (protocol, 200)
    context = ssl.create_default_context(cafile=str(cert))
    for offered, chosen in ((["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"), (None, None)):
        if offered:
            context.set_alpn_protocols(offered)
        else:
            context = ssl.create_default_context(cafile=str(cert))
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as s:
            with context.wrap_socket(s, server_hostname="localhost") as tls:
                assert tls.selected_alpn_protocol() == chosen
    log = (gateway.config_path.parent / "access.log")
    client = openai.OpenAI(base_url=f"https://localhost:{gateway.port}/v1", api_key="k", max_retries=0,
                           http_client=httpx.Client(http2=True, verify=ssl.create_default_context(cafile=str(cert)), timeout=PATIENCE))
    client.chat.completions.create(model="general", messages=[{"role": "user", "content": "hello"}])
    until(lambda: '"protocol":"HTTP/2"' in log.read_text(), log.read_text)


def test_the_official_client(secure):
    gateway, mock, cert = secure
    protocols = set()
    with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=str(cert)), timeout=PATIENCE,
                      event_hooks={"response": [lambda r: protocols.add(r.http_version)]}) as http:
        client = openai.OpenAI(base_url=f"https://localhost:{gateway.port}/v1", api_key="k", http_client=http, max_retries=0)
        assert client.chat.completions.create(model="general", messages=chat("hello")["messages"]).choices[0].message.content
        chunks = list(client.chat.completions.create(model="general", messages=chat("hello")["messages"], stream=True))
        assert chunks[-1].choices[0].finish_reason == "stop"
        assert client.responses.create(model="general", input="hello").output_text
        assert "auto" in {m.id for m in client.models.list()}
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="nothing", messages=chat("hello")["messages"])
    assert protocols == {"HTTP/2"}


def test_many_streams_on_one_connection(default_site):
    gateway, _ = default_site
    before = metric(gateway, 'semroute_connections_opened_total{protocol="http2"}')
    with Client(gateway.port) as client:
        client.wait(h2.events.RemoteSettingsChanged)
        assert client.h2.remote_settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS] == 100
        streams = {client.post(chat("hello", "general"), [("x-mock-delay-ms", "300")]): "general" for _ in range(50)}
        streams |= {client.post(chat("hello", "coder", stream=True)): "coder" for _ in range(50)}
        for stream, model in streams.items():
            status, head, body = client.answer(stream)
            assert status == 200 and head["x-vsr-selected-model"] == model and body
    until(lambda: metric(gateway, 'semroute_connections_opened_total{protocol="http2"}') > before, gateway.metrics)


def test_h2load(default_site, tmp_path):
    gateway, _ = default_site
    (tmp_path / "body.json").write_text(json.dumps(chat("hello", "general")))
    done = subprocess.run(["h2load", "-n", "1000", "-c", "4", "-m", "50", "-H", "content-type: application/json", "-d", tmp_path / "body.json",
                           f"http://127.0.0.1:{gateway.port}{CHAT}"], capture_output=True, text=True, timeout=4 * PATIENCE)
    assert "1000 succeeded, 0 failed, 0 errored" in done.stdout and "1000 2xx" in done.stdout, done.stdout + done.stderr


def test_streams_come_as_they_are_made(default_site):
    """The rest of the answer is held by the mock until the test has read the first event."""
    gateway, mock = default_site
    with Client(gateway.port) as client:
        stream = client.post(chat("hi", "general", stream=True), [("x-mock-chunks", "1000"), ("x-mock-chunk-delay-ms", "100")])
        until(lambda: client.read() and client.bytes(stream).count(b"data: ") >= 3, "three events")
        assert not any(isinstance(e, h2.events.StreamEnded) for e in client.events)


def test_a_reset_cancels_the_upstream(default_site):
    gateway, mock = default_site
    stats = lambda: request(mock.port, "GET", "/mock/stats").json()
    before, resets = stats()["canceled"], metric(gateway, 'semroute_http2_resets_total{kind="stream"}')
    with Client(gateway.port) as client:
        slow = client.post(chat("hi", "general", stream=True), [("x-mock-chunks", "1000"), ("x-mock-chunk-delay-ms", "50")])
        client.wait(h2.events.DataReceived, slow)
        client.h2.reset_stream(slow, 8)
        client.flush()
        until(lambda: stats()["canceled"] > before, stats)
        assert client.answer(client.get("/v1/models"))[0] == 200  # the connection lives
        until(lambda: metric(gateway, 'semroute_http2_resets_total{kind="stream"}') > resets, gateway.metrics)


def test_a_slow_reader_does_not_fill_memory(start):
    """Nothing else takes memory here: without signals no classifier is opened in the background."""
    gateway = start.gateway(f"""
        version: v0.3
        providers:
          defaults: {{default_model: general}}
          models:
          - {{name: general, backend_refs: [{{name: b, endpoint: "127.0.0.1:{start.mock().port}"}}]}}
        """)
    before = gateway.rss_kib()
    with Client(gateway.port, buffer=65536) as client:
        client.credit = False
        streams = [client.post(chat("hi", "general"), [("x-mock-body-bytes", "50000000")]) for _ in range(4)]
        until(lambda: client.read() and sum(len(client.bytes(s)) for s in streams) >= 65535, "a window of bytes")
        # Others on the connection are served meanwhile, with a window of the connection that is open again.
        client.h2.increment_flow_control_window(1 << 20)
        client.flush()
        assert client.answer(client.get("/v1/models"))[0] == 200
        assert gateway.rss_kib() - before < 40_000
        client.credit = True
        for stream in streams:
            client.h2.increment_flow_control_window(1 << 27, stream)
        client.h2.increment_flow_control_window(1 << 28)
        client.flush()
        client.wait(h2.events.StreamEnded, streams[0])
        assert len(client.bytes(streams[0])) >= 50_000_000


def test_a_body_in_pieces_and_its_limit(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port).rstrip() + "\n  semroute:\n    gateway: {max_body_bytes: 100000}\n")
    with Client(gateway.port) as client:
        body = json.dumps(chat("hello " * 10000, "general")).encode()
        head = client.head(more=[("content-type", "application/json")])
        stream = client.send(head, b"", end=False)
        for i in range(0, len(body), 7000):
            client.h2.send_data(stream, body[i:i + 7000], end_stream=i + 7000 >= len(body))
            client.flush()
        assert client.answer(stream)[0] == 200
        announced = client.send(head + [("content-length", "200000")], b"{", end=False)
        assert client.answer(announced)[0] == 413
        unknown = client.send(head, b"{" + b" " * 10000, end=False)
        sent = 10001
        while not any(isinstance(e, h2.events.ResponseReceived) and e.stream_id == unknown for e in client.events):
            if sent < 120000:
                client.h2.send_data(unknown, b" " * 10000)
                client.flush()
                sent += 10000
            else:
                assert client.read()
        status, head, body = client.answer(unknown)
        assert status == 413 and json.loads(body)["error"]["message"].endswith("the limit is 100000 bytes")
        assert client.answer(client.get("/v1/models"))[0] == 200


def test_an_upload_waits_for_a_slow_upstream(start):
    """An upstream that does not read: the gateway grants no more than it has room for."""
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        gateway = start.gateway(f"""
            version: v0.3
            providers:
              defaults: {{default_model: m}}
              models:
              - {{name: m, backend_refs: [{{name: b, endpoint: "127.0.0.1:{upstream.getsockname()[1]}"}}]}}
            """)
        before = gateway.rss_kib()
        with Client(gateway.port) as client:
            client.wait(h2.events.RemoteSettingsChanged)
            start_of = json.dumps(chat("hello", "m"))[:-3].encode()
            stream = client.send(client.head(more=[("content-type", "application/json")]), start_of, end=False)
            upstream.settimeout(PATIENCE)
            accepted, _ = upstream.accept()
            with accepted:
                client.socket.setblocking(False)
                sent, idle = 0, 0
                while sent < 30_000_000 and idle < 40:
                    room = min(client.h2.local_flow_control_window(stream), 16384)
                    if room:
                        client.h2.send_data(stream, b" " * room)
                        sent, idle = sent + room, 0
                    try:
                        client.socket.setblocking(True)
                        client.socket.settimeout(0.1)
                        client.flush()
                        if not room:
                            client.read()
                    except TimeoutError:
                        idle += 1
                assert sent < 30_000_000 and gateway.rss_kib() - before < 40_000, sent


def test_requests_in_flight_finish_before_the_end(start, tmp_path):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port))
    url = f"http://127.0.0.1:{gateway.port}{CHAT}"
    # curl follows RFC 9113; the h2 package takes a GOAWAY for the end of all streams.
    args = ["-d", json.dumps(chat("hi", "general", stream=True)), "-H", "content-type: application/json", "-H", "x-mock-chunks: 30",
            "-H", "x-mock-chunk-delay-ms: 100"]
    busy = [subprocess.Popen(["curl", "-sS", "-N", "--http2-prior-knowledge", *args, url, "-o", tmp_path / name], stderr=subprocess.PIPE)
            for name in ("out", "out2")]
    files = [tmp_path / "out", tmp_path / "out2"]
    with Client(gateway.port) as idle:
        assert idle.answer(idle.get("/v1/models"))[0] == 200
        until(lambda: all(f.exists() and f.read_bytes().count(b"data: ") >= 2 for f in files), "two events of each")
        gateway.signal(signal.SIGTERM)
        assert idle.wait(h2.events.ConnectionTerminated).error_code == 0
        for curling in busy:
            trouble = curling.communicate(timeout=PATIENCE)[1]
            assert curling.returncode == 0, trouble
    for file in files:
        assert file.read_bytes().rstrip().endswith(b"data: [DONE]")
    assert gateway.wait(PATIENCE) == 0


def test_pages_of_other_origins(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port).rstrip() + "\n  semroute:\n    gateway: {cors_origins: [\"https://app.example\"]}\n")
    origin = ("origin", "https://app.example")
    with Client(gateway.port) as client:
        asked = client.send(client.head("OPTIONS", more=[origin, ("access-control-request-method", "POST"),
                                                         ("access-control-request-headers", "authorization")]))
        status, head, body = client.answer(asked)
        assert status == 204 and head["access-control-allow-headers"] == "authorization" and not body
        for stream in (client.post(chat("hello", "general"), [origin]), client.get("/v1/models", [origin])):
            status, head, _ = client.answer(stream)
            assert status == 200 and head["access-control-allow-origin"] == "https://app.example"


ENVOY_SITE = """
admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {admin}}}}}}}
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          route_config:
            virtual_hosts:
            - {{name: all, domains: ["*"], routes: [{{match: {{prefix: /}}, route: {{cluster: semroute, timeout: 0s}}}}]}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: semroute
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}
    load_assignment:
      cluster_name: semroute
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {gateway}}}}}}}}}]}}]
"""


def test_envoy_in_front(start, tmp_path):
    gateway = start.gateway(builtin_on(start.mock().port).rstrip() + "\n  semroute: {loops: 1}\n")
    port, admin = free_ports(), free_ports()
    (tmp_path / "envoy.yaml").write_text(ENVOY_SITE.format(admin=admin, port=port, gateway=gateway.port))
    envoy = Process([ENVOY, "-c", tmp_path / "envoy.yaml", "--concurrency", "1", "--use-dynamic-base-id", "-l", "warning"],
                    tmp_path / "envoy.log")
    try:
        wait_http(admin, "/ready", envoy, timeout=PATIENCE)
        assert request(port, "GET", "/v1/models", timeout=PATIENCE).status == 200
        # Connections are counted now and then: with this one of HTTP/2 those of HTTP/1.1 before it.
        until(lambda: metric(gateway, 'semroute_connections_opened_total{protocol="http2"}') > 0, gateway.metrics)
        before = metric(gateway, 'semroute_connections_opened_total{protocol="http1"}')
        results = []

        def ask(i):
            results.append(request(port, "POST", CHAT, chat(f"hello {i}", "general", stream=i % 2 == 0), timeout=PATIENCE))
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [r.status for r in results] == [200] * 20
        assert request(port, "GET", "/v1/models").json()["data"]
        assert metric(gateway, 'semroute_connections_opened_total{protocol="http1"}') == before
        stats = request(admin, "GET", "/stats?filter=cluster.semroute.upstream_cx_http2_total").body
        assert b"upstream_cx_http2_total: 0" not in stats and b"upstream_cx_http2_total" in stats
    finally:
        envoy.stop()
