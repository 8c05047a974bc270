"""Keys of the signals beyond the text's words, of knowledge bases and of projections: what `explain` decides."""
import json
import subprocess

from conftest import BINARY
from keys_offline import Key, by, explain, refused
from keys_site import ABSENT, site, write

S = "routing.signals."
WRONG = ["What is the capital of Australia?", "Sydney.", "No, that is wrong. It is Canberra."]
TURNS = ["How do I sort a list in Python?", "Use sorted().", "How can I sort a Python list?"]
SORT = "Write a Python function that sorts a list"
POEM = "Write a poem about the sea"


def talk(*texts, **more):
    return {"model": "auto", "messages": [{"role": ("user", "assistant")[i % 2], "content": t} for i, t in enumerate(texts)],
            **more}


def rule_of(kind, name, signals, look=lambda rule: rule["matched"], body=None, **more):
    """Configuration and probe of the rule `name`: what `look` sees of it."""
    def see(explained):
        rules = next(s for s in explained.all["signals"] if s["type"] == kind)["rules"]
        return look(next(rule for rule in rules if rule["name"] == name))
    return site(decisions=[by(kind, name)], signals=signals, **more), explain(see, body=body or talk("hello"))


def acts(path, kind, name, signals, values, seen, body=None, look=lambda rule: rule["matched"], change=None):
    config, see = rule_of(kind, name, signals, look, body)
    if change:
        config = change(config)
    return Key(path, config, values, see, seen)


def described(key, kind, rule, name=None, body=None):
    name = name or rule["name"]
    return acts(f"{S}{key}[].description", kind, name, {key: [rule]}, (rule.get("description", ABSENT), "for people"),
                (rule.get("description"), "for people"), body, lambda found: found.get("description"))


def named(key, kind, rule, other, text, name=None, field="name"):
    return refused(f"{S}{key}[].{field}", site(decisions=[by(kind, name or rule["name"])], signals={key: [rule]}),
                   (rule[field], other), text)


# ---- facts ----

COUNT = {"name": "c", "feature": {"type": "count", "source": {"type": "message", "role": "user"}}, "predicate": {"gte": 2}}
ROLE = {"name": "c", "feature": {"type": "count", "source": {"type": "message", "role": "user"}}, "predicate": {"gte": 3}}
MORE = {"name": "c", "feature": {"type": "count", "source": {"type": "message"}}}
TOOLS = {"name": "c", "feature": {"type": "exists", "source": {"type": "tool_definition"}}}
META = {"name": "m", "key": "cohort", "predicate": {"equals": "canary"}}
CANARY = talk("hello", metadata={"cohort": "canary"})
EVENT = {"name": "e", "event_types": ["payment_failed"]}
AUTHZ = {"name": "b", "role": "admin", "subjects": [{"kind": "User", "name": "ann"}]}


def bound(path, values, seen):
    config = site(decisions=[by("authz", "admin")], signals={"role_bindings": [AUTHZ]})
    config["global"]["services"] = {"authz": {"identity": {"user_id_header": "x-user", "user_groups_header": "x-groups"}}}

    def see(config, bench):
        file = write(config, bench.directory / "explain.yaml")
        done = subprocess.run([BINARY, "explain", "-c", file, "--json", "--user", "ann", "hello"], capture_output=True, text=True)
        if not done.stdout:
            return "no rule" if "no rule" in done.stderr else done.stderr
        rule = next(s for s in json.loads(done.stdout)["signals"] if s["type"] == "authz")["rules"][0]
        return (rule["matched"], rule.get("description"))
    return Key(f"{S}role_bindings[].{path}", config, values, see, seen)


def bindings_twice():
    config = site(decisions=[by("authz", "admin")], signals={"role_bindings": [AUTHZ, {**AUTHZ, "name": "c"}]})
    config["global"]["services"] = {"authz": {"identity": {"user_id_header": "x-user"}}}
    return refused(S + "role_bindings[].name", config, ("b", "c"), "authz rule `c` is")


def bounds(path, kind, name, signals, body=None):
    return [acts(f"{path}.{word}", kind, name, signals, values, (True, False), body)
            for word, values in (("gt", (1, 2)), ("gte", (2, 3)), ("lt", (3, 2)), ("lte", (2, 1)))]


