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
    {"type": "keyword", "name": "nobody_defines_it"},
    {"type": "jailbreak", "name": "own_examples"},
    {"type": "keyword", "name": "cat", "label": "hard"},
    {"type": "kb", "name": "elsewhere"},
]
SIGNALS = {"keywords": [{"name": "cat", "keywords": ["cat"]}],
           "jailbreak": [{"name": "own_examples", "jailbreak_patterns": ["open the vault"]}],
           "kb": [{"name": "elsewhere", "kb": "of_another_file", "target": {"kind": "group", "value": "x"}}]}


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


def test_an_answer_is_given_where_its_condition_is_known_to_hold(tmp_path):
    """A decision that answers itself answers nobody whom it may not be for, and lets nobody pass whom it may be for."""
    config = blocking(both("OR", DROPPED[0], CAT))
    known, unknown = explain(config, tmp_path), explain(config, tmp_path, "a dog")
    assert known["status"] == 200 and "No." in known["reply"]
    assert unknown["status"] == 503 and "No." not in unknown["reply"]
    assert "condition_not_supported" in unknown["reply"] and unknown["action"] == "reply"


def leaf_types():
    schema = json.loads(subprocess.run([BINARY, "check", "--schema"], capture_output=True, text=True, check=True).stdout)
    return [word for word in schema["$defs"]["rule"]["properties"]["type"]["anyOf"][0]["enum"] if word != "always"]


# A rule of each list of signals, with a key that is close to one that acts.
SPOILT = {
    "keyword": ("keywords", {"keywords": ["cat"]}, "keyword"),
    "embedding": ("embeddings", {"candidates": ["cat"], "threshold": 0.5}, "thresold"),
    "domain": ("domains", {}, "mmlu_categoris"),
    "context": ("context", {"max_tokens": 100}, "min_token"),
    "structure": ("structure", {"feature": {"type": "count", "source": {"type": "regex", "pattern": "cat"}}}, "predicat"),
    "language": ("language", {}, "treshold"),
    "jailbreak": ("jailbreak", {"threshold": 0.5}, "benign_pattern"),
    "pii": ("pii", {"threshold": 0.5}, "pii_type_allowed"),
    "fact_check": ("fact_check", {}, "descriptio"),
    "user_feedback": ("user_feedbacks", {}, "descriptio"),
    "reask": ("reasks", {"threshold": 0.5}, "lookback_turn"),
    "preference": ("preferences", {"examples": ["cat"]}, "example"),
    "modality": ("modality", {}, "descriptio"),
    "complexity": ("complexity", {"hard": {"candidates": ["dog"]}, "easy": {"candidates": ["cat"]}}, "hard_abov"),
    "kb": ("kb", {"kb": "mmlu_kb", "target": {"kind": "label", "value": "math"}}, "mach"),
    "conversation": ("conversation", {"feature": {"type": "count", "source": {"type": "message"}}}, "predicat"),
    "metadata": ("metadata", {"key": "k", "predicate": {"equals": "v"}}, "predicat"),
    "event": ("events", {"event_types": ["x"]}, "severitie"),
    "authz": ("role_bindings", {"role": "admin", "subjects": [{"kind": "User", "name": "ann"}]}, "subject"),
}
NAMES = {"language": "en", "domain": "math", "fact_check": "needs_fact_check", "user_feedback": "satisfied", "modality": "AR",
         "complexity": "x:easy", "authz": "admin"}


def test_every_type_is_tried():
    assert set(leaf_types()) == set(SPOILT) | {"projection", "workload"}


@pytest.mark.parametrize("kind", [*SPOILT, "projection", "workload"])
def test_a_rule_that_is_absent(kind, tmp_path):
    rule = {"type": kind, "name": "nobody_defines_it:easy" if kind == "complexity" else "nobody_defines_it"}
    never_passes(rule, {}, tmp_path)


