"""Cases that users of vLLM Semantic Router rely on (docs/peer-cases.md), through the real Envoy: those that no other
test here shows, and that each test of the table exists."""
import ast
import concurrent.futures
import contextlib
import http.client
import json
import re
import time

import pytest

import envoy as real
from conftest import BINARY, ROOT, Mock, Process, chat, free_ports, request, wait_http

PAGE = (ROOT / "docs" / "peer-cases.md").read_text()
CASES = ["domain-classify", "keyword-routing", "embedding-signal-routing", "entropy-routing", "decision-priority-selection",
         "decision-fallback-behavior", "rule-condition-logic", "plugin-chain-execution", "plugin-config-variations", "pii-detection",
         "jailbreak-detection", "jailbreak-onerror-block", "semantic-cache", "tool-selection", "model-selection", "routing-fallback",
         "ratelimit-limitor", "chat-completions-stress", "chat-completions-progressive-stress", "apiserver-classification-endpoints",
         "apiserver-runtime-config-endpoints", "agentgateway-full-duplex-multiturn", "retention-directive"]
KEYWORDS = {"alpha": {}, "beta": {}, "gamma": {}, "shout": {"keywords": ["STOP"], "case_sensitive": True},
            "pair": {"operator": "AND", "keywords": ["salt", "pepper"]}, "number": {"keywords": ["order-[0-9]{3}"], "method": "regex"},
            "calm": {"operator": "NOR", "keywords": ["urgent", "asap"]}, **{word: {} for word in (
                "tone", "think", "quick", "chained", "dropped", "kept", "logic", "high", "low", "attack-me")}}


def word(name):
    return {"type": "keyword", "name": name}


def both(operator, *conditions):
    return {"operator": operator, "conditions": [word(c) if isinstance(c, str) else c for c in conditions]}


def plugin(kind, **configuration):
    return {"type": kind, "configuration": configuration}


def rule(name, rules, model="coder", priority=10, reasoning=False, **more):
    return {"name": name, "priority": priority, "rules": rules, "modelRefs": [{"model": model, "use_reasoning": reasoning}], **more}


CACHE = plugin("response_cache", enabled=True, scope="global", mode="exact")
DECISIONS = [
    rule("blocked", both("AND", "attack-me"), priority=900, plugins=[plugin("fast_response", message="No.")]),
    rule("low", both("OR", "low"), priority=20), rule("high", both("OR", "high"), "expert", priority=30),
    rule("think", both("OR", "think"), "reasoner", reasoning=True), rule("quick", both("OR", "quick"), "reasoner"),
    rule("chained", both("OR", "chained", "attack-me"), plugins=[
        plugin("system_prompt", system_prompt="Be brief.", mode="insert"), plugin("header_mutation", add=[{"name": "x-team", "value": "red"}]),
        plugin("request_params", max_tokens_limit=50), CACHE]),
    rule("dropped", both("OR", "dropped"), plugins=[CACHE], emits=[{"kind": "retention", "retention": {"drop": True}}]),
    rule("kept", both("OR", "kept"), plugins=[CACHE], emits=[{"kind": "retention", "retention": {
        "ttl_turns": 4, "keep_current_model": True, "prefer_prefix_retention": True}}]),
    rule("logic", both("AND", "logic", both("OR", "alpha", both("AND", "beta", {"operator": "NOT", "conditions": [word("gamma")]})))),
    rule("pair", both("AND", "pair")), rule("number", both("AND", "number")), rule("shout", both("AND", "shout")),
    rule("calm", both("AND", "tone", "calm"))]


def configuration(port):
    models = [{"name": m, "backend_refs": [{"name": m, "endpoint": f"127.0.0.1:{port + i}"}],
               **({"reasoning_family": "qwen3"} if m == "reasoner" else {})} for i, m in enumerate(real.MODELS)]
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": "general", "reasoning_families": {
            "qwen3": {"type": "chat_template_kwargs", "parameter": "enable_thinking"}}}, "models": models},
        "routing": {"signals": {"keywords": [{"name": name, "operator": "OR", "keywords": [name], **more} for name, more in KEYWORDS.items()]},
                    "decisions": DECISIONS}})


