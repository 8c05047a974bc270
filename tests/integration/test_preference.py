"""Preferences that a model decides: through the gateway and through Envoy, when it is asked, and what is no answer.

The model is a server of the test that answers by words of the request; `asked` has what it was asked.
"""
import http.server
import json
import threading

import envoy as real
import pytest
from conftest import Gateway, free_ports, request, semroute, wait_http
from test_both_doors import Upstream, user
from test_pools import until

SECRET = "the-key-of-the-model"
WORDS = {"function": "code", "program": "code", "poem": "verse", "song": "verse"}
CASES = [
    ("Write a Python function that sorts a list", "code"), ("Fix the bug in this program", "code"),
    ("A function that adds two numbers", "code"), ("Why does my program stop?", "code"), ("Test this function", "code"),
    ("Write a poem about the sea", "verse"), ("A song for my sister", "verse"), ("Rhyme me a poem", "verse"),
    ("Compose a song", "verse"), ("A love poem", "verse"), ("How tall is the Eiffel tower?", None), ("Hello", None),
]
# What a model may do wrong: of each the words of a request.
WRONG = ["speaks freely", "names another", "status 500", "no JSON", "too long", "closes", "never answers"]


class Model:
    def __init__(self):
        self.asked, self.heads, self.release = [], [], threading.Event()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                prompt = body["messages"][0]["content"]
                text = json.loads(prompt.split("<conversation>\n")[-1].split("\n</conversation>")[0])[0]["content"]
                model.asked.append((self.path, body["model"], text))
                model.heads.append(dict(self.headers.items()))
                route = next((name for word, name in WORDS.items() if word in text), "other")
                said, status = json.dumps({"route": route}), 200
                if "speaks freely" in text:
                    said = "I would take verse."
                if "names another" in text:
                    said = '{"route": "singing"}'
                if "status 500" in text:
                    status = 500
                if "too long" in text:
                    said += " " * 100000
                if "never answers" in text:
                    model.release.wait(120)
                answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
                if "no JSON" in text:
                    answer = answer[:-1]
                if "closes" in text:
                    self.close_connection = True
                    return
                try:
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    self.close_connection = True  # semroute does not wait any more

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def texts(self):
        return [text for _, _, text in self.asked]


def configuration(upstream, model, deadline=20000):
    models = [{"name": m, "backend_refs": [{"name": m, "endpoint": f"127.0.0.1:{upstream.port}"}]} for m in real.MODELS]
    preference = {"code": {"type": "preference", "name": "code"}, "verse": {"type": "preference", "name": "verse"}}
    both = {"operator": "AND", "conditions": [{"type": "keyword", "name": "sure"}, preference["code"]]}
    closed = {"operator": "AND", "conditions": [{"type": "keyword", "name": "strict"}, {**preference["code"], "on_error": "match"}]}
    return json.dumps({
        "version": "v0.3", "providers": {"defaults": {"default_model": "general"}, "models": models},
        "routing": {
            "signals": {"keywords": [{"name": "known", "keywords": ["refund"]}, {"name": "sure", "keywords": ["surely"]},
                                     {"name": "strict", "keywords": ["strictly"]}],
                        "preferences": [{"name": "code", "description": "programs and what is wrong with them"},
                                        {"name": "verse", "description": "poems and songs"}]},
            "decisions": [
                {"name": "known", "priority": 30, "rules": {"type": "keyword", "name": "known"}, "modelRefs": [{"model": "general"}]},
                {"name": "both", "priority": 20, "rules": both, "modelRefs": [{"model": "expert"}]},
                {"name": "closed", "priority": 15, "rules": closed, "modelRefs": [{"model": "expert"}]},
                *({"name": name, "priority": 10, "rules": rule, "modelRefs": [{"model": "coder"}]}
                  for name, rule in preference.items())]},
        "global": {"model_catalog": {"external": [
            {"llm_provider": "vllm", "model_role": "memory_rewrite", "llm_model_name": "other"},
            {"llm_provider": "vllm", "model_role": "preference", "llm_model_name": "arch", "llm_timeout_seconds": 6,
             "access_key": SECRET, "llm_endpoint": {"address": "127.0.0.1", "port": model.port, "protocol": "http"}}]},
            "semroute": {"signal_deadline_ms": deadline}}})


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    directory = tmp_path_factory.mktemp("preference")
    running = [Upstream(), Model()]
    try:
        extproc, (upstream, model) = free_ports(), running
        running.append(Gateway(configuration(upstream, model), directory, flags=["--extproc", f"127.0.0.1:{extproc}"], wait=False))
        wait_http(running[2].port, "/ready", running[2], timeout=300)

        def change(text):
            for worker in range(len(real.MODELS)):
                text = text.replace(f"port_value: {61000 + worker}", f"port_value: {upstream.port}")
            return text

        running.append(real.Envoy(directory, "BUFFERED", extproc, 61000, change=change))
        yield {"gateway": running[2].port, "envoy": running[3].port}, model, running[2]
    finally:
        for one in reversed(running):
            one.stop()


