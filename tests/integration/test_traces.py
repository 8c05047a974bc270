"""Traces: one trace over client, semroute and upstream, for every outcome, and a collector that is not there."""
import concurrent.futures
import http.client
import json
import pathlib
import re
import secrets
import signal
import subprocess
import time

import pytest

from collector import PATIENCE, Collector
from conftest import ROOT, chat, free_ports
from test_pools import Asked, until
from test_tiers import Worker

ROOT_SPAN, UPSTREAM = "semantic_router.request.received", "semantic_router.upstream.request"
SERVER, CLIENT, ERROR = 2, 3, 2
SAMPLED, NOT_SAMPLED = "01", "00"


@pytest.fixture
def collect():
    """collect("http"), collect("grpc"): a collector that ends with the test."""
    running = []

    def make(*args, **more):
        running.append(Collector(*args, **more))
        return running[-1]
    yield make
    for collector in running:
        collector.stop()


def config(mock_port, collector, more="", semroute="", decisions="", models=("alpha",), plugins=""):
    """One decision for texts with `integral`, one guard, and tracing to the collector."""
    providers = "\n".join(f"""
    - name: {name}
      backend_refs: [{{name: {name}, endpoint: 127.0.0.1:{mock_port + at}}}]""" for at, name in enumerate(models))
    return f"""
version: v0.3
providers:
  defaults: {{default_model: {models[0]}}}
  models:{providers}
routing:
  modelCards: [{", ".join(f"{{name: {m}}}" for m in models)}]
  signals:
    keywords:
    - {{name: math, operator: OR, keywords: [integral]}}
    pii:
    - {{name: private, threshold: 0.5}}
  decisions:
  - name: maths
    priority: 10
    rules: {{operator: OR, conditions: [{{type: keyword, name: math}}]}}
    modelRefs: [{", ".join(f"{{model: {m}}}" for m in models)}]
    plugins: [{plugins}]
  - name: no_private
    priority: 1000
    rules: {{operator: OR, conditions: [{{type: pii, name: private}}]}}
    plugins:
    - {{type: guard, configuration: {{action: block}}}}
{decisions}
global:
  services:
    observability:
      tracing:
        enabled: true
        exporter: {{endpoint: "http://127.0.0.1:{collector.port}"}}
        resource: {{service_name: router-under-test, deployment_environment: tests}}
{more}
  semroute:
    signal_deadline_ms: 60000
    tracing:
      protocol: {"http/protobuf" if collector.protocol == "http" else "grpc"}
      delay_ms: 20
{semroute}
"""


def context(flags=SAMPLED):
    """A client's traceparent: its header, trace and span."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return {"traceparent": f"00-{trace}-{span}-{flags}"}, trace, span


def one(spans, name):
    found = [s for s in spans if s.name == name]
    assert len(found) == 1, (name, spans)
    return found[0]


def upstream_context(mock, worker=0):
    head = mock.last_head(worker)
    found = re.findall(r"^traceparent: 00-(\w+)-(\w+)-(\w\w)\s*$", head, re.MULTILINE | re.IGNORECASE)
    assert len(found) == 1, head
    return found[0]


def assert_tree(spans, client_span):
    """One root, under the client's span; every other span has a parent among them and lies in its time."""
    ids = {s.id: s for s in spans}
    assert len(ids) == len(spans), spans
    root = one(spans, ROOT_SPAN)
    assert (root.parent, root.kind) == (client_span, SERVER)
    for span in spans:
        assert span.raw.start_time_unix_nano <= span.raw.end_time_unix_nano, span
        if span is root:
            continue
        parent = ids[span.parent]
        assert parent.raw.start_time_unix_nano <= span.raw.start_time_unix_nano, (parent, span)
        assert span.raw.end_time_unix_nano <= parent.raw.end_time_unix_nano, (parent, span)
    return root


def counted(gateway, result):
    found = re.search(rf'semroute_trace_spans_total{{result="{result}"}} (\S+)', gateway.metrics())
    return float(found[1]) if found else 0


