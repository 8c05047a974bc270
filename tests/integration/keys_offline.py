"""Keys whose effect shows without a server: what `check` accepts and what `explain` decides."""
from unittest.mock import ANY

from conftest import ROOT
from keys_site import ABSENT, MATH, THINKER, Explained, check, decision, model, site


class Key:
    """One key, two values for it in the same configuration, and what is seen with each."""

    def __init__(self, path, config, values, see, seen):
        self.path, self.config, self.values, self.see, self.seen = path, config, values, see, seen


def said(*values):
    """A probe that is `check`: the first value is good, the second is an error with this text."""
    def see(config, bench):
        verdict = check(config, bench.directory)
        return next((v for v in values if v in verdict), verdict)
    return see


def refused(path, config, values, text):
    return Key(path, config, values, said("good", text), ("good", text))


def explain(look, text="hello", body=None, **more):
    return lambda config, bench: look(Explained(config, bench.directory, text, body, **more))


def keyword(**rule):
    return {"keywords": [{"name": "k", "keywords": ["cat"], **rule}]}


def structure(feature="count", source=None, **rule):
    source = source or {"type": "keyword_set", "keywords": ["must"]}
    return {"structure": [{"name": "s", "feature": {"type": feature, "source": source}, **rule}]}


def by(signal, name, **more):
    return decision(rules={"type": signal, "name": name, **more})


def matched(signals, text, name="k", kind="keyword"):
    """Configuration and probe of one rule: does it match the text?"""
    return site(decisions=[by(kind, name)], signals=signals), explain(lambda e: e.rule()["matched"], text)


def rule_key(path, signals, text, values, seen, name="k", kind="keyword"):
    config, see = matched(signals, text, name, kind)
    return Key(f"routing.signals.{path}", config, values, see, seen)


def replaced(old, new):
    """Whether an edit puts `new` in the place of `old`."""
    return lambda e: any(x["removed"] == old and x["inserted"] == new for x in e.all["edits"])


def chat(**more):
    return {"model": "auto", "messages": [{"role": "user", "content": "hello"}], **more}


DOMAIN = {"domains": [{"name": "math"}]}
D = "routing.decisions[]."
THINKING = site(model("one"), model("two", "@1", reasoning_family="fam"), families=THINKER,
                decisions=[{"name": "d", "modelRefs": [{"model": "two", "use_reasoning": True, "reasoning_effort": "low"}]}])
EFFORT = site(model("one"), model("two", "@1", reasoning_family="fam"),
              families={"fam": {"type": "reasoning_effort", "parameter": "reasoning_effort"}},
              decisions=[{"name": "d", "modelRefs": [{"model": "two", "use_reasoning": True}]}])
SCORED = site(model("one"), model("two", "@1", reasoning_family="fam"), families=THINKER,
              signals={"domains": [{"name": "math", "model_scores": [{"model": "two", "score": 2.0}]}]},
              decisions=[{"name": "d", "rules": {"type": "domain", "name": "math"},
                          "modelRefs": [{"model": "one"}, {"model": "two"}]}])
# Two decisions that both match: the second more surely, the first with the higher priority.
RIVALS = site(decisions=[decision("sure", "two", {"keyword": "k"}, priority=5),
                         decision("high", "one", {"domain": "math"}, priority=9)],
              signals={**keyword(keywords=["sum"]), **DOMAIN})

