"""One trace over the real Envoy, semroute behind it as its processor, and the upstream; with and without Envoy's own
tracing."""
import contextlib
import secrets

import pytest

import envoy as real
from collector import Collector
from conftest import BINARY, Mock, Process, chat, free_ports, request, wait_http
from keys_site import decision, model, site, write
from test_traces import ROOT_SPAN, SAMPLED, UPSTREAM, assert_tree, context, one, upstream_context

FILTERS = "          http_filters:\n"
CLUSTERS = "  clusters:\n"
# Envoy's own tracer: all of it is configuration of Envoy, whose spans go to the same collector.
TRACER = """          tracing:
            random_sampling: {value: 100}
            provider:
              name: envoy.tracers.opentelemetry
              typed_config:
                "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                grpc_service: {envoy_grpc: {cluster_name: collector}, timeout: 5s}
                service_name: envoy
"""
COLLECTOR = """  - name: collector
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: collector, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: PORT}}}}]}]}
"""


def config(port):
    cached = [{"type": "response_cache", "configuration": {"scope": "global"}}]
    private = {"pii": [{"name": "p", "threshold": 0.5}], "keywords": [{"name": "tall", "keywords": ["tower"]}]}
    block = [{"type": "guard", "configuration": {"action": "block"}}]
    made = site(model("general", "@0"), model("coder", "@1"), default="general", signals=private, decisions=[
        decision("kept", model="general", rules={"keyword": "tall"}, plugins=cached),
        {"name": "stop", "priority": 100, "rules": {"operator": "OR", "conditions": [{"type": "pii", "name": "p"}]}, "plugins": block}],
        tracing={"delay_ms": 20})
    made["global"]["services"] = {"observability": {"tracing": {"enabled": True, "exporter": {"endpoint": f"http://127.0.0.1:{port}"}}}}
    return made


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """door(mode, traces): an Envoy in that mode in front of one semroute, the mock behind both, and the collector."""
    directory = tmp_path_factory.mktemp("traces")
    with contextlib.ExitStack() as stack:
        collector = Collector("grpc")
        stack.callback(collector.stop)
        mock = Mock(directory / "mock.log")
        stack.callback(mock.stop)
        port, metrics = free_ports(), free_ports()
        file = write(config(collector.port), directory / "semroute.yaml", mock.port)
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        envoys = {}

        def change(text):
            assert text.count(FILTERS) == 1 and text.count(CLUSTERS) == 1
            text = text.replace(FILTERS, TRACER + FILTERS)
            return text.replace(CLUSTERS, CLUSTERS + COLLECTOR.replace("PORT", str(collector.port)))

        def start(mode, traces):
            if (mode, traces) not in envoys:
                envoys[mode, traces] = real.Envoy(directory, mode, port, mock.port, change=change if traces else None)
                stack.callback(envoys[mode, traces].stop)
            return envoys[mode, traces]
        yield start, mock, collector


def post(envoy, text, headers, **more):
    return request(envoy.port, "POST", "/v1/chat/completions", chat(text, **more), headers)


def own(spans):
    return [s for s in spans if s.scope == "semantic-router"]


@pytest.mark.parametrize("mode", ["BUFFERED", "FULL_DUPLEX"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_the_upstream_continues_semroutes_span(door, mode, stream):
    start, mock, collector = door
    headers, trace, span = context()
    assert post(start(mode, False), f"Tell me of {mode} {stream}.", headers, stream=stream).status == 200
    spans = collector.trace(trace)
    root = assert_tree(spans, span)
    assert upstream_context(mock) == (trace, one(spans, UPSTREAM).id, SAMPLED)
    assert root.attributes["semroute.door"] == "extproc"


@pytest.mark.parametrize("mode", ["BUFFERED", "FULL_DUPLEX"])
def test_one_trace_with_envoys_own_spans(door, mode):
    """Envoy's spans, semroute's and the upstream's context are of one trace; semroute's is below Envoy's call of it."""
    start, mock, collector = door
    headers, trace, span = context()
    assert post(start(mode, True), f"Tell me of {mode}.", headers).status == 200
    seen = upstream_context(mock)
    assert seen[0] == trace

    def whole(spans):
        mine = {s.id: s for s in spans if s.trace == trace}
        root = next((s for s in mine.values() if s.name == ROOT_SPAN), None)
        return (root, mine) if root and root.parent in mine and seen[1] in mine else None
    root, mine = collector.wait(whole, f"spans of {trace}")
    at, names = root, []
    while at.parent != span:
        at = mine[at.parent]
        names.append(at.resource["service.name"])
    assert set(names) == {"envoy"}
    assert mine[seen[1]].resource["service.name"] == "envoy"


def test_a_new_trace_begins_at_envoy(door):
    start, mock, collector = door
    id = secrets.token_hex(8)
    assert post(start("BUFFERED", True), "hello there", {"x-request-id": id}).status == 200
    trace = upstream_context(mock)[0]
    root = one(own(collector.trace(trace)), ROOT_SPAN)
    assert root.parent


def test_a_blocked_and_a_cached_request_have_no_upstream(door):
    start, _, collector = door
    envoy = start("FULL_DUPLEX", False)
    headers, trace, span = context()
    assert post(envoy, "write to john.doe@example.com, card 4111 1111 1111 1111", headers).status == 403
    spans = collector.trace(trace)
    assert assert_tree(spans, span).attributes["security.action"] == "blocked"
    assert not [s for s in spans if s.name == UPSTREAM]
    for _ in range(2):
        headers, trace, span = context()
        assert post(envoy, "How tall is the tower?", headers).status == 200
        spans = collector.trace(trace)
    root = assert_tree(spans, span)
    assert root.attributes["cache.hit"] is True and not [s for s in spans if s.name == UPSTREAM]