FACTS = [
    named("conversation", "conversation", COUNT, "cc", "no rule `c`"),
    described("conversation", "conversation", COUNT),
    acts(S + "conversation[].feature.type", "conversation", "c", {"conversation": [MORE]}, ("exists", "count"), (1, 3),
         talk(*TURNS), lambda rule: rule["value"]),
    acts(S + "conversation[].feature.source.type", "conversation", "c", {"conversation": [MORE]},
         ("message", "tool_definition"), (True, False), talk(*TURNS), lambda rule: rule["value"] > 0),
    acts(S + "conversation[].feature.source.role", "conversation", "c", {"conversation": [ROLE]}, ("user", "non_user"),
         (2, 1), talk(*TURNS), lambda rule: rule["value"]),
    *bounds(S + "conversation[].predicate", "conversation", "c",
            {"conversation": [{k: v for k, v in COUNT.items() if k != "predicate"}]}, talk(*TURNS)),
    named("metadata", "metadata", META, "mm", "no rule `m`"),
    described("metadata", "metadata", META),
    acts(S + "metadata[].key", "metadata", "m", {"metadata": [META]}, ("cohort", "team"), (True, False), CANARY),
    acts(S + "metadata[].predicate.equals", "metadata", "m", {"metadata": [META]}, ("canary", "stable"), (True, False), CANARY),
    acts(S + "metadata[].predicate.in[]", "metadata", "m", {"metadata": [{**META, "predicate": {}}]}, ("canary", "stable"),
         (True, False), CANARY),
    acts(S + "metadata[].predicate.exists", "metadata", "m", {"metadata": [{**META, "predicate": {}}]}, (True, False),
         (True, False), CANARY),
    named("events", "event", EVENT, "ee", "no rule `e`"),
    described("events", "event", EVENT),
    *[acts(f"{S}events[].{key}[]", "event", "e", {"events": [{"name": "e"}]}, values, (True, False), talk(text))
      for key, values, text in (("event_types", ("payment_failed", "login"), "got payment_failed"),
                                ("severities", ("critical", "low"), "severity: CRITICAL"),
                                ("action_codes", ("TXN_DECLINE", "X1"), "code TXN_DECLINE here"))],
    acts(S + "events[].temporal", "event", "e", {"events": [EVENT]}, (False, True), (False, True), talk("do it asap")),
    bindings_twice(),
    bound("description", (ABSENT, "boss"), ((True, None), (True, "boss"))),
    bound("role", ("admin", "guest"), ((True, None), "no rule")),
    bound("subjects[].kind", ("User", "Group"), ((True, None), (False, None))),
    bound("subjects[].name", ("ann", "bob"), ((True, None), (False, None))),
]

# ---- meaning ----

HARD = {"name": "c", "threshold": 0.1, "hard": {"candidates": ["Write a Python function that sorts a list"]},
        "easy": {"candidates": ["What time is it?"]}}
PAIR = {k: v for k, v in HARD.items() if k != "threshold"}
WORDS = {"keywords": [{"name": "k", "keywords": ["python"]}, {"name": "n", "keywords": ["tuna"]}],
         "structure": [{"name": "s", "feature": {"type": "count", "source": {"type": "keyword_set", "keywords": ["a"]}}}]}


def composer(path, rule, values, seen, text=SORT):
    signals = {"complexity": [{**HARD, "composer": rule}], **WORDS}
    return acts(f"{S}complexity[].composer.{path}", "complexity", "c:hard", signals, values, seen, talk(text))


REASK = {"name": "r", "threshold": 0.8}
PREFER = {"name": "p", "examples": [SORT], "threshold": 0.5}
MODAL = {"name": "DIFFUSION"}
KB = {"name": "b", "kb": "mmlu_kb", "match": "best", "target": {"kind": "label", "value": "math"}}
MATH_TEXT = "Six 6-sided dice are rolled. What is the probability that three of the dice show prime numbers?"