def wait_counted(gateway, result, least=1):
    end = time.monotonic() + PATIENCE
    while counted(gateway, result) < least:
        assert time.monotonic() < end, gateway.metrics()
        time.sleep(0.02)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_one_trace_from_client_to_upstream(start, collect, protocol):
    mock, collector = start.mock(1), collect(protocol)
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, span = context()
    answer = gateway.post(chat("the integral of x"), headers={**headers, "tracestate": "a=1,b=2", "baggage": "k=v"})
    assert answer.status == 200
    spans = collector.trace(trace)
    root = assert_tree(spans, span)
    upstream = one(spans, UPSTREAM)
    assert upstream_context(mock) == (trace, upstream.id, SAMPLED)
    head = mock.last_head().lower()
    assert "tracestate: a=1,b=2" in head and "baggage: k=v" in head
    assert upstream.parent == root.id and upstream.kind == CLIENT and root.raw.trace_state == "a=1,b=2"
    assert {s.resource["service.name"] for s in spans} == {"router-under-test"}
    assert {s.resource["deployment.environment"] for s in spans} == {"tests"}
    assert {s.scope for s in spans} == {"semantic-router"}


def test_attributes_are_those_of_both_conventions(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    answer = gateway.post(chat("the integral of x"), headers={"x-request-id": "given-1"})
    usage = answer.json()["usage"]
    spans = collector.by_request("given-1")
    root = assert_tree(spans, "")
    expected = {"http.method": "POST", "http.path": "/v1/chat/completions", "http.status_code": 200,
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "auto", "gen_ai.response.model": "alpha",
                "gen_ai.usage.input_tokens": usage["prompt_tokens"],
                "gen_ai.usage.output_tokens": usage["completion_tokens"], "routing.selected_model": "alpha",
                "gen_ai.response.finish_reasons": ["stop"], "decision.name": "maths", "semroute.outcome": "routed", "semroute.door": "gateway"}
    assert expected.items() <= root.attributes.items(), root
    keyword = one(spans, "semantic_router.signal.keyword")
    assert keyword.attributes["signal.matched_rules"] == "math"
    assert keyword.parent == one(spans, "semantic_router.signal.evaluation").id
    assert one(spans, "semantic_router.decision.evaluation").attributes["decision.name"] == "maths"
    upstream = one(spans, UPSTREAM)
    assert upstream.attributes["server.port"] == mock.port
    assert upstream.attributes["http.response.status_code"] == 200
    assert upstream.attributes["gen_ai.usage.output_tokens"] == usage["completion_tokens"]
    assert upstream.attributes["endpoint.address"] == f"127.0.0.1:{mock.port}" and upstream.attributes["gen_ai.provider.name"] == "openai"
    decided = one(spans, "semantic_router.decision.evaluation").attributes
    assert decided["decision.matched_rules"] == ["keyword:math"] and decided["decision.strategy"] == "priority"
    assert "session.id" not in root.attributes


@pytest.mark.parametrize("backend, provider", [
    ("type: vllm", "vllm"), ("type: azure-openai, api_version: 2024-10-21", "azure.ai.openai"), ("type: bedrock", "aws.bedrock"), ("type: gemini", "gcp.gemini"),
    ("type: minimax", "minimax"), ("type: anthropic", "anthropic"), ("api_format: anthropic", "anthropic")])
def test_the_provider_is_that_of_the_backend(start, collect, backend, provider):
    mock, collector = start.mock(1), collect()
    text = config(mock.port, collector, "    router_replay: {enabled: true}").replace("backend_refs: [{name: alpha,", f"provider_model_id: their-name\n      backend_refs: [{{name: alpha, {backend},")
    gateway = start.gateway(text)
    headers, trace, span = context()
    gateway.post(chat("the integral of x"), headers={**headers, "x-session-id": "session-1"})
    spans = collector.trace(trace)
    root, upstream = assert_tree(spans, span), one(spans, UPSTREAM)
    assert root.attributes["gen_ai.provider.name"] == upstream.attributes["gen_ai.provider.name"] == provider
    assert (root.attributes["gen_ai.request.model"], upstream.attributes["gen_ai.request.model"]) == ("auto", "their-name")
    assert (upstream.attributes["model.name"], root.attributes["session.id"]) == ("alpha", "session-1")


def test_the_live_page_names_the_trace(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    connection = http.client.HTTPConnection("127.0.0.1", gateway.api_port, timeout=PATIENCE)
    connection.request("GET", "/api/v1/requests/events?why=1")
    stream, found = connection.getresponse(), []
    for flags in (SAMPLED, NOT_SAMPLED):
        headers, trace, _ = context(flags)
        gateway.post(chat("the integral of x"), headers=headers)
        found.clear()
        while not found:
            line = stream.readline()
            assert line, "the page's stream has ended"
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:])["why"]["trace"])
        assert found == [{"id": trace, "kept": flags == SAMPLED}]
    connection.close()