PROVIDERS = [
    refused("version", site(), ("v0.3", "v9"), "unknown value `v9`"),
    Key("providers.defaults.default_model", site(), ("one", "two"), explain(lambda e: e.model), ("one", "two")),
    Key("providers.defaults.default_reasoning_effort", EFFORT, ("low", "high"), explain(lambda e: e.all["effort"]),
        ("low", "high")),
    Key("providers.defaults.reasoning_families.*.type", EFFORT, ("reasoning_effort", "top_level_reasoning_effort"),
        explain(lambda e: "chat_template_kwargs" in e.edits), (True, False)),
    Key("providers.defaults.reasoning_families.*.parameter", THINKING, ("enable_thinking", "thinking"),
        explain(lambda e: '"enable_thinking":true' in e.edits), (True, False)),
    Key("providers.models[].name", site(), ("one", "uno"), said("good", "no model `one`"), ("good", "no model `one`")),
    Key("providers.models[].provider_model_id", site(), (ABSENT, "org/one-8b"), explain(lambda e: e.edits),
        ('"one"', '"org/one-8b"')),
    Key("providers.models[].reasoning_family",
        site(model("one", reasoning_family="fam"), families=THINKER, decisions=[decision(model="one")]),
        (ABSENT, "fam"), explain(lambda e: "enable_thinking" in e.edits), (False, True)),
    Key("providers.models[].api_format", site(), ("openai", "anthropic"), explain(lambda e: "max_tokens" in e.edits), (False, True)),
    Key("providers.models[].backend_refs[].api_format", site(), ("openai", "anthropic"), explain(lambda e: "max_tokens" in e.edits),
        (False, True)),
    refused("providers.models[].backend_refs[].provider", site(model("one", "@0", "@1")), ("openai", "anthropic"), "speak one API"),
    refused("providers.models[].backend_refs[].type", site(model("one", "@0", "@1")), ("vllm", "anthropic"), "speak one API"),
    Key("providers.models[].external_model_ids.*", site(model("one", "@0", external_model_ids={"vllm": "a"})), ("org/a", "org/b"),
        explain(lambda e: e.edits), ('"org/a"', '"org/b"')),
    refused("global.router.config_source", site(router={}), ("file", "kubernetes"), "no resources of Kubernetes"),
]

SIGNALS = [
    refused("routing.signals.keywords[].name", site(decisions=[by("keyword", "k")], signals=keyword()), ("k", "kk"),
            "no rule `k`"),
    rule_key("keywords[].keywords[]", keyword(), "a cat", ("cat", "dog"), (True, False)),
    rule_key("keywords[].operator", keyword(keywords=["cat", "dog"]), "a cat", ("OR", "AND"), (True, False)),
    rule_key("keywords[].method", keyword(keywords=["c.t"]), "a cat", (ABSENT, "regex"), (False, True)),
    rule_key("keywords[].case_sensitive", keyword(keywords=["CAT"]), "a cat", (False, True), (True, False)),
    rule_key("keywords[].fuzzy_match", keyword(keywords=["kubernetes"]), "my kubernets", (False, True), (False, True)),
    rule_key("keywords[].fuzzy_threshold", keyword(keywords=["kubernetes"], fuzzy_match=True), "my kubrnets", (1, 2),
             (False, True)),
    rule_key("keywords[].bm25_threshold", keyword(method="bm25"), "a cat", (0.1, 900), (True, False)),
    rule_key("keywords[].ngram_threshold", keyword(keywords=["kubernetes"], method="ngram"), "kubernetis", (0.3, 1.0),
             (True, False)),
    rule_key("keywords[].ngram_arity", keyword(keywords=["kubernetes"], method="ngram", ngram_threshold=0.6), "kubernetis",
             (2, 8), (True, False)),
    refused("routing.signals.domains[].name", site(decisions=[by("domain", "math")], signals=DOMAIN), ("math", "law"),
            "no rule `math`"),
    Key("routing.signals.domains[].description", site(decisions=[by("domain", "math")], signals=DOMAIN), (ABSENT, "sums"),
        explain(lambda e: e.rule().get("description"), MATH), (None, "sums")),
    rule_key("domains[].mmlu_categories[]", {"domains": [{"name": "m", "mmlu_categories": ["math"]}]}, MATH, ("math", "law"),
             (True, False), "m", "domain"),
    Key("routing.signals.domains[].model_scores[].model", SCORED, ("two", "one"), explain(lambda e: e.model, MATH),
        ("two", "one")),
    Key("routing.signals.domains[].model_scores[].score", SCORED, (2.0, 0.5), explain(lambda e: e.model, MATH), ("two", "one")),
    Key("routing.signals.domains[].model_scores[].use_reasoning", SCORED, (False, True),
        explain(lambda e: (e.model, e.all["reasoning"], "enable_thinking\":true" in e.edits), MATH),
        (("two", False, False), ("two", True, True))),
    refused("routing.signals.context[].name", site(decisions=[by("context", "c")], signals={"context": [{"name": "c"}]}),
            ("c", "cc"), "no rule `c`"),
    rule_key("context[].min_tokens", {"context": [{"name": "c"}]}, "hello " * 100, (50, "1K"), (True, False), "c", "context"),
    rule_key("context[].max_tokens", {"context": [{"name": "c"}]}, "hello " * 100, (50, "1K"), (False, True), "c", "context"),
    refused("routing.signals.structure[].name", site(decisions=[by("structure", "s")], signals=structure()), ("s", "ss"),
            "no rule `s`"),
    Key("routing.signals.structure[].description", site(decisions=[by("structure", "s")], signals=structure()),
        (ABSENT, "duties"), explain(lambda e: e.rule().get("description")), (None, "duties")),
    Key("routing.signals.structure[].feature.type", site(decisions=[by("structure", "s")], signals=structure()),
        ("count", "exists"), explain(lambda e: e.rule()["value"], "must, must, must"), (3, 1)),
    rule_key("structure[].feature.source.type",
             structure(source={"type": "regex", "pattern": "m.st", "keywords": ["should"]}), "must", ("regex", "keyword_set"),
             (True, False), "s", "structure"),
    rule_key("structure[].feature.source.pattern", structure(source={"type": "regex", "pattern": "m.st"}), "must",
             ("m.st", "sh.ll"), (True, False), "s", "structure"),
    rule_key("structure[].feature.source.keywords[]", structure(), "must", ("must", "shall"), (True, False), "s", "structure"),
    rule_key("structure[].feature.source.sequences[][]",
             structure("sequence", {"type": "sequence", "sequences": [["first", "then"]]}), "first this, then that",
             ("first", "finally"), (True, False), "s", "structure"),
    rule_key("structure[].feature.source.case_sensitive", structure(), "MUST", (False, True), (True, False), "s", "structure"),
    refused("routing.signals.language[].name", site(decisions=[by("language", "de")], signals={"language": [{"name": "de"}]}),
            ("de", "fr"), "no rule `de`"),
    rule_key("language[].threshold", {"language": [{"name": "de"}]},
             "Das Wetter ist heute wirklich sehr sch\u00f6n, und wir gehen am Nachmittag zusammen in den Park. "
             "The weather is really very nice today, and this afternoon we will all go for a walk in the park together.",
             (0.1, 1.0), (True, False), "de", "language"),
]
for _bound, _values in (("gt", (2, 3)), ("gte", (3, 4)), ("lt", (4, 3)), ("lte", (3, 2))):
    SIGNALS.append(rule_key(f"structure[].predicate.{_bound}", structure(), "must, must, must", _values, (True, False),
                            "s", "structure"))

