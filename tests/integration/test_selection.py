"""Which model of a decision's candidates: every algorithm, through the gateway and through the real Envoy.

One semroute serves both doors, so both ask the same statistics. A request names its decision by a keyword.
"""
import concurrent.futures
import contextlib
import http.server
import json
import threading
import time

import pytest

import envoy as real
from conftest import Gateway, Mock, chat, free_ports, request, semroute
from keys_site import decision, leaf, model, site, write
from test_pools import until

MODELS = ["general", "coder", "reasoner", "expert"]
PRICES = {"general": 0.1, "coder": 1, "reasoner": 4, "expert": 20}
QUALITY = {"general": 0.5, "coder": 0.7, "reasoner": 0.85, "expert": 0.95}
CODE = ["Write a Python function that sorts a list of numbers.", "Fix the null pointer in this Java method.",
        "How do I join two tables in SQL?", "Refactor this C++ class into smaller classes.",
        "Why does my JavaScript promise never resolve?", "Write a unit test for this Go function.",
        "Explain this regular expression in my Perl script.", "Compile error: undefined reference to main in C.",
        "How do I parse JSON in Rust?", "Optimise this loop in my Python code."]
POEMS = ["Write a poem about the autumn leaves.", "Compose a short verse on love and loss.",
         "A haiku about the moon over the sea, please.", "Rhyme a ballad about an old sailor.",
         "Describe a sunset over the mountains in a lyrical way.", "Write song lyrics about a summer night.",
         "A sonnet for my grandmother's birthday.", "Tell a tender bedtime story about a fox.",
         "Write a nursery rhyme about rain.", "Compose an ode to spring flowers."]
ASKED = ["Write a Java method that reverses a string.", "Compose a poem about winter snow."]


def refs(*names):
    return [{"model": name} for name in names]


def multi(names=MODELS, slo=None, **weights):
    factors = {"quality": 0, "latency": 0, "cost": 0, "load": 0, **weights}
    on_none = factors.pop("on_none", "cheapest")
    block = {"weights": factors, "slo": slo or {}, "latency_percentile": 50, "on_no_candidates": on_none}
    return refs(*names), {"type": "multi_factor", "multi_factor": block}


def fastest(names=MODELS, **percentiles):
    return refs(*names), {"type": "latency_aware", "latency_aware": percentiles}


# (keyword, (candidates, algorithm), the model that answers; None: 503)
TABLE = [
    ("st-first", (refs("coder", "expert"), {"type": "static"}), "coder"),
    ("st-none", (refs("expert", "coder"), None), "expert"),
    ("st-single", (refs("reasoner"), {"type": "static"}), "reasoner"),
    ("st-scores", (refs(*MODELS), {"type": "static"}), "reasoner"),
    ("mf-quality", multi(quality=1), "expert"),
    ("mf-cost", multi(cost=1), "general"),
    ("mf-both", multi(quality=0.6, cost=0.4), "reasoner"),
    ("mf-cheap", multi(quality=0.3, cost=0.7), "coder"),
    ("mf-sum", multi(quality=6, cost=4), "reasoner"),
    ("mf-two", multi(("coder", "reasoner"), quality=1), "reasoner"),
    ("mf-price", multi(quality=1, slo={"max_cost_per_1m": 4}), "reasoner"),
    ("mf-prices", multi(quality=1, slo={"max_cost_per_1m": 0.5}), "general"),
    ("mf-nothing", multi(("expert", "reasoner"), quality=1, slo={"max_cost_per_1m": 0.01}), "reasoner"),
    ("mf-start", multi(("expert", "reasoner"), quality=1, slo={"max_cost_per_1m": 0.01}, on_none="first"), "expert"),
    ("mf-refuse", multi(("expert", "reasoner"), quality=1, slo={"max_cost_per_1m": 0.01}, on_none="fail"), None),
    ("mf-one", (refs("coder"), multi(quality=1, slo={"max_cost_per_1m": 0.01})[1]), "coder"),
    ("mf-fast", multi(latency=1), "reasoner"),
    ("mf-slow", multi(quality=1, slo={"max_ttft_ms": 700}), "reasoner"),
    ("mf-idle", multi(load=1), "general"),
    ("la-all", fastest(ttft_percentile=50), "reasoner"),
    ("la-two", fastest(("expert", "coder"), ttft_percentile=50), "coder"),
    ("la-order", fastest(("general", "coder", "expert"), ttft_percentile=50), "coder"),
    ("la-none", fastest(("expert", "coder"), tpot_percentile=50), "expert"),
    ("la-bare", fastest(("coder", "reasoner")), "coder"),
    ("la-single", fastest(("expert",), ttft_percentile=50), "expert"),
]
TABLE += [(f"la-part{i}", fastest(names, ttft_percentile=50), best) for i, (names, best) in enumerate([
    (("general", "reasoner"), "reasoner"), (("reasoner", "general"), "reasoner"), (("expert", "reasoner"), "reasoner"),
    (("general", "coder"), "coder"), (("coder", "general"), "coder")])]