MEANING = [
    refused(S + "complexity[].name", site(decisions=[by("complexity", "c:hard")], signals={"complexity": [HARD]}), ("c", "cc"),
            "no rule `c:hard`"),
    described("complexity", "complexity", HARD, "c:hard"),
    acts(S + "complexity[].threshold", "complexity", "c:hard", {"complexity": [HARD]}, (0.1, 2), (True, False), talk(SORT)),
    acts(S + "complexity[].hard_above", "complexity", "c:hard", {"complexity": [{**PAIR, "easy_below": -2}]}, (0.1, 2),
         (True, False), talk(SORT)),
    acts(S + "complexity[].easy_below", "complexity", "c:easy", {"complexity": [{**PAIR, "hard_above": 2}]}, (-2, 2),
         (False, True), talk(SORT)),
    acts(S + "complexity[].hard.candidates[]", "complexity", "c:hard", {"complexity": [HARD]}, (SORT, "The sea is blue"),
         (True, False), talk(SORT)),
    acts(S + "complexity[].easy.candidates[]", "complexity", "c:hard", {"complexity": [HARD]}, ("What time is it?", SORT),
         (True, False), talk(SORT)),
    composer("operator", {"conditions": [{"type": "keyword", "name": "k"}, {"type": "keyword", "name": "n"}]}, ("OR", "AND"),
             (True, False)),
    composer("conditions[]", {"operator": "AND"}, ({"type": "keyword", "name": "k"}, {"type": "keyword", "name": "n"}),
             (True, False)),
    composer("name", {"type": "keyword"}, ("k", "n"), (True, False)),
    refused(S + "complexity[].composer.type", site(decisions=[by("complexity", "c:hard")],
                                                   signals={"complexity": [{**HARD, "composer": {"type": "keyword", "name": "k"}}],
                                                            **WORDS}), ("keyword", "structure"), "no rule `k`"),
    refused(S + "complexity[].composer.on_error", site(decisions=[by("complexity", "c:hard")],
                                                       signals={"complexity": [{**HARD, "composer": {"type": "keyword",
                                                                                                    "name": "k"}}], **WORDS}),
            ("match", "no"), "unknown value `no`"),
    *[composer(f"predicate.{word}", {"type": "structure", "name": "s"}, values, (True, False), SORT)
      for word, values in (("gt", (1, 2)), ("gte", (2, 3)), ("lt", (3, 2)), ("lte", (2, 1)))],
    named("reasks", "reask", REASK, "rr", "no rule `r`"),
    described("reasks", "reask", REASK, body=talk(*TURNS)),
    acts(S + "reasks[].threshold", "reask", "r", {"reasks": [REASK]}, (0.8, 1), (True, False), talk(*TURNS)),
    acts(S + "reasks[].lookback_turns", "reask", "r", {"reasks": [REASK]}, (1, 2), (True, False), talk(*TURNS)),
    named("preferences", "preference", PREFER, "pp", "no rule `p`"),
    described("preferences", "preference", PREFER),
    acts(S + "preferences[].examples[]", "preference", "p", {"preferences": [PREFER]}, (SORT, POEM), (True, False), talk(SORT)),
    acts(S + "preferences[].threshold", "preference", "p", {"preferences": [PREFER]}, (0.5, 1), (True, False),
         talk("Write a Python function that reverses a list")),
    named("modality", "modality", MODAL, "BOTH", "no rule `DIFFUSION`"),
    described("modality", "modality", MODAL),
    acts("global.model_catalog.modules.modality_detector.keywords[]", "modality", "DIFFUSION", {"modality": [MODAL]},
         ("fresco", "mosaic"), (True, False), talk("I want a fresco")),
    acts("global.model_catalog.modules.modality_detector.both_keywords[]", "modality", "BOTH", {"modality": [{"name": "BOTH"}]},
         ("lyrics", "notes"), (True, False), talk("draw a picture of a cat, lyrics too")),
    named("fact_check", "fact_check", {"name": "needs_fact_check"}, "no_fact_check_needed", "no rule `needs_fact_check`"),
    described("fact_check", "fact_check", {"name": "needs_fact_check"}),
    named("user_feedbacks", "user_feedback", {"name": "wrong_answer"}, "satisfied", "no rule `wrong_answer`"),
    described("user_feedbacks", "user_feedback", {"name": "wrong_answer"}),
    acts("global.model_catalog.modules.hallucination_mitigation.fact_check.threshold", "fact_check", "needs_fact_check",
         {"fact_check": [{"name": "needs_fact_check"}]}, (0.2, 1), (True, False), talk("When was the Eiffel Tower built?")),
    refused("global.model_catalog.modules.hallucination_mitigation.enabled", site(), (False, True), "is not supported"),
    acts("global.model_catalog.modules.feedback_detector.threshold", "user_feedback", "wrong_answer",
         {"user_feedbacks": [{"name": "wrong_answer"}]}, (0.2, 1), (True, False), talk(*WRONG)),
    named("kb", "kb", KB, "bb", "no rule `b`"),
    refused(S + "kb[].kb", site(decisions=[by("kb", "b")], signals={"kb": [KB]}), ("mmlu_kb", "my_kb"), "no knowledge base"),
    acts(S + "kb[].match", "kb", "b", {"kb": [{**KB, "target": {"kind": "label", "value": "law"}}]}, ("threshold", "best"),
         (True, False), talk(MATH_TEXT)),
    refused(S + "kb[].target.kind", site(decisions=[by("kb", "b")], signals={"kb": [KB]}), ("label", "group"),
            "has no group `math`"),
    acts(S + "kb[].target.value", "kb", "b", {"kb": [KB]}, ("math", "law"), (True, False),
         talk(MATH_TEXT)),
]