CAT = keyword()
CATS_DOGS = {"keywords": [{"name": "k", "keywords": ["cat"]}, {"name": "l", "keywords": ["dog"]}]}
ASK = {"type": "keyword", "name": "k"}
LIMITED = {"name": "d", "modelRefs": [{"model": "two"}],
           "plugins": [{"type": "request_params", "configuration": {"blocked_params": ["seed"]}}]}
PROMPTED = {"name": "d", "modelRefs": [{"model": "two"}],
            "plugins": [{"type": "system_prompt", "configuration": {"system_prompt": "Be brief."}}]}
TOLD = {"model": "auto", "messages": [{"role": "system", "content": "Rhyme."}, {"role": "user", "content": "hello"}]}
FAST = {"name": "d", "plugins": [{"type": "fast_response", "configuration": {"message": "Hi."}}]}
MUTATES = {"name": "d", "modelRefs": [{"model": "two"}],
           "plugins": [{"type": "header_mutation", "configuration": {
               "add": [{"name": "x-a", "value": "1"}], "update": [{"name": "x-b", "value": "2"}], "delete": ["x-c"]}}]}
PARAMS = D + "plugins[request_params].configuration."
PROMPT = D + "plugins[system_prompt].configuration."

ROUTING = [
    Key("routing.strategy", RIVALS, ("priority", "confidence"), explain(lambda e: e.decision, MATH), ("high", "sure")),
    Key("global.router.strategy", RIVALS, ("priority", "confidence"), explain(lambda e: e.decision, MATH), ("high", "sure")),
    Key(D + "name", site(decisions=[decision()]), ("d", "e"), explain(lambda e: e.decision), ("d", "e")),
    Key(D + "description", site(decisions=[decision()]), (ABSENT, "all"),
        explain(lambda e: e.all["decisions"][0].get("description")), (None, "all")),
    Key(D + "priority", RIVALS, (5, 50), explain(lambda e: e.decision, MATH), ("high", "sure")),
    Key("routing.decisions[1].tier", RIVALS, (ABSENT, 3), explain(lambda e: e.all["decisions"][0].get("tier"), MATH), (None, 3)),
    Key(D + "rules.operator", site(decisions=[decision(rules={"operator": "OR", "conditions": [ASK, {**ASK, "name": "l"}]})],
                                   signals=CATS_DOGS),
        ("OR", "AND"), explain(lambda e: e.decision, "a cat"), ("d", None)),
    Key(D + "rules.conditions[]", site(decisions=[decision(rules={"operator": "NOT", "conditions": [ASK]})], signals=CAT),
        (ASK, {"operator": "NOT", "conditions": [ASK]}), explain(lambda e: e.decision, "a cat"), (None, "d")),
    Key(D + "rules.type", site(decisions=[by("keyword", "math")],
                               signals={"keywords": [{"name": "math", "keywords": ["cat"]}], **DOMAIN}),
        ("keyword", "domain"), explain(lambda e: e.decision, MATH), (None, "d")),
    Key(D + "rules.name", site(decisions=[by("keyword", "k")],
                               signals=CATS_DOGS),
        ("k", "l"), explain(lambda e: e.decision, "a cat"), ("d", None)),
    Key(D + "modelRefs[].model", site(decisions=[decision()]), ("two", "one"), explain(lambda e: e.model), ("two", "one")),
    Key(D + "modelRefs[].lora_name", site(decisions=[decision()]), (ABSENT, "sql"), explain(lambda e: e.edits),
        ('"two"', '"sql"')),
    Key(D + "modelRefs[].use_reasoning", THINKING, (True, False), explain(lambda e: "enable_thinking\":true" in e.edits),
        (True, False)),
    Key(D + "modelRefs[].reasoning_effort", EFFORT, ("low", "high"), explain(lambda e: '"high"' in e.edits), (False, True)),
    Key(D + "modelRefs[].reasoning_description", THINKING, (ABSENT, "hard"),
        explain(lambda e: e.all.get("reasoning_description")), (None, "hard")),
    refused(D + "plugins[fast_response].type", site(decisions=[FAST]), ("fast_response", "fast"), "unknown plugin `fast`"),
    Key(D + "plugins[fast_response].configuration.message", site(decisions=[FAST]), ("Hi.", "Bye."),
        explain(lambda e: "Bye." in e.all["reply"]), (False, True)),
    refused(D + "plugins[system_prompt].type", site(decisions=[PROMPTED]), ("system_prompt", "rag"), "is not supported"),
    Key(PROMPT + "enabled", site(decisions=[PROMPTED]), (True, False), explain(lambda e: e.all["injected_system_prompt"]),
        (True, False)),
    Key(PROMPT + "system_prompt", site(decisions=[PROMPTED]), ("Be brief.", "Be long."), explain(lambda e: "Be long." in e.edits),
        (False, True)),
    Key(PROMPT + "mode", site(decisions=[PROMPTED]), ("insert", "replace"),
        explain(lambda e: any("Rhyme." in x["removed"] for x in e.all["edits"]), body=TOLD), (False, True)),
    refused(D + "plugins[header_mutation].type", site(decisions=[MUTATES]), ("header_mutation", "headers"),
            "unknown plugin `headers`"),
    refused(D + "plugins[request_params].type", site(decisions=[LIMITED]), ("request_params", "rag"), "is not supported"),
    Key(PARAMS + "blocked_params[]", site(decisions=[LIMITED]), ("seed", "user"),
        explain(lambda e: any('"seed"' in x["removed"] for x in e.all["edits"]), body=chat(seed=1)), (True, False)),
    Key(PARAMS + "max_tokens_limit", site(decisions=[LIMITED]), (0, 50),
        explain(replaced("999", "50"), body=chat(max_tokens=999)), (False, True)),
    Key(PARAMS + "max_n", site(decisions=[LIMITED]), (0, 2), explain(replaced("9", "2"), body=chat(n=9)), (False, True)),
    Key(PARAMS + "strip_unknown", site(decisions=[LIMITED]), (False, True),
        explain(lambda e: any("blub" in x["removed"] for x in e.all["edits"]), body=chat(blub=1)), (False, True)),
]
for _bound, _values in (("gt", (90, 200)), ("gte", (90, 200)), ("lt", (200, 90)), ("lte", (200, 90))):
    ROUTING.append(Key(f"{D}rules.predicate.{_bound}",
                       site(decisions=[by("context", "c")], signals={"context": [{"name": "c"}]}), _values,
                       explain(lambda e: e.decision, "hello " * 100), ("d", None)))

