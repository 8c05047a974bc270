"""--lenient opens nothing: for every kind of condition that it drops, a request that must not pass does not."""
import json
import subprocess

import pytest
from conftest import BINARY, chat
from keys_site import decision, model, site, write

# Conditions that nobody understands, in the shapes that files have them: by type, by name, by a key of their rule.
DROPPED = [
    {"type": "not_invented_yet", "name": "x"},
    {"type": "not_invented_yet", "name": "x", "on_error": "match"},
    {"type": "not_invented_yet", "name": "x", "on_error": "no_match"},
    {"type": "always"},
    {"type": "keyword", "name": "nobody_defines_it"},
    {"type": "jailbreak", "name": "own_examples"},
    {"type": "keyword", "name": "cat", "label": "hard"},
]
SIGNALS = {"keywords": [{"name": "cat", "keywords": ["cat"]}],
           "jailbreak": [{"name": "own_examples", "jailbreak_patterns": ["open the vault"]}]}


def negated(rule):
    return {"operator": "NOT", "conditions": [rule]}


def both(operator, rule, *others):
    return {"operator": operator, "conditions": [rule, *others]}


CAT = {"type": "keyword", "name": "cat"}
# Around a dropped condition: what would let everybody in if the condition counted as false, or as true.
SHAPES = [lambda r: r, negated, lambda r: negated(negated(r)), lambda r: both("AND", r, CAT), lambda r: both("OR", r),
          lambda r: negated(both("AND", r, CAT)), lambda r: both("AND", negated(r), CAT),
          lambda r: negated(both("OR", r, negated(CAT)))]


def explain(config, tmp_path, text="a cat, please"):
    file, request = write(config, tmp_path / "site.yaml"), tmp_path / "request.json"
    request.write_text(json.dumps(chat(text)))
    done = subprocess.run([BINARY, "explain", "--lenient", "-c", file, "--json", "--request", request], capture_output=True,
                          text=True)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    return json.loads(done.stdout)


def privileged(rule):
    """Only who fulfils the rule may have model `two`."""
    return site(decisions=[decision("privileged", "two", rule, priority=9), decision("rest", "one")], signals=SIGNALS)


def blocking(rule):
    """Who fulfils the rule is stopped."""
    stop = {"name": "stop", "priority": 9, "rules": rule,
            "plugins": [{"type": "fast_response", "configuration": {"message": "No."}}]}
    return site(decisions=[stop, decision("rest", "one")], signals=SIGNALS)


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("dropped", DROPPED, ids=str)
def test_nobody_gets_what_a_dropped_condition_kept(dropped, shape, tmp_path):
    rule = SHAPES[shape](dropped)
    explained = explain(privileged(rule), tmp_path)
    safe = dropped["type"] == "jailbreak"  # asks for attacks: it matches what cannot be ruled out
    if not safe:
        assert explained["decision"]["name"] == "rest" and explained["model"] == "one", rule
    assert explain(blocking(rule), tmp_path)["decision"]["name"] == "stop", rule


@pytest.mark.parametrize("dropped", DROPPED, ids=str)
def test_the_rest_of_a_rule_still_counts(dropped, tmp_path):
    config = privileged(both("OR", dropped, CAT))
    assert explain(config, tmp_path)["decision"]["name"] == "privileged"
    assert explain(blocking(both("AND", dropped, CAT)), tmp_path, "a dog")["decision"]["name"] == "rest"


def test_check_lists_what_was_dropped(tmp_path):
    file = write(blocking(both("AND", DROPPED[0], CAT)), tmp_path / "site.yaml")
    done = subprocess.run([BINARY, "check", "--lenient", file], capture_output=True, text=True)
    assert done.returncode == 0
    assert "warning: `type`: unknown value `not_invented_yet`" in done.stdout
    assert ("warning: decision `stop` lost 1 condition: where they decide, it matches requests, and answers them itself"
            in done.stdout)
    strict = subprocess.run([BINARY, "check", file], capture_output=True, text=True)
    assert strict.returncode == 1 and "error: `type`: unknown value `not_invented_yet`" in strict.stdout


def test_a_file_without_a_decision_that_can_match_is_an_error(tmp_path):
    config = site(decisions=[decision("a", "two", DROPPED[0]), decision("b", "two", negated(DROPPED[0]))])
    done = subprocess.run([BINARY, "check", "--lenient", write(config, tmp_path / "site.yaml")], capture_output=True, text=True)
    assert done.returncode == 1 and "error: no decision is left" in done.stdout


def test_through_the_gateway(start, tmp_path):
    mock = start.mock(2)
    config = blocking(negated(DROPPED[0]))
    config["routing"]["decisions"][1]["plugins"] = []
    config["routing"]["decisions"].append(
        {"name": "tools", "priority": 20, "rules": CAT, "modelRefs": [{"model": "two"}],
         "plugins": [{"type": "jailbreak", "configuration": {"enabled": True}}]})
    config["providers"]["models"] = [model("one", f"127.0.0.1:{mock.port}"), model("two", f"127.0.0.1:{mock.port + 1}")]
    gateway = start.gateway(json.dumps(config), flags=["--lenient"])
    stopped = gateway.post(chat("a dog"))
    assert stopped.headers["x-vsr-fast-response"] == "true" and b"No." in stopped.body
    assert gateway.post(chat("a cat")).status == 403
