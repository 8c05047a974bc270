"""Keys of the model that decides preferences: what it is asked, and who answers."""
import json

from conftest import semroute
from keys_offline import Key, by
from keys_site import check, site, write
from test_preference import Model

E = "global.model_catalog.external[0]."
HERE = 9  # stands for the port of the running model
TEXT = "Write a program"
RULE = {"name": "code", "description": "programs", "examples": ["Write a poem about the sea"]}


def asked(**external):
    config = site(decisions=[by("preference", "code")], signals={"preferences": [RULE]}, signal_deadline_ms=60000)
    config["global"]["model_catalog"] = {"external": [
        {"model_role": "preference", "llm_model_name": "arch", "llm_timeout_seconds": 30,
         "llm_endpoint": {"address": "127.0.0.1", "port": HERE, "protocol": "http", "path": "/v1/chat/completions"}, **external}]}
    return config


def see(look):
    """What `look` sees of the signal, and of the model, after a text."""
    def ask(config, bench):
        model = Model()
        config = json.loads(json.dumps(config).replace(f'"port": {HERE},', f'"port": {model.port},'))
        try:
            done = semroute("explain", "--config", write(config, bench.directory / "preference.yaml"), "--json", TEXT)
            signal = next(s for s in json.loads(done.stdout)["signals"] if s["type"] == "preference")
            return look(signal, model)
        finally:
            model.stop()
    return ask


def who(signal, model):
    return "nobody" if signal.get("error") else signal["tier"]


def warned(config, bench):
    return "which is less than its own timeout" in check(config, bench.directory)


QUICK = asked()
QUICK["global"]["semroute"]["signal_deadline_ms"] = 1500

KEYS = [
    Key(E + "model_role", asked(), ("preference", "guardrail"), see(who), ("model", "neural")),
    Key(E + "llm_endpoint.address", asked(), ("127.0.0.1", "127.0.0.2"), see(who), ("model", "nobody")),
    Key(E + "llm_endpoint.port", asked(), (HERE, 1), see(who), ("model", "nobody")),
    Key(E + "llm_endpoint.protocol", asked(), ("http", "https"), see(who), ("model", "nobody")),
    Key(E + "llm_endpoint.path", asked(), ("/a", "/b"), see(lambda signal, model: model.asked[0][0]), ("/a", "/b")),
    Key(E + "llm_model_name", asked(), ("arch", "other"), see(lambda signal, model: model.asked[0][1]), ("arch", "other")),
    Key(E + "llm_timeout_seconds", QUICK, (1, 2), warned, (False, True)),
    Key(E + "access_key", asked(access_key="k"), ("one", "two"), see(lambda signal, model: model.heads[0]["authorization"]),
        ("Bearer one", "Bearer two")),
    Key("global.model_catalog.modules.classifier.preference.use_contrastive", asked(), (False, True), see(who), ("model", "neural")),
]