TABLE.sort(key=lambda row: not row[0].startswith(("la-", "mf-fast", "mf-slow")))  # before others add times of their own
SAMPLES = 24  # of each model: the median stays, whatever the table adds
DELAYS = {"general": 2600, "coder": 800, "reasoner": 0, "expert": 1700}  # far apart: machines are slow


def make_files(directory):
    """A file of neighbours and a predictor, both of vectors that the program itself makes."""
    rows = directory / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in CODE + POEMS))
    done = semroute("embed", "--json", "--jsonl", rows, timeout=300)
    assert done.returncode == 0, done.stderr
    vectors = [json.loads(line)["embedding"] for line in done.stdout.splitlines()]
    labels = ["coder"] * len(CODE) + ["expert"] * len(POEMS)
    (directory / "knn.json").write_text(json.dumps({"algorithm": "knn", "trained": True, "k": 3, "embeddings": vectors,
                                                    "labels": labels, "qualities": [0.9] * len(labels)}))
    log = directory / "log.jsonl"
    with log.open("w") as out:
        for text in CODE + POEMS:
            for name in ("coder", "expert"):
                right = (text in CODE) == (name == "coder")
                out.write(json.dumps({"text": text, "model": name, "correct": right, "cost": PRICES[name]}) + "\n")
    done = semroute("train", "selection", log, "-o", directory / "learned.json", timeout=300)
    assert done.returncode == 0, done.stderr


def learned(directory, **more):
    return {"type": "learned", "learned": {"model": str(directory / "learned.json"), **more}}


def config(directory):
    table = [*TABLE, ("kn-near", (refs(*MODELS), {"type": "knn", "knn": {"pretrained_path": str(directory / "knn.json")}}), ""),
             ("le-best", (refs("coder", "expert"), learned(directory, cost_weight=0)), ""),
             ("le-cheap", (refs("expert", "coder"), learned(directory, cost_weight=5)), ""),
             ("ba-learns", (refs("general", "coder"),
                            {"type": "bandit", "bandit": {"exploration": 0, "latency_weight": 0}}), ""),
             ("ba-off", (refs("coder", "general"), {"type": "bandit", "bandit": {"enabled": False}}), "")]
    decisions = [{"name": word, "priority": 10, "rules": leaf({"keyword": word}), "modelRefs": candidates,
                  **({"algorithm": algorithm} if algorithm else {})} for word, (candidates, algorithm), _ in table]
    signals = {"keywords": [{"name": word, "operator": "OR", "keywords": [word]} for word, _, _ in table],
               "domains": [{"name": "st-scores", "mmlu_categories": ["other"],
                            "model_scores": [{"model": "general", "score": 0.2}, {"model": "coder", "score": 0.3},
                                             {"model": "reasoner", "score": 0.9}, {"model": "expert", "score": 0.4}]}]}
    models = [model(name, f"@{i}", pricing={"currency": "USD", "prompt_per_1m": PRICES[name], "completion_per_1m": 2})
              for i, name in enumerate(MODELS)]
    cards = [{"name": name, "quality_score": QUALITY[name]} for name in MODELS]
    return site(*models, decisions=[*decisions, decision("rest", model="general")], signals=signals, cards=cards, default="general",
                selection={"state_file": str(directory / "arms.json")})


