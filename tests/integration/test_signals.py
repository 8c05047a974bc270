"""Each signal decides through both doors: a table of requests, and for each the decision that follows from the contract.

One process serves the gateway and Envoy's processor. Every request says in its metadata which signal it tests; the
decisions of that signal need this, so that no other signal is evaluated.
"""
import json

import envoy as real
import pytest
from conftest import ROOT, Gateway, Mock, builtin_on, free_ports, request, semroute, wait_http

SORT = "Write a Python function that sorts a list"
SIGNALS = """
    conversation:
      - {name: multi_turn, feature: {type: count, source: {type: message, role: user}}, predicate: {gte: 2}}
      - {name: has_tools, feature: {type: exists, source: {type: tool_definition}}}
      - {name: has_images, feature: {type: exists, source: {type: image_content}}}
      - {name: tool_loop, feature: {type: exists, source: {type: active_tool_loop}}}
    metadata:
      - {name: case_conversation, key: case, predicate: {equals: conversation}}
      - {name: case_metadata, key: case, predicate: {equals: metadata}}
      - {name: case_event, key: case, predicate: {equals: event}}
      - {name: case_authz, key: case, predicate: {equals: authz}}
      - {name: case_modality, key: case, predicate: {equals: modality}}
      - {name: case_fact_check, key: case, predicate: {equals: fact_check}}
      - {name: case_user_feedback, key: case, predicate: {equals: user_feedback}}
      - {name: case_reask, key: case, predicate: {equals: reask}}
      - {name: case_preference, key: case, predicate: {equals: preference}}
      - {name: case_complexity, key: case, predicate: {equals: complexity}}
      - {name: case_kb, key: case, predicate: {equals: kb}}
      - {name: case_projection, key: case, predicate: {equals: projection}}
      - {name: case_partition, key: case, predicate: {equals: partition}}
      - {name: case_workload, key: case, predicate: {equals: workload}}
      - {name: canary, key: cohort, predicate: {equals: canary}}
      - {name: eu, key: region, predicate: {in: [de, fr]}}
      - {name: team, key: team, predicate: {exists: true}}
    events:
      - {name: payment, event_types: [payment_failed, chargeback], severities: [critical]}
      - {name: decline, action_codes: [TXN_DECLINE]}
      - {name: hurry, temporal: true}
    role_bindings:
      - {name: a, role: admin, subjects: [{kind: User, name: ann}]}
      - {name: b, role: staff, subjects: [{kind: Group, name: eng}, {kind: User, name: bob}]}
    modality: [{name: AR}, {name: DIFFUSION}, {name: BOTH}]
    fact_check: [{name: needs_fact_check}, {name: no_fact_check_needed}]
    user_feedbacks: [{name: satisfied}, {name: need_clarification}, {name: wrong_answer}, {name: want_different}]
    reasks:
      - {name: once, threshold: 0.8}
      - {name: twice, threshold: 0.8, lookback_turns: 2}
    preferences:
      - {name: code, threshold: 0.35, examples: [Write a Python function, Fix the bug in this program]}
      - {name: verse, threshold: 0.35, examples: [Write a poem, Compose a song]}
    keywords: [{name: python, keywords: [python]}, {name: urgent, keywords: [urgent]}]
    complexity:
      - name: level
        threshold: 0.1
        hard: {candidates: [Prove this theorem rigorously, Design a fault-tolerant distributed database]}
        easy: {candidates: [What time is it?, Say hello]}
      - name: composed
        threshold: 0.1
        hard: {candidates: [Prove this theorem rigorously, Design a fault-tolerant distributed database]}
        easy: {candidates: [What time is it?, Say hello]}
        composer: {operator: NOT, conditions: [{type: keyword, name: python}]}
    kb:
      - {name: kb_math, kb: mmlu_kb, match: best, target: {kind: label, value: math}}
      - {name: kb_law, kb: mmlu_kb, match: best, target: {kind: label, value: law}}
    embeddings:
      - {name: sort, threshold: 0.35, candidates: [How do I sort a list in Python?]}
      - {name: lists, threshold: 0.35, candidates: [Python lists]}
"""
PROJECTIONS = """
    partitions:
      - {name: one, semantics: exclusive, members: [sort, lists], default: lists}
    scores:
      - name: pressure
        method: weighted_sum
        inputs:
          - {type: keyword, name: urgent, weight: 0.5}
          - {type: complexity, name: "level:hard", weight: 0.4}
          - {type: fact_check, name: needs_fact_check, weight: 0.2}
    mappings:
      - name: band
        source: pressure
        method: threshold_bands
        outputs: [{name: calm, lt: 0.3}, {name: busy, gte: 0.3, lt: 0.6}, {name: alarm, gte: 0.6}]
"""
RULES = {
    "conversation": [("conversation", n) for n in ("tool_loop", "has_images", "has_tools", "multi_turn")],
    "metadata": [("metadata", n) for n in ("canary", "eu", "team")],
    "event": [("event", n) for n in ("payment", "decline", "hurry")],
    "authz": [("authz", n) for n in ("admin", "staff")],
    "modality": [("modality", n) for n in ("AR", "DIFFUSION", "BOTH")],
    "fact_check": [("fact_check", n) for n in ("needs_fact_check", "no_fact_check_needed")],
    "user_feedback": [("user_feedback", n) for n in ("satisfied", "need_clarification", "wrong_answer", "want_different")],
    "reask": [("reask", n) for n in ("twice", "once")],
    "preference": [("preference", n) for n in ("code", "verse")],
    "complexity": [("complexity", n) for n in ("composed:hard", "level:hard", "level:easy", "level:medium")],
    "kb": [("kb", n) for n in ("kb_math", "kb_law")],
    "projection": [("projection", n) for n in ("calm", "busy", "alarm")],
    "partition": [("embedding", n) for n in ("lists", "sort")],
    "workload": [("workload", n) for n in ("interactive", "long_context", "agent", "batch")],
}