def test_a_stream_shows_its_first_and_last_token(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, span = context()
    assert "[DONE]" in gateway.post(chat("the integral of x", stream=True), headers=headers).body.decode()
    spans = collector.trace(trace)
    assert_tree(spans, span)
    upstream = one(spans, UPSTREAM)
    assert upstream.events == ["answer.head", "first_token", "last_token"]
    assert upstream.attributes["gen_ai.request.stream"] is True
    assert upstream.attributes["gen_ai.response.finish_reasons"] == ["stop"]


def test_a_blocked_request_has_no_upstream(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, span = context()
    answer = gateway.post(chat("write to john.doe@example.com, card 4111 1111 1111 1111"), headers=headers)
    assert answer.status == 403
    spans = collector.trace(trace)
    root = assert_tree(spans, span)
    assert not [s for s in spans if s.name == UPSTREAM]
    assert (root.attributes["security.action"], root.attributes["pii.detected"]) == ("blocked", True)
    assert root.attributes["pii.detection_time_ms"] >= 0
    assert "EMAIL_ADDRESS" in root.attributes["pii.types"]


def test_a_cached_answer_has_no_upstream(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector, plugins="{type: response_cache, configuration: {scope: global}}"))
    for _ in range(2):
        headers, trace, span = context()
        answer = gateway.post(chat("the integral of x"), headers=headers)
        assert answer.status == 200
        spans = collector.trace(trace)
    assert answer.headers.get("x-vsr-cache-hit") == "true", answer
    root = assert_tree(spans, span)
    lookup = one(spans, "semantic_router.cache.lookup")
    assert root.attributes["cache.hit"] is True and lookup.attributes["cache.hit"] is True
    assert not [s for s in spans if s.name == UPSTREAM]


def test_each_try_has_a_span_of_its_own(start, collect):
    mock, collector = start.mock(1), collect()
    closed = free_ports()
    text = config(mock.port, collector).replace(
        f"backend_refs: [{{name: alpha, endpoint: 127.0.0.1:{mock.port}}}]",
        f"backend_refs: [{{name: gone, endpoint: 127.0.0.1:{closed}, weight: 1000000}}, "
        f"{{name: alpha, endpoint: 127.0.0.1:{mock.port}, weight: 1}}]")
    gateway = start.gateway(text)
    headers, trace, span = context()
    assert gateway.post(chat("the integral of x"), headers=headers).status == 200
    spans = collector.trace(trace)
    assert_tree(spans, span)
    tries = sorted((s for s in spans if s.name == UPSTREAM), key=lambda s: s.attributes.get("http.request.resend_count", 0))
    assert [s.attributes["endpoint.name"] for s in tries] == ["gone", "alpha"]
    assert (tries[0].status, tries[0].attributes["error.type"]) == (ERROR, "connect")
    assert upstream_context(mock) == (trace, tries[1].id, SAMPLED)


def test_a_wait_for_a_worker_has_a_span(start, collect):
    """Of two requests for one place the second waits; of two more one waits until its time is over."""
    worker, collector = Worker("alpha"), collect()
    worker.holds = True
    waiting = 'semroute_pool_waiting_requests{pool="alpha"} '
    try:
        gateway = start.gateway(config(worker.port, collector, semroute="    pools: [{model: alpha, max_in_flight: 1, queue: {timeout: 60s}}]"))
        (first, t1, _), (second, t2, span) = context(), context()
        asked = [Asked(gateway, "one", **first)]
        until(lambda: worker.texts)
        asked.append(Asked(gateway, "two", **second))
        until(lambda: waiting + "1" in gateway.metrics())
        worker.release(2)
        assert [a.status() for a in asked] == [200, 200]
        spans = collector.trace(t2)
        root, wait, upstream = assert_tree(spans, span), one(spans, "semantic_router.queue.wait"), one(spans, UPSTREAM)
        assert wait.parent == root.id and wait.raw.end_time_unix_nano <= upstream.raw.start_time_unix_nano
        assert wait.raw.end_time_unix_nano > wait.raw.start_time_unix_nano and wait.attributes["semroute.model"] == "alpha"
        assert not [s for s in collector.trace(t1) if s.name == "semantic_router.queue.wait"]
    finally:
        worker.stop()


def test_an_upstream_that_fails_shows_in_every_span(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, span = context()
    answer = gateway.post(chat("the integral of x"), headers={**headers, "x-mock-status": "500"})
    assert answer.status == 500
    root = assert_tree(collector.trace(trace), span)
    assert root.status == ERROR and root.attributes["http.status_code"] == 500


@pytest.mark.parametrize("given", ["00-{t}-{s}", "ff-{t}-{s}-01", "00-{z}-{s}-01", "00-{T}-{s}-01", "00-{t}-{s}-01-more", "", "x" * 5000])
def test_a_context_that_is_none_begins_a_new_trace(start, collect, given):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    trace, span = secrets.token_hex(16).replace("0", "a"), secrets.token_hex(8)
    header = given.format(t=trace, s=span, z="0" * 32, T=trace[:-1].upper() + "A")
    assert gateway.post(chat("hello"), headers={"traceparent": header, "tracestate": "a=1", "x-request-id": "r"}).status == 200
    root = assert_tree(collector.by_request("r"), "")
    assert root.trace != trace and upstream_context(mock)[0] == root.trace
    assert "tracestate" not in mock.last_head().lower()


def test_what_the_caller_does_not_keep_is_passed_on_and_not_sent(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, span = context(NOT_SAMPLED)
    assert gateway.post(chat("hello"), headers=headers).status == 200
    seen = upstream_context(mock)
    assert (seen[0], seen[2]) == (trace, NOT_SAMPLED) and seen[1] != span
    headers, kept, _ = context()
    gateway.post(chat("hello"), headers=headers)
    collector.trace(kept)
    assert not [s for s in collector.spans if s.trace == trace]


def test_errors_and_slow_requests_are_kept_at_their_end(start, collect):
    mock, collector = start.mock(1), collect()
    text = config(mock.port, collector, semroute="      errors: true\n      slow_ms: 300")
    gateway = start.gateway(text)
    bad, good, slow, last = (context(NOT_SAMPLED) for _ in range(4))
    assert gateway.post(chat("hello"), headers={**good[0]}).status == 200
    assert gateway.post(chat("hello"), headers={**bad[0], "x-mock-status": "500"}).status == 500
    assert gateway.post(chat("hello"), headers={**slow[0], "x-mock-delay-ms": "400"}).status == 200
    assert gateway.post(chat("hello"), headers={**last[0], "x-mock-status": "500"}).status == 500
    for _, trace, span in (bad, slow, last):
        assert_tree(collector.trace(trace), span)


def test_a_collector_that_is_away_gets_the_spans_later(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    collector.stop()
    contexts = [context() for _ in range(5)]
    for headers, _, _ in contexts:
        assert gateway.post(chat("hello"), headers=headers).status == 200
    collector.start()
    for _, trace, span in contexts:
        assert_tree(collector.trace(trace), span)
    assert counted(gateway, "dropped") == 0


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_busy_collector_is_asked_again(start, collect, protocol):
    mock, collector = start.mock(1), collect(protocol)
    collector.behaviour = "away"
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, span = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    collector.wait(lambda spans: collector.seen >= 2)
    collector.behaviour = "ok"
    assert_tree(collector.trace(trace), span)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_what_a_collector_does_not_want_is_counted(start, collect, protocol):
    mock, collector = start.mock(1), collect(protocol)
    collector.behaviour = "refuses"
    gateway = start.gateway(config(mock.port, collector))
    assert gateway.post(chat("hello")).status == 200
    wait_counted(gateway, "failed")
    collector.behaviour = "rejects"
    assert gateway.post(chat("hello")).status == 200
    wait_counted(gateway, "rejected")
    wait_counted(gateway, "exported")
    assert counted(gateway, "rejected") == 1


def test_a_full_queue_drops_and_counts(start, collect):
    mock, collector = start.mock(1), collect()
    collector.behaviour = "away"
    gateway = start.gateway(config(mock.port, collector, semroute="      queue_bytes: 64KiB\n      batch: 1"))
    for _ in range(40):
        assert gateway.post(chat("the integral of x")).status == 200
    wait_counted(gateway, "dropped")


def test_no_request_waits_for_a_slow_collector(start, collect):
    mock, collector = start.mock(1), collect()
    collector.behaviour = "slow"
    gateway = start.gateway(config(mock.port, collector))
    contexts = [context() for _ in range(20)]
    for headers, _, _ in contexts:
        assert gateway.post(chat("hello"), headers=headers).status == 200
    for _, trace, _ in contexts:
        collector.trace(trace)


def test_headers_compression_and_path_reach_the_collector(start, collect):
    mock, collector = start.mock(1), collect()
    semroute = '      compression: gzip\n      headers: {x-team: blue, authorization: "Bearer ${COLLECTOR_TOKEN}"}\n' \
               '      attributes: {cloud.region: here}'
    gateway = start.gateway(config(mock.port, collector, semroute=semroute), env={"COLLECTOR_TOKEN": "t0ken"})
    assert gateway.post(chat("hello"), headers={"x-request-id": "r"}).status == 200
    root = one(collector.by_request("r"), ROOT_SPAN)
    seen = collector.requests[0]
    assert (seen["x-team"], seen["authorization"], seen["content-encoding"]) == ("blue", "Bearer t0ken", "gzip")
    assert seen[":path"] == "/v1/traces" and root.resource["cloud.region"] == "here"


def test_metadata_reaches_a_grpc_collector(start, collect):
    mock, collector = start.mock(1), collect("grpc")
    gateway = start.gateway(config(mock.port, collector, semroute="      headers: {X-Team: blue}"))
    assert gateway.post(chat("hello"), headers={"x-request-id": "r"}).status == 200
    collector.by_request("r")
    assert collector.requests[0]["x-team"] == "blue"


def test_the_environment_alone_turns_traces_on(start, collect):
    mock, collector = start.mock(1), collect()
    text = re.sub(r"  services:.*?  semroute:", "  semroute:", config(mock.port, collector), flags=re.DOTALL)
    text = text.replace("      protocol: http/protobuf\n", "")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}", "OTEL_SERVICE_NAME": "by-name",
           "OTEL_RESOURCE_ATTRIBUTES": "team=blue,place=a%20b", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%2Cb"}
    gateway = start.gateway(text, env=env)
    assert gateway.post(chat("hello"), headers={"x-request-id": "r"}).status == 200
    root = one(collector.by_request("r"), ROOT_SPAN)
    expected = {"service.name": "by-name", "team": "blue", "place": "a b"}
    assert expected.items() <= root.resource.items()
    assert collector.requests[0]["x-key"] == "a,b"


def test_the_environment_can_turn_traces_off(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector), env={"OTEL_SDK_DISABLED": "true"})
    headers, trace, span = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    assert upstream_context(mock) == (trace, span, SAMPLED)
    gateway.stop()
    assert collector.seen == 0


def test_the_environment_names_the_sampler(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector), env={"OTEL_TRACES_SAMPLER": "parentbased_always_off"})
    assert gateway.post(chat("hello")).status == 200
    assert upstream_context(mock)[2] == NOT_SAMPLED
    headers, trace, span = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    assert_tree(collector.trace(trace), span)


def test_upstreams_get_no_context_where_it_is_not_wanted(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector, semroute="      propagate: false"))
    headers, trace, span = context()
    assert gateway.post(chat("hello"), headers={**headers, "tracestate": "a=1", "baggage": "k=v"}).status == 200
    head = mock.last_head().lower()
    assert not [h for h in ("traceparent", "tracestate", "baggage") if h in head], head
    assert_tree(collector.trace(trace), span)


