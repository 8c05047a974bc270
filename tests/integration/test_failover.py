"""Failover: a request that a worker fails is tried at another one, then at the decision's next model, before the client
has a byte of an answer. The upstreams are mock workers that fail on command, and a server that speaks no HTTP."""
import contextlib
import http.client
import http.server
import json
import socket
import threading
import time

import pytest

from conftest import Gateway, Mock, chat, free_ports, request
from http2 import Client, until
from test_rate_limits import redis  # noqa: F401 (a fixture)

SITE = """
version: v0.3
providers:
  models:
    - name: first
      reasoning_family: qwen
      reliability: {{{reliability}}}
      backend_refs: [{{endpoint: "127.0.0.1:{a}"}}, {{endpoint: "127.0.0.1:{b}"}}]
    - name: second
      provider_model_id: second-upstream
      backend_refs: [{{endpoint: "127.0.0.1:{c}"}}]
    - {{name: elsewhere, backend_refs: [{{endpoint: "127.0.0.1:{d}"}}]}}
  defaults:
    default_model: elsewhere
    reasoning_families: {{qwen: {{type: chat_template_kwargs, parameter: enable_thinking}}}}
routing:
  signals: {{keywords: [{{name: sums, operator: OR, keywords: [sum]}}]}}
  decisions:
    - name: sums
      rules: {{operator: AND, conditions: [{{type: keyword, name: sums}}]}}
      modelRefs: [{{model: first, use_reasoning: true}}, {{model: second, use_reasoning: false}}]
      reliability: {{{decision}}}
global: {{semroute: {{access_log: stdout{more}, gateway: {{upstream: {{response_timeout_ms: {timeout}, idle_timeout_ms: {timeout}{upstream}}}}}}}}}
"""

STATUSES = {status: {"x-mock-status": status} for status in ("500", "503", "429")}
FAULTS = {**STATUSES, "reset": {"x-mock-close": "head"}, "hang": {"x-mock-delay-ms": 600000}}
TIMEOUTS = {"hang": 5000}  # milliseconds, where a test waits for the timeout


class Site:
    def __init__(self, mock, gateway):
        self.mock, self.gateway = mock, gateway

    def fail(self, worker, headers):
        """The worker fails so from now on; {} ends it."""
        assert request(self.mock.port + worker, "PUT", "/mock/behaviour", b"", headers).status == 200

    def requests(self, worker):
        return json.loads(request(self.mock.port + worker, "GET", "/mock/stats").body)["requests"]

    def ask(self, text="a sum", model="auto", timeout=30, **more):
        return self.gateway.post(chat(text, model, **more), timeout=timeout)

    def order(self, order, worker):
        assert request(self.mock.port + 2, "PUT", f"/mock/{order}?worker={worker}").status == 200

    def sent_to(self, worker):
        return json.loads(self.mock.last_body(worker))


@contextlib.contextmanager
def site(tmp_path, a=None, d=None, reliability="", decision="", upstream="", more="", timeout=60000):
    mock = Mock(tmp_path / "mock.log", workers=4)
    ports = {name: mock.port + i for i, name in enumerate("abcd")}
    ports.update({name: port for name, port in (("a", a), ("d", d)) if port})
    config = SITE.format(reliability=reliability, decision=decision, upstream=upstream, more=more,
                         timeout=timeout, **ports)
    gateway = Gateway(config, tmp_path)
    try:
        yield Site(mock, gateway)
    finally:
        gateway.stop()
        mock.stop()


@pytest.mark.parametrize("fault", FAULTS)
def test_one_of_two_workers_fails(tmp_path, fault):
    """Every request is answered by the other one."""
    with site(tmp_path, timeout=TIMEOUTS.get(fault, 60000)) as s:
        s.fail(0, {k: str(v) for k, v in FAULTS[fault].items()})
        answers = [s.ask().status for _ in range(6)]
        assert answers == [200] * 6
        assert s.requests(0) > 0 and s.requests(1) == 6 and s.requests(2) == 0
        assert 'semroute_upstream_retries_total{backend="' in s.gateway.metrics()


@pytest.mark.parametrize("fault", FAULTS)
def test_all_workers_of_the_first_model_fail(tmp_path, fault):
    """The decision's next model takes over, with its own name and its own reasoning switch."""
    with site(tmp_path, timeout=TIMEOUTS.get(fault, 60000)) as s:
        for worker in (0, 1):
            s.fail(worker, {k: str(v) for k, v in FAULTS[fault].items()})
        answer = s.ask()
        assert answer.status == 200
        assert answer.headers.get("x-vsr-selected-model") == "second"
        assert answer.headers.get("x-vsr-selected-reasoning") == "off"
        assert s.sent_to(2)["model"] == "second-upstream"
        assert s.sent_to(0)["chat_template_kwargs"] == {"enable_thinking": True}
        assert "chat_template_kwargs" not in s.sent_to(2)
        assert s.requests(3) == 0


