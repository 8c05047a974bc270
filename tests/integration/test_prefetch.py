"""The neural classifier reads while the body still arrives: a body that stops in the middle has been read up to there,
by both doors, and the decision is the same as for a body that comes at once."""
import json
import re
import socket
import time

import grpc
import pytest

from conftest import BINARY, ROOT, Process, free_ports, request, wait_http
from echo import Echo
from grpc_door import FULL_DUPLEX, OPTIONS, STREAMED, Call, body, head, stubs  # noqa: F401

COUNTER = "semroute_inference_early_windows_total"
PEOPLE = ["Margaret Thompson", "Johannes Brandstetter", "Aiko Tanaka", "Fatima Benali", "Lucas Moreau"]
SECRET = "zebra.quagga@example.com"


def story(sentences, seed):
    """Prose with people in it, other prose for another seed."""
    return " ".join(f"On day {seed}{i} {PEOPLE[(i + seed) % 5]} went to see the harbour of Rotterdam and stayed for {i + 3} hours."
                    for i in range(sentences))


def conversation(seed):
    call = {"id": "1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return [{"role": "system", "content": "You answer in one sentence."}, {"role": "user", "content": "Read the diary."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": story(30, seed) + " Write to " + SECRET + "."},
            {"role": "user", "content": story(100, seed + 1) + " Write to " + SECRET + ", and say who was there."}]


def configuration(port, **guards):
    guard = {"name": "hide-private", "priority": 900, "rules": {"type": "pii", "name": "pii"},
             "plugins": [{"type": "guard", "configuration": {"action": "redact"}}]}
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": "one"},
                      "models": [{"name": m, "backend_refs": [{"name": m, "endpoint": f"127.0.0.1:{port}"}]} for m in ("one", "two")]},
        "routing": {"signals": {"pii": [{"name": "pii"}]}, "decisions": [guard]},
        "global": {"model_catalog": {"embeddings": {"semantic": {"mmbert_model_path": f"{ROOT}/models/all-MiniLM-L6-v2"}}},
                   "semroute": {"loops": 1, "signal_deadline_ms": 60000, "guards": {"tenant_header": "x-tenant", **guards},
                                "inference": {"neural": f"{ROOT}/models/neural"}}}})


class Site:
    """One program behind both doors, so that the same engine decides."""

    def __init__(self, directory, name="site", **guards):
        self.echo = Echo()
        self.port, self.metrics_port, self.extproc_port = free_ports(), free_ports(), free_ports()
        config = directory / f"{name}.yaml"
        config.write_text(configuration(self.echo.port, **guards))
        self.process = Process([BINARY, "serve", "-c", config, "--gateway", f"127.0.0.1:{self.port}", "--api", "off", "--metrics",
                                f"127.0.0.1:{self.metrics_port}", "--extproc", f"127.0.0.1:{self.extproc_port}"],
                               directory / f"{name}.log")
        wait_http(self.metrics_port, "/metrics", self.process)

    def prefetched(self):
        text = request(self.metrics_port, "GET", "/metrics").body.decode()
        return float(re.search(rf"^{COUNTER} (\S+)$", text, re.MULTILINE)[1])

    def await_reading(self, before):
        """Until windows were read, while the rest of the body is not sent."""
        end = time.monotonic() + 60
        while self.prefetched() <= before + 4:
            assert time.monotonic() < end, "nothing was read while the body arrived"
            time.sleep(0.02)

    def stop(self):
        self.process.stop()
        self.echo.stop()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("prefetch"))
    yield site
    site.stop()


def data_of(seed, model="auto"):
    return json.dumps({"messages": conversation(seed), "model": model}).encode()


def at_once(site, data, tenant):
    answer = request(site.port, "POST", "/v1/chat/completions", data, {"x-tenant": tenant}, timeout=120)
    assert answer.status == 200
    return answer.headers, json.loads(site.echo.bodies[-1])


