"""The keys of `services.observability.tracing`, `semroute.tracing` and `semroute.metrics_export`, as test_config_keys.py
tries them."""
import copy
import re

from collector import Collector
from conftest import chat
from keys_offline import Key
from keys_online import patience
from keys_site import ABSENT, site

PEER, OWN = "global.services.observability.tracing.", "global.semroute.tracing."
METRICS = "global.semroute.metrics_export."
KEPT, NOT_KEPT = "01", "00"


def traced(sampling=None, endpoint="http://@c", own=None, **peer):
    """Traces to the probe's collector, `@c`, over HTTP."""
    config = site(tracing={"protocol": "http/protobuf", "delay_ms": 1, **(own or {})})
    tracing = {"enabled": True, "exporter": {"endpoint": endpoint}, **peer}
    if sampling:
        tracing["sampling"] = sampling
    config["global"]["services"] = {"observability": {"tracing": tracing}}
    return config


def collected(look, tls=False, clients=False):
    """A probe with a collector of its own."""
    def see(config, bench):
        bench.start()
        files = [bench.directory / name for name in ("server.pem", "server.key")] if tls else None
        collector = Collector("http", files, bench.directory / "ca.pem" if clients else None)
        bench.words["c"] = collector.port
        try:
            with bench.serve(config) as gateway:
                return look(gateway, collector, bench)
        finally:
            collector.stop()
    return see


def post(gateway, **headers):
    return gateway.post(chat("hello"), headers={k.replace("_", "-"): str(v) for k, v in headers.items()})


def parent(flags, digit="a"):
    return f"00-{digit * 32}-{'b' * 16}-{flags}"


def flags_of(**headers):
    """The flags that the upstream is told; None: it is told nothing."""
    def look(gateway, collector, bench):
        assert post(gateway, **headers).status == 200
        found = re.search(r"^traceparent: 00-\w+-\w+-(\w\w)", bench.mock.last_head(), re.MULTILINE)
        return found and found[1]
    return collected(look)


def arrives(gateway, collector, bench):
    """Whether spans come, or an export fails."""
    assert post(gateway).status == 200
    return collector.wait(lambda spans: "comes" if spans else "fails" if "trace_export" in gateway.output() else None)


def waits(gateway, collector, bench):
    """Whether spans come soon."""
    assert post(gateway).status == 200
    return "comes" if any(collector.spans for _ in patience(gateway)) else "waits"


def resource(name):
    def look(gateway, collector, bench):
        assert post(gateway).status == 200
        return collector.wait(lambda spans: spans)[0].resource.get(name)
    return collected(look)


def header(name):
    def look(gateway, collector, bench):
        assert post(gateway).status == 200
        collector.wait(lambda spans: spans)
        return collector.requests[0].get(name)
    return collected(look)


def kept(**headers):
    """Is a request of a trace that its caller does not keep among the spans that came before those of another?"""
    def look(gateway, collector, bench):
        post(gateway, traceparent=parent(NOT_KEPT, "a"), **headers)
        post(gateway, traceparent=parent(KEPT, "c"))
        collector.trace("c" * 32)
        return any(s.trace == "a" * 32 for s in collector.spans)
    return collected(look)


def tries(gateway, collector, bench):
    """Whether an export that takes long is begun again."""
    collector.behaviour, collector.delay = "slow", 4
    assert post(gateway).status == 200
    collector.wait(lambda spans: collector.seen > 1 or spans)
    return collector.seen > 1


def drops(gateway, collector, bench):
    collector.behaviour = "away"
    for _ in range(100):
        assert post(gateway).status == 200
    found = re.search(r'semroute_trace_spans_total{result="dropped"} (\S+)', gateway.metrics())
    return bool(found)


def metered(endpoint="http://@c", **own):
    """Metrics to the probe's collector, `@c`, over HTTP."""
    return site(metrics_export={"enabled": True, "endpoint": endpoint, "protocol": "http/protobuf", "interval_ms": 20, **own})


def exports(gateway, collector, bench):
    """Whether metrics come, or an export fails."""
    return collector.points(lambda points: "comes" if points else "fails" if "metrics_export" in gateway.output() else None)


def meters(gateway, collector, bench):
    """Whether metrics are sent before the process ends."""
    return "comes" if any(collector.exports for _ in patience(gateway)) else "waits"


def export_header(name):
    def look(gateway, collector, bench):
        collector.points(lambda points: points)
        return collector.requests[0].get(name)
    return collected(look)


def temporality(gateway, collector, bench):
    return collector.point("process_cpu_seconds_total").data.aggregation_temporality


def exports_again(gateway, collector, bench):
    """Whether an export that takes long is begun again."""
    collector.behaviour, collector.delay = "slow", 4
    collector.points(lambda points: "sent again" in gateway.output() or len(points) > 1)
    return "sent again" in gateway.output()