def test_requests_in_progress_follow_the_model(tmp_path):
    """A request that goes on to the next model is no more one of the first."""
    with site(tmp_path) as s:
        for worker in (0, 1):
            s.fail(worker, STATUSES["500"])
        s.ask()
        until, values = time.monotonic() + 60, {}
        while set(values.values()) != {0}:  # the client has its answer a moment before the request is over
            assert time.monotonic() < until, values
            values = {line.split()[0]: float(line.split()[1]) for line in s.gateway.metrics().splitlines()
                      if line.startswith("llm_model_inflight_requests{")}
        assert len(values) == 2


def test_everything_fails(tmp_path):
    """The client gets the last answer as it is; the default model is not in the decision and is not asked."""
    with site(tmp_path) as s:
        for worker in range(3):
            s.fail(worker, {"x-mock-status": "500"})
        assert s.ask().status == 500
        assert s.requests(3) == 0


@contextlib.contextmanager
def busy(s, worker, model):
    """The worker has one request, until the end."""
    before = s.requests(worker)
    s.fail(worker, FAULTS["hang"])
    asked = threading.Thread(target=s.ask, kwargs={"model": model, "timeout": 300})
    asked.start()
    until(lambda: s.requests(worker) > before, s.gateway.output)
    yield
    s.order("kill", worker)
    asked.join()


ONE = ", pools: [{name: small, model: second, max_in_flight: 1, queue: {max: %d, timeout: 60s}}]"


@pytest.mark.parametrize("fault", ("503", "reset"))
def test_a_next_model_without_room_changes_nothing(tmp_path, fault):
    """The request stays one of the first model: its workers are tried again, and the answer is theirs."""
    with site(tmp_path, reliability="retry_count: 2", more=ONE % 0) as s, busy(s, 2, "second"):
        for worker in (0, 1):
            s.fail(worker, FAULTS[fault])
        answer = s.ask()
        assert answer.status == (502 if fault == "reset" else 503)
        assert fault == "reset" or b"asked to fail" in answer.body
        assert s.requests(0) + s.requests(1) == 3 and s.requests(2) == 1
        until(lambda: '"requested_model":"auto"' in s.gateway.output(), s.gateway.output)
        line = next(json.loads(line) for line in s.gateway.output().splitlines() if '"requested_model":"auto"' in line)
        assert line["model"] == "first" and line["reasoning"] != "off" and "failovers" not in line
        waiting = [line for line in s.gateway.metrics().splitlines() if line.startswith("llm_model_inflight_requests{")]
        assert [line.rsplit(" ", 1)[1] for line in waiting if '"first"' in line] == ["0"], waiting


def test_a_next_model_that_is_full_may_be_waited_for(tmp_path):
    with site(tmp_path, more=ONE % 5) as s:
        for worker in (0, 1):
            s.fail(worker, STATUSES["500"])
        s.fail(2, {"x-mock-delay-ms": "2000"})
        asked = threading.Thread(target=s.ask, kwargs={"model": "second", "timeout": 120})
        asked.start()
        until(lambda: s.requests(2) == 1, s.gateway.output)
        answer = s.ask(timeout=120)
        asked.join()
        assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "second"


LIMITS = 'rules: [{name: two, match: {model: second}, requests_per_unit: 2, unit: day}]'


def test_the_limits_of_the_next_model(tmp_path):
    """A request that fails over counts at the model that answers; without room there it gets the first one's answer."""
    with site(tmp_path, more=", limits: {%s}" % LIMITS) as s:
        for worker in (0, 1):
            s.fail(worker, STATUSES["500"])
        assert [s.ask().status for _ in range(4)] == [200, 200, 500, 500]
        assert s.requests(2) == 2
        assert s.ask(model="second").status == 429


def test_the_limits_of_the_next_model_over_redis(tmp_path, redis):  # noqa: F811
    """The store would have to be waited for: the request stays, and the limit is as it was."""
    with site(tmp_path, more=", limits: {%s, store: redis, timeout: 10s, redis: {host: 127.0.0.1, port: %d}}" % (LIMITS, redis.port)) as s:
        until(lambda: s.ask(model="second").status == 200, s.gateway.output)
        for worker in (0, 1):
            s.fail(worker, STATUSES["500"])
        assert s.ask().status == 500
        assert s.requests(2) == 1
        assert [s.ask(model="second").status for _ in range(2)] == [200, 429]