class Slow:
    """A request whose body is sent in two parts on a connection of its own."""

    def __init__(self, site, data, tenant):
        self.data, self.sent = data, len(data) * 3 // 4
        self.socket = socket.create_connection(("127.0.0.1", site.port), timeout=120)
        self.socket.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nx-tenant: %s\r\n"
                            b"connection: close\r\ncontent-length: %d\r\n\r\n" % (tenant.encode(), len(data)) + data[:self.sent])

    def rest(self):
        self.socket.sendall(self.data[self.sent:])
        answer = b""
        while piece := self.socket.recv(65536):
            answer += piece
        lines = answer.split(b"\r\n\r\n")[0].decode().split("\r\n")
        assert lines[0].split()[1] == "200"
        return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}


def decided(headers):
    return {k: v for k, v in headers.items() if k.startswith("x-vsr-") and k != "x-vsr-overhead-us"}


@pytest.mark.parametrize("model", ["auto", "two"])
def test_the_gateway_prefetches(site, model):
    data = data_of(10 if model == "auto" else 20, model)
    headers, upstream = at_once(site, data, "whole")
    before = site.prefetched()
    slow = Slow(site, data, "slow")
    site.await_reading(before)
    assert decided(slow.rest()) == decided(headers)
    assert json.loads(site.echo.bodies[-1]) == upstream
    assert headers["x-vsr-scan-coverage"] == "1.0000" and "EMAIL_ADDRESS" in headers["x-vsr-pii-types"]
    assert SECRET not in site.echo.bodies[-1] and "[EMAIL_ADDRESS_1]" in site.echo.bodies[-1]


def whole_of(call, mode, sent):
    """The body that Envoy is left with."""
    out, replies, end = b"", 0, False
    while not end:
        answer = call.next()
        if not answer.WhichOneof("response"):
            continue  # more time is asked for
        mutation = answer.request_body.response.body_mutation
        replies += 1
        out += mutation.body if mode == STREAMED else mutation.streamed_response.body
        end = replies == sent if mode == STREAMED else mutation.streamed_response.end_of_stream
    return out


@pytest.mark.parametrize("mode", [STREAMED, FULL_DUPLEX])
def test_envoys_door_prefetches(site, stubs, mode):  # noqa: F811
    data = data_of(30 + mode * 10)
    _, upstream = at_once(site, data, "whole")
    before, cut = site.prefetched(), len(data) * 3 // 4
    first = head(stubs, mode)
    first.request_headers.headers.headers.append(stubs.pb.HeaderValue(key="x-tenant", raw_value=b"slow"))
    pieces = [data[at:min(at + 4000, cut)] for at in range(0, cut, 4000)]
    with grpc.insecure_channel(f"127.0.0.1:{site.extproc_port}", options=OPTIONS) as channel:
        call = Call(stubs, channel)
        call.send(first, *[body(stubs, piece, False) for piece in pieces])
        site.await_reading(before)
        call.send(body(stubs, data[cut:]))
        assert call.next().WhichOneof("response") == "request_headers"
        assert json.loads(whole_of(call, mode, len(pieces) + 1)) == upstream
        call.finish()
        assert call.code() == grpc.StatusCode.OK


def test_nothing_is_read_for_those_whom_no_guard_reads(tmp_path):
    site = Site(tmp_path, explicit_models=False)
    data = data_of(70, "two")
    slow = Slow(site, data, "slow")
    slow.rest()
    assert json.loads(site.echo.bodies[-1]) == json.loads(data) and site.prefetched() == 0
    site.stop()


def test_who_leaves_is_forgotten(site):
    """A client that goes away in the middle: what was asked for it is given up, others are served."""
    before = site.prefetched()
    for number in range(3):
        slow = Slow(site, data_of(80 + number), f"gone{number}")
        site.await_reading(before)
        before = site.prefetched()
        slow.socket.close()
    headers, _ = at_once(site, data_of(90), "whole")
    assert headers["x-vsr-scan-coverage"] == "1.0000"
    end = time.monotonic() + 60
    while 'semroute_inference_queue_length 0' not in request(site.metrics_port, "GET", "/metrics").body.decode():
        assert time.monotonic() < end
        time.sleep(0.02)
