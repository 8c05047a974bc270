"""Limits and queues of pools: what waits, in which order, and what is answered when no worker has room. The upstreams answer
when the test says so."""
import contextlib
import http.server
import json
import re
import socket
import threading
import time

import pytest

from conftest import Gateway, chat

SITE = """
version: v0.3
providers:
  defaults: {default_model: first}
  models:
    - {name: first, backend_refs: [{endpoint: "127.0.0.1:%(a)d"}]}
    - {name: second, backend_refs: [{endpoint: "127.0.0.1:%(b)d"}]}
routing:
  signals:
    keywords: [{name: sums, operator: OR, keywords: [sum]}, {name: rushes, operator: OR, keywords: [rush]}]
  decisions:
    - name: sums
      rules: {operator: AND, conditions: [{type: keyword, name: sums}]}
      modelRefs: [{model: first, use_reasoning: false}, {model: second, use_reasoning: false}]
    - name: rushes
      rules: {operator: AND, conditions: [{type: keyword, name: rushes}]}
      modelRefs: [{model: first, use_reasoning: false}]
global:
  semroute:
    loops: 2
    pools:
      - {model: first, max_in_flight: 1, queue: {%(queue)s}}
"""


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Held:
    """An upstream that answers each request when it is released; it knows the texts in the order of their arrival."""

    def __init__(self):
        self.texts, self.gate = [], threading.Semaphore(0)
        held = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                held.texts.append(body["messages"][0]["content"])
                held.gate.acquire()
                answer = json.dumps({"id": "x", "object": "chat.completion", "choices": []}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def release(self, n=1):
        self.gate.release(n)

    def stop(self):
        self.release(1000)
        self.server.shutdown()
        self.server.server_close()


class Asked(threading.Thread):
    """A request that may take long."""

    def __init__(self, gateway, text, model="auto", **headers):
        super().__init__(daemon=True)
        self.arguments = {"body": chat(text, model), "headers": {k.replace("_", "-"): str(v) for k, v in headers.items()},
                          "timeout": 120}
        self.gateway, self.answer = gateway, None
        self.start()

    def run(self):
        self.answer = self.gateway.post(**self.arguments)

    def status(self):
        self.join(120)
        return self.answer.status


class Site:
    def __init__(self, gateway, first, second):
        self.gateway, self.first, self.second, self.asked = gateway, first, second, []

    def ask(self, text, model="auto", **headers):
        self.asked.append(Asked(self.gateway, text, model, **headers))
        return self.asked[-1]

    def waiting(self):
        found = re.search(r'^semroute_pool_waiting_requests\{pool="first"\} (\d+)$', self.gateway.metrics(), re.M)
        return int(found[1]) if found else 0

    def queue(self, text, model="first", **headers):
        """A request that waits; returns when it does."""
        before = self.waiting()
        asked = self.ask(text, model, **headers)
        until(lambda: self.waiting() == before + 1)
        return asked

    def idle(self):
        """The worker of the first model has no request: a client has its answer earlier."""
        return 'semroute_worker_in_flight_requests{worker="http://127.0.0.1:%d"} 0' % self.first.port in self.gateway.metrics()

    def occupy(self):
        """A request that the only worker of the first model has."""
        before = len(self.first.texts)
        asked = self.ask("occupies", "first")
        until(lambda: len(self.first.texts) == before + 1)
        return asked


@contextlib.contextmanager
def site(tmp_path, queue="max: 3, timeout: 60s"):
    first, second = Held(), Held()
    gateway = Gateway(SITE % {"a": first.port, "b": second.port, "queue": queue}, tmp_path)
    try:
        yield Site(gateway, first, second)
    finally:
        first.release(1000)
        second.release(1000)
        gateway.stop()
        first.stop()
        second.stop()


def test_queue(tmp_path):
    """Requests wait for the worker, in their order; more than the queue takes get a 503 that says when to come again."""
    with site(tmp_path) as s:
        s.occupy()
        for text in ("a", "b", "c"):
            s.queue(text)
        refused = s.gateway.post(chat("d", "first"))
        assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error"]["message"] == "All workers of model `first` are busy."
        assert s.first.texts == ["occupies"]
        s.first.release(4)
        assert [asked.status() for asked in s.asked] == [200] * 4
        assert s.first.texts == ["occupies", "a", "b", "c"]
        until(s.idle)
        metrics = s.gateway.metrics()
        assert 'semroute_pool_refused_requests_total{model="first",reason="full"} 1' in metrics
        assert 'semroute_pool_waited_requests_total{model="first"} 3' in metrics


def test_priorities(tmp_path):
    """Of the header, else of the decision; what is no number counts as 0."""
    with site(tmp_path, 'max: 9, timeout: 60s, priority_header: x-priority, priorities: {rushes: 5, sums: "-1"}') as s:
        s.occupy()
        s.queue("plain")
        s.queue("rush", "auto")
        s.queue("high", x_priority=1000)
        s.queue("low", x_priority=-1000)
        s.queue("no number", x_priority="1e3")
        s.queue("rush as the header says", "auto", x_priority=4)
        s.first.release(7)
        assert [asked.status() for asked in s.asked] == [200] * 7
        assert s.first.texts == ["occupies", "high", "rush", "rush as the header says", "plain", "no number", "low"]


def test_deadline(tmp_path):
    with site(tmp_path, "max: 3, timeout: 200ms") as s:
        occupied = s.occupy()
        late = s.gateway.post(chat("late", "first"))
        assert late.status == 503 and int(late.headers["retry-after"]) >= 1
        assert late.json()["error"]["message"] == "No worker of model `first` had room in time."
        s.first.release(1)
        assert occupied.status() == 200
        assert 'semroute_pool_refused_requests_total{model="first",reason="timeout"} 1' in s.gateway.metrics()
        until(s.idle)
        s.first.release(1)
        assert s.gateway.post(chat("next", "first")).status == 200


def test_no_queue(tmp_path):
    with site(tmp_path, "max: 0") as s:
        s.occupy()
        assert s.gateway.post(chat("a", "first")).status == 503


def test_client_that_disconnects_leaves_the_queue(tmp_path):
    """At once, long before the queue's timeout, though nothing has read the end of its body yet."""
    with site(tmp_path, "max: 3, timeout: 600s") as s:
        s.occupy()
        body = json.dumps({"model": "first", "messages": [{"role": "user", "content": "gone"}]}).encode()
        with socket.create_connection(("127.0.0.1", s.gateway.port)) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
                           b"content-length: %d\r\n\r\n%s" % (len(body), body))
            until(lambda: s.waiting() == 1)
        until(lambda: s.waiting() == 0)
        s.queue("stays")
        s.first.release(2)
        assert [asked.status() for asked in s.asked] == [200] * 2
        assert s.first.texts == ["occupies", "stays"]


def test_next_model_when_all_workers_are_full(tmp_path):
    with site(tmp_path) as s:
        s.occupy()
        s.second.release(2)
        answer = s.gateway.post(chat("a sum"))
        assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "second"
        assert s.second.texts == ["a sum"]


@pytest.mark.parametrize("rest", (b"", b" " * 100000), ids=("short", "long"))
def test_body_in_parts_waits_whole(tmp_path, rest):
    """A body that passes through as it arrives is kept back while its request waits."""
    with site(tmp_path) as s:
        s.occupy()
        body = b'{"model": "first", "messages": [{"role": "user", "content": "in parts"}]' + rest + b"}"
        with socket.create_connection(("127.0.0.1", s.gateway.port)) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
                           b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body[:30]))
            until(lambda: s.waiting() == 1)
            sender = threading.Thread(target=client.sendall, args=(body[30:],), daemon=True)
            sender.start()
            s.first.release(2)
            client.settimeout(60)
            answer = b""
            while part := client.recv(65536):
                answer += part
            sender.join(60)
        assert answer.startswith(b"HTTP/1.1 200")
        assert s.first.texts == ["occupies", "in parts"]
