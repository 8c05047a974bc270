"""Requests that wait for their first byte at a worker which turns out to be slow or gone are taken back and sent to
another one, never once a byte of the answer was sent. The workers are servers whose answers the test holds and lets go."""
import contextlib
import http.client
import http.server
import json
import threading
import time

import pytest

from conftest import Gateway, chat

SITE = """
version: v0.3
providers:
  defaults: {{default_model: m}}
  models:
    - name: m
      reliability: {{{reliability}}}
      backend_refs: [{refs}]
routing: {{}}
global: {{semroute: {{access_log: stdout, gateway: {{upstream: {{{upstream}}}}}}}}}
"""
CHECKED = "health_check_path: /health, health_check_interval: 100ms, health_check_timeout: 5s"
PATIENCE = 60


def until(fn):
    end = time.monotonic() + PATIENCE
    while not fn():
        assert time.monotonic() < end
        time.sleep(0.01)


class Worker:
    """`how`: what comes of a request at once: nothing ("none"), the head of a stream ("head"), a first event too
    ("byte"), or all ("answer"). The rest comes when `go` is set; `cut` closes connections instead."""

    def __init__(self, name):
        self.name, self.how, self.status, self.health = name, "answer", 200, 200
        self.go, self.cut, self.came, self.gone, self.lock = threading.Event(), False, 0, 0, threading.Lock()
        worker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def plain(self, status, body):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.plain(worker.health, b"{}")

            def event(self, text):
                data = b"data: " + text + b"\n\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()

            def token(self, text):
                self.event(json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [
                    {"index": 0, "delta": {"content": text}, "finish_reason": None}]}).encode())

            def head(self):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.send_header("x-answered-by", worker.name)
                self.end_headers()
                self.wfile.flush()

            def do_POST(self):
                stream = json.loads(self.rfile.read(int(self.headers["content-length"]))).get("stream")
                how = worker.how
                with worker.lock:
                    worker.came += 1
                if worker.status != 200:
                    return self.plain(worker.status, b"{}")
                if stream and how in ("head", "byte"):
                    self.head()
                if stream and how == "byte":
                    self.token("first")
                if how != "answer":
                    worker.go.wait(PATIENCE)
                if worker.cut:
                    self.close_connection = True
                    return None
                try:
                    if not stream:
                        return self.plain(200, json.dumps({"id": worker.name, "object": "chat.completion", "choices": []}).encode())
                    if how in ("none", "answer"):
                        self.head()
                    self.token("rest")
                    self.event(b"[DONE]")
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    with worker.lock:
                        worker.gone += 1
                return None

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()


class Site:
    def __init__(self, gateway, workers):
        self.gateway, self.workers, self.answers = gateway, workers, []
        self.threads, self.lock = [], threading.Lock()

    def ask(self, **more):
        """A request on a thread of its own; its answer is kept."""
        def run():
            try:
                answer = self.gateway.post(chat("hello", "m", **more), timeout=2 * PATIENCE)
            except (http.client.HTTPException, OSError) as error:
                answer = error
            with self.lock:
                self.answers.append(answer)
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def ask_to(self, worker, **more):
        """Requests until one is at this worker, which holds it; others are answered."""
        came, asked = worker.came, 0
        while worker.came == came:
            answered, asked = len(self.answers), asked + 1
            assert asked <= len(self.workers)
            self.ask(**more)
            until(lambda: worker.came > came or len(self.answers) > answered)
        self.answers.clear()

    def taken_back(self):
        prefix = "semroute_upstream_taken_back_total{"
        return {line.split('reason="')[1].split('"')[0]: int(line.rsplit(" ", 1)[1])
                for line in self.gateway.metrics().splitlines() if line.startswith(prefix)}

    def answer(self):
        until(lambda: self.answers)
        return self.answers[0]


@contextlib.contextmanager
def site(tmp_path, n=2, reliability=CHECKED, upstream=""):
    workers = [Worker(f"w{i}") for i in range(n)]
    refs = ", ".join(f'{{base_url: "http://127.0.0.1:{w.port}"}}' for w in workers)
    gateway = Gateway(SITE.format(reliability=reliability, refs=refs, upstream=upstream), tmp_path)
    s = Site(gateway, workers)
    try:
        yield s
    finally:
        for worker in workers:
            worker.go.set()
        for thread in s.threads:
            thread.join(PATIENCE)
        gateway.stop()
        for worker in workers:
            worker.stop()


def is_down(gateway):
    return " is down: " in gateway.output()


@pytest.mark.parametrize("how", ("none", "head"))
@pytest.mark.parametrize("stream", (False, True))
def test_a_worker_that_is_down(tmp_path, how, stream):
    """A worker hangs and its checks fail: its requests are answered by the other one, and its connections closed."""
    with site(tmp_path) as s:
        hung, well = s.workers
        hung.how = how
        s.ask_to(hung, stream=stream)
        hung.health = 500
        answer = s.answer()
        assert answer.status == 200
        assert answer.headers.get("x-answered-by", "w1") == "w1"
        assert answer.body.count(b"rest") == 1 if stream else json.loads(answer.body)["id"] == "w1"
        assert s.taken_back() == {"down": 1}
        until(lambda: "upstream_taken_back" in s.gateway.output())
        hung.go.set()
        assert well.came > 0 and hung.came == 1