OFF = {"type": "always_off"}
SAFE = {"ca_file": "%/ca.pem"}
MUTUAL = {**SAFE, "cert_file": "%/server.pem", "key_file": "%/server.key"}
LATE = {"delay_ms": 600000}
KEYS = [
    Key(PEER + "enabled", traced(), (False, True), flags_of(), (None, KEPT)),
    Key(PEER + "exporter.type", traced(), ("otlp", "stdout"), flags_of(), (KEPT, None)),
    Key(PEER + "exporter.endpoint", traced(), ("http://@c", "http://@x"), collected(arrives), ("comes", "fails")),
    Key(PEER + "exporter.insecure", traced(endpoint="@c"), (True, False), collected(arrives), ("comes", "fails")),
    Key(PEER + "sampling.type", traced(sampling={}), ("always_on", "always_off"), flags_of(), (KEPT, NOT_KEPT)),
    Key(PEER + "sampling.rate", traced(sampling={"type": "probabilistic"}), (1, 0), flags_of(), (KEPT, NOT_KEPT)),
    Key(PEER + "resource.service_name", traced(), (ABSENT, "mine"), resource("service.name"), ("semroute", "mine")),
    Key(PEER + "resource.service_version", traced(), ("7", "8"), resource("service.version"), ("7", "8")),
    Key(PEER + "resource.deployment_environment", traced(), (ABSENT, "staging"), resource("deployment.environment"), (None, "staging")),
    Key(OWN + "protocol", traced(), ("http/protobuf", "grpc"), collected(arrives), ("comes", "fails")),
    Key(OWN + "headers.*", traced(own={"headers": {"x-team": "a"}}), ("a", "b"), header("x-team"), ("a", "b")),
    Key(OWN + "compression", traced(), ("none", "gzip"), header("content-encoding"), (None, "gzip")),
    Key(OWN + "timeout_ms", traced(), (100, 60000), collected(tries), (True, False)),
    Key(OWN + "ca_file", traced(endpoint="https://@c"), ("%/ca.pem", "%/stranger.pem"), collected(arrives, tls=True), ("comes", "fails")),
    Key(OWN + "cert_file", traced(endpoint="https://@c", own=copy.deepcopy(MUTUAL)), ("%/server.pem", "%/stranger.pem"),
        collected(arrives, tls=True, clients=True), ("comes", "fails")),
    Key(OWN + "key_file", traced(endpoint="https://@c", own=copy.deepcopy(MUTUAL)), ("%/server.key", "%/stranger.key"),
        collected(arrives, tls=True, clients=True), ("comes", "fails")),
    Key(OWN + "delay_ms", traced(), (1, 600000), collected(waits), ("comes", "waits")),
    Key(OWN + "batch", traced(own=LATE), (1, 65536), collected(waits), ("comes", "waits")),
    Key(OWN + "queue_bytes", traced(own={"batch": 1}), ("64KiB", "8MiB"), collected(drops), (True, False)),
    Key(OWN + "parent_based", traced(), (True, False), flags_of(traceparent=parent(NOT_KEPT)), (NOT_KEPT, KEPT)),
    Key(OWN + "errors", traced(sampling=OFF), (False, True), kept(x_mock_status=500), (False, True)),
    Key(OWN + "slow_ms", traced(sampling=OFF), (0, 10), kept(x_mock_delay_ms=50), (False, True)),
    Key(OWN + "propagate", traced(), (True, False), flags_of(), (KEPT, None)),
    Key(OWN + "attributes.*", traced(own={"attributes": {"cloud.region": "a"}}), ("a", "b"), resource("cloud.region"), ("a", "b")),
    Key(METRICS + "enabled", metered(), (True, False), collected(meters), ("comes", "waits")),
    Key(METRICS + "endpoint", metered(), ("http://@c", "http://@x"), collected(exports), ("comes", "fails")),
    Key(METRICS + "insecure", metered(endpoint="@c"), (True, False), collected(exports), ("comes", "fails")),
    Key(METRICS + "protocol", metered(), ("http/protobuf", "grpc"), collected(exports), ("comes", "fails")),
    Key(METRICS + "headers.*", metered(headers={"x-team": "a"}), ("a", "b"), export_header("x-team"), ("a", "b")),
    Key(METRICS + "compression", metered(), ("none", "gzip"), export_header("content-encoding"), (None, "gzip")),
    Key(METRICS + "timeout_ms", metered(), (100, 60000), collected(exports_again), (True, False)),
    Key(METRICS + "ca_file", metered(endpoint="https://@c"), ("%/ca.pem", "%/stranger.pem"), collected(exports, tls=True), ("comes", "fails")),
    Key(METRICS + "cert_file", metered(endpoint="https://@c", **MUTUAL), ("%/server.pem", "%/stranger.pem"),
        collected(exports, tls=True, clients=True), ("comes", "fails")),
    Key(METRICS + "key_file", metered(endpoint="https://@c", **MUTUAL), ("%/server.key", "%/stranger.key"),
        collected(exports, tls=True, clients=True), ("comes", "fails")),
    Key(METRICS + "interval_ms", metered(), (20, 3600000), collected(meters), ("comes", "waits")),
    Key(METRICS + "temporality", metered(), ("cumulative", "delta"), collected(temporality), (2, 1)),
]
