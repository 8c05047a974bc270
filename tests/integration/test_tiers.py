"""Models with several pools: the size of a request and what it is for pick the pool, a pool that is gone or full is followed by
the next one that fits, sizes are learned from what upstreams report, and backups wait for their turn."""
import contextlib
import http.server
import json
import socket
import threading

import pytest

import envoy as real
from conftest import BINARY, Gateway, Process, chat, free_ports, request, semroute, wait_http
from test_envoy_picker import ENDPOINT, EXT_PROC, SUBSET
from test_http_behaviour import post_bytes
from test_pools import Asked, until


class Worker:
    """An upstream whose answers the test decides: `status`, `usage`, and whether they wait for `release`."""

    def __init__(self, name, port=0):
        self.name, self.status, self.usage, self.holds, self.healthy = name, 200, None, False, True
        self.texts, self.pools, self.connections, self.gate = [], [], [], threading.Semaphore(0)
        self.systems = []
        worker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = json.loads(self.read_body())
                worker.texts.append(body["messages"][-1]["content"][:40])
                worker.systems += [m["content"] for m in body["messages"] if m["role"] == "system"]
                worker.pools.append(self.headers.get("x-selected-pool"))
                if worker.holds:
                    worker.gate.acquire()
                answer = {"id": "x", "object": "chat.completion", "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": worker.name}}]}
                if worker.usage:
                    prompt, completion = worker.usage
                    answer["usage"] = {"prompt_tokens": prompt, "completion_tokens": completion}
                answer = json.dumps(answer).encode()
                self.send_response(worker.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def setup(self):
                super().setup()
                worker.connections.append(self.connection)

            def read_body(self):
                if self.headers.get("transfer-encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers["content-length"]))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def do_GET(self):
                self.send_response(200 if worker.healthy else 500)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def release(self, n=1):
        self.gate.release(n)

    def stop(self):
        self.holds = False
        self.release(1000)
        self.server.shutdown()
        self.server.server_close()


def config(workers, pools, *, models=None, more="", semroute=""):
    """Model `m` with these workers as its backends, and these pools."""
    refs = ", ".join(f'{{name: {w.name}, endpoint: "127.0.0.1:{w.port}"}}' for w in workers)
    return f"""
version: v0.3
providers:
  defaults: {{default_model: m}}
  models:
    - {{name: m, backend_refs: [{refs}]}}
{models or ""}
{more}
global:
  semroute:
    loops: 2
    {semroute}
    pools:
{"".join(f"      - {pool}" + chr(10) for pool in pools)}"""


SIZES = ["{name: short, model: m, backends: [s1, s2], max_tokens: 2K}", "{name: long, model: m, backends: [l1], max_tokens: 32K}"]


@contextlib.contextmanager
def fleet(tmp_path, *names):
    first = free_ports(4)  # the places that the shipped Envoy configuration knows
    workers = {name: Worker(name, first + i) for i, name in enumerate(names)}
    try:
        yield workers
    finally:
        for worker in workers.values():
            worker.stop()


@contextlib.contextmanager
def served(tmp_path, pools, names=("s1", "s2", "l1"), **more):
    with fleet(tmp_path, *names) as workers:
        gateway = Gateway(config(workers.values(), pools, **more), tmp_path)
        try:
            yield gateway, workers
        finally:
            for worker in workers.values():
                worker.holds = False
                worker.release(1000)
            gateway.stop()


def words(n):
    return "word " * n


def ask(gateway, text="hello", headers=None, **more):
    return gateway.post(chat(text, "m", **more), headers={"x-vsr-debug": "true", **(headers or {})})


def settled(metrics, n):
    """`n` requests are over for the router too, so that their places are free: clients have their answers earlier."""
    until(lambda: sum(int(float(line.split()[-1])) for line in metrics().splitlines()
                      if line.startswith("semroute_requests_total{")) == n)


def pool(answer):
    assert answer.status == 200, answer
    return answer.headers["x-vsr-pool"]


def why(answer):
    return answer.headers["x-vsr-pool-reason"].split(";")[0]


def test_size_picks_the_pool(tmp_path):
    """Prompt and answer together; what fits nowhere goes to the largest."""
    with served(tmp_path, SIZES) as (gateway, workers):
        small = ask(gateway, max_tokens=100)
        assert pool(small) == "short" and why(small) == "fits" and small.headers["x-vsr-workload"] == "interactive"
        assert "answer=100" in small.headers["x-vsr-pool-reason"]
        assert pool(ask(gateway, words(2000))) == "long"
        assert pool(ask(gateway, max_tokens=4000)) == "long"
        assert pool(ask(gateway, max_completion_tokens=4000)) == "long"
        over = ask(gateway, max_tokens=100000)
        assert pool(over) == "long" and why(over) == "over_budget"
        assert workers["l1"].pools == ["long"] * 4
        count = 'semroute_pool_requests_total{pool="%s",workload="interactive",reason="%s"} 1'
        until(lambda: count % ("short", "fits") in gateway.metrics() and count % ("long", "over_budget") in gateway.metrics())


def test_other_dialects(tmp_path):
    """The limit of the answer is named differently there."""
    with served(tmp_path, SIZES) as (gateway, workers):
        messages = [{"role": "user", "content": "hello"}]
        for most, expected in ((100, "short"), (4000, "long")):
            answer = gateway.post({"model": "m", "max_tokens": most, "messages": messages}, path="/v1/messages",
                                  headers={"x-vsr-debug": "true"})
            assert answer.headers["x-vsr-pool"] == expected, answer
    body = {"model": "m", "input": "hello", "max_output_tokens": 4000}
    (tmp_path / "r.json").write_text(json.dumps(body))
    explained = json.loads(semroute("explain", "-c", tmp_path / "gateway.yaml", "--json", "--request", tmp_path / "r.json",
                                    "--path", "/v1/responses").stdout)
    assert explained["pool"]["name"] == "long" and explained["pool"]["answer_tokens"] == 4000


def test_requests_without_a_text_to_write(tmp_path):
    """Embeddings have no answer to make room for."""
    pools = ["{name: short, model: m, backends: [s1], max_tokens: 256}", "{name: long, model: m, backends: [l1]}"]
    with fleet(tmp_path, "s1", "l1") as workers:
        (tmp_path / "c.yaml").write_text(config(workers.values(), pools))
        (tmp_path / "r.json").write_text(json.dumps({"model": "m", "input": "hello"}))
        explained = json.loads(semroute("explain", "-c", tmp_path / "c.yaml", "--json", "--request", tmp_path / "r.json",
                                        "--path", "/v1/embeddings").stdout)
        assert explained["pool"]["name"] == "short" and explained["pool"]["answer_tokens"] == 0


@pytest.mark.parametrize("header", ("x-selected-pool", "X_Selected_Pool"))
def test_clients_cannot_name_the_pool(tmp_path, header):
    with served(tmp_path, ["{model: m}"], ("s1",)) as (gateway, workers):
        assert ask(gateway, headers={header: "long"}).status == 200
        assert workers["s1"].pools == [None]


def test_attached_bytes_are_no_text(tmp_path):
    """A picture of a million bytes is no prompt of 250,000 tokens."""
    with served(tmp_path, SIZES) as (gateway, workers):
        url = "data:image/png;base64," + "iVBORw0KGgo" * 90000
        parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": url}}]
        assert pool(gateway.post({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": parts}]},
                                 headers={"x-vsr-debug": "true"})) == "short"
        data = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 90000}}
        answer = gateway.post({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": [data]}]},
                              path="/v1/messages", headers={"x-vsr-debug": "true"})
        assert answer.headers["x-vsr-pool"] == "short", answer
        parts[0]["text"] = "iVBORw0KGgo" * 9000  # as a text it is one
        assert pool(gateway.post({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": parts}]},
                                 headers={"x-vsr-debug": "true"})) == "long"


WORKLOADS = ["{name: chats, model: m, backends: [c1], workloads: [interactive], max_tokens: 4K}",
             "{name: agents, model: m, backends: [a1], workloads: [agent]}",
             "{name: jobs, model: m, backends: [b1], workloads: [batch, long_context]}"]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def test_workload_picks_the_pool(tmp_path):
    """By the shape of the request, or as a header or its metadata say; a word that is none counts as nothing."""
    with served(tmp_path, WORKLOADS, ("c1", "a1", "b1"),
                semroute="workloads: {header: x-workload, metadata: workload, long_context_tokens: 1000}") as (gateway, workers):
        assert pool(ask(gateway)) == "chats"
        assert pool(ask(gateway, tools=TOOLS)) == "agents"
        assert pool(ask(gateway, tools=[])) == "chats"
        assert pool(ask(gateway, service_tier="flex")) == "jobs"
        long = ask(gateway, words(1000))
        assert pool(long) == "jobs" and long.headers["x-vsr-workload"] == "long_context"
        assert pool(ask(gateway, headers={"x-workload": "Batch"}, tools=TOOLS)) == "jobs"
        assert pool(ask(gateway, metadata={"workload": "batch"})) == "jobs"
        assert pool(ask(gateway, headers={"x-workload": "agent"}, metadata={"workload": "batch"})) == "agents"
        assert pool(ask(gateway, headers={"x-workload": "nonsense"})) == "chats"
        # a chat that fits no pool for chats goes where there is room
        other = ask(gateway, headers={"x-workload": "interactive"}, max_tokens=20000)
        assert pool(other) == "agents" and why(other) == "other_workloads"
        line = 'semroute_pool_requests_total{pool="agents",workload="interactive",reason="other_workloads"} 1'
        until(lambda: line in gateway.metrics())


def test_workload_decides_model_pool_and_configuration(tmp_path):
    """A decision names the workload: its model and its plugins are the request's, and the model's pool for that workload has it."""
    decisions = [{"name": name, "priority": 1, "rules": {"type": "workload", "name": name}, "modelRefs": [{"model": model}],
                  "plugins": [{"type": "system_prompt", "configuration": {"system_prompt": f"For {name}."}}]}
                 for name, model in (("agent", "m"), ("batch", "m"), ("interactive", "n"))]
    with served(tmp_path, WORKLOADS, ("c1", "a1", "b1"), models='    - {name: n, backend_refs: [{endpoint: "127.0.0.1:1"}]}',
                more=f"routing: {{decisions: {json.dumps(decisions)}}}",
                semroute="workloads: {long_context_tokens: 1000}") as (gateway, workers):
        def seen(**more):
            answer = gateway.post(chat("hello", "auto", **more), headers={"x-vsr-debug": "true"})
            return [answer.headers.get(f"x-vsr-{name}") for name in ("selected-decision", "selected-model", "matched-workload", "pool")]
        assert seen(tools=TOOLS) == ["agent", "m", "agent", "agents"] and workers["a1"].systems == ["For agent."]
        assert seen(service_tier="flex") == ["batch", "m", "batch", "jobs"] and workers["b1"].systems == ["For batch."]
        body = chat("hello", "auto")
        told = request(gateway.api_port, "POST", "/api/v1/explain", {"request": body}).json()
        assert told["model"] == "n" and told["decision"]["name"] == "interactive"


def test_a_full_pool_is_followed_by_the_next(tmp_path):
    """The next larger one takes over at once; when all are full the request waits for the first."""
    limits = ["{name: short, model: m, backends: [s1], max_tokens: 2K, max_in_flight: 1, queue: {max: 5, timeout: 60s}}",
              "{name: long, model: m, backends: [l1], max_tokens: 32K, max_in_flight: 1, queue: {max: 5, timeout: 60s}}"]
    with served(tmp_path, limits, ("s1", "l1")) as (gateway, workers):
        for worker in workers.values():
            worker.holds = True
        asked = [Asked(gateway, "a", "m", x_vsr_debug="true")]
        until(lambda: workers["s1"].texts == ["a"])
        asked.append(Asked(gateway, "b", "m", x_vsr_debug="true"))
        until(lambda: workers["l1"].texts == ["b"])
        asked.append(Asked(gateway, "c", "m", x_vsr_debug="true"))
        until(lambda: 'semroute_pool_waiting_requests{pool="short"} 1' in gateway.metrics())
        workers["l1"].release()
        assert asked[1].status() == 200 and pool(asked[1].answer) == "long" and why(asked[1].answer) == "next"
        assert workers["l1"].texts == ["b"], "the one that waits stays with its pool"
        workers["s1"].release(2)
        assert asked[0].status() == asked[2].status() == 200
        assert pool(asked[0].answer) == pool(asked[2].answer) == "short" and workers["s1"].texts == ["a", "c"]
        assert workers["l1"].pools == ["long"]
        # what fits only the long one waits there
        settled(gateway.metrics, 3)
        workers["l1"].texts.clear()
        asked = [Asked(gateway, words(2000), "m"), Asked(gateway, "after", "m")]
        until(lambda: len(workers["l1"].texts) == 1 and workers["s1"].texts[-1] == "after")
        asked.append(Asked(gateway, words(2001), "m"))
        until(lambda: 'semroute_pool_waiting_requests{pool="long"} 1' in gateway.metrics())
        workers["s1"].release(1)
        workers["l1"].release(2)
        assert [a.status() for a in asked] == [200] * 3 and len(workers["l1"].texts) == 2


def test_full_without_a_queue_is_refused(tmp_path):
    limits = ["{name: short, model: m, backends: [s1], max_tokens: 2K, max_in_flight: 1, queue: {max: 0}}",
              "{name: long, model: m, backends: [l1], max_in_flight: 1, queue: {max: 0}}"]
    with served(tmp_path, limits, ("s1", "l1")) as (gateway, workers):
        for worker in workers.values():
            worker.holds = True
        asked = [Asked(gateway, "a", "m"), Asked(gateway, "b", "m")]
        until(lambda: workers["s1"].texts and workers["l1"].texts)
        refused = ask(gateway)
        assert refused.status == 503 and refused.json()["error"]["message"] == "All workers of model `m` are busy."
        for worker in workers.values():
            worker.release()
        assert [a.status() for a in asked] == [200] * 2


@pytest.mark.parametrize("status", (0, 500, 503, 429))
def test_a_pool_that_fails_is_followed_by_the_next(tmp_path, status):
    """Workers that are gone (0) or fail; then those of the other pool, then the decision's next model."""
    models = '    - {name: other, backend_refs: [{endpoint: "127.0.0.1:%d"}]}'
    decision = """
routing:
  decisions: [{name: d, modelRefs: [{model: m}, {model: other}]}]"""
    with fleet(tmp_path, "s1", "l1", "o1") as workers:
        pools = ["{name: short, model: m, backends: [s1], max_tokens: 2K}", "{name: long, model: m, backends: [l1]}"]
        text = config([workers["s1"], workers["l1"]], pools, models=models % workers["o1"].port, more=decision)
        text = text.replace("{name: m, ", "{name: m, reliability: {retry_on: '5xx,gateway-error,reset,connect-failure,429'}, ")
        gateway = Gateway(text, tmp_path)
        try:
            fail(workers["s1"], status)
            answer = gateway.post(chat("hello"), headers={"x-vsr-debug": "true"})
            assert pool(answer) == "long" and why(answer) == "next" and answer.headers["x-vsr-worker"] == "l1"
            fail(workers["l1"], status)
            answer = gateway.post(chat("hello"), headers={"x-vsr-debug": "true"})
            assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "other"
            assert "x-vsr-pool" not in answer.headers and workers["o1"].pools == [None]
            fail(workers["o1"], status)
            assert gateway.post(chat("hello")).status in (status or 502, 503)
        finally:
            gateway.stop()


def fail(worker, status):
    if status:
        worker.status = status
    else:
        worker.server.shutdown()
        worker.server.server_close()
        for connection in worker.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def test_a_pool_whose_workers_are_all_down_comes_last(tmp_path):
    """As a health check says; no try is lost on it."""
    pools = ["{name: short, model: m, backends: [s1], max_tokens: 2K}", "{name: long, model: m, backends: [l1]}"]
    with fleet(tmp_path, "s1", "l1") as workers:
        checks = "health_check_path: /health, health_check_interval: 100ms, health_check_timeout: 10s"
        text = config(workers.values(), pools).replace("{name: m, ", f"{{name: m, reliability: {{{checks}}}, ")
        gateway = Gateway(text, tmp_path)
        try:
            until(lambda: why(ask(gateway)) == "fits" and pool(ask(gateway)) == "short")
            workers["s1"].healthy = False
            until(lambda: f"{workers['s1'].port} is down" in gateway.output())
            until(lambda: pool(ask(gateway)) == "long")  # the log comes first
            before = len(workers["s1"].texts)
            for _ in range(4):
                answer = ask(gateway)
                assert pool(answer) == "long" and why(answer) == "next"
            assert len(workers["s1"].texts) == before
            workers["s1"].healthy = True
            until(lambda: pool(ask(gateway)) == "short")
        finally:
            gateway.stop()


def test_sizes_are_learned(tmp_path):
    """Answers of requests without a limit, and bytes of a token; a reload keeps what is known."""
    with served(tmp_path, SIZES) as (gateway, workers):
        for worker in workers.values():
            worker.usage = (100, 3000)
        assert pool(ask(gateway)) == "short"  # nothing is known
        until(lambda: pool(ask(gateway)) == "long")  # answers have 3,000 tokens
        assert pool(ask(gateway, max_tokens=100)) == "short"
        path = gateway.config_path
        path.write_text(path.read_text() + "\n# again\n")
        gateway.signal(1)
        until(lambda: "reload" in gateway.output())
        assert pool(ask(gateway)) == "long"
        assert pool(ask(gateway, tools=TOOLS)) == "short"  # of agents nothing is known
        for worker in workers.values():
            worker.usage = (4000, 100)  # 4,000 tokens of about 4,000 bytes
        assert pool(ask(gateway, words(800), max_tokens=500)) == "short"
        until(lambda: pool(ask(gateway, words(800), max_tokens=500)) == "long")


def takers(gateway, n, before):
    """Which workers take `n` requests one after the other, when `before` are over."""
    names = set()
    for i in range(n):
        settled(gateway.metrics, before + i)
        names.add(ask(gateway).json()["choices"][0]["message"]["content"])
    settled(gateway.metrics, before + n)
    return names


def test_backups_wait_for_their_turn(tmp_path):
    """They get requests only when the others are full or gone, and no more once those are back."""
    pools = ["{model: m, backups: [b1], max_in_flight: 1, queue: {max: 5, timeout: 60s}}"]
    with served(tmp_path, pools, ("p1", "p2", "b1")) as (gateway, workers):
        assert takers(gateway, 4, 0) == {"p1", "p2"}
        for worker in workers.values():
            worker.holds = True
        asked = [Asked(gateway, "x", "m") for _ in range(2)]
        until(lambda: len(workers["p1"].texts) + len(workers["p2"].texts) == 6)
        assert not workers["b1"].texts
        asked.append(Asked(gateway, "third", "m"))
        until(lambda: workers["b1"].texts == ["third"])
        for worker in workers.values():
            worker.holds = False
            worker.release()
        assert [a.status() for a in asked] == [200] * 3
        assert takers(gateway, 4, 7) == {"p1", "p2"}
        fail(workers["p1"], 0)
        fail(workers["p2"], 0)
        until(lambda: ask(gateway).status == 200)
        answers = [a.json()["choices"][0]["message"]["content"] for a in (ask(gateway) for _ in range(6)) if a.status == 200]
        assert answers and set(answers) == {"b1"}


def test_backups_of_a_file(tmp_path):
    with fleet(tmp_path, "p1", "b1") as workers:
        file = tmp_path / "workers"
        file.write_text(f"127.0.0.1:{workers['p1'].port}\n127.0.0.1:{workers['b1'].port} 2 backup\n")
        gateway = Gateway(config([workers["p1"]], [f"{{model: m, endpoints: {{file: {file}}}}}"]), tmp_path)
        try:
            until(lambda: "2 workers" in gateway.output())
            assert {ask(gateway).json()["choices"][0]["message"]["content"] for _ in range(6)} == {"p1"}
            file.write_text(f"127.0.0.1:{workers['p1'].port} backup\n127.0.0.1:{workers['b1'].port}\n")
            until(lambda: ask(gateway).json()["choices"][0]["message"]["content"] == "b1")
            assert {ask(gateway).json()["choices"][0]["message"]["content"] for _ in range(6)} == {"b1"}
        finally:
            gateway.stop()


def test_a_pool_of_discovered_workers(tmp_path):
    """One pool is configured, the other one's workers come and go while a request waits for them."""
    with fleet(tmp_path, "s1", "l1") as workers:
        file = tmp_path / "workers"
        file.write_text(f"127.0.0.1:{workers['l1'].port}\n")
        pools = ["{name: short, model: m, backends: [s1], max_tokens: 2K, max_in_flight: 1, queue: {max: 0}}",
                 f"{{name: long, model: m, endpoints: {{file: {file}}}, max_in_flight: 1, queue: {{max: 5, timeout: 60s}}}}"]
        gateway = Gateway(config([workers["s1"]], pools), tmp_path)
        try:
            until(lambda: "pool long: 1 workers" in gateway.output())
            assert pool(ask(gateway)) == "short" and pool(ask(gateway, words(2000))) == "long"
            settled(gateway.metrics, 2)
            workers["s1"].holds = workers["l1"].holds = True
            asked = [Asked(gateway, text, "m", x_vsr_debug="true") for text in ("a", words(2000))]
            until(lambda: len(workers["s1"].texts) == len(workers["l1"].texts) == 2)
            asked.append(Asked(gateway, "waits", "m", x_vsr_debug="true"))
            until(lambda: 'semroute_pool_waiting_requests{pool="long"} 1' in gateway.metrics())
            with fleet(tmp_path, "l2") as more:
                file.write_text(f"127.0.0.1:{more['l2'].port}\n")
                asked[2].join(120)
                assert asked[2].answer.status == 200 and more["l2"].texts == ["waits"]
                assert pool(asked[2].answer) == "long"
            for worker in workers.values():
                worker.release()
            assert [a.status() for a in asked[:2]] == [200, 200]
        finally:
            for worker in workers.values():
                worker.release(100)
            gateway.stop()


def test_explain_names_the_pool(tmp_path):
    with fleet(tmp_path, "s1", "s2", "l1") as workers:
        path = tmp_path / "c.yaml"
        path.write_text(config(workers.values(), SIZES))
        told = json.loads(semroute("explain", "-c", path, "--json", "hello").stdout)["pool"]
        assert told == {"name": "short", "reason": "fits", "workload": "interactive", "workload_from": "shape",
                        "prompt_tokens": told["prompt_tokens"], "answer_tokens": 512}
        assert 0 < told["prompt_tokens"] < 30
        assert "in pool short (fits: interactive, about" in semroute("explain", "-c", path, "hello").stdout


# ---- Envoy ----


@contextlib.contextmanager
def behind_envoy(tmp_path, workers, pools, mode=real.PICKER, offers=None, **more):
    own = f"extproc: {{destination_header: {ENDPOINT}}}" if mode == real.PICKER else ""
    path, port, metrics = tmp_path / "semroute.yaml", free_ports(), free_ports()
    path.write_text(config(workers.values(), pools, semroute=own, **more))

    def changed(text):
        return text.replace(EXT_PROC, SUBSET % json.dumps(offers) + EXT_PROC, 1) if offers else text

    with contextlib.ExitStack() as stack:
        process = Process([BINARY, "serve", "-c", path, "--gateway", "off", "--api", "off", "--metrics", f"127.0.0.1:{metrics}",
                           "--extproc", f"127.0.0.1:{port}"], tmp_path / "semroute.log")
        stack.callback(process.stop)
        process.metrics = lambda: request(metrics, "GET", "/metrics").body.decode()
        wait_http(metrics, "/metrics", process)
        envoy = real.Envoy(tmp_path, mode, port, next(iter(workers.values())).port, change=changed)
        stack.callback(envoy.stop)
        envoy.post = lambda body, headers=None, timeout=60: request(envoy.port, "POST", "/v1/chat/completions", body, headers,
                                                                    timeout=timeout)
        yield envoy, process


def test_envoy_sizes(tmp_path):
    with fleet(tmp_path, "s1", "s2", "l1") as workers, behind_envoy(tmp_path, workers, SIZES) as (envoy, process):
        assert pool(ask(envoy, max_tokens=100)) == "short"
        assert pool(ask(envoy, words(2000))) == "long"
        assert workers["l1"].pools == ["long"] and len(workers["s1"].texts) + len(workers["s2"].texts) == 1
        until(lambda: 'semroute_pool_requests_total{pool="long",workload="interactive",reason="fits"} 1' in process.metrics())


def test_envoy_full_and_gone(tmp_path):
    """In-flight limits behind Envoy: the next pool, then 429; a place that is given back is used again."""
    limits = ["{name: short, model: m, backends: [s1], max_tokens: 2K, max_in_flight: 1}",
              "{name: long, model: m, backends: [l1], max_tokens: 32K, max_in_flight: 1}"]
    with fleet(tmp_path, "s1", "l1") as workers, behind_envoy(tmp_path, workers, limits) as (envoy, process):
        for worker in workers.values():
            worker.holds = True
        asked = [Asked(envoy, "a", "m", x_vsr_debug="true")]
        until(lambda: workers["s1"].texts == ["a"])
        asked.append(Asked(envoy, "b", "m", x_vsr_debug="true"))
        until(lambda: workers["l1"].texts == ["b"])
        refused = ask(envoy)
        assert refused.status == 429 and "busy" in refused.json()["error"]["message"], refused
        workers["s1"].release()
        assert asked[0].status() == 200 and pool(asked[0].answer) == "short"
        settled(process.metrics, 2)  # and the one that was refused
        workers["s1"].holds = False
        assert pool(ask(envoy)) == "short"
        workers["l1"].holds = False
        workers["l1"].release()
        assert asked[1].status() == 200 and pool(asked[1].answer) == "long" and why(asked[1].answer) == "next"
        # a client that leaves gives its place back
        settled(process.metrics, 4)
        workers["s1"].holds = True
        with socket.create_connection(("127.0.0.1", envoy.port)) as client:
            client.sendall(post_bytes(json.dumps(chat("leaves", "m")).encode()))
            until(lambda: workers["s1"].texts[-1] == "leaves")
        settled(process.metrics, 5)
        workers["s1"].holds = False
        workers["s1"].release()
        assert pool(ask(envoy)) == "short"


def test_envoy_offers_some_workers(tmp_path):
    """Pools are asked in their order, and each only for the workers that Envoy offers."""
    with fleet(tmp_path, "s1", "s2", "l1") as workers:
        for offered, expected, reason in (("s1", "short", "fits"), ("s2", "short", "fits"), ("l1", "long", "next")):
            with behind_envoy(tmp_path, workers, SIZES, offers=[f"127.0.0.1:{workers[offered].port}"]) as (envoy, _):
                answer = ask(envoy, max_tokens=10)
                assert pool(answer) == expected and why(answer) == reason and answer.headers["x-vsr-worker"] == offered
                assert workers[offered].pools[-1] == expected
                assert ask(envoy, words(2000)).status == (200 if offered == "l1" else 503)


def test_envoy_worker_that_is_gone(tmp_path):
    """Its pool is followed by the next one while it cools."""
    pools = ["{name: short, model: m, backends: [s1], max_tokens: 2K}", "{name: long, model: m, backends: [l1]}"]
    with fleet(tmp_path, "s1", "l1") as workers, behind_envoy(tmp_path, workers, pools) as (envoy, process):
        assert pool(ask(envoy)) == "short"
        fail(workers["s1"], 0)

        def is_next():  # once Envoy has said that it could not reach the worker
            answer = ask(envoy)
            return answer.status == 200 and pool(answer) == "long" and why(answer) == "next"

        until(is_next)
        until(lambda: 'semroute_pool_requests_total{pool="long",workload="interactive",reason="next"}' in process.metrics())


def test_envoy_discovered(tmp_path):
    """Workers of a file behind Envoy, with a limit, while they change."""
    with fleet(tmp_path, "a", "b", "c") as workers:
        file = tmp_path / "workers"
        port = {name: worker.port for name, worker in workers.items()}
        file.write_text(f"127.0.0.1:{port['a']}\n127.0.0.1:{port['b']} backup\n")
        pools = [f"{{model: m, endpoints: {{file: {file}}}, max_in_flight: 1}}"]
        with behind_envoy(tmp_path, workers, pools) as (envoy, process):
            until(lambda: "pool m: 2 workers" in process.output())
            assert ask(envoy).status == 200 and len(workers["a"].texts) == 1
            settled(process.metrics, 1)
            workers["a"].holds = True
            held = Asked(envoy, "held", "m")
            until(lambda: "held" in workers["a"].texts)
            assert ask(envoy).status == 200 and len(workers["b"].texts) == 1
            file.write_text(f"127.0.0.1:{port['c']}\n")
            until(lambda: "pool m: 1 workers" in process.output())
            settled(process.metrics, 2)
            assert ask(envoy).status == 200 and len(workers["c"].texts) == 1
            workers["a"].release()
            assert held.status() == 200, "a worker that is removed finishes its requests"
            file.write_text("# none\n")
            until(lambda: "there is no worker in it" in process.output())
            settled(process.metrics, 4)
            assert ask(envoy).status == 200 and len(workers["c"].texts) == 2, "the last good list holds"


def test_envoy_that_chooses_itself_is_told_the_pool(tmp_path):
    """Where Envoy routes, `x-selected-pool` names the pool for its routes."""
    with fleet(tmp_path, "s1", "l1") as workers:
        pools = ["{name: short, model: m, backends: [s1], max_tokens: 2K}", "{name: long, model: m, backends: [l1]}"]
        with behind_envoy(tmp_path, workers, pools, "BUFFERED") as (envoy, _):
            assert ask(envoy).status == ask(envoy, words(2000)).status == 200
            assert workers["s1"].pools == ["short", "long"]