def test_a_named_model_stays(tmp_path):
    with site(tmp_path) as s:
        for worker in (0, 1):
            s.fail(worker, {"x-mock-status": "503"})
        assert s.ask(model="first").status == 503
        assert s.requests(2) == s.requests(3) == 0
        s.fail(1, {})
        assert s.ask(model="first").status == 200


def in_chunks(s, body):
    return request(s.gateway.port, "POST", "/v1/chat/completions", iter((body,)), timeout=60).status


def over_http2(s, body):
    with Client(s.gateway.port) as client:
        return int(client.answer(client.send(client.head(more=(("content-type", "application/json"),)), body))[0])


@pytest.mark.parametrize("fault", (*STATUSES, "reset"))
@pytest.mark.parametrize("send", (in_chunks, over_http2))
def test_a_body_that_announces_no_length(tmp_path, send, fault):
    """The other worker gets all of it, and its end. The model is named: the body passes through while it arrives."""
    with site(tmp_path) as s:
        s.fail(0, {k: str(v) for k, v in FAULTS[fault].items()})
        body = json.dumps(chat("hello", "first")).encode()
        assert [send(s, body) for _ in range(2)] == [200] * 2
        assert s.requests(0) > 0 and s.requests(1) == 2
        assert s.mock.last_body(1) == body


@pytest.mark.parametrize("stream", (False, True))
def test_never_after_a_byte_of_the_answer(tmp_path, stream):
    """A worker that closes inside its answer: the client sees the end of what it got, and no second answer."""
    with site(tmp_path) as s:
        for worker in (0, 1):
            s.fail(worker, {"x-mock-close": "120", "x-mock-body-bytes": "4000"})
        before = s.requests(0) + s.requests(1)
        try:
            body = s.ask(stream=stream).body
        except http.client.IncompleteRead:
            assert not stream
        else:
            assert stream and b"upstream_lost" in body
        assert s.requests(0) + s.requests(1) == before + 1
        assert s.requests(2) == 0


@pytest.mark.parametrize("status", (400, 404, 501))
def test_answers_for_the_client_are_not_tried_again(tmp_path, status):
    with site(tmp_path) as s:
        for worker in (0, 1):
            s.fail(worker, {"x-mock-status": str(status)})
        assert s.ask().status == status
        assert s.requests(0) + s.requests(1) == 1


def test_a_killed_worker_loses_no_request(tmp_path):
    """All of its requests go to the other one, also when they are more than the budget of retries."""
    with site(tmp_path) as s:
        s.fail(0, {"x-mock-delay-ms": "600000"})
        s.fail(1, {"x-mock-delay-ms": "1000"})
        answers = []
        asked = [threading.Thread(target=lambda: answers.append(s.ask(model="first", timeout=120).status)) for _ in range(150)]
        for thread in asked:
            thread.start()
        until = time.monotonic() + 60
        while s.requests(0) < 60:
            assert time.monotonic() < until
            time.sleep(0.01)
        s.order("kill", 0)
        for thread in asked:
            thread.join()
        assert answers == [200] * 150


def test_garbage(tmp_path):
    """A server that does not speak HTTP."""
    listener = socket.create_server(("127.0.0.1", free_ports(1)))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"\x00\xff what is this?\r\n\r\n")
    threading.Thread(target=serve, daemon=True).start()
    with site(tmp_path, a=listener.getsockname()[1]) as s:
        assert [s.ask().status for _ in range(4)] == [200] * 4
        assert s.requests(1) == 4
    listener.close()


def test_retry_on_and_retry_count(tmp_path):
    """What the file does not name is not tried again; retry_count 0 goes to the next model at once."""
    with site(tmp_path, reliability="retry_on: connect-failure") as s:
        s.fail(0, {"x-mock-status": "500"})
        s.fail(1, {"x-mock-status": "500"})
        assert s.ask().status == 500
        assert s.requests(2) == 0
    with site(tmp_path, reliability="retry_count: 0") as s:
        s.fail(0, {"x-mock-status": "500"})
        s.fail(1, {"x-mock-status": "500"})
        assert s.ask().headers.get("x-vsr-selected-model") == "second"
        assert s.requests(0) + s.requests(1) == 1


