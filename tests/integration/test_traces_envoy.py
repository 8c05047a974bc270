"""One trace over the real Envoy, which traces on its own, semroute as its processor, and the upstream: for requests that
are plain, streamed, cached, blocked and tried again, with a collector that is away for a while."""
import contextlib
import json
import re
import secrets
import time

import pytest

import envoy as real
from collector import Collector
from conftest import BINARY, Mock, Process, chat, free_ports, request, wait_http
from keys_site import decision, model, site, write

ROOT_SPAN = "semantic_router.request.received"
BLOCKED = "write to john.doe@example.com, card 4111 1111 1111 1111"

TRACING = """          codec_type: AUTO
          tracing:
            provider:
              name: envoy.tracers.opentelemetry
              typed_config:
                "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                grpc_service: {envoy_grpc: {cluster_name: collector}, timeout: 30s}
                service_name: envoy
            spawn_upstream_span: true
"""
CLUSTER = """  clusters:
  - name: collector
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: collector, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: PORT}}}}]}]}
"""
AT_ONCE = """layered_runtime:
  layers:
  - name: spans
    static_layer: {tracing.opentelemetry.min_flush_spans: 1, tracing.opentelemetry.flush_interval_ms: 100}
"""


def traced(collector):
    """The shipped file with a tracer, and one retry of what upstreams answer with 5xx."""
    def change(text):
        text = re.sub(r"          codec_type: AUTO.*\n", lambda _: TRACING, text, count=1)
        text = text.replace("  clusters:\n", CLUSTER.replace("PORT", str(collector.port)), 1)
        text = text.replace("cluster: general, timeout: 0s", "cluster: general, timeout: 0s, retry_policy: {retry_on: 5xx, num_retries: 1}")
        return text + AT_ONCE
    return change


def config(collector):
    plugins = [{"type": "response_cache", "configuration": {"scope": "global"}}]
    result = site(model("general", "@0"), default="general", signals={
        "keywords": [{"name": "tower", "operator": "OR", "keywords": ["tower"]}], "pii": [{"name": "private", "threshold": 0.5}]},
        decisions=[decision("known", model="general", rules={"keyword": "tower"}, plugins=plugins),
                   {"name": "no_private", "priority": 1000, "rules": {"type": "pii", "name": "private"},
                    "plugins": [{"type": "guard", "configuration": {"action": "block"}}]}],
        tracing={"protocol": "grpc", "delay_ms": 20})
    result["global"]["services"] = {"observability": {"tracing": {
        "enabled": True, "exporter": {"endpoint": f"http://127.0.0.1:{collector.port}"}}}}
    return result


@pytest.fixture(scope="module", params=["BUFFERED", "FULL_DUPLEX"])
def door(request, tmp_path_factory):
    """An Envoy in front of one semroute, the mock behind both, and the collector that both send spans to."""
    directory = tmp_path_factory.mktemp("traces")
    with contextlib.ExitStack() as stack:
        collector = Collector("grpc")
        stack.callback(collector.stop)
        mock = Mock(directory / "mock.log")
        stack.callback(mock.stop)
        port, metrics = free_ports(), free_ports()
        file = write(config(collector), directory / "semroute.yaml", mock.port)
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        envoy = real.Envoy(directory, request.param, port, mock.port, change=traced(collector))
        stack.callback(envoy.stop)
        yield envoy, mock, collector