class Doors:
    def __init__(self, directory, stack):
        self.directory, self.stack = directory, stack
        self.mock = Mock(directory / "mock.log")
        stack.callback(self.mock.stop)
        make_files(directory)
        self.text = write(config(directory), directory / "semroute.yaml", self.mock.port).read_text()
        self.extproc = free_ports()
        self.gateway = self.serve("gateway")
        self.envoy = real.Envoy(directory, "BUFFERED", self.extproc, self.mock.port)
        stack.callback(self.envoy.stop)

    def serve(self, name):
        gateway = Gateway(self.text, self.directory, name, flags=["--extproc", f"127.0.0.1:{self.extproc}"])
        self.stack.callback(lambda: gateway.child.poll() is None and gateway.stop())
        return gateway

    def post(self, door, text, name="auto", **headers):
        port = self.gateway.port if door == "gateway" else self.envoy.port
        return request(port, "POST", "/v1/chat/completions", chat(text, name), headers)

    def explain(self, text):
        return request(self.gateway.api_port, "POST", "/api/v1/explain", {"text": text}).json()

    def factors(self, text, name):
        return {c["model"]: c["factors"].get(name) for c in self.explain(text)["selection"]["candidates"]}

    def times(self):
        return self.factors("la-all please", "ttft_ms")

    def are_apart(self):
        """The times are in the order of DELAYS: they are not, where a machine stood still."""
        ms = self.times()
        return None not in ms.values() and ms["reasoner"] < 700 <= ms["coder"] < min(ms["expert"], ms["general"])


def answered_by(answer):
    assert answer.status == 200, answer
    return MODELS[int(answer.json()["choices"][0]["message"]["content"].split()[6])]


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        doors = Doors(tmp_path_factory.mktemp("selection"), stack)
        with concurrent.futures.ThreadPoolExecutor(SAMPLES) as pool:
            end = time.monotonic() + 300
            while not doors.are_apart():
                assert time.monotonic() < end, doors.times()
                asked = [pool.submit(doors.post, "gateway", "hello", name, **{"x-mock-delay-ms": str(delay)})
                         for name, delay in DELAYS.items() for _ in range(SAMPLES)]
                assert {a.result().status for a in asked} == {200}
        yield doors


@pytest.mark.parametrize("door", ["gateway", "envoy"])
@pytest.mark.parametrize("word,_,best", TABLE, ids=[row[0] for row in TABLE])
def test_the_table(doors, door, word, _, best):
    if word == "mf-idle":  # a client has its answer before the request is over here
        until(lambda: set(doors.factors("mf-idle please", "load").values()) == {0})
    answer = doors.post(door, f"{word} please")
    if best is None:
        assert answer.status == 503 and answer.json()["error"]["code"] == "no_eligible_model"
    else:
        assert answered_by(answer) == best


@pytest.mark.parametrize("door", ["gateway", "envoy"])
@pytest.mark.parametrize("word", ["kn-near", "le-best"])
def test_by_meaning(doors, door, word):
    for text in CODE + ASKED[:1]:
        assert answered_by(doors.post(door, f"{text} {word}")) == "coder", text
    for text in POEMS + ASKED[1:]:
        assert answered_by(doors.post(door, f"{text} {word}")) == "expert", text


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_cost_against_quality(doors, door):
    for text in POEMS[:5]:
        assert answered_by(doors.post(door, f"{text} le-cheap")) == "coder"


