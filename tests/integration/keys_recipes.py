"""Keys of recipes, entrypoints, canaries, and what decisions emit.

The keys of a recipe's `routing`, and the blocks of `model_selection`, are bound by the same sections as those of the
top-level `routing` and of a decision's `algorithm`: ELSEWHERE names them, and a few stand for all."""
from conftest import ROOT
from keys_offline import Key, explain, refused
from keys_online import served
from keys_site import decision, model, site

ELSEWHERE = ("recipes[].routing.", *(f"global.router.model_selection.{block}." for block in (
    "multi_factor", "latency_aware", "knn", "learned", "bandit")))
EMITS = "routing.decisions[].emits[]."
SELECTION = "global.router.model_selection."
CANARY = "global.semroute.canaries[]."


def recipes(**more):
    """A file whose recipe `next` sends all to `two`, and which site/next and site/plain ask for."""
    config = site(**more)
    config["recipes"] = [{"name": "next", "description": "the next", "routing": {"decisions": [decision("all", "two")]}}]
    config["entrypoints"] = [{"model_names": ["site/next"], "recipe": "next"}, {"model_names": ["site/plain"], "recipe": "default"}]
    return config


def only(config):
    """Without entrypoints: its recipe is reached where it is the default one."""
    config["entrypoints"] = []
    return config


def asked(look, name="auto"):
    return explain(look, body={"model": name, "messages": [{"role": "user", "content": "hello"}]})


def canary(**more):
    config = recipes(canaries=[{"name": "trial", "share": 1, "recipe": "next", **more}])
    config["recipes"].append({"name": "other", "routing": {"decisions": [decision("other", "one")]}})
    config["entrypoints"][1]["recipe"] = "other"
    return config


chosen = asked(lambda e: e.model)


def request(name):
    """A member of the explanation's `request`, where the file has one."""
    return asked(lambda e: e.all["request"].get(name))


def header(name, **headers):
    def see(gateway, bench):
        body = {"model": "auto", "messages": [{"role": "user", "content": "hello"}]}
        return gateway.post(body, headers={"x-vsr-debug": "true", **headers}).headers.get(name)
    return served(see)


def sides(**headers):
    """On how many sides sixteen requests fall that have another value of each header."""
    def see(gateway, bench):
        body = {"model": "auto", "messages": [{"role": "user", "content": "hello"}]}
        return len({gateway.post(body, headers={"x-vsr-debug": "true", **{k.replace("_", "-"): v.format(n) for k, v in headers.items()}})
                    .headers["x-vsr-canary-side"] for n in range(16)})
    return served(see)


def described(gateway, bench):
    return {m["id"]: m["description"] for m in gateway.get("/v1/models").json()["data"]}.get("site/next")


def emits(**retention):
    return site(decisions=[decision("d", "two", emits=[{"kind": "retention", "retention": retention}])])


def retained(name):
    return header(f"x-vsr-retention-{name}")


def reads(signal, rule):
    """A canary whose decision needs a classifier; and the file of the built-in one."""
    config = canary(share=1, recipe="next")
    config["recipes"][0]["routing"] = {"signals": {signal: [rule]},
                                       "decisions": [decision("d", "two", {signal.rstrip("s"): rule["name"]})]}
    return config


def loads(config, bench):
    """Whether a server starts with the classifier."""
    import subprocess
    from conftest import BINARY
    from keys_site import write
    file = write(config, bench.directory / "classifier.yaml")
    done = subprocess.run([BINARY, "explain", "-c", file, "--json", "hello"], capture_output=True, text=True)
    return done.returncode == 0


MODELS = ROOT / "models"
multi = site(model("one", "@0", pricing={"prompt_per_1m": 1, "completion_per_1m": 1}),
             model("two", "@1", pricing={"prompt_per_1m": 10, "completion_per_1m": 10}),
             decisions=[{"name": "d", "modelRefs": [{"model": "one"}, {"model": "two"}]}],
             cards=[{"name": "one", "quality_score": 0.5}, {"name": "two", "quality_score": 0.9}],
             router={"model_selection": {"method": "multi_factor", "multi_factor": {
                 "weights": {"quality": 1, "latency": 0, "cost": 0, "load": 0}}}})

KEYS = [
    refused(EMITS + "kind", emits(ttl_turns=1), ("retention", "memory"), "`kind`"),
    Key(EMITS + "retention.drop", emits(), (True, False), retained("drop"), ("true", "false")),
    Key(EMITS + "retention.ttl_turns", emits(), (0, 4), retained("ttl-turns"), ("0", "4")),
    Key(EMITS + "retention.keep_current_model", emits(), (True, False), retained("keep-current-model"), ("true", "false")),
    Key(EMITS + "retention.prefer_prefix_retention", emits(), (True, False), retained("prefer-prefix"), ("true", "false")),
    Key("recipes[].name", only(recipes()), ("default", "other"), chosen, ("two", "one")),
    Key("recipes[].description", recipes(), ("a", "b"), served(described), ("a", "b")),
    Key("entrypoints[].model_names[]", recipes(), ("site/next", "site/other"), asked(lambda e: e.model, "site/other"), (None, "two")),
    Key("entrypoints[].recipe", recipes(), ("next", "default"), asked(lambda e: e.model, "site/next"), ("two", "one")),
    Key(SELECTION + "enabled", multi, (True, False), chosen, ("two", "one")),
    Key(SELECTION + "method", multi, ("multi_factor", "static"), chosen, ("two", "one")),
    Key(CANARY + "name", canary(), ("a", "b"), request("canary"), ("a", "b")),
    Key(CANARY + "of", canary(), ("default", "other"), chosen, ("two", "one")),
    Key(CANARY + "share", canary(), (1, 0), chosen, ("two", "one")),
    Key(CANARY + "by", canary(share=0.5), ("user", "session"), sides(x_session_id="s{}"), (1, 2)),
    Key(CANARY + "session_header", canary(share=0.5, by="session"), ("x-talk", "x-other"), sides(x_talk="s{}"), (2, 1)),
    Key(CANARY + "recipe", canary(), ("next", "other"), request("recipe"), ("next", "other")),
    Key(CANARY + "models.*", canary(models={"two": "two"}), ("two", "one"), chosen, ("two", "one")),
    Key(CANARY + "classifiers.domain", reads("domains", {"name": "math"}),
        (str(MODELS / "domain-linear" / "model.safetensors"), str(MODELS / "domain-linear" / "card.md")), loads, (True, False)),
    Key(CANARY + "classifiers.jailbreak", reads("jailbreak", {"name": "j"}),
        (str(MODELS / "jailbreak-linear" / "model.safetensors"), str(MODELS / "jailbreak-linear" / "card.md")), loads, (True, False)),
    refused(CANARY + "classifiers.pii", canary(), (str(ROOT / "models" / "neural"), "/nowhere"), "cannot open"),
]