def test_what_a_decision_says_goes_before_its_models(tmp_path):
    """Only for requests of the decision; what it leaves open the model says."""
    models = "retry_on: connect-failure, retry_count: 0"
    with site(tmp_path, reliability=models, decision='retry_on: "5xx", retry_count: 1') as s:
        s.fail(0, STATUSES["500"])
        for _ in range(4):
            assert s.ask().status == 200
        assert s.requests(2) == 0, "another worker of the first model was asked"
        assert sorted(s.ask(model="first").status for _ in range(2)) == [200, 500], "a named model has no decision"
    with site(tmp_path, reliability=models, decision="retry_count: 1") as s:
        for worker in (0, 1):
            s.fail(worker, STATUSES["500"])
        assert s.ask().status == 500 and s.requests(2) == 0
    with site(tmp_path, decision='retry_on: "", retry_count: 1') as s:
        for worker in (0, 1):
            s.fail(worker, STATUSES["500"])
        assert s.ask().status == 500 and s.requests(0) + s.requests(1) == 1 and s.requests(2) == 0


class Hasty:
    """A worker that refuses its first request before it has the body, and keeps the bodies of the others."""

    def __init__(self):
        self.requests, self.bodies = 0, []
        hasty = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def body(self):
                if "content-length" in self.headers:
                    return self.rfile.read(int(self.headers["content-length"]))
                return b"".join(self.chunks())

            def chunks(self):
                while size := int(self.rfile.readline(), 16):
                    yield self.rfile.read(size)
                    self.rfile.readline()

            def do_POST(self):
                hasty.requests += 1
                refuses = hasty.requests == 1
                if not refuses:
                    hasty.bodies.append(self.body())
                self.send_response(503 if refuses else 200)
                self.send_header("retry-after", "1")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                if refuses:
                    self.rfile.read()  # until the gateway closes: else it would be a reset

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize("chunked", (True, False))
def test_a_body_that_arrives_during_a_wait(tmp_path, chunked):
    """Its worker refuses early and is tried again after its Retry-After: it gets the bytes that came in between too."""
    worker = Hasty()
    with site(tmp_path, d=worker.port) as s, socket.create_connection(("127.0.0.1", s.gateway.port), 60) as client:
        body = json.dumps(chat("word " * 60000, "elsewhere")).encode()
        parts = body[:20000], body[20000:40000], body[40000:]
        framing = "transfer-encoding: chunked" if chunked else f"content-length: {len(body)}"
        frame = (lambda part: b"%x\r\n%s\r\n" % (len(part), part)) if chunked else bytes
        client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{framing}\r\n"
                       "content-type: application/json\r\n\r\n".encode() + frame(parts[0]))
        until(lambda: '"upstream_retry"' in s.gateway.output(), s.gateway.output)
        client.sendall(frame(parts[1]))
        until(lambda: worker.requests == 2, s.gateway.output)
        client.sendall(frame(parts[2]) + (b"0\r\n\r\n" if chunked else b""))
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert worker.bodies == [body]
    worker.stop()


@pytest.mark.parametrize("longest", (500, 2000))
def test_a_retry_after_is_waited_for_up_to_a_limit(tmp_path, longest):
    """The only worker is overloaded and says for how long; past the limit its answer is the client's."""
    with site(tmp_path, upstream=f", retry_after_ms: {longest}") as s:
        s.fail(3, STATUSES["429"])  # the mock says Retry-After: 1
        begun = time.monotonic()
        assert s.ask("nothing that matches").status == 429
        waited = time.monotonic() - begun
        assert s.requests(3) == (2 if longest == 2000 else 1) and (waited >= 1 or longest == 500)


def test_the_same_worker_again_after_a_wait(tmp_path):
    """A model with no other worker and no next model; not after a 500, which it may have worked for."""
    with site(tmp_path) as s:
        s.fail(3, {"x-mock-close": "head"})
        assert s.ask("nothing that matches").status == 502
        assert s.requests(3) == 2  # upstream.retries is 1
        s.fail(3, {"x-mock-status": "500"})
        assert s.ask("nothing that matches").status == 500
        assert s.requests(3) == 3


def test_a_worker_that_fails_often_is_ejected(tmp_path):
    with site(tmp_path, reliability="consecutive_5xx: 2, base_ejection_time: 60s") as s:
        s.fail(0, {"x-mock-status": "500"})
        assert [s.ask(model="first").status for _ in range(12)] == [200] * 12
        assert s.requests(0) == 2