# ---- a knowledge base of the user's own ----

OWN = {"name": "own", "source": {"path": "%/kb"}, "threshold": 0.5, "groups": {"all": ["code"]}}
LABELS = {"labels": {"code": {"exemplars": [SORT]}, "verse": {"exemplars": [POEM]}}}
OTHER = {"labels": {"code": {"exemplars": [POEM]}}}


def own(path, base, values, seen, target=("label", "code"), text=SORT, kind="kb", look=lambda e, rule: rule("b")["matched"],
        projections=None):
    config = site(decisions=[by(kind, "b")],
                  signals={"kb": [{"name": "b", "kb": "own", "target": {"kind": target[0], "value": target[1]}}]})
    config["global"]["model_catalog"] = {"kbs": [base]}
    if projections:
        config["routing"]["projections"] = projections

    def see(config, bench):
        folder = bench.directory / "kb"
        folder.mkdir(exist_ok=True)
        (folder / "labels.json").write_text(json.dumps(LABELS))
        (folder / "other.json").write_text(json.dumps(OTHER))
        (bench.directory / "kb2").mkdir(exist_ok=True)
        (bench.directory / "kb2" / "labels.json").write_text(json.dumps(OTHER))
        file = write(config, bench.directory / "explain.yaml")
        done = subprocess.run([BINARY, "explain", "-c", file, "--json", text], capture_output=True, text=True)
        if not done.stdout:
            return done.stderr.split("error: ")[-1].strip()[:24]
        rules = {r["name"]: r for s in json.loads(done.stdout)["signals"] for r in s["rules"]}
        return look(rules, rules.get)
    return Key(f"global.model_catalog.kbs[].{path}", config, values, see, seen)


METRIC = {"name": "m", "type": "group_margin", "positive_group": "all", "negative_group": "verses"}
MARGIN = {**OWN, "groups": {"all": ["code"], "verses": ["verse"]}, "metrics": [METRIC]}


def margin(e, rule):
    return round(rule("own/m")["value"], 1) if rule("own/m") else "none"


BASES = [
    refused("global.model_catalog.kbs[].name", {**site(), "global": {"model_catalog": {"kbs": [OWN, {**OWN, "name": "two"}]}}},
            ("own", "two"), "`two`"),
    own("source.path", OWN, ("%/kb", "%/kb2"), (True, False)),
    own("source.manifest", OWN, ("labels.json", "other.json"), (True, False)),
    own("threshold", OWN, (0.5, 1.0), (True, False), text=SORT + " of numbers"),
    own("label_thresholds.*", {**OWN, "label_thresholds": {"code": 0.4}}, (0.4, 1.0), (True, False), text=SORT + " of numbers"),
    own("groups.*[]", OWN, ("code", "verse"), (True, False), ("group", "all")),
    own("metrics[].name", MARGIN, ("m", "n"), (True, False), look=lambda e, rule: rule("own/m") is not None),
    refused("global.model_catalog.kbs[].metrics[].type", {**site(), "global": {"model_catalog": {"kbs": [MARGIN]}}},
            ("group_margin", "ratio"), "unknown value `ratio`"),
    own("metrics[].positive_group", MARGIN, ("all", "verses"), (True, False), look=lambda e, rule: rule("own/m")["value"] > 0.1),
    own("metrics[].negative_group", MARGIN, ("verses", "all"), (True, False), look=lambda e, rule: rule("own/m")["value"] > 0.1),
]

# ---- projections ----

P = "routing.projections."
INPUT = {"type": "keyword", "name": "k", "weight": 1.0}
BAND = {"name": "s", "method": "threshold_bands", "source": "x", "outputs": [{"name": "p", "gte": 1.0}]}
SCORE = {"name": "x", "method": "weighted_sum", "inputs": [INPUT]}
KEYS_PYTHON = {"keywords": [{"name": "k", "keywords": ["python"]}, {"name": "n", "keywords": ["tuna"]}]}


def project(path, values, seen, score=SCORE, mapping=BAND, name="p", look=lambda rule: rule["matched"], text=SORT, signals=None):
    def change(config):
        config["routing"]["projections"] = {"scores": [score], "mappings": [mapping]}
        return config
    return acts(P + path, "projection", name, signals or KEYS_PYTHON, values, seen, talk(text), look, change)


def band(word, values):
    return project(f"mappings[].outputs[].{word}", values, (True, False), mapping={**BAND, "outputs": [{"name": "p"}]})