def test_a_reload_changes_the_collector(start, collect):
    mock, first, second = start.mock(1), collect(), collect("grpc")
    gateway = start.gateway(config(mock.port, first))
    assert gateway.post(chat("hello"), headers={"x-request-id": "a"}).status == 200
    first.by_request("a")
    gateway.config_path.write_text(config(mock.port, second))
    gateway.signal(signal.SIGHUP)
    end = time.monotonic() + PATIENCE
    while not second.spans:
        assert time.monotonic() < end
        assert gateway.post(chat("hello")).status == 200


def test_spans_that_wait_are_sent_at_the_end(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector).replace("delay_ms: 20", "delay_ms: 600000"))
    headers, trace, _ = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    gateway.stop()
    assert collector.trace(trace)


def test_the_access_log_names_trace_and_span(start, collect, tmp_path):
    mock, collector, log = start.mock(1), collect(), tmp_path / "access.log"
    gateway = start.gateway(config(mock.port, collector) + f"    access_log: {log}\n")
    headers, trace, _ = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    root = one(collector.trace(trace), ROOT_SPAN)
    gateway.stop()
    line = json.loads(log.read_text().splitlines()[-1])
    assert (line["trace_id"], line["span_id"]) == (trace, root.id)


def certificate(directory):
    files = directory / "cert.pem", directory / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]], check=True,
                   capture_output=True)
    return files


