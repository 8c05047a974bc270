"""Keys of the ext_proc door: their effects as the real Envoy, or a bare connection, sees them."""
import contextlib
import json
import socket
import ssl
import time

import envoy as real
from conftest import BINARY, Process, chat, free_ports, request
from keys_offline import Key
from keys_site import decision, model, site
from test_pools import until

EXTPROC = "global.semroute.extproc."
ROUTER = "global.router."
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
CODER = json.dumps({"messages": [{"role": "user", "content": "hello"}], "model": "coder"}).encode()


def door_site(router=None, **extproc):
    """Two models that the shipped Envoy configurations know, on the mock's two workers."""
    return site(model("general", "@0"), model("coder", "@1"), default="general", extproc=extproc, router=router or {})


TLS = door_site(tls={"cert_file": "%/server.pem", "key_file": "%/server.key"})


@contextlib.contextmanager
def door(config, bench):
    """`semroute serve` with Envoy's door alone, ready or ended; yields its port and the process."""
    port = free_ports()
    process = Process([BINARY, "serve", "-c", bench.write(config), "--gateway", "off", "--api", "off", "--metrics", "off",
                       "--extproc", f"127.0.0.1:{port}"], bench.directory / f"extproc{bench.started}.log")
    try:
        end = time.monotonic() + 60
        while "ready in" not in process.output() and process.child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        yield port, process
    finally:
        process.stop()


def through(mode, look):
    """A probe through Envoy in a mode."""
    def see(config, bench):
        with door(config, bench) as (port, _):
            bench.envoy = real.Envoy(bench.directory, mode, port, bench.mock.port)
            try:
                return look(bench.envoy.port, bench)
            finally:
                bench.envoy.stop()
    return see


def status(body):
    return lambda port, _: request(port, "POST", "/v1/chat/completions", body).status


def worker(port, _):
    answer = request(port, "POST", "/v1/chat/completions", chat("hello", "coder"))
    return answer.json()["choices"][0]["message"]["content"].split()[6]


def seen(port, _):
    return "x-vsr-schema-version" in request(port, "POST", "/v1/chat/completions", chat("hello", "coder")).headers


def half(port, body=CODER):
    """A connection on which half of a request was sent."""
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n"
              b"content-length: %d\r\n\r\n" % len(body) + body[:20])
    return s


def rest_later(port, bench):
    """The worker that answers a request whose model comes when the door has decided, or after two seconds."""
    with half(port) as s:
        end = time.monotonic() + 2
        while not bench.envoy.stat("stream_msgs_received") and time.monotonic() < end:
            time.sleep(0.02)
        s.sendall(CODER[20:])
        answer = b""
        while data := s.recv(65536):
            answer += data
    return json.loads(answer[answer.index(b"{"):answer.rindex(b"}") + 1])["choices"][0]["message"]["content"].split()[6]


def patience(port, _):
    with half(port) as s:
        s.settimeout(4)
        try:
            return int(s.recv(65536).split()[1])
        except TimeoutError:
            return "waits"


def second(port, bench):
    with half(port):
        until(lambda: bench.envoy.stat("streams_started"))
        return status(CODER)(port, bench)


def passing(port, bench):
    """What becomes of a body of some 100 bytes that names its model in the first few."""
    body = json.dumps(chat("hello " * 10, "coder")).encode()
    begin = body.index(b"[") + 1
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n"
                  b"content-length: %d\r\n\r\n" % len(body) + body[:begin])
        until(lambda: bench.envoy.stat("stream_msgs_received"))
        s.sendall(body[begin:])
        return int(s.recv(65536).split()[1])


def fallbacks(port, bench):
    assert status(CODER)(port, bench) == 200
    heads = [line for worker in (0, 1) for line in bench.mock.last_head(worker).lower().splitlines()]
    return max(line.count(",") for line in heads if line.startswith("x-gateway-destination-endpoint"))


def has_length(port, _):
    answer = request(port, "POST", "/v1/chat/completions", chat("say-hi", stream=True))
    assert answer.headers["x-vsr-fast-response"] == "true"
    return "content-length" in answer.headers


def destination(port, bench):
    assert status(CODER)(port, bench) == 200
    return f"x-dest: 127.0.0.1:{bench.mock.port + 1}" in bench.mock.last_head(1)


def certificate(config, bench):
    with door(config, bench) as (port, process):
        if process.child.poll() is not None:
            return None
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", port), timeout=10) as s, context.wrap_socket(s) as tls:
            return "server" if b"server" in tls.getpeercert(True) else "other"


def lets_in(config, bench):
    """Whether a client without a certificate is answered."""
    with door(config, bench) as (port, _):
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["h2"])
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as s, context.wrap_socket(s) as tls:
                tls.sendall(PREFACE)
                return len(tls.recv(9)) > 0
        except OSError:
            return False


SAY_HI = {**decision("hi", rules={"keyword": "hi"}, plugins=[{"type": "fast_response", "configuration": {"message": "Hi."}}])}
SAY_HI.pop("modelRefs")
GREETER = site(model("general", "@0"), default="general", extproc={}, decisions=[SAY_HI],
               signals={"keywords": [{"name": "hi", "operator": "OR", "keywords": ["say-hi"]}]})
PAIR = site(model("general", "@0"), model("coder", "@0", "@1"), default="general",
            extproc={"destination_header": "x-gateway-destination-endpoint"})
LARGE = {**chat("hello " * 40000, "coder")}
KEYS = [
    Key(ROUTER + "clear_route_cache", door_site(), (False, True), through("FULL_DUPLEX", worker), ("0", "1")),
    Key(ROUTER + "streamed_body.enabled", door_site({"streamed_body": {}}), (False, True), through("FULL_DUPLEX", seen),
        (False, True)),
    Key(ROUTER + "streamed_body.max_bytes", door_site({"streamed_body": {}}), (50, 0), through("FULL_DUPLEX", status(CODER)),
        (413, 200)),
    Key(ROUTER + "streamed_body.timeout_sec", door_site({"streamed_body": {}}), (1, 60), through("FULL_DUPLEX", patience),
        (408, "waits")),
    Key(EXTPROC + "destination_header", door_site(), ("", "x-dest"), through("FULL_DUPLEX", destination), (False, True)),
    Key(EXTPROC + "hold_ms", door_site(), (1, 30000), through("NO_WAIT", rest_later), ("0", "1")),
    Key(EXTPROC + "hold_bytes", door_site(hold_ms=30000), (10, "1MiB"), through("NO_WAIT", rest_later), ("0", "1")),
    Key(EXTPROC + "max_message_bytes", door_site(), (65536, "64MiB"), through("BUFFERED", status(LARGE)), (500, 200)),
    Key(EXTPROC + "max_passing_bytes", door_site(), (50, 0), through("FULL_DUPLEX", passing), (413, 200)),
    Key(EXTPROC + "fallback_endpoints", PAIR, (0, 3), through(real.PICKER, fallbacks), (0, 1)),
    Key(EXTPROC + "streamed_replies", GREETER, (False, True), through("FULL_DUPLEX", has_length), (True, False)),
    Key(EXTPROC + "max_streams", door_site(), (1, 9), through("FULL_DUPLEX", second), (503, 200)),
    Key(EXTPROC + "tls.cert_file", TLS, ("%/server.pem", "%/other.pem"), certificate, ("server", "other")),
    Key(EXTPROC + "tls.key_file", TLS, ("%/server.key", "%/stranger.key"), certificate, ("server", None)),
    Key(EXTPROC + "tls.client_ca_file", TLS, ("", "%/ca.pem"), lets_in, (True, False)),
]
