"""The keys of `global.router.learning` and of a decision's `adaptations`, as test_config_keys.py tries them."""
import time

from conftest import chat, request
from keys_cache import WAITS
from keys_offline import Key
from keys_online import served
from keys_site import site

LEARNING, OWN = "global.router.learning.", "routing.decisions[0].adaptations."
PROTECTION = LEARNING + "protection."
STEADY, LOOSE = {"stability_weight": 50}, {"stability_weight": 0, "switch_margin": 0}


def kept(tuning=None, own=None, **protection):
    """A decision of which `two` becomes the better candidate between two turns."""
    block = {"exploration": 0, "cost_weight": 0, "latency_weight": 0, "memory": 1000}
    decision = {"name": "d", "modelRefs": [{"model": "one"}, {"model": "two"}],
                "algorithm": {"type": "bandit", "bandit": block}, "adaptations": own or {}}
    protection = {"enabled": True, "tuning": STEADY if tuning is None else tuning, **protection}
    config = site(decisions=[decision], router={"learning": {"enabled": True, "protection": protection}})
    config["global"]["services"] = {"router_replay": {"enabled": True}}
    return config


def turn(gateway, turns, headers):
    answer = gateway.post(chat("hello"), headers={"x-vsr-debug": "true", **headers})
    end = time.monotonic() + WAITS
    while request(gateway.api_port, "GET", "/v1/router_replay").json()["total"] < turns and time.monotonic() < end:
        time.sleep(0.02)
    return answer.headers


def second(look, rests=0, **headers):
    """What is seen in the second turn of a conversation."""
    headers = {name.replace("_", "-"): value for name, value in (headers or {"x-conversation-id": "a"}).items()}

    def see(gateway, bench):
        turn(gateway, 1, headers)
        for name, score in (("two", 1), ("one", 0)):
            for _ in range(20):
                request(gateway.api_port, "POST", "/api/v1/feedback", {"decision": "d", "model": name, "score": score})
        time.sleep(rests)
        return look(turn(gateway, 2, headers))
    return served(see)


def model_of(headers):
    return headers["x-vsr-selected-model"]


def why(headers):
    return headers.get("x-vsr-learning-reasons", "").removeprefix("protection=")


MODEL, WHY = second(model_of), second(why)
KEYS = [
    Key(LEARNING + "enabled", kept(), (False, True), MODEL, ("two", "one")),
    Key(PROTECTION + "enabled", kept(), (False, True), MODEL, ("two", "one")),
    Key(PROTECTION + "scope", kept(), ("conversation", "session"), WHY, ("switch_cost", "no_identity")),
    Key(PROTECTION + "identity.headers.session", kept(scope="session", identity={"headers": {}}), ("x-app", "x-other"),
        second(model_of, x_app="s"), ("one", "two")),
    Key(PROTECTION + "identity.headers.conversation", kept(identity={"headers": {}}), ("x-app", "x-other"),
        second(model_of, x_app="s"), ("one", "two")),
    Key(PROTECTION + "tuning.idle_timeout_seconds", kept(), (1, 0), second(why, rests=1.2), ("idle", "switch_cost")),
    Key(PROTECTION + "tuning.min_turns_before_switch", kept(LOOSE), (1, 2), WHY, ("better_score", "min_turns")),
    Key(PROTECTION + "tuning.switch_margin", kept(LOOSE), (0.05, 2), WHY, ("better_score", "switch_cost")),
    Key(PROTECTION + "tuning.stability_weight", kept(LOOSE), (0, 50), WHY, ("better_score", "switch_cost")),
    Key(OWN + "mode", kept(), ("bypass", "observe"), WHY, ("decision", "switch_cost")),
    Key(OWN + "protection.mode", kept(own={"protection": {}}), ("observe", "apply"), MODEL, ("two", "one")),
    Key(OWN + "protection.switch_margin", kept(LOOSE, {"protection": {}}), (0, 2), MODEL, ("two", "one")),
    Key(OWN + "protection.stability_weight", kept(own={"protection": {}}), (0, 50), MODEL, ("two", "one")),
]
