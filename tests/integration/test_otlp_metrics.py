"""Metrics over OTLP: everything that /metrics has, over both transports, with exemplars; a collector that is away, slow
or refuses; the variables of OpenTelemetry. And exemplars in a real Prometheus."""
import re
import time

import pytest

from collector import PATIENCE
from conftest import chat, request
from test_dashboards import Prometheus
from test_failover import reload
from test_pools import until
from test_traces import SECRETS, certificate, collect, config, context, one, ROOT_SPAN  # noqa: F401

CUMULATIVE, DELTA = 2, 1
REQUESTS = "llm_model_requests_total"
LATENCY = "llm_model_completion_latency_seconds"


def exporting(mock_port, collector, more="", **kwargs):
    """Traces and metrics to the collector."""
    return config(mock_port, collector, **kwargs) + f"    metrics_export:\n      enabled: true\n      interval_ms: 50\n{more}\n"


def only_metrics(mock_port, more):
    """No traces, and nothing of the environment in the file."""
    class Nowhere:
        port, protocol = 1, "http"
    text = config(mock_port, Nowhere)
    return text.replace("        enabled: true", "        enabled: false", 1) + more


def scraped(gateway, accept=None):
    headers = {"accept": accept} if accept else {}
    return request(gateway.port, "GET", "/metrics", headers=headers)


def counted(gateway, result):
    found = re.search(rf'semroute_metrics_exports_total{{result="{result}"}} (\S+)', gateway.metrics())
    return float(found[1]) if found else 0


def wait_counted(gateway, result):
    end = time.monotonic() + PATIENCE
    while not counted(gateway, result):
        assert time.monotonic() < end, gateway.metrics()
        time.sleep(0.02)


def families(text):
    """Name and type of every metric of the text format."""
    return dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_everything_of_the_metrics_page_arrives(start, collect, protocol):  # noqa: F811
    mock, collector = start.mock(1), collect(protocol)
    gateway = start.gateway(exporting(mock.port, collector))
    for _ in range(3):
        assert gateway.post(chat("the integral of x")).status == 200
    requests = collector.point(REQUESTS, 3, model="alpha")
    assert requests.value == 3 and requests.kind == "sum"
    assert requests.data.is_monotonic and requests.data.aggregation_temporality == CUMULATIVE
    assert requests.raw.start_time_unix_nano < requests.raw.time_unix_nano
    assert requests.resource["service.name"] == "router-under-test"
    page = families(scraped(gateway).body.decode())

    def whole(exports):
        kinds = {p.name: p.kind for p in exports[-1]}
        return kinds if set(page) <= set(kinds) else None
    kinds = collector.points(whole)
    same = {"counter": "sum", "gauge": "gauge", "histogram": "histogram"}
    assert {name: same[kind] for name, kind in page.items()} == {name: kinds[name] for name in page}
    latency = collector.points(lambda exports: next((p for p in exports[-1] if p.name == LATENCY and p.raw.count == 3), None))
    assert latency.attributes["model"] == "alpha"
    assert latency.data.aggregation_temporality == CUMULATIVE and latency.unit == "s" and latency.description
    assert len(latency.raw.bucket_counts) == len(latency.raw.explicit_bounds) + 1
    assert sum(latency.raw.bucket_counts) == latency.raw.count == 3 and latency.raw.sum > 0
    assert list(latency.raw.explicit_bounds) == sorted(latency.raw.explicit_bounds)
    wait_counted(gateway, "exported")