def ask(envoy, text, **more):
    """Answer, and trace and span of the client."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    headers = {"traceparent": f"00-{trace}-{span}-01", **more.pop("headers", {})}
    return request(envoy.port, "POST", "/v1/chat/completions", chat(text, **more), headers=headers), trace, span


def whole(collector, trace, client_span, has=lambda mine: True):
    """All spans of a trace: Envoy's server span is under the client's, semroute's is under Envoy's call of it, and every
    span but the first has its parent among them. Returns semroute's root, and Envoy's spans by id. Envoy sends each span
    on its own, in any order: `has` says what else must have come."""
    def come(spans):
        mine = [s for s in spans if s.trace == trace]
        ids, roots = {s.id for s in mine}, [s for s in mine if s.name == ROOT_SPAN]
        tops = [s for s in mine if s.parent not in ids]
        return mine if roots and [s.parent for s in tops] == [client_span] and has(mine) else None
    mine = collector.wait(come, f"whole trace {trace}")
    assert len({s.id for s in mine}) == len(mine)
    roots = [s for s in mine if s.name == ROOT_SPAN]
    assert len(roots) == 1, mine
    of_envoy = {s.id: s for s in mine if s.resource["service.name"] == "envoy"}
    assert "ext_proc" in of_envoy[roots[0].parent].name.lower() or "externalprocessor" in of_envoy[roots[0].parent].name.lower()
    assert next(s for s in of_envoy.values() if s.parent == client_span)
    return roots[0], of_envoy


def upstream_parent(mock):
    found = re.findall(r"^traceparent: 00-(\w+)-(\w+)-01\s*$", mock.last_head(), re.MULTILINE | re.IGNORECASE)
    assert len(found) == 1, mock.last_head()
    return found[0]


def served(mock):
    return json.loads(request(mock.port, "GET", "/mock/stats").body)["requests"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_one_trace_over_envoy_semroute_and_upstream(door, stream):
    envoy, mock, collector = door
    answer, trace, span = ask(envoy, "a plain question", stream=stream)
    assert answer.status == 200
    seen_trace, seen_span = upstream_parent(mock)
    root, of_envoy = whole(collector, trace, span, lambda mine: seen_span in {s.id for s in mine})
    assert seen_trace == trace and seen_span in of_envoy, "the upstream is below Envoy's request to it"
    assert root.attributes["semroute.door"] == "extproc" and root.attributes["http.status_code"] == 200
    if stream:
        upstream = [s for s in collector.spans if s.trace == trace and s.name == "semantic_router.upstream.request"]
        assert len(upstream) == 1 and "first_token" in upstream[0].events


def test_a_cached_answer_is_one_trace_without_an_upstream(door):
    envoy, mock, collector = door
    text = "how tall is the tower beside the lake"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        before = served(mock)
        answer, trace, span = ask(envoy, text)
        assert answer.status == 200
        if answer.headers.get("x-vsr-cache-hit") == "true":
            break
    assert answer.headers.get("x-vsr-cache-hit") == "true" and served(mock) == before
    root, _ = whole(collector, trace, span)
    assert root.attributes["cache.hit"] is True


def test_a_blocked_request_is_one_trace_without_an_upstream(door):
    envoy, mock, collector = door
    before = served(mock)
    answer, trace, span = ask(envoy, BLOCKED)
    assert answer.status == 403 and served(mock) == before
    root, _ = whole(collector, trace, span)
    assert root.attributes["security.action"] == "blocked"


def test_both_tries_of_envoy_are_in_the_trace(door):
    envoy, mock, collector = door
    before = served(mock)
    answer, trace, span = ask(envoy, "a question that fails", headers={"x-mock-status": "500"})
    assert answer.status == 500 and served(mock) == before + 2
    def tries(spans):
        return [s for s in spans if s.attributes.get("upstream_cluster.name") == "general" and s.kind == 3]

    seen_trace, seen_span = upstream_parent(mock)
    _, of_envoy = whole(collector, trace, span, lambda mine: len(tries(mine)) >= 2)
    assert seen_trace == trace and seen_span in of_envoy
    assert len(tries(of_envoy.values())) == 2, list(of_envoy.values())


def test_what_semroute_saw_while_the_collector_was_away_comes_later(door):
    envoy, mock, collector = door
    collector.stop()
    asked = [ask(envoy, f"question {number}") for number in range(3)]
    assert [answer.status for answer, _, _ in asked] == [200] * 3
    collector.start()
    for _, trace, _ in asked:
        assert upstream_parent(mock)
        collector.trace(trace)