@pytest.mark.parametrize("kind", SPOILT)
def test_a_rule_with_a_key_that_is_dropped(kind, tmp_path):
    section, body, spoilt = SPOILT[kind]
    name = NAMES.get(kind, "x")
    rule = {"name": name.split(":")[0], **body, spoilt: "x"}
    never_passes({"type": kind, "name": name}, {section: [rule]}, tmp_path)


def never_passes(rule, signals, tmp_path):
    """Nobody gets the model that the rule keeps, nobody passes the decision that stops whom the rule names, and nobody
    gets that decision's answer, also below a NOT."""
    guard = rule["type"] in ("jailbreak", "pii")
    for number, shape in enumerate((rule, negated(rule))):
        signals_of = {"signals": {**SIGNALS, **signals}}
        kept, stopping = privileged(shape), blocking(shape)
        kept["routing"].update(signals_of)
        stopping["routing"].update(signals_of)
        stopped = explain(stopping, tmp_path)
        assert stopped["status"] == 503 and "condition_not_supported" in stopped["reply"], (number, stopped)
        if not guard or number:
            assert explain(kept, tmp_path)["model"] == "one", number


# Plugins that a lenient load drops, whole or in part, without which a request would get more than the file says.
PLUGINS = [
    {"type": "jailbreak", "configuration": {"enabled": True}},
    {"type": "pii", "configuration": {"enabled": True}},
    {"type": "hallucination", "configuration": {"enabled": True, "hallucination_action": "block"}},
    {"type": "header_mutation", "configuration": {"delet": ["x-internal"]}},
    {"type": "request_params", "configuration": {"blocked_param": ["logit_bias"]}},
    {"type": "response_jailbreak", "configuration": {"enabled": True, "acton": "block"}},
    {"type": "tools", "configuration": {"mode": "filtered", "alow_tools": ["safe"]}},
    {"type": "tools", "mode": "none"},
    {"type": "tool_selection", "configuration": {"mode": "filter", "advanced_filtering": {"block_tool": ["rm"]}}},
]


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: f"{plugin['type']}-{list(plugin)[-1]}")
def test_a_plugin_that_is_dropped(plugin, tmp_path):
    explained = explain(site(decisions=[decision("d", "one", CAT, plugins=[plugin])], signals=SIGNALS), tmp_path)
    assert explained["action"] == "reply" and explained["status"] == 403, explained


# Without these a request gets no more than the file says.
HARMLESS = [
    {"type": "memory", "configuration": {"enabled": True}},
    {"type": "rag", "configuration": {"enabled": True}},
    {"type": "image_gen", "configuration": {"enabled": True}},
    {"type": "context_compression", "configuration": {"enabled": True}},
    {"type": "hallucination", "configuration": {"enabled": True, "hallucination_action": "header"}},
]


@pytest.mark.parametrize("plugin", HARMLESS, ids=lambda plugin: plugin["type"])
def test_a_plugin_that_adds(plugin, tmp_path):
    explained = explain(site(decisions=[decision("d", "one", CAT, plugins=[plugin])], signals=SIGNALS), tmp_path)
    assert explained["action"] == "forward" and explained["model"] == "one"


def test_check_lists_what_was_dropped(tmp_path):
    file = write(blocking(both("AND", DROPPED[0], CAT)), tmp_path / "site.yaml")
    done = subprocess.run([BINARY, "check", "--lenient", file], capture_output=True, text=True)
    assert done.returncode == 0
    assert "warning: `type`: unknown value `not_invented_yet`" in done.stdout
    assert ("warning: decision `stop` lost 1 condition: where they decide, it matches requests, and they are refused (503)"
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
    assert stopped.status == 503 and stopped.json()["error"]["code"] == "condition_not_supported"
    assert "x-vsr-fast-response" not in stopped.headers and b"No." not in stopped.body
    assert not mock.last_body(0) and not mock.last_body(1)
    assert gateway.post(chat("a cat")).status == 403