def test_retry_after_cools_the_worker(tmp_path):
    """A worker that says Retry-After is not asked again until then."""
    with site(tmp_path) as s:
        s.fail(0, {"x-mock-status": "429"})  # the mock says Retry-After: 1
        begun = time.monotonic()
        for _ in range(4):
            assert s.ask(model="first").status == 200
        assert s.requests(0) <= max(2, 1 + time.monotonic() - begun)


def test_least_request(tmp_path):
    """The worker that hangs keeps its one request, and gets no second one until it is gone."""
    hangs = "lb_policy: least_request, retry_count: 0, retry_on: connect-failure"
    with site(tmp_path, reliability=hangs, timeout=600000) as s:
        s.fail(0, {"x-mock-delay-ms": "600000"})
        asked = []
        until = time.monotonic() + 60
        while not s.requests(0):  # a request that goes to the other one is answered at once
            asked.append(threading.Thread(target=s.ask, kwargs={"model": "first", "timeout": 300}))
            asked[-1].start()
            while s.requests(0) + s.requests(1) < len(asked):
                assert time.monotonic() < until
                time.sleep(0.01)
            if not s.requests(0):
                asked[-1].join()
        idle = f'semroute_worker_in_flight_requests{{worker="http://127.0.0.1:{s.mock.port + 1}"}} 0\n'
        for _ in range(5):
            while idle not in s.gateway.metrics():  # its last one is over a moment after the client has its answer
                assert time.monotonic() < until
                time.sleep(0.01)
            assert s.ask(model="first").status == 200
        assert s.requests(0) == 1
        s.order("kill", 0)
        for thread in asked:
            thread.join()


class Toggled:
    """An upstream whose /health says what the test wants; it counts the requests and the checks."""

    def __init__(self):
        self.status, self.requests, self.checks = 200, 0, 0
        toggled = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                assert self.path == "/base/health?deep=1"
                toggled.checks += 1
                self.answer(toggled.status, b"{}")

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                toggled.requests += 1
                self.answer(200, json.dumps({"id": "x", "object": "chat.completion", "choices": []}).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def wait_for_checks(self, n):
        until, goal = time.monotonic() + 60, self.checks + n
        while self.checks < goal:
            assert time.monotonic() < until
            time.sleep(0.01)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def shares(gateway, upstreams, n=6):
    """How many of `n` requests each upstream gets."""
    before = [u.requests for u in upstreams]
    assert [gateway.post(chat("hello", "m")).status for _ in range(n)] == [200] * n
    return [u.requests - b for u, b in zip(upstreams, before)]


def reload(gateway, config):
    """Returns when the new configuration is in force."""
    revisions = gateway.output().count('"config_reload"') + 1
    fresh = gateway.config_path.with_suffix(".new")
    fresh.write_text(config)
    fresh.rename(gateway.config_path)  # at once: half a file would be another reload
    until = time.monotonic() + 60
    while gateway.output().count('"config_reload"') < revisions:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_health_checks(tmp_path):
    """A worker whose checks fail gets no request while another is up, also over a reload, until a check succeeds; when all
    are down all are used."""
    a, b = Toggled(), Toggled()
    config = """
version: v0.3
providers:
  defaults: {default_model: m}
  models:
    - name: m
      reliability: {health_check_path: "/health?deep=1", health_check_interval: 100ms, health_check_timeout: 5s}
      backend_refs: [{base_url: "http://127.0.0.1:%d/base"}, {base_url: "http://127.0.0.1:%d/base"}]
routing: {}
global: {semroute: {pools: [{model: m, slow: {times: 0}}]}}
""" % (a.port, b.port)
    gateway = Gateway(config, tmp_path)
    try:
        a.wait_for_checks(2)
        assert shares(gateway, (a, b)) == [3, 3]
        a.status = 500
        a.wait_for_checks(4)
        assert shares(gateway, (a, b)) == [0, 6]
        reload(gateway, config + "# another revision\n")
        a.wait_for_checks(2)
        assert shares(gateway, (a, b)) == [0, 6]
        b.status = 404
        b.wait_for_checks(4)
        assert shares(gateway, (a, b)) == [3, 3]
        a.status = 302
        a.wait_for_checks(3)
        assert shares(gateway, (a, b)) == [6, 0]
        reload(gateway, "\n".join(line for line in config.split("\n") if "reliability" not in line))
        until = time.monotonic() + 60
        while shares(gateway, (a, b)) != [3, 3]:  # the loop that checks is told of the configuration after the log
            assert time.monotonic() < until
        checks = a.checks + b.checks
        time.sleep(1)
        assert a.checks + b.checks <= checks + 2
    finally:
        gateway.stop()
        a.stop()
        b.stop()