def test_never_after_a_byte(tmp_path):
    """The first event of a stream is the client's: the request stays where it is, as long as it takes."""
    with site(tmp_path) as s:
        hung, _ = s.workers
        hung.how = "byte"
        s.ask_to(hung, stream=True)
        hung.health = 500
        until(lambda: is_down(s.gateway))
        hung.how = "answer"
        for _ in range(4):  # the other worker is asked meanwhile
            assert s.gateway.post(chat("hello", "m")).status == 200
        time.sleep(0.2)  # some looks at what waits
        assert not s.answers
        hung.go.set()
        answer = s.answer()
        assert answer.status == 200 and answer.headers["x-answered-by"] == "w0"
        assert answer.body.count(b"first") == 1 and answer.body.count(b"rest") == 1
        assert s.taken_back() == {}


@pytest.mark.parametrize("upstream", ("take_back: false", "retries: 0"))
def test_not_where_it_may_not(tmp_path, upstream):
    with site(tmp_path, upstream=upstream) as s:
        hung, _ = s.workers
        hung.how = "none"
        s.ask_to(hung)
        hung.health = 500
        until(lambda: is_down(s.gateway))
        time.sleep(0.2)
        assert not s.answers
        hung.go.set()
        assert json.loads(s.answer().body)["id"] == "w0"
        assert s.taken_back() == {}


def test_not_when_no_other_is_well(tmp_path):
    """All are down: each request stays, and no place in the budget is lost."""
    with site(tmp_path) as s:
        for worker in s.workers:
            worker.how = "none"
        for _ in range(40):
            s.ask()
        until(lambda: sum(worker.came for worker in s.workers) == 40)
        for worker in s.workers:
            worker.health = 500
        until(lambda: s.gateway.output().count(" is down: ") == 2)
        until(lambda: b"no model has a worker that is up" in s.gateway.get("/ready").body)  # the log comes first
        time.sleep(0.2)
        moved = sum(s.taken_back().values())  # between the two checks
        for worker in s.workers:
            worker.go.set()
        until(lambda: len(s.answers) == 40)
        assert all(answer.status == 200 for answer in s.answers)
        assert sum(worker.came for worker in s.workers) == 40 + moved
        assert moved <= 32


def test_an_ejected_worker(tmp_path):
    """A request waits at a worker that then fails others."""
    with site(tmp_path, reliability="consecutive_5xx: 2, base_ejection_time: 60s") as s:
        hung, _ = s.workers
        hung.how = "none"
        s.ask_to(hung)
        hung.status = 500
        end = time.monotonic() + PATIENCE
        while not s.answers and time.monotonic() < end:
            assert s.gateway.post(chat("hello", "m")).status == 200
        assert json.loads(s.answer().body)["id"] == "w1"
        assert s.taken_back() == {"ejected": 1}


def test_a_pause_is_no_failure(tmp_path):
    """429 with Retry-After: what the worker has already is its own."""
    with site(tmp_path, reliability="") as s:
        hung, _ = s.workers
        hung.how = "none"
        s.ask_to(hung)
        hung.status = 429
        came = hung.came
        while hung.came == came:
            assert s.gateway.post(chat("hello", "m")).status == 200
        time.sleep(0.2)
        assert not s.answers
        hung.go.set()
        assert json.loads(s.answer().body)["id"] == "w0"
        assert s.taken_back() == {}


def test_a_worker_that_stops(tmp_path):
    """No check, no error: the others are so much faster that what waits there moves."""
    with site(tmp_path, n=4, reliability="") as s:
        for worker in s.workers:
            worker.how = "none"
        others = s.workers[1:]
        released = threading.Event()

        def answer_the_others():  # each after a while, which is longer than what is too short to count
            while not released.is_set():
                time.sleep(0.05)
                for worker in others:
                    worker.go.set()
                    worker.go.clear()
        thread = threading.Thread(target=answer_the_others)
        thread.start()
        try:
            end = time.monotonic() + PATIENCE
            while not s.taken_back():
                assert time.monotonic() < end
                for _ in range(4):
                    s.ask()
                time.sleep(0.1)
            assert set(s.taken_back()) == {"slow"}
        finally:
            released.set()
            thread.join()
            for worker in s.workers:
                worker.how = "answer"
                worker.go.set()


@pytest.mark.parametrize("fault", ("reset", "stalled"))
def test_a_stream_that_fails_before_its_first_byte(tmp_path, fault):
    """Its head has come and nothing more: another worker answers, as if it had not."""
    with site(tmp_path, reliability="", upstream="idle_timeout_ms: 5000" if fault == "stalled" else "") as s:
        first, _ = s.workers
        first.how = "head"
        s.ask_to(first, stream=True)
        if fault == "reset":
            first.cut = True
            first.go.set()
        answer = s.answer()
        assert answer.status == 200 and answer.headers["x-answered-by"] == "w1"
        assert answer.body.count(b"rest") == 1