def decisions():
    """Of a signal the first rule that matches wins."""
    for signal, rules in RULES.items():
        for place, (kind, name) in enumerate(rules):
            yield {"name": f"{signal}/{name}", "priority": 100 - place, "modelRefs": [{"model": "coder"}],
                   "rules": {"operator": "AND", "conditions": [{"type": "metadata", "name": f"case_{signal}"},
                                                               {"type": kind, "name": name}]}}


def talk(*texts):
    return {"messages": [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]}


def meta(**values):
    return {**talk("hello"), "metadata": values}


def after(text):
    return talk("What is the capital of Australia?", "It is Sydney.", text)


CALL = {"role": "assistant", "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "42"}
TOOL = {"tools": [{"type": "function", "function": {"name": "f"}}]}
IMAGE = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, {
    "type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}
AGAIN = "How do I sort a list in Python?"

# Signal, request (a text, or members of the body), the rule that wins (None: no decision), the caller's headers.
CASES = [
    ("conversation", "hello", None),
    ("conversation", talk("one", "ok", "two"), "multi_turn"),
    ("conversation", talk("one", "ok", "two", "ok", "three"), "multi_turn"),
    ("conversation", {**talk("one"), **TOOL}, "has_tools"),
    ("conversation", {**talk("one", "ok", "two"), **TOOL}, "has_tools"),
    ("conversation", IMAGE, "has_images"),
    ("conversation", {**IMAGE, **TOOL}, "has_images"),
    ("conversation", {"messages": [{"role": "user", "content": "go"}, CALL, RESULT]}, "tool_loop"),
    ("conversation", {"messages": [{"role": "user", "content": "go"}, CALL, RESULT, {"role": "user", "content": "on"}]}, "tool_loop"),
    ("conversation", {"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "go"}]}, None),
    ("metadata", meta(cohort="canary"), "canary"),
    ("metadata", meta(cohort="Canary"), None),
    ("metadata", meta(cohort="canary "), None),
    ("metadata", meta(region="de"), "eu"),
    ("metadata", meta(region="fr"), "eu"),
    ("metadata", meta(region="us"), None),
    ("metadata", meta(team=""), "team"),
    ("metadata", meta(team="x", region="us"), "team"),
    ("metadata", meta(cohort="canary", region="de"), "canary"),
    ("metadata", "cohort canary region de", None),
    ("event", "payment_failed for order 7", "payment"),
    ("event", "The CHARGEBACK arrived", "payment"),
    ("event", "severity: critical", "payment"),
    ("event", "my_payment_failed_x", None),
    ("event", "code TXN_DECLINE", "decline"),
    ("event", "code txn_decline", "decline"),
    ("event", "please do it asap", "hurry"),
    ("event", "the deadline is near", "hurry"),
    ("event", "a time-sensitive matter", "hurry"),
    ("event", "we need an answer right now", "hurry"),
    ("event", "what a lovely day", None),
    ("authz", "hello", "admin", {"x-user": "ann"}),
    ("authz", "hello", "staff", {"x-user": "bob"}),
    ("authz", "hello", "staff", {"x-user": "eve", "x-groups": "eng"}),
    ("authz", "hello", "staff", {"x-user": "eve", "x-groups": "ops, eng"}),
    ("authz", "hello", "admin", {"x-user": "ann", "x-groups": "eng"}),
    ("authz", "hello", None, {"x-user": "eve"}),
    ("authz", "hello", None, {"x-user": "Ann"}),
    ("authz", "hello", None, {"x-user": "eve", "x-groups": "ann,engineering"}),
    ("authz", "hello", None, {"x-groups": "eng"}),
    ("authz", "I am ann, an admin", None),
    ("workload", "hello", "interactive"),
    ("workload", talk("one", "ok", "two"), "interactive"),
    ("workload", {**talk("one"), "tools": []}, "interactive"),
    ("workload", {**talk("one"), **TOOL}, "agent"),
    ("workload", {**talk("word " * 8000), **TOOL}, "agent"),
    ("workload", talk("word " * 8000), "long_context"),
    ("workload", talk("word " * 1000), "interactive"),
    ("workload", {**talk("one"), "service_tier": "flex"}, "batch"),
    ("workload", {**talk("one"), **TOOL, "service_tier": "flex"}, "batch"),
    ("workload", {**talk("one"), **TOOL, "metadata": {"workload": "batch"}}, "batch"),
    ("workload", {**talk("one"), **TOOL, "metadata": {"workload": "nonsense"}}, "agent"),
    ("workload", {**talk("one"), **TOOL, "metadata": {"workload": "batch"}}, "interactive", {"x-workload": "Interactive"}),
    ("modality", "What is the capital of France?", "AR"),
    ("modality", "Summarize this text", "AR"),
    ("modality", "Draw a conclusion from this", "AR"),
    ("modality", "Generate an image of a cat", "DIFFUSION"),
    ("modality", "draw me a dragon", "DIFFUSION"),
    ("modality", "Create a logo for my bakery", "DIFFUSION"),
    ("modality", "Paint a picture of the sea", "DIFFUSION"),
    ("modality", "画一只猫", "DIFFUSION"),
    ("modality", "Draw a picture of a cell and explain how it divides", "BOTH"),
    ("modality", "Create an illustration of the moon with a short caption", "BOTH"),
    ("modality", "Write a poem and draw a picture of it", "BOTH"),
    ("modality", "How do I draw a picture of a cat?", "AR"),
    ("fact_check", "Who was the first president of the United States?", "needs_fact_check"),
    ("fact_check", "When did the Berlin wall fall?", "needs_fact_check"),
    ("fact_check", "What is the height of Mount Everest?", "needs_fact_check"),
    ("fact_check", "What is the capital of Australia?", "needs_fact_check"),
    ("fact_check", "Which year did World War II end?", "needs_fact_check"),
    ("fact_check", "Write a short story about a robot", "no_fact_check_needed"),
    ("fact_check", "Write a Python function for a binary search tree", "no_fact_check_needed"),
    ("fact_check", "Tell me a joke about cats", "no_fact_check_needed"),
    ("fact_check", "Rewrite this paragraph in a friendlier tone", "no_fact_check_needed"),
    ("fact_check", "Write a poem about the sea", "no_fact_check_needed"),
    ("user_feedback", after("Thank you, that works!"), "satisfied"),
    ("user_feedback", after("Perfect, exactly what I needed"), "satisfied"),
    ("user_feedback", after("I don't understand, can you explain that again?"), "need_clarification"),
    ("user_feedback", after("What do you mean by that?"), "need_clarification"),
    ("user_feedback", after("That answer is wrong"), "wrong_answer"),
    ("user_feedback", after("No, that's incorrect. The capital is Canberra."), "wrong_answer"),
    ("user_feedback", after("Give me another option"), "want_different"),
    ("user_feedback", after("Can you try a different approach?"), "want_different"),
    ("user_feedback", after("What is the population of Brazil?"), None),
    ("user_feedback", "That answer is wrong", None),
    ("reask", talk(AGAIN), None),
    ("reask", talk(AGAIN, "Use sorted().", AGAIN), "once"),
    ("reask", talk(AGAIN, "Use sorted().", "How can I sort a Python list?"), "once"),
    ("reask", talk(AGAIN, "Use sorted().", "What is the weather in Rome?"), None),
    ("reask", talk("What is the weather?", "Fine.", AGAIN, "Use sorted().", "How can I sort a Python list?"), "once"),
    ("reask", talk(AGAIN, "a", "What is the weather?", "b", "How can I sort a Python list?"), None),
    ("reask", talk(AGAIN, "a", "How can I sort a Python list?", "b", "How to sort a list in Python?"), "twice"),
    ("reask", talk(AGAIN, "a", AGAIN, "b", AGAIN), "twice"),
    ("reask", talk(AGAIN, "a", AGAIN, "b", "thanks"), None),
    ("reask", talk("hi", "hello", AGAIN, "Use sorted().", AGAIN), "once"),
    ("preference", SORT, "code"),
    ("preference", "Write a Python function that adds two numbers", "code"),
    ("preference", "Fix the bug in this program, please", "code"),
    ("preference", "There is a bug in my Python program", "code"),
    ("preference", "Write a poem", "verse"),
    ("preference", "Write a poem about the sea", "verse"),
    ("preference", "Compose a song for my sister", "verse"),
    ("preference", "Write me a love poem", "verse"),
    ("preference", "How tall is the Eiffel tower?", None),
    ("preference", "What is the capital of France?", None),
    ("complexity", "Prove this theorem rigorously", "composed:hard"),
    ("complexity", "Please prove the theorem in a rigorous way", "composed:hard"),
    ("complexity", "Design a fault-tolerant distributed database", "composed:hard"),
    ("complexity", "Design a fault-tolerant distributed database in Python", "level:hard"),
    ("complexity", "Prove this theorem rigorously, with Python", "level:hard"),
    ("complexity", "What time is it?", "level:easy"),
    ("complexity", "Say hello", "level:easy"),
    ("complexity", "hello, what time is it now?", "level:easy"),
    ("complexity", "What time is it in Python?", "level:easy"),
    ("complexity", "Fresh basil, tomatoes, olive oil", "level:medium"),
    ("kb", "Six 6-sided dice are rolled. What is the probability that three of the dice show prime numbers?", "kb_math"),
    ("kb", "Three dice are rolled. What is the probability that two show prime numbers?", "kb_math"),
    ("kb", "What is the probability that a roll of dice shows a composite number?", "kb_math"),
    ("kb", "Five 6-sided dice are rolled; how likely are two primes?", "kb_math"),
    ("kb", "Seven dice are rolled. What is the chance that four of the dice show prime numbers?", "kb_math"),
    ("kb", "LAW_0", "kb_law"), ("kb", "LAW_1", "kb_law"), ("kb", "LAW_2", "kb_law"),
    ("kb", "PHYSICS_0", None), ("kb", "PHYSICS_1", None),
    ("projection", "Write a poem about the sea", "calm"),
    ("projection", "What is the height of Mount Everest?", "calm"),
    ("projection", "Rewrite this paragraph in a friendlier tone", "calm"),
    ("projection", "hello, what time is it now?", "calm"),
    ("projection", "urgent: write a short story about a robot", "busy"),
    ("projection", "urgent: tell me a joke about cats", "busy"),
    ("projection", "Design a fault-tolerant distributed database", "busy"),
    ("projection", "urgent: design a fault-tolerant distributed database", "alarm"),
    ("projection", "urgent: what is the height of Mount Everest?", "alarm"),
    ("projection", "urgent: when did the Berlin wall fall?", "alarm"),
    ("partition", "How do I sort a list in Python?", "sort"),
    ("partition", "How can I sort a Python list?", "sort"),
    ("partition", "sort a list in python", "sort"),
    ("partition", "How do I sort lists in Python?", "sort"),
    ("partition", "Python lists", "lists"),
    ("partition", "python list", "lists"),
    ("partition", "lists of python", "lists"),
    ("partition", "What is the weather in Rome?", "lists"),
    ("partition", "Write a poem about the sea", "lists"),
    ("partition", "Who was Napoleon?", "lists"),
]


def exemplar(word):
    """LAW_1 is the second example text of `law`."""
    label, number = word.split("_")
    labels = json.loads((ROOT / "models/mmlu-kb/labels.json").read_text())["labels"]
    return labels[label.lower()]["exemplars"][int(number)]


def body_of(signal, given):
    if isinstance(given, str):
        given = talk(exemplar(given) if signal == "kb" and given.split("_")[0] in ("LAW", "PHYSICS") else given)
    body = {"model": "auto", **given}
    body["metadata"] = {**given.get("metadata", {}), "case": signal}
    return body


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """Ports of the gateway and of an Envoy whose processor is the same process."""
    directory = tmp_path_factory.mktemp("signals")
    processes = [Mock(directory / "mock.log")]
    try:
        text = builtin_on(processes[0].port)
        providers = text[text.index("providers:"):text.index("routing:")]
        config = "\n".join([
            "version: v0.3", providers, "routing:", "  signals:" + SIGNALS, "  projections:" + PROJECTIONS,
            "  decisions: " + json.dumps(list(decisions())), "global:", "  services:", "    authz:",
            "      identity: {user_id_header: x-user, user_groups_header: x-groups}",
            "  semroute: {signal_deadline_ms: 20000, workloads: {header: x-workload, metadata: workload}}"])
        extproc = free_ports()
        processes.append(Gateway(config, directory, flags=["--extproc", f"127.0.0.1:{extproc}"], wait=False))
        wait_http(processes[1].port, "/ready", processes[1], timeout=180)
        processes.append(real.Envoy(directory, "BUFFERED", extproc, processes[0].port))
        yield {"gateway": processes[1].port, "envoy": processes[2].port}
    finally:
        for process in reversed(processes):
            process.stop()


def test_the_bench_has_each_signal():
    """`semroute bench signals` measures every one beside the pass that they share."""
    done = semroute("bench", "signals", "--json", "--seconds", "0.1")
    rows = {row["signal"]: row for row in json.loads(done.stdout)["rows"]}
    assert set(rows) == {"embedding", *RULES} - {"projection", "partition"}
    assert {name for name, row in rows.items() if not row["reads_vector"]} == {"conversation", "metadata", "event", "authz", "modality",
                                                                                    "workload"}


def test_each_signal_has_ten():
    for signal in RULES:
        assert sum(case[0] == signal for case in CASES) >= 10, signal


@pytest.mark.parametrize("signal", RULES)
def test_decides(doors, signal):
    wrong = []
    for case in CASES:
        if case[0] != signal:
            continue
        _, given, rule, headers = (*case, {})[:4]
        wanted = f"{signal}/{rule}" if rule else None
        for door, port in doors.items():
            answer = request(port, "POST", "/v1/chat/completions", body_of(signal, given), headers)
            assert answer.status == 200, (door, answer)
            got = answer.headers.get("x-vsr-selected-decision")
            if got != wanted:
                wrong.append((door, str(given)[:80], wanted, got))
            else:
                assert answer.headers["x-vsr-selected-model"] == ("coder" if rule else "general")
    assert not wrong, "\n".join(map(str, wrong))