def test_tls_checks_the_collectors_certificate(start, collect, tmp_path):
    mock, files = start.mock(1), certificate(tmp_path)
    collector = collect("http", tls=files)
    text = config(mock.port, collector).replace("http://127", "https://127")
    stranger = start.gateway(text)
    assert stranger.post(chat("hello")).status == 200
    gateway = start.gateway(text + f"      ca_file: {files[0]}\n" if text.rstrip().endswith("20") else
                            text.replace("delay_ms: 20", f"delay_ms: 20\n      ca_file: {files[0]}"))
    headers, trace, span = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    assert_tree(collector.trace(trace), span)
    assert counted(stranger, "exported") == 0


SECRETS = {"text": "planted-prompt-4711", "key": "planted-key-4712", "cookie": "planted-cookie-4713",
           "query": "planted-query-4714", "baggage": "planted-baggage-4715", "user": "planted-user-4716"}


def test_no_span_has_what_a_user_wrote_or_a_key(start, collect):
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    requests = [chat(f"the integral of {SECRETS['text']}", user=SECRETS["user"]),
                chat(f"{SECRETS['text']} john.doe@example.com"),
                chat(SECRETS["text"], model=SECRETS["text"]), {"model": SECRETS["text"]}]
    for number, body in enumerate(requests):
        gateway.post(body, path=f"/v1/chat/completions?q={SECRETS['query']}", headers={
            "authorization": f"Bearer {SECRETS['key']}", "cookie": SECRETS["cookie"], "x-request-id": f"r{number}",
            "baggage": f"secret={SECRETS['baggage']}"})
        collector.by_request(f"r{number}")
    for raw in collector.raw:
        for what, secret in SECRETS.items():
            assert secret.encode() not in raw, what