CLASSIFIER = "global.model_catalog.modules.classifier.domain."
GLOBAL = [
    Key("global.router.auto_model_name", site(decisions=[decision()]), ("best", "MoM"),
        explain(lambda e: e.all["request"]["automatic"], body=chat(model="best")), (True, False)),
    Key("global.router.auto_model_names[]", site(decisions=[decision()], router={"auto_model_names": ["best"]}),
        ("best", "first"), explain(lambda e: e.all["request"]["automatic"], body=chat(model="best")), (True, False)),
    Key(CLASSIFIER + "threshold", site(decisions=[by("domain", "math")], signals=DOMAIN), (0.5, 1.0),
        explain(lambda e: e.decision, MATH), ("d", None)),
    Key(CLASSIFIER + "fallback_category",
        site(decisions=[by("domain", "law")], signals={"domains": [{"name": "law"}]}, domain={"threshold": 1.0}),
        ("other", "law"), explain(lambda e: e.decision, MATH), (None, "d")),
    Key("global.semroute.override_confidence", site(decisions=[decision("word", "two", {"keyword": "k"}, priority=9),
                                                               decision("field", "one", {"domain": "math"}, priority=9)],
                                                    signals={**keyword(keywords=["sum"]), **DOMAIN}),
        (0, 0.5), explain(lambda e: e.decision, MATH), ("word", "field")),
]

