"""The keys of `global.semroute.identity`, as test_config_keys.py tries them."""
import hashlib
import json

from conftest import chat
from keys_guards import MAIL
from keys_offline import Key, refused
from keys_online import sent, served
from keys_site import model, site

IDENTITY = "global.semroute.identity."
KEYS_AT, TENANTS_AT = IDENTITY + "keys[].", IDENTITY + "tenants[]."
ALICE, OTHER = "sk-sr-alice-0123456789", "sk-sr-other-0123456789"
SENT = {"authorization": f"Bearer {ALICE}"}


def sha(key):
    return hashlib.sha256(key.encode()).hexdigest()


def keyed(more=None, tenants=(), **config):
    key = {"name": "alice", "sha256": sha(ALICE), **(more or {})}
    if "key" in key:
        del key["sha256"]
    identity = {"keys": [key], **({"tenants": list(tenants)} if tenants else {})}
    return site(identity=identity, **config)


def status(model="one", text="hello", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()} or SENT
    return served(lambda gateway, bench: gateway.post(chat(text, model), headers=headers).status)


def shared(scope, first, second):
    """Whether an answer of one client is another one's."""
    def probe(config, bench):
        config = json.loads(json.dumps(config))
        config["global"]["semroute"]["cache"] = {"default": {"mode": "exact", "scope": scope}}

        def look(gateway, bench):
            assert gateway.post(chat("hello"), headers={"authorization": f"Bearer {first}"}).status == 200
            answer = gateway.post(chat("hello"), headers={"authorization": f"Bearer {second}"})
            return dict(answer.headers).get("x-vsr-cache-hit")
        return served(look)(config, bench)
    return probe


def two(**more):
    config = keyed({"user": "u1", "tenant": "red", "team": "t1"})
    config["global"]["semroute"]["identity"]["keys"].append(
        {"name": "other", "sha256": sha(OTHER), "user": "u2", "tenant": "red", "team": "t2", **more})
    return config


GUARD = {"signals": {"pii": [{"name": "p"}]}, "decisions": [
    {"name": "g", "rules": {"type": "pii", "name": "p"}, "plugins": [{"type": "guard", "configuration": {"action": "block"}}]}, {"name": "d", "rules": {"type": "pii", "name": "p"}}]}


def of_file(config, bench):
    for name, key in (("first", ALICE), ("second", OTHER)):
        (bench.directory / f"{name}.yaml").write_text(json.dumps({"keys": [{"name": "k", "sha256": sha(key)}]}))
    return status()(config, bench)


def trusting(**identity):
    """A backend's key is for known clients; a header says who asks, where it is trusted."""
    config = site(model("one", {"endpoint": "@0", "api_key": "k"}), guards={"tenant_header": "x-tenant"}, identity=identity)
    return config


AUTHZ = "global.services.authz."


def with_key_of(*providers, **authz):
    """A backend with a key, for every client; the client may send its own."""
    config = site(model("one", {"endpoint": "@0", "api_key": "operators"}), allow_anonymous=True)
    config["global"]["services"] = {"authz": {"providers": list(providers), **authz}}
    return config


INJECTED = {"type": "header-injection"}

KEYS = [
    Key(AUTHZ + "providers[].type", with_key_of(INJECTED), ("header-injection", "static-config"),
        sent(r"^authorization: Bearer (\w+)", x_user_openai_key="mine"), ("mine", "operators")),
    Key(AUTHZ + "providers[].headers.*", with_key_of({**INJECTED, "headers": {"openai": "x"}}),
        ("x-user-openai-key", "x-user-another-key"), status(x_user_openai_key="mine"), (200, 401)),
    Key(AUTHZ + "fail_open", with_key_of(INJECTED), (True, False), status(x_other="a"), (200, 401)),
    refused(KEYS_AT + "name", keyed(), ("a", ""), "`name`"),
    Key(KEYS_AT + "sha256", keyed(), (sha(ALICE), sha(OTHER)), status(), (200, 401)),
    Key(KEYS_AT + "key", keyed({"key": ALICE}), (ALICE, OTHER), status(), (200, 401)),
    Key(KEYS_AT + "groups[]", keyed(limits={"rules": [{"name": "r", "match": {"group": "a"}, "tokens_per_unit": 1}]}), ("a", "b"),
        status(), (429, 200)),
    Key(KEYS_AT + "tenant", two(), ("red", "blue"), shared("tenant", ALICE, OTHER), ("true", None)),
    Key(KEYS_AT + "user", two(), ("u2", "u1"), shared("user", OTHER, ALICE), ("true", None)),
    Key(KEYS_AT + "team", two(), ("t2", "t1"), shared("team", OTHER, ALICE), ("true", None)),
    Key(KEYS_AT + "models[]", keyed(), ("two", "one"), status(), (403, 200)),
    Key(KEYS_AT + "expires", keyed(), ("2020-01-31", "2999-12-31T12:00:00Z"), status(), (401, 200)),
    Key(IDENTITY + "keys_file", site(), ("%/first.yaml", "%/second.yaml"), of_file, (200, 401)),
    Key(IDENTITY + "trusted_peers[]", trusting(), ("127.0.0.0/8", "10.0.0.0/8"), status(x_tenant="a"), (200, 401)),
    Key(IDENTITY + "proxy_secret.header", trusting(proxy_secret={"header": "x-s", "value": "open"}), ("x-s", "x-t"),
        status(x_tenant="a", x_s="open"), (200, 401)),
    Key(IDENTITY + "proxy_secret.value", trusting(proxy_secret={"header": "x-s", "value": "open"}), ("open", "shut"),
        status(x_tenant="a", x_s="open"), (200, 401)),
    Key(TENANTS_AT + "name", keyed({"tenant": "red"}, [{"name": "red", "models": ["two"]}]), ("red", "blue"), status(), (403, 200)),
    Key(TENANTS_AT + "models[]", keyed({"tenant": "red"}, [{"name": "red"}]), ("two", "one"), status(), (403, 200)),
    Key(TENANTS_AT + "guards[]", keyed({"tenant": "red"}, [{"name": "red"}, {"name": "blue", "guards": ["g"]}], **GUARD),
        ("g", "d"), status(text=MAIL), (403, 200)),
    Key(TENANTS_AT + "without_guards[]", keyed({"tenant": "red"}, [{"name": "red"}], **GUARD), ("g", "d"), status(text=MAIL), (200, 403)),
]