def test_explain_shows_candidates_and_factors(doors):
    seen = doors.explain("mf-both please")["selection"]
    assert seen["algorithm"] == "multi_factor" and seen["why"]
    assert [c["model"] for c in seen["candidates"]] == MODELS
    assert [c["chosen"] for c in seen["candidates"]] == [False, False, True, False]
    assert all({"quality", "cost", "load"} <= set(c["factors"]) for c in seen["candidates"])
    assert doors.explain("mf-price please")["selection"]["candidates"][3]["excluded"] == "max_cost_per_1m"
    assert doors.explain("la-bare please")["selection"]["fallback"] == "no_percentile"
    assert "neighbours" in doors.explain(CODE[0] + " kn-near")["selection"]["candidates"][1]["factors"]
    assert "selection" not in doors.explain("st-first please")


def test_metrics_name_the_choice(doors):
    doors.post("gateway", "mf-quality please")
    doors.post("gateway", "la-bare please")
    text = doors.gateway.metrics()
    assert 'llm_model_selection_total{method="multi_factor",model="expert",decision="mf-quality",tier="supported"}' in text
    assert 'llm_model_selection_fallback_total{method="latency_aware",decision="la-bare",reason="no_percentile"}' in text


def feedback(doors, body):
    return request(doors.gateway.api_port, "POST", "/api/v1/feedback", body)


def until(look):
    end = time.monotonic() + 60
    while not look():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_a_bandit_learns_and_remembers(doors, door):
    word = "ba-learns please"
    until(lambda: doors.post(door, "st-first please").status == 200)  # Envoy has found the one that was started again
    feedback(doors, {"decision": "ba-learns", "model": "general", "score": 1})
    for _ in range(12):
        assert feedback(doors, {"decision": "ba-learns", "model": "coder", "score": 0}).status == 200
    until(lambda: answered_by(doors.post(door, word)) == "general")
    for _ in range(40):  # each answer that was bad is said to be
        answer = doors.post(door, word)
        if answered_by(answer) == "coder":
            break
        name = answer.headers["x-request-id"]
        assert feedback(doors, {"request_id": name, "score": False}).status == 200
        assert feedback(doors, {"request_id": name, "score": True}).status == 404
        feedback(doors, {"decision": "ba-learns", "model": "coder", "score": 1})
    assert answered_by(doors.post(door, word)) == "coder"
    before = [c["factors"] for c in doors.explain(word)["selection"]["candidates"]]
    doors.gateway.stop()
    doors.gateway = doors.serve("again-" + door)
    until(lambda: doors.post(door, word).status == 200)
    assert answered_by(doors.post(door, word)) == "coder"
    after = [c["factors"] for c in doors.explain(word)["selection"]["candidates"]]
    assert [round(f["quality"], 3) for f in after] == [round(f["quality"], 3) for f in before]


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_a_bandit_that_is_off(doors, door):
    for _ in range(10):
        answer = doors.post(door, "ba-off please")
        assert answered_by(answer) == "coder"
        assert feedback(doors, {"request_id": answer.headers["x-request-id"], "score": 0}).status == 404


@pytest.mark.parametrize("body,status", [
    ({"request_id": "x"}, 400), ({"score": 1}, 400), ({"request_id": "x", "score": 2}, 400), ({"request_id": "x", "score": "1"}, 400),
    ({"request_id": "nobody", "score": 1}, 404), ({"decision": "mf-quality", "model": "expert", "score": 1}, 404),
    ({"decision": "ba-learns", "model": "nobody", "score": 1}, 404), ([], 400)])
def test_feedback_that_says_nothing(doors, body, status):
    answer = feedback(doors, body)
    assert answer.status == status and answer.json()["error"]["message"]


def test_training_gives_the_same_file(doors):
    directory = doors.directory
    done = semroute("train", "selection", directory / "log.jsonl", "-o", directory / "again.json", timeout=300)
    assert done.returncode == 0 and "coder" in done.stdout
    assert (directory / "again.json").read_bytes() == (directory / "learned.json").read_bytes()