def ask(port, text, debug=False):
    headers = {"x-vsr-debug": "true"} if debug else None
    return request(port, "POST", "/v1/chat/completions", {"model": "auto", "messages": [user(text)]}, headers, timeout=120)


def decided(answer):
    assert answer.status == 200
    return answer.headers.get("x-vsr-selected-decision")


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_decides(doors, door):
    ports, model, _ = doors
    assert [decided(ask(ports[door], f"{door}: {text}")) for text, _ in CASES] == [name for _, name in CASES]
    assert {(path, name) for path, name, _ in model.asked} == {("/v1/chat/completions", "arch")}
    assert all(head["authorization"] == f"Bearer {SECRET}" for head in model.heads)


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_asked_when_it_matters(doors, door):
    """Not where another rule has decided; once for a text; where a rule of the same decision fails only if another asks."""
    ports, model, _ = doors
    text = f"{door} wants a refund for a poem"
    assert decided(ask(ports[door], text)) == "known"
    assert text not in model.texts()
    text = f"{door} has a poem"
    assert [decided(ask(ports[door], text)) for _ in range(3)] == ["verse"] * 3
    assert model.texts().count(text) == 1
    assert decided(ask(ports[door], f"{door} surely wants a function")) == "both"


@pytest.mark.parametrize("door", ["gateway", "envoy"])
@pytest.mark.parametrize("wrong", WRONG)
def test_no_answer(doors, door, wrong):
    """No preference counts, unless a condition says that it does: and nothing of it is remembered."""
    ports, model, _ = doors
    text = f"{door}: a poem that {wrong}"
    assert decided(ask(ports[door], text)) is None
    assert decided(ask(ports[door], f"{text} strictly")) == "closed"
    if wrong != "never answers":
        assert decided(ask(ports[door], text)) is None
        assert model.texts().count(text) == 2


def test_told(doors):
    """Headers, figures, and no key anywhere."""
    ports, _, gateway = doors
    assert ask(ports["gateway"], "told: a song", debug=True).headers["x-vsr-matched-preference"] == "verse"
    until(lambda: 'semroute_model_questions_total{role="preference",result="answered"}' in gateway.metrics())
    assert SECRET not in gateway.metrics() and SECRET not in gateway.output()


def explain(directory, text, *runs):
    path = directory / "router.yaml"
    path.write_text(text)
    answers = [json.loads(semroute("explain", "--config", str(path), "--json", words).stdout) for words in runs]
    return [next((s for s in a["signals"] if s["type"] == "preference"), None) for a in answers]


def test_explain(tmp_path):
    """It asks, and says who answered; a model that is away is a signal without a result."""
    upstream, model = Upstream(), Model()
    try:
        code, known = explain(tmp_path, configuration(upstream, model), "A function, please", "a refund")
        assert code["tier"] == "model" and [r["matched"] for r in code["rules"]] == [True, False]
        assert known is None
    finally:
        upstream.stop()
        model.stop()
    (away,) = explain(tmp_path, configuration(upstream, model), "A function, please")
    assert away["error"] and "tier" not in away


def test_check(tmp_path):
    """A wait that ends before the model's own timeout is told."""
    class At:
        port = 1
    path = tmp_path / "router.yaml"
    path.write_text(configuration(At, At, deadline=1000))
    said = semroute("check", str(path))
    assert "which is less than its own timeout" in said.stdout + said.stderr