class Site:
    def __init__(self, directory, stack):
        self.mock = Mock(directory / "mock.log")
        stack.callback(self.mock.stop)
        file = directory / "semroute.yaml"
        file.write_text(configuration(self.mock.port))
        self.api, metrics, extproc = free_ports(), free_ports(), free_ports()
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", f"127.0.0.1:{self.api}", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{extproc}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        self.ports = {}
        for mode in ("BUFFERED", "FULL_DUPLEX"):
            envoy = real.Envoy(directory, mode, extproc, self.mock.port)
            stack.callback(envoy.stop)
            self.ports[mode] = envoy.port

    def ask(self, text, mode="BUFFERED", **more):
        answer = request(self.ports[mode], "POST", "/v1/chat/completions", chat(text, **more), {"x-vsr-debug": "true"}, timeout=120)
        assert answer.status == 200, answer
        return answer

    def again(self, text, **more):
        """The answer that was kept, which it is after its end."""
        until = time.monotonic() + 60
        while "x-vsr-cache-hit" not in (answer := self.ask(text, **more)).headers:
            assert time.monotonic() < until, answer
        return answer

    def decision(self, text, mode="BUFFERED"):
        return self.ask(text, mode).headers.get("x-vsr-selected-decision")

    def got(self, model):
        return json.loads(self.mock.last_body(real.MODELS.index(model)))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path_factory.mktemp("cases"), stack)


def test_the_table_is_whole():
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    assert [case for case, _ in rows] == CASES
    for case, tests in rows:
        named = re.findall(r"`([a-z_]+\.py)::(test_[a-z_0-9]+)`", tests)
        assert named, case
        for file, test in named:
            tree = ast.parse((ROOT / "tests" / "integration" / file).read_text())
            assert test in {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}, (case, file, test)


@pytest.mark.parametrize("text,decision", [
    ("salt and pepper", "pair"), ("pepper, no salt", "pair"), ("salt alone", None), ("SALT and Pepper", "pair"),
    ("where is order-123?", "number"), ("where is order-12?", None), ("please STOP", "shout"), ("please stop", None),
    ("my tone is soft", "calm"), ("my tone is urgent", None), ("my tone, ASAP", None), ("nothing of these", None)])
def test_keywords(site, text, decision):
    assert site.decision(text) == decision and site.decision(text, "FULL_DUPLEX") == decision


def test_reasoning(site):
    answer = site.ask("think about this")
    assert answer.headers["x-vsr-selected-reasoning"] == "on" and site.got("reasoner")["chat_template_kwargs"] == {"enable_thinking": True}
    answer = site.ask("quick, what is this")
    assert answer.headers["x-vsr-selected-reasoning"] == "off"
    assert not site.got("reasoner").get("chat_template_kwargs", {}).get("enable_thinking")


@pytest.mark.parametrize("text,decision", [("low", "low"), ("high", "high"), ("low and high", "high"), ("high, then low", "high"),
                                           ("attack-me low high", "blocked")])
def test_priorities(site, text, decision):
    assert site.decision(text) == decision


def test_no_decision(site):
    answer = site.ask("nothing that a rule knows")
    assert "x-vsr-selected-decision" not in answer.headers and answer.headers["x-vsr-selected-model"] == "general"
    assert site.got("general")["model"] == "general"


@pytest.mark.parametrize("text,matches", [
    ("logic", False), ("logic alpha", True), ("logic beta", True), ("logic beta gamma", False), ("logic alpha gamma", True),
    ("logic alpha beta gamma", True), ("alpha", False), ("beta", False), ("logic gamma", False), ("alpha logic", True)])
def test_rules(site, text, matches):
    assert (site.decision(text) == "logic") == matches