def test_the_curve(doors):
    directory = doors.directory
    done = semroute("eval", "--task", "selection", "--json", "--svg", directory / "plot.svg", directory / "log.jsonl", timeout=300)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["texts"] == 20 and "apgr" not in seen  # neither model is the better one
    assert seen["aiq"]["coin"] < seen["aiq"]["router"] <= seen["aiq"]["best_possible"]
    assert (directory / "plot.svg").read_text().count("<polyline") == 3
    told = semroute("eval", "--task", "selection", "--selection", directory / "learned.json", directory / "log.jsonl", timeout=300)
    assert told.returncode == 0 and "AIQ" in told.stdout


def test_mistakes_of_logs(doors):
    directory = doors.directory
    bad = directory / "bad.jsonl"
    bad.write_text('{"text": "a", "model": "m", "score": 1}\n{"text": "b"}\n')
    done = semroute("train", "selection", bad, "-o", directory / "no.json")
    assert done.returncode == 1 and "bad.jsonl:2:" in done.stderr and not (directory / "no.json").exists()
    assert semroute("train", "selection").returncode == 2
    assert semroute("train", "nothing", bad).returncode == 2
    assert semroute("train", "selection", directory / "absent.jsonl").returncode == 3


class Streams(http.server.ThreadingHTTPServer):
    """An upstream that streams ten tokens with a pause before each, and never tells how many they were."""
    daemon_threads = True

    def __init__(self, pause):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for _ in range(10):
                    self.wfile.write(b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n')
                    self.wfile.flush()
                    time.sleep(pause)
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


def test_upstreams_without_usage_have_a_pace_too(start):
    """latency_aware by the time for each token: events count where an upstream reports no usage."""
    upstreams = {"slow": Streams(0.2), "quick": Streams(0.02)}
    algorithm = {"type": "latency_aware", "latency_aware": {"tpot_percentile": 50}}
    gateway = start.gateway(json.dumps({
        "version": "v0.3",
        "providers": {"models": [{"name": name, "backend_refs": [{"endpoint": f"127.0.0.1:{server.server_address[1]}"}]}
                                 for name, server in upstreams.items()], "defaults": {"default_model": "slow"}},
        "routing": {"signals": {"keywords": [{"name": "k", "operator": "OR", "keywords": ["please"]}]},
                    "decisions": [{"name": "d", "rules": {"operator": "AND", "conditions": [{"type": "keyword", "name": "k"}]},
                                   "modelRefs": refs("slow", "quick"), "algorithm": algorithm}]}}))
    def is_known():
        for name in upstreams:  # again and again: a machine that stands still makes a time long
            assert gateway.post(chat("hello", name, stream=True)).status == 200
        return gateway.post(chat("please", stream=True)).headers["x-vsr-selected-model"] == "quick"

    try:
        # A time counts when its request has ended here, a moment after its client has the answer.
        until(is_known)
    finally:
        for server in upstreams.values():
            server.shutdown()
            server.server_close()


def test_a_bandit_learns_from_a_model_whose_work_another_takes_over(start):
    """The better model is at a closed port: each request is answered, and still it is not asked first for ever."""
    mock = start.mock()
    ports = {"closed": free_ports(), "good": mock.port}
    gateway = start.gateway(json.dumps({
        "version": "v0.3",
        "providers": {"models": [{"name": name, "backend_refs": [{"endpoint": f"127.0.0.1:{port}"}]}
                                 for name, port in ports.items()], "defaults": {"default_model": "good"}},
        "routing": {"modelCards": [{"name": "closed", "quality_score": 0.9}, {"name": "good", "quality_score": 0.6}],
                    "decisions": [{"name": "d", "priority": 1, "modelRefs": refs("closed", "good"),
                                   "algorithm": {"type": "bandit", "bandit": {"exploration": 0}}}]},
        "global": {"semroute": {"access_log": "stdout"}}}))

    def last_line():
        """The line of a request that has ended."""
        name = gateway.post(chat("hello")).headers["x-request-id"]
        lines = []
        until(lambda: lines.extend(line for line in gateway.output().splitlines() if f'"{name}"' in line) or lines)
        return json.loads(lines[0])

    assert last_line()["failovers"] == 1
    until(lambda: "failovers" not in last_line())