COMPRESSION = "global.model_catalog.modules.prompt_compression."
WORDS = """court contract enzyme genome integral theorem battle empire inflation market beam girder virus therapy molecule
acid reaction planet orbit voltage circuit compiler thread ethics virtue memory anxiety treaty dynasty tax audit lawsuit judge
vector matrix prime lemma cell tissue protein shear torque alloy quark photon entropy""".split()
LONG = " ".join(f"The {WORDS[i * 7 % len(WORDS)]} and the {WORDS[i * i % len(WORDS)]} of case {i} explain " + " ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(2, 4 + i % 5))
                + "." for i in range(90))


def compressed(**settings):
    """A site that reads long texts by their 150 best tokens."""
    config = site(decisions=[by("domain", "math")], signals=DOMAIN)
    config["global"]["model_catalog"] = {"modules": {"prompt_compression": {"enabled": True, "max_tokens": 150, **settings}}}
    return config


def shorter(key, values, **settings):
    """The key changes what the classifier is given to read, and so its probabilities."""
    return Key(COMPRESSION + key, compressed(**settings), values,
               explain(lambda e: next(s["probabilities"] for s in e.all["signals"] if s["type"] == "domain"), LONG), ANY)


MIDDLE = {"preserve_first_n": 1, "preserve_last_n": 1}
COMPRESSED = [
    shorter("enabled", (False, True)),
    shorter("max_tokens", (60, 400)),
    shorter("min_length", (0, 100000)),
    shorter("skip_signals[]", ("jailbreak", "domain"), skip_signals=["jailbreak"]),
    shorter("profile", ("default", "coding")),
    shorter("textrank_weight", (0.01, 9), **MIDDLE),
    shorter("position_weight", (0.01, 9), **MIDDLE),
    shorter("tfidf_weight", (0.01, 9), **MIDDLE),
    shorter("novelty_weight", (0.01, 9), **MIDDLE),
    shorter("position_depth", (0.01, 1.0), position_weight=2, **MIDDLE),
    shorter("preserve_first_n", (1, 4), preserve_last_n=1),
    shorter("preserve_last_n", (1, 4), preserve_first_n=1),
    shorter("tokenizer", (ABSENT, f"{ROOT}/tests/golden/tokenizers/bert-uncased.json")),
]

KEYS = PROVIDERS + SIGNALS + ROUTING + GLOBAL + COMPRESSED
