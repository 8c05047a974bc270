"""A conversation keeps its model (`global.router.learning.protection`), through the gateway and through the real Envoy.

The candidates' scores are a bandit's without chance: outcomes that are reported between two turns make the other
model the better one. A record of each turn says when its end was noted.
"""
import contextlib
import time

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, chat, free_ports, request, semroute, wait_http
from keys_site import decision, leaf, model, site, write

PATIENCE = 60
MODELS = ["small", "large"]
DOORS = ["gateway", "envoy"]
WORDS = ("plain", "steady", "bypassed", "observed", "other", "chancy")
TOOL_LOOP = [{"role": "user", "content": "plain: what is the weather?"},
             {"role": "assistant", "content": None, "tool_calls": [
                 {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
             {"role": "tool", "tool_call_id": "c1", "content": "sunny"}]


def bandit(word, exploration=0, **adaptations):
    return {"name": word, "priority": 10, "rules": leaf({"keyword": word}), "modelRefs": [{"model": m} for m in MODELS],
            "algorithm": {"type": "bandit", "bandit": {"exploration": exploration, "cost_weight": 0, "latency_weight": 0,
                                                       "memory": 1000}},
            **({"adaptations": adaptations} if adaptations else {})}


def config(**protection):
    decisions = [bandit("plain"), bandit("steady", protection={"stability_weight": 6}), bandit("bypassed", mode="bypass"),
                 bandit("observed", protection={"mode": "observe", "stability_weight": 6}), bandit("other"),
                 bandit("chancy", 0.5), decision("rest", model="small")]
    data = site(*(model(m, f"@{i}") for i, m in enumerate(MODELS)), decisions=decisions, default="small",
                signals={"keywords": [{"name": w, "operator": "OR", "keywords": [w]} for w in WORDS]},
                guards={"tenant_header": "x-tenant"},
                router={"learning": {"enabled": True, "protection": {"enabled": True, **protection}}})
    data["global"]["services"] = {"router_replay": {"enabled": True}}
    return data


class Site:
    """One semroute behind both doors."""

    def __init__(self, stack, directory, data, mode="FULL_DUPLEX"):
        self.mock = Mock(directory / "mock.log", 4)
        stack.callback(self.mock.stop)
        self.turns = 0
        self.ports = {name: free_ports() for name in ("gateway", "api", "metrics", "extproc")}
        file = write(data, directory / "semroute.yaml", self.mock.port)
        listen = [flag for name, port in self.ports.items() for flag in (f"--{name}", f"127.0.0.1:{port}")]
        self.process = Process([BINARY, "serve", "-c", file, *listen], directory / "semroute.log")
        stack.callback(self.process.stop)
        wait_http(self.ports["metrics"], "/metrics", self.process)
        self.envoy = real.Envoy(directory, mode, self.ports["extproc"], self.mock.port)
        stack.callback(self.envoy.stop)
        self.ports["envoy"] = self.envoy.port

    def replay(self, target=""):
        return request(self.ports["api"], "GET", "/v1/router_replay" + target).json()

    def ask(self, door, text, body=None, status=200, **headers):
        """The answer of a turn whose end is noted."""
        body = {**chat("x"), "messages": body} if body else chat(text)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = request(self.ports[door], "POST", "/v1/chat/completions", body,
                         {"content-type": "application/json", "x-vsr-debug": "true", **names})
        assert answer.status == status, answer
        self.turns += 1
        end = time.monotonic() + PATIENCE
        while self.replay()["total"] < self.turns:
            assert time.monotonic() < end
            time.sleep(0.01)
        return answer

    def model(self, *args, **kwargs):
        return self.ask(*args, **kwargs).headers["x-vsr-selected-model"]

    def turn(self, *args, **kwargs):
        """The model that answers, and what was done and why."""
        headers = self.ask(*args, **kwargs).headers
        said = [headers[f"x-vsr-learning-{name}"].removeprefix("protection=") for name in ("actions", "reasons")]
        assert headers["x-vsr-learning-methods"] == "protection"
        return headers["x-vsr-selected-model"], *said

    def praise(self, name, word, times=20):
        """Makes this model the better one for the decision."""
        for other in MODELS:
            for _ in range(times):
                body = {"decision": word, "model": other, "score": float(other == name)}
                assert request(self.ports["api"], "POST", "/api/v1/feedback", body).status == 200


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("door", DOORS)
def test_a_conversation_keeps_its_model(stack, tmp_path, door):
    one = Site(stack, tmp_path, config())
    assert one.turn(door, "steady", x_conversation_id="a") == ("small", "new", "first_turn")
    assert one.turn(door, "steady") == ("small", "none", "no_identity")
    one.praise("large", "steady")
    for _ in range(3):
        assert one.turn(door, "steady", x_conversation_id="a") == ("small", "hold_current", "switch_cost")
    assert one.turn(door, "steady") == ("large", "none", "no_identity")
    assert one.turn(door, "steady", x_conversation_id="b") == ("large", "new", "first_turn")
    assert one.turn(door, "steady", x_conversation_id="b") == ("large", "hold_current", "same_model")
    assert one.turn(door, "steady", x_conversation_id="a", x_tenant="others") == ("large", "new", "first_turn")
    assert one.turn(door, "steady", x_conversation_id="a") == ("small", "hold_current", "switch_cost")
    record = one.replay()["data"][0]
    assert (record["protection_action"], record["protection_reason"], record["protected_model"]) == (
        "hold_current", "switch_cost", "small")
    metrics = request(one.ports["metrics"], "GET", "/metrics").body.decode()
    assert 'semroute_protection_total{action="hold_current"} 5' in metrics, metrics


@pytest.mark.parametrize("door", DOORS)
def test_a_better_model_takes_over_where_it_pays(stack, tmp_path, door):
    one = Site(stack, tmp_path, config())
    assert one.model(door, "plain", x_conversation_id="a") == "small"
    one.praise("large", "plain")
    assert one.turn(door, "plain", x_conversation_id="a") == ("large", "allow_switch", "better_score")
    assert one.turn(door, "plain", x_conversation_id="a") == ("large", "hold_current", "same_model")


def test_a_loop_of_tools_goes_on_with_its_model(stack, tmp_path):
    one = Site(stack, tmp_path, config(tuning={"switch_margin": 0, "stability_weight": 0}))
    assert one.model("gateway", "plain", x_conversation_id="a") == "small"
    one.praise("large", "plain")
    assert one.turn("gateway", "", TOOL_LOOP, x_conversation_id="a") == ("small", "hold_current", "tool_loop")
    assert one.turn("envoy", "", TOOL_LOOP, x_conversation_id="a") == ("small", "hold_current", "tool_loop")
    assert one.turn("gateway", "plain", x_conversation_id="a") == ("large", "allow_switch", "better_score")


def test_turns_before_a_switch(stack, tmp_path):
    one = Site(stack, tmp_path, config(tuning={"switch_margin": 0, "stability_weight": 0, "min_turns_before_switch": 3}))
    assert one.model("gateway", "plain", x_conversation_id="a") == "small"
    one.praise("large", "plain")
    for _ in range(2):
        assert one.turn("gateway", "plain", x_conversation_id="a") == ("small", "hold_current", "min_turns")
    assert one.turn("gateway", "plain", x_conversation_id="a") == ("large", "allow_switch", "better_score")


def test_a_session_is_wider_than_a_conversation(stack, tmp_path):
    one = Site(stack, tmp_path, config(scope="session", identity={"headers": {"session": "x-app-session"}}))
    assert one.model("gateway", "steady", x_app_session="s", x_conversation_id="a") == "small"
    one.praise("large", "steady")
    assert one.turn("envoy", "steady", x_app_session="s", x_conversation_id="b") == ("small", "hold_current", "switch_cost")
    assert one.turn("envoy", "steady", x_conversation_id="a") == ("large", "none", "no_identity")
    assert one.turn("envoy", "steady", x_claude_code_session_id="s") == ("small", "hold_current", "switch_cost")


def test_another_decision_begins_anew(stack, tmp_path):
    one = Site(stack, tmp_path, config())
    assert one.model("gateway", "steady", x_conversation_id="a") == "small"
    one.praise("large", "steady")
    assert one.turn("gateway", "other", x_conversation_id="a") == ("small", "new", "decision_changed")
    assert one.turn("gateway", "steady", x_conversation_id="a") == ("large", "new", "decision_changed")


def test_a_conversation_that_rested(stack, tmp_path):
    one = Site(stack, tmp_path, config(tuning={"idle_timeout_seconds": 1}))
    assert one.model("gateway", "steady", x_conversation_id="a") == "small"
    one.praise("large", "steady")
    time.sleep(1.2)
    assert one.turn("gateway", "steady", x_conversation_id="a") == ("large", "new", "idle")


@pytest.mark.parametrize("door", DOORS)
def test_decisions_say_what_may_be_done(stack, tmp_path, door):
    one = Site(stack, tmp_path, config())
    for word in ("bypassed", "observed"):
        assert one.model(door, word, x_conversation_id=word) == "small"
        one.praise("large", word)
    assert one.turn(door, "bypassed", x_conversation_id="bypassed") == ("large", "bypass", "decision")
    assert one.turn(door, "observed", x_conversation_id="observed") == ("large", "observe:hold_current", "switch_cost")
    assert "x-vsr-learning-methods" not in one.ask(door, "nothing of that").headers  # a single candidate


def test_nothing_is_drawn_by_chance_inside_a_conversation(stack, tmp_path):
    one = Site(stack, tmp_path, config())
    one.praise("large", "chancy")
    first = one.model("gateway", "chancy", x_conversation_id="a")
    drawn = {one.model("gateway", "chancy") for _ in range(40)}
    assert drawn == set(MODELS)
    kept = [one.turn("gateway", "chancy", x_conversation_id="a")[0] for _ in range(10)]
    assert kept in ([first] * 10, ["large"] * 10)


@pytest.mark.parametrize("learning", [{}, {"protection": {"enabled": False}}, {"enabled": False, "protection": {"enabled": True}}])
def test_it_is_off_unless_asked_for(stack, tmp_path, learning):
    data = config()
    data["global"]["router"]["learning"] = learning
    one = Site(stack, tmp_path, data)
    assert one.model("gateway", "steady", x_conversation_id="a") == "small"
    one.praise("large", "steady")
    answer = one.ask("gateway", "steady", x_conversation_id="a")
    assert answer.headers["x-vsr-selected-model"] == "large" and "x-vsr-learning-methods" not in answer.headers


@pytest.mark.parametrize("name", ["x" * 129, "two words", "ä"])
def test_names_that_are_none(stack, tmp_path, name):
    one = Site(stack, tmp_path, config())
    assert one.turn("gateway", "steady", x_conversation_id=name.encode().decode("latin-1")) == ("small", "none", "no_identity")


@pytest.mark.parametrize("learning,words", [
    ({"protection": {"scope": "user"}}, "scope"), ({"protection": {"tuning": {"switch_margin": -1}}}, "switch_margin"),
    ({"protection": {"identity": {"headers": {"session": "two words"}}}}, "must be the name of a header"),
    ({"protection": {"tunning": {}}}, "tuning")])
def test_what_it_refuses(tmp_path, learning, words):
    data = config()
    data["global"]["router"]["learning"] = learning
    done = semroute("check", write(data, tmp_path / "semroute.yaml", 1))
    assert done.returncode == 1 and words in done.stdout + done.stderr


def test_adaptation_is_told_to_change_nothing(tmp_path):
    data = config()
    data["global"]["router"]["learning"]["adaptation"] = {"enabled": True, "strategy": "routing_sampling"}
    done = semroute("check", write(data, tmp_path / "semroute.yaml", 1))
    assert done.returncode == 0 and "`adaptation` changes nothing" in done.stdout + done.stderr
    data["global"]["router"]["learning"]["adaptation"]["enabled"] = False
    done = semroute("check", write(data, tmp_path / "semroute.yaml", 1))
    assert done.returncode == 0 and "`adaptation`" not in done.stdout + done.stderr