def test_a_chain_of_plugins(site):
    answer = site.ask("chained one", max_tokens=500)
    body = site.got("coder")
    assert body["messages"][0] == {"role": "system", "content": "Be brief."} and body["max_tokens"] == 50
    assert "x-team: red" in site.mock.last_head(real.MODELS.index("coder")).lower()
    assert answer.headers["x-vsr-injected-system-prompt"] == "true" and "x-vsr-cache-hit" not in answer.headers
    again = site.again("chained one", max_tokens=500)
    assert again.headers["x-vsr-cache-hit"] == "true" and again.json()["choices"] == answer.json()["choices"]


def test_a_block_ends_the_chain(site):
    site.ask("chained before")
    before = site.mock.last_body(real.MODELS.index("coder"))
    for _ in range(2):
        answer = site.ask("attack-me chained")
        assert answer.headers["x-vsr-fast-response"] == "true" and answer.json()["choices"][0]["message"]["content"] == "No."
        assert "x-vsr-cache-hit" not in answer.headers and "x-vsr-injected-system-prompt" not in answer.headers
    assert site.mock.last_body(real.MODELS.index("coder")) == before  # no model was asked


def test_more_and_more_at_once(site):
    for at_once in (5, 10, 20, 40):
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            asked = [(name, pool.submit(site.decision, f"{name} number {i}", mode))
                     for i in range(at_once) for name, mode in (("high", "BUFFERED"), ("low", "FULL_DUPLEX"))]
            assert [one.result() for _, one in asked] == [name for name, _ in asked]


def test_what_is_loaded(site):
    models = request(site.api, "GET", "/v1/models").json()
    assert models["object"] == "list" and "MoM" in [m["id"] for m in models["data"]]
    for path in ("/info/classifier", "/api/v1/inventory/classifier"):
        loaded = request(site.api, "GET", path).json()
        assert loaded["status"] == "config_loaded"
        assert [(d["Name"], d["Priority"]) for d in loaded["config"]["Decisions"]] == [(d["name"], d["priority"]) for d in DECISIONS]
        assert loaded["config"]["Decisions"][2]["ModelRefs"] == ["expert"] and "127.0.0.1" not in json.dumps(loaded)
    for path in ("/info/models", "/api/v1/inventory/models"):
        info = request(site.api, "GET", path, timeout=120).json()
        assert info["models"] and all(m["name"] and m["type"] and m["state"] in ("ready", "missing") for m in info["models"])
        assert info["summary"]["total_models"] == len(info["models"]) >= info["summary"]["loaded_models"] > 0


def test_a_chunked_conversation(site):
    history = "What was said before stays as it was, each byte of it: äöü, \\u00e9, \"quotes\". " * 40
    messages = [{"role": "user", "content": history}, {"role": "assistant", "content": "I have kept it."},
                {"role": "user", "content": "high: what is the derivative of x cubed?"}]
    body = json.dumps({"model": "auto", "messages": messages, "temperature": 0, "max_tokens": 64}).encode()
    for _ in range(12):
        connection = http.client.HTTPConnection("127.0.0.1", site.ports["FULL_DUPLEX"], timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/chat/completions", (body[i:i + 47] for i in range(0, len(body), 47)),
                               {"content-type": "application/json"}, encode_chunked=True)
            answer = connection.getresponse()
            assert answer.status == 200 and json.loads(answer.read())["choices"]
        assert site.mock.last_body(real.MODELS.index("expert")) == body.replace(b'"auto"', b'"expert"')


def test_retention(site):
    first, again = site.ask("dropped once"), site.ask("dropped once")
    assert first.headers["x-vsr-retention-drop"] == "true" and "x-vsr-cache-hit" not in again.headers
    first, again = site.ask("kept once"), site.again("kept once")
    assert [first.headers[f"x-vsr-retention-{n}"] for n in ("ttl-turns", "keep-current-model", "prefer-prefix")] == ["4", "true", "true"]
    assert again.headers["x-vsr-cache-hit"] == "true"
    assert not any(name.startswith("x-vsr-retention") for name in site.ask("low").headers)
