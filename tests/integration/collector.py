"""A collector of OTLP over HTTP and gRPC, with the messages of the project's own package: what is no
ExportTraceServiceRequest, or ExportMetricsServiceRequest at /v1/metrics, is answered 400. It may be slow, away, or
refuse."""
import concurrent.futures
import contextlib
import gzip
import http.server
import ssl
import threading
import time

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from conftest import free_ports

PATIENCE = 60  # seconds until a test takes it that spans will not come


class Span:
    """One span, its attributes as Python's values, and its resource."""

    def __init__(self, span, resource, scope):
        self.raw, self.resource, self.scope = span, resource, scope
        self.name, self.kind = span.name, span.kind
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.attributes = values(span.attributes)
        self.events = [event.name for event in span.events]
        self.links = [(link.trace_id.hex(), link.span_id.hex()) for link in span.links]
        self.status = span.status.code

    def __repr__(self):
        return f"<{self.name} {self.id} of {self.parent or '-'} {self.attributes}>"


class Point:
    """One data point of a metric, `kind` "sum", "gauge" or "histogram"."""

    def __init__(self, metric, raw, resource):
        self.name, self.kind, self.raw, self.resource = metric.name, metric.WhichOneof("data"), raw, resource
        self.unit, self.description = metric.unit, metric.description
        self.data = getattr(metric, self.kind)
        self.attributes = values(raw.attributes)

    @property
    def value(self):
        return self.raw.sum if self.kind == "histogram" else self.raw.as_double

    def __repr__(self):
        return f"<{self.name} {self.attributes} {self.value}>"


def value_of(value):
    kind = value.WhichOneof("value")
    return [value_of(v) for v in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def values(attributes):
    return {a.key: value_of(a.value) for a in attributes}


class Collector:
    """`protocol` is "http" or "grpc". `behaviour`: "ok", "slow" (an answer after `delay` seconds), "away" (503 or
    UNAVAILABLE), "refuses" (400 or INVALID_ARGUMENT), "rejects" (takes all but one span)."""

    delay = 1.0

    def __init__(self, protocol="http", tls=None, clients=None):
        self.protocol, self.port, self.behaviour = protocol, free_ports(), "ok"
        self.tls, self.clients = tls, clients  # (certificate, key) files; the authority of clients' certificates
        self.lock = threading.Lock()
        self.spans, self.requests, self.raw, self.seen = [], [], [], 0
        self.exports = []  # of metrics: lists of points
        self.server = None
        self.start()

    def start(self):
        if self.protocol == "http":
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self.handler())
            if self.tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*self.tls)
                if self.clients:
                    context.verify_mode = ssl.CERT_REQUIRED
                    context.load_verify_locations(self.clients)
                self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=self.server.serve_forever, daemon=True).start()
            return
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(
            self.servicer(trace_service_pb2_grpc.TraceServiceServicer, self.take), self.server)
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(
            self.servicer(metrics_service_pb2_grpc.MetricsServiceServicer, self.take_metrics), self.server)
        assert self.server.add_insecure_port(f"127.0.0.1:{self.port}") == self.port
        self.server.start()

    def stop(self):
        """Closes the port; start() opens it again."""
        if not self.server:
            return
        if self.protocol == "http":
            self.server.shutdown()
            self.server.server_close()
        else:
            self.server.stop(0).wait()
        self.server = None

    def take(self, message, headers):
        answer = trace_service_pb2.ExportTraceServiceResponse()
        with self.lock:
            self.requests.append(headers)
            self.raw.append(message.SerializeToString())
            for resource in message.resource_spans:
                for scope in resource.scope_spans:
                    self.spans += [Span(s, values(resource.resource.attributes), scope.scope.name) for s in scope.spans]
        if self.behaviour == "rejects":
            answer.partial_success.rejected_spans = 1
            answer.partial_success.error_message = "one too many"
        return answer

    def take_metrics(self, message, headers):
        answer = metrics_service_pb2.ExportMetricsServiceResponse()
        points = []
        for resource in message.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    data = getattr(metric, metric.WhichOneof("data"))
                    points += [Point(metric, raw, values(resource.resource.attributes)) for raw in data.data_points]
        with self.lock:
            self.requests.append(headers)
            self.raw.append(message.SerializeToString())
            self.exports.append(points)
        if self.behaviour == "rejects":
            answer.partial_success.rejected_data_points = 1
            answer.partial_success.error_message = "one too many"
        return answer

    def note(self):
        """A request has come."""
        with self.lock:
            self.seen += 1
        if self.behaviour == "slow":
            time.sleep(self.delay)

    def handler(self):
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.note()
                status, answer = {"away": (503, b""), "refuses": (400, b"")}.get(collector.behaviour, (200, b""))
                if status == 200:
                    status, answer = self.read(body)
                self.send_response(status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                with contextlib.suppress(ConnectionError):  # it did not wait for a slow answer
                    self.end_headers()
                    self.wfile.write(answer)

            def read(self, body):
                headers = {k.lower(): v for k, v in self.headers.items()}
                if headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                metrics = self.path.endswith("/metrics")
                kind = metrics_service_pb2.ExportMetricsServiceRequest if metrics else \
                    trace_service_pb2.ExportTraceServiceRequest
                try:
                    message = kind.FromString(body)
                except DecodeError:
                    return 400, b""
                take = collector.take_metrics if metrics else collector.take
                return 200, take(message, {**headers, ":path": self.path}).SerializeToString()

            def log_message(self, *args):
                pass

        return Handler

    def servicer(self, kind, take):
        collector = self

        class Servicer(kind):
            def Export(self, message, context):
                collector.note()
                codes = {"away": grpc.StatusCode.UNAVAILABLE, "refuses": grpc.StatusCode.INVALID_ARGUMENT}
                if collector.behaviour in codes:
                    context.abort(codes[collector.behaviour], "so it is")
                return take(message, dict(context.invocation_metadata()))

        return Servicer()

    def wait(self, done, what="spans"):
        """Waits until `done(spans)` is true; returns what it returned."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with self.lock:
                spans = list(self.spans)
            if found := done(spans):
                return found
            time.sleep(0.02)
        raise AssertionError(f"no {what} came: {spans}")

    def points(self, done, what="metrics"):
        """Waits until `done(exports)` is true, of the lists of points of all exports; returns what it returned."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with self.lock:
                exports = list(self.exports)
            if found := done(exports):
                return found
            time.sleep(0.02)
        raise AssertionError(f"no {what} came: {len(exports)} exports, {exports[-1:]}")

    def point(self, name, least=0, **attributes):
        """The last point of a metric with these attributes, once its value is as high."""
        def last(exports):
            found = [p for points in exports for p in points if p.name == name and attributes.items() <= p.attributes.items()]
            return found[-1] if found and found[-1].value >= least else None
        return self.points(last, f"{name} {attributes}")

    def trace(self, trace_id, parts=("semantic_router.request.received",)):
        """The spans of a trace, once it has a span of each of these names."""
        def whole(spans):
            mine = [s for s in spans if s.trace == trace_id]
            return mine if {s.name for s in mine}.issuperset(parts) else None
        return self.wait(whole, f"spans of {trace_id}")

    def by_request(self, request_id):
        """The spans of the trace of a request."""
        def root(spans):
            return next((s for s in spans if s.attributes.get("request.id") == request_id), None)
        return self.trace(self.wait(root, f"span of request {request_id}").trace)