BATCH = "semantic_router.inference.batch"


def test_a_pass_of_the_encoder_links_the_requests_that_it_serves(start, collect):
    """Requests that come together are read together: the pass is a trace of its own, which names theirs, and only those
    that are kept."""
    mock, collector = start.mock(1), collect()
    text = config(mock.port, collector).replace("    pii:", """    embeddings:
    - {name: refund, threshold: 0.45, candidates: [I want my money back]}
    pii:""").replace("  decisions:", """  decisions:
  - name: money
    priority: 5
    rules: {operator: OR, conditions: [{type: embedding, name: refund}]}
    modelRefs: [{model: alpha}]""", 1)
    text = text.replace("global:\n", f"global:\n  model_catalog: {{embeddings: {{semantic: {{mmbert_model_path: {ROOT}/models/all-MiniLM-L6-v2}}}}}}\n", 1)
    gateway = start.gateway(text)
    kept, left = set(), set()

    def ask(number):
        headers, trace, _ = context(SAMPLED if number % 2 else NOT_SAMPLED)
        assert gateway.post(chat(f"a question of its own, number {number}"), headers=headers).status == 200
        (kept if number % 2 else left).add(trace)

    end, number = time.monotonic() + PATIENCE, 0
    while not any(s.name == BATCH for s in collector.spans):
        assert time.monotonic() < end, "no requests came together"
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            list(pool.map(ask, range(number, number + 24)))
        number += 24
    for batch in [s for s in collector.spans if s.name == BATCH]:
        assert batch.parent == "" and batch.links and len(set(batch.links)) == len(batch.links)
        for trace, span in batch.links:
            assert trace in kept and trace not in left
            assert one(collector.trace(trace), ROOT_SPAN).id == span
        assert batch.attributes["semroute.inference.requests"] >= len(batch.links)
        assert batch.attributes["semroute.inference.jobs"] >= batch.attributes["semroute.inference.requests"]
        assert batch.trace not in kept | left