def refusing(path, values, text):
    config = site(decisions=[by("projection", "p")], signals=KEYS_PYTHON)
    config["routing"]["projections"] = {"scores": [SCORE], "mappings": [BAND]}
    return refused(P + path, config, values, text)


NEAR = {"embeddings": [{"name": "code", "threshold": 0.3, "candidates": [SORT]},
                       {"name": "list", "threshold": 0.3, "candidates": ["Sort this list"]}]}
PART = {"name": "one", "semantics": "exclusive", "members": ["code", "list"]}


def part(path, values, seen, partition=PART, name="list", look=lambda rule: rule["matched"], text=SORT):
    def change(config):
        config["routing"]["projections"] = {"partitions": [partition]}
        return config
    return acts(f"{P}partitions[].{path}", "embedding", name, NEAR, values, seen, talk(text), look, change)


METRIC_INPUT = {"type": "kb_metric", "kb": "mmlu_kb", "metric": "best_score", "weight": 1.0}


def metric(path, values, text):
    config = site(decisions=[by("projection", "p")], signals=KEYS_PYTHON)
    config["routing"]["projections"] = {"scores": [{**SCORE, "inputs": [METRIC_INPUT]}], "mappings": [BAND]}
    return refused(P + path, config, values, text)


PROJECTIONS = [
    refused(P + "partitions[].name", {**site(signals=NEAR), "routing": {"signals": NEAR, "projections": {"partitions": [
        PART, {**PART, "name": "two"}]}}}, ("one", "two"), "`two`"),
    part("semantics", ("exclusive", "softmax_exclusive"), (True, False), {**PART, "temperature": 0.001}, "code",
         lambda rule: rule["confidence"] < 0.99, SORT + " of numbers"),
    part("temperature", (0.001, 1000), (True, False), {**PART, "semantics": "softmax_exclusive"}, "code",
         lambda rule: rule["confidence"] > 0.99),
    refused(P + "partitions[].members[]", {**site(signals=NEAR), "routing": {"signals": NEAR, "projections": {
        "partitions": [PART]}}}, ("code", "nowhere"), "no rule `nowhere`"),
    part("default", (ABSENT, "list"), (False, True), text="The weather is fine"),
    refusing("scores[].name", ("x", "y"), "no score `x`"),
    refusing("scores[].method", ("weighted_sum", "product"), "unknown value `product`"),
    refusing("scores[].inputs[].type", ("keyword", "moon"), "no signal type `moon`"),
    project("scores[].inputs[].name", ("k", "n"), (True, False)),
    metric("scores[].inputs[].kb", ("mmlu_kb", "moon_kb"), "no knowledge base `moon_kb`"),
    metric("scores[].inputs[].metric", ("best_score", "worst"), "has no metric `worst`"),
    project("scores[].inputs[].weight", (1.0, 0.5), (True, False)),
    project("scores[].inputs[].value_source", ("binary", "raw"), (1, 2),
            {**SCORE, "inputs": [{"type": "structure", "name": "s", "weight": 1.0}]}, look=lambda rule: rule["value"],
            signals={"structure": WORDS["structure"]}),
    project("scores[].inputs[].match", (1, 0.5), (True, False)),
    project("scores[].inputs[].miss", (0, 1), (False, True), {**SCORE, "inputs": [{**INPUT, "name": "n"}]}),
    refused(P + "mappings[].name", {**site(), "routing": {"signals": KEYS_PYTHON, "projections": {
        "scores": [SCORE], "mappings": [BAND, {**BAND, "name": "t", "outputs": [{"name": "q"}]}]}}}, ("s", "t"), "`t`"),
    refusing("mappings[].source", ("x", "y"), "no score `y`"),
    project("mappings[].method", ("threshold_bands", "multi_emit"), (False, True),
            mapping={**BAND, "outputs": [{"name": "o", "gte": 0}, {"name": "p", "gte": 1}]}),
    refusing("mappings[].calibration.method", ("sigmoid_distance", "none"), "unknown value `none`"),
    project("mappings[].calibration.slope", (0.001, 1000), (True, False), mapping={**BAND, "outputs": [{"name": "p", "gte": 0}]},
            look=lambda rule: rule["confidence"] < 0.6),
    refusing("mappings[].outputs[].name", ("p", "q"), "no output `p`"),
    band("gt", (0.5, 1)), band("gte", (1, 2)), band("lt", (2, 1)), band("lte", (1, 0.5)),
]

KEYS = [*FACTS, *MEANING, *BASES, *PROJECTIONS]