def test_an_exemplar_is_of_a_request_whose_trace_is_kept(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(exporting(mock.port, collector))
    headers, trace, _ = context()
    left, left_trace, _ = context("00")
    assert gateway.post(chat("the integral of x"), headers=left).status == 200
    assert gateway.post(chat("the integral of x"), headers=headers).status == 200
    root = one(collector.trace(trace), ROOT_SPAN)

    def exemplars(exports):
        return [(p.name, e) for points in exports for p in points if p.kind == "histogram" for e in p.raw.exemplars]
    named = {LATENCY, "llm_model_routing_latency_seconds", "llm_signal_extraction_latency_seconds",
             "llm_decision_evaluation_latency_seconds", "llm_model_ttft_seconds"}
    found = collector.points(lambda exports: named <= {n for n, _ in exemplars(exports)} and exemplars(exports))
    assert {(e.trace_id.hex(), e.span_id.hex()) for _, e in found} == {(trace, root.id)}
    latency = next(e for name, e in found if name == LATENCY)
    assert latency.as_double > 0 and abs(latency.time_unix_nano / 1e9 - time.time()) < 600
    exported = len(exemplars(collector.exports))
    more = len(collector.exports)
    collector.points(lambda exports: len(exports) > more + 3)
    assert len(exemplars(collector.exports)) == exported, "an exemplar is sent once"
    text = scraped(gateway).body.decode()
    assert left_trace not in text and trace not in text


def test_deltas_add_up(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(exporting(mock.port, collector, "      temporality: delta"))

    def total(exports):
        return sum(p.value for points in exports for p in points if p.name == REQUESTS)
    for round_ in range(1, 4):
        assert gateway.post(chat("the integral of x")).status == 200
        collector.points(lambda exports, n=round_: total(exports) >= n)
    collector.points(lambda exports: sum(p.raw.count for e in exports for p in e if p.name == LATENCY) >= 3)
    points = [p for e in collector.exports for p in e]
    assert total(collector.exports) == 3
    assert {p.data.aggregation_temporality for p in points if p.kind != "gauge"} == {DELTA}
    counts = [p.raw.count for p in points if p.name == LATENCY]
    assert sum(counts) == 3 and all(counts)
    mine = [p.raw for p in points if p.name == "process_cpu_seconds_total"]
    for before, after in zip(mine, mine[1:]):
        assert before.time_unix_nano <= after.start_time_unix_nano


def test_a_delta_that_was_not_taken_is_in_the_next(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    collector.behaviour = "refuses"
    gateway = start.gateway(exporting(mock.port, collector, "      temporality: delta"))
    assert gateway.post(chat("the integral of x")).status == 200
    wait_counted(gateway, "failed")
    collector.behaviour = "ok"
    assert collector.point(REQUESTS, 1).value == 1


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_collector_that_was_away_gets_what_was_counted(start, collect, protocol):  # noqa: F811
    mock, collector = start.mock(1), collect(protocol)
    collector.stop()
    gateway = start.gateway(exporting(mock.port, collector))
    for _ in range(5):
        assert gateway.post(chat("the integral of x")).status == 200
    end = time.monotonic() + PATIENCE
    while "metrics are not taken" not in gateway.output():
        assert time.monotonic() < end
        time.sleep(0.02)
    collector.start()
    assert collector.point(REQUESTS, 5).value == 5


def test_no_request_waits_for_a_slow_collector_of_metrics(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    collector.behaviour = "slow"
    gateway = start.gateway(exporting(mock.port, collector))
    for _ in range(10):
        assert gateway.post(chat("the integral of x")).status == 200
    assert collector.point(REQUESTS, 10).value == 10


def test_what_was_counted_last_is_sent_at_the_end(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(exporting(mock.port, collector).replace("interval_ms: 50", "interval_ms: 3600000"))
    assert gateway.post(chat("the integral of x")).status == 200
    assert not collector.exports
    gateway.stop()
    assert collector.point(REQUESTS, 1).value == 1


def test_a_reload_turns_metrics_on_and_off(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    off = exporting(mock.port, collector).replace("metrics_export:\n      enabled: true", "metrics_export:\n      enabled: false")
    gateway = start.gateway(off)
    assert gateway.post(chat("the integral of x")).status == 200
    reload(gateway, exporting(mock.port, collector))
    assert collector.point(REQUESTS, 1).value == 1
    reload(gateway, off.replace("router-under-test", "router-without-metrics"))

    def has_new_configuration():
        headers, trace, _ = context()
        assert gateway.post(chat("hello"), headers=headers).status == 200
        return collector.trace(trace)[0].resource["service.name"] == "router-without-metrics"
    until(has_new_configuration)  # the exporter, of traces and metrics
    before = len(collector.exports)
    headers, trace, _ = context()
    assert gateway.post(chat("hello"), headers=headers).status == 200
    collector.trace(trace)
    assert len(collector.exports) == before


def test_keys_of_the_collector_of_traces_count_where_metrics_have_no_endpoint(start, collect):  # noqa: F811
    mock, collector, other = start.mock(1), collect(), collect()
    semroute = "      compression: gzip\n      headers: {x-key: for-traces}"
    gateway = start.gateway(exporting(mock.port, collector, semroute=semroute))
    collector.point("process_cpu_seconds_total")
    seen = next(r for r in collector.requests if r[":path"] == "/v1/metrics")
    assert (seen["x-key"], seen["content-encoding"]) == ("for-traces", "gzip")
    gateway.stop()
    start.gateway(exporting(mock.port, collector, semroute=semroute, more="").replace(
        "interval_ms: 50", f'interval_ms: 50\n      protocol: http/protobuf\n      endpoint: "http://127.0.0.1:{other.port}/base/"'))
    other.point("process_cpu_seconds_total")
    seen = other.requests[0]
    assert "x-key" not in seen and "content-encoding" not in seen and seen[":path"] == "/base/v1/metrics"


def test_the_environment_alone_turns_metrics_on(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    env = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{collector.port}/of/metrics",
           "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-key=a%2Cb", "OTEL_SERVICE_NAME": "by-name",
           "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_RESOURCE_ATTRIBUTES": "team=blue",
           "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "Delta",
           "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "gzip"}
    text = only_metrics(mock.port, "").replace("        resource: {service_name: router-under-test, deployment_environment: tests}\n", "")
    text = text.replace("      protocol: http/protobuf\n", "").replace('        exporter: {endpoint: "http://127.0.0.1:1"}\n', "")
    gateway = start.gateway(text, env=env)
    assert gateway.post(chat("the integral of x")).status == 200
    point = collector.point(REQUESTS, 1)
    assert point.data.aggregation_temporality == DELTA
    assert {"service.name": "by-name", "team": "blue"}.items() <= point.resource.items()
    seen = collector.requests[0]
    assert (seen["x-key"], seen[":path"], seen["content-encoding"]) == ("a,b", "/of/metrics", "gzip")
    assert not collector.spans


@pytest.mark.parametrize("env", [{"OTEL_METRICS_EXPORTER": "none"}, {"OTEL_METRICS_EXPORTER": "prometheus"},
                                 {"OTEL_SDK_DISABLED": "true"}])
def test_the_environment_turns_metrics_off(start, collect, env):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(only_metrics(mock.port, ""), env={
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{collector.port}", "OTEL_METRIC_EXPORT_INTERVAL": "10", **env})
    assert gateway.post(chat("the integral of x")).status == 200
    gateway.stop()
    assert collector.seen == 0


def test_the_general_endpoint_is_for_metrics_where_their_exporter_is_otlp(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect("grpc")
    text = only_metrics(mock.port, "").replace("      protocol: http/protobuf\n", "")
    text = text.replace('        exporter: {endpoint: "http://127.0.0.1:1"}\n', "")
    gateway = start.gateway(text, env={
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}", "OTEL_METRICS_EXPORTER": "otlp,prometheus",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_METRIC_EXPORT_INTERVAL": "50"})
    assert gateway.post(chat("the integral of x")).status == 200
    assert collector.point(REQUESTS, 1).value == 1


def test_metrics_go_over_tls(start, collect, tmp_path):  # noqa: F811
    mock, files = start.mock(1), certificate(tmp_path)
    collector = collect("http", tls=files)
    text = only_metrics(mock.port, f"""    metrics_export:
      enabled: true
      interval_ms: 50
      protocol: http/protobuf
      endpoint: "https://127.0.0.1:{collector.port}"
""")
    stranger = start.gateway(text)
    gateway = start.gateway(text + f"      ca_file: {files[0]}\n")
    assert gateway.post(chat("the integral of x")).status == 200
    assert collector.point(REQUESTS, 1).value == 1
    assert counted(stranger, "exported") == 0


def test_no_metric_has_what_a_user_wrote_or_a_key(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(exporting(mock.port, collector))
    for body in (chat(f"the integral of {SECRETS['text']}", user=SECRETS["user"]), chat(SECRETS["text"], model=SECRETS["text"]),
                 {"model": SECRETS["text"]}):
        gateway.post(body, path=f"/v1/chat/completions?q={SECRETS['query']}", headers={
            "authorization": f"Bearer {SECRETS['key']}", "cookie": SECRETS["cookie"], "baggage": f"secret={SECRETS['baggage']}"})
    pages = [scraped(gateway).body, scraped(gateway, "application/openmetrics-text").body]
    gateway.stop()
    assert collector.exports
    for raw in collector.raw + pages:
        for what, secret in SECRETS.items():
            assert secret.encode() not in raw, what


def test_openmetrics_where_the_scraper_asks_for_it(start, collect):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, _ = context()
    assert gateway.post(chat("the integral of x"), headers=headers).status == 200
    root = one(collector.trace(trace), ROOT_SPAN)
    openmetrics = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
    exemplar = rf'^{LATENCY}_bucket{{[^}}]*}} \d+ # {{trace_id="{trace}",span_id="{root.id}"}} (\S+) (\S+)$'
    until(lambda: re.search(exemplar, scraped(gateway, openmetrics).body.decode(), re.MULTILINE))  # it follows the trace
    page = scraped(gateway, openmetrics)
    text = page.body.decode()
    assert page.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("# EOF\n") and "\n\n" not in text
    found = re.search(exemplar, text, re.MULTILINE)
    assert found and float(found[1]) > 0 and abs(float(found[2]) - time.time()) < 600
    plain = scraped(gateway)
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert trace not in plain.body.decode() and "# EOF" not in plain.body.decode()


def test_a_real_prometheus_stores_the_exemplars(start, collect, tmp_path):  # noqa: F811
    mock, collector = start.mock(1), collect()
    gateway = start.gateway(config(mock.port, collector))
    headers, trace, _ = context()
    assert gateway.post(chat("the integral of x"), headers=headers).status == 200
    prometheus = Prometheus(tmp_path, gateway.port, "--enable-feature=exemplar-storage")
    try:
        end = time.monotonic() + PATIENCE
        query = {"query": LATENCY + "_bucket", "start": time.time() - 3600, "end": time.time() + 3600}
        while not (found := prometheus.get("query_exemplars", **query)["data"]):
            assert time.monotonic() < end, prometheus.get("targets")
            time.sleep(0.2)
        assert {e["labels"]["trace_id"] for series in found for e in series["exemplars"]} == {trace}
        # a scrape of a busy machine may fail, and the next one is good again
        until(lambda: prometheus.ask(REQUESTS) == ("success", [1.0]))
        until(lambda: [t["health"] for t in prometheus.get("targets")["data"]["activeTargets"]] == ["up"])
        metadata = prometheus.get("metadata", metric="llm_model_requests")["data"]
        assert metadata["llm_model_requests"][0]["type"] == "counter", "it was read as OpenMetrics"
    finally:
        prometheus.stop()
