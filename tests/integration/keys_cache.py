"""Keys of the response cache: who shares answers, which are kept and how long. Keys of its stores: keys_stores.py."""
import concurrent.futures
import json
import time

from conftest import chat, request
from keys_offline import Key
from keys_online import served
from keys_site import ABSENT, decision, model, site
from oracle import Oracle

PLUGIN = "routing.decisions[].plugins[response_cache].configuration."
DEFAULT = "global.semroute.cache.default."
CACHE = "global.semroute.cache."
STORE = "global.stores.response_cache."
QUESTION = "How do I reset my password?"
WAITS = 10  # seconds for something that is about to happen
TRUSTED = {"user_id_header": "x-user"}


def cached(use=None, store=None, default=None, **cache):
    """One decision for model `one` whose plugin is `use`; without it only `global.semroute.cache.default`."""
    plugins = [] if default is not None else [
        {"type": "response_cache", "configuration": {"scope": "global", **(use or {})}}]
    config = site(decisions=[decision(model="one", plugins=plugins)], guards={"tenant_header": "x-tenant"},
                  cache={**cache, **({"default": {"scope": "global", **default}} if default is not None else {})})
    config["global"]["stores"] = {"response_cache": store or {}}
    config["global"]["services"] = {"authz": {"identity": dict(TRUSTED)}}
    return config


def ask(gateway, text=QUESTION, **headers):
    answer = gateway.post(chat(text), headers={k.replace("_", "-"): v for k, v in headers.items()})
    assert answer.status == 200, answer
    return "x-vsr-cache-hit" in answer.headers


def stats(gateway):
    return request(gateway.api_port, "GET", "/api/v1/response-cache/stats").json()


def settled(gateway, text=QUESTION, **headers):
    """Asks once; the answer is kept or refused when the exchange is in the metrics."""
    ask(gateway, text, **headers)
    end = time.monotonic() + WAITS
    while time.monotonic() < end:
        text = gateway.metrics()
        if 'operation="add_entry"' in text or "llm_cache_write_skipped_total{" in text:
            return
        if "llm_cache_plugin_misses_total{" not in text:
            return
        time.sleep(0.01)


def again(second=QUESTION, first=None, pause=0, **headers):
    """Is a second request answered from the cache?"""
    def look(gateway, bench):
        settled(gateway, **(first or headers))
        time.sleep(pause)
        return ask(gateway, second, **headers)
    return served(look)


def known(config, bench):
    """Is a question answered that nobody has asked before?"""
    (bench.directory / "known.jsonl").write_text(json.dumps({"question": QUESTION, "answer": "a"}) + "\n")
    with bench.serve(config) as gateway:
        end = time.monotonic() + 60
        while stats(gateway)["total_entries"] < 2 and "warm_file" in config["global"]["semroute"]["cache"] and time.monotonic() < end:
            time.sleep(0.02)
        return ask(gateway)


class Revised:
    """A revision's text is part of the key: what was kept under another one is not found."""

    def __init__(self, path):
        self.path = path.split(".")

    def __call__(self, config, bench):
        at = config
        for step in self.path[:-1]:
            at = at[0] if step == "[]" else at[step]
        wanted, at[self.path[-1]] = at[self.path[-1]], "a"
        with bench.serve(config) as gateway:
            settled(gateway)
            text = gateway.config_path.read_text()
            gateway.config_path.write_text(text.replace(f'"{self.path[-1]}": "a"', f'"{self.path[-1]}": "{wanted}"') + "\n")
            end = time.monotonic() + 60
            while text != gateway.config_path.read_text() and time.monotonic() < end:
                if 'semroute_config_reloads_total{result="success"} 1' in gateway.metrics():
                    break
                time.sleep(0.02)
            return ask(gateway)


PARAPHRASE = "How can I reset my password?"
CONTROLLED = {"request_controls": {"enabled": True}}


def uses(path, make):
    """The keys of a policy at `path`, in configurations that `make` makes of its settings."""
    inside = (["routing", "decisions", "[]", "plugins", "[]", "configuration"] if path == PLUGIN else
              ["global", "semroute", "cache", "default"])

    def revision(name):
        return Key(path + f"revision.{name}", make({}), ("a", "b"), Revised(".".join([*inside, "revision", name])), (True, False))
    return [
        Key(path + "enabled", make({}), (True, False), again(), (True, False)),
        Key(path + "mode", make({"similarity_threshold": 0.5}), ("semantic", "exact"), again(PARAPHRASE), (True, False)),
        Key(path + "scope", make({}), ("global", "tenant"), again(first={"x_tenant": "a"}, x_tenant="b"), (True, False)),
        Key(path + "semantic.similarity_threshold", make({}), (0.5, 0.999), again(PARAPHRASE), (True, False)),
        Key(path + "similarity_threshold", make({}), (0.5, 0.999), again(PARAPHRASE), (True, False)),
        Key(path + "ttl_seconds", make({}), (60, 0), again(), (True, False)),
        Key(path + "request_controls.enabled", make({}), (False, True), again(x_vsr_cache_control="no-cache"), (True, False)),
        Key(path + "request_controls.header", make(CONTROLLED), ("x-other", "x-vsr-cache-control"),
            again(x_vsr_cache_control="no-cache"), (True, False)),
        Key(path + "request_controls.allowed[]", make(CONTROLLED), ("no-store", "no-cache"),
            again(x_vsr_cache_control="no-cache"), (True, False)),
        Key(path + "request_controls.max_ttl_seconds", make({"request_controls": {"enabled": True, "allowed": ["ttl"]}}),
            (100, 1), again(pause=1.5, x_vsr_cache_control="ttl=50"), (True, False)),
        revision("cache_epoch"), revision("model_revision"), revision("prompt_revision"), revision("policy_revision"),
    ]


def left(texts):
    """How many of the answers to these questions are there after all were kept."""
    def look(gateway, bench):
        for number, text in enumerate(texts, 1):
            ask(gateway, text)
            end = time.monotonic() + 60
            while f'operation="add_entry",status="success"}} {number}\n' not in gateway.metrics():
                assert time.monotonic() < end
                time.sleep(0.01)
        return stats(gateway)["total_entries"]
    return served(look)


def kept_over_a_restart(config, bench):
    for kept in bench.directory.glob("kept*"):
        kept.unlink()
    for turn in range(2):
        with bench.serve(config) as gateway:
            if turn == 0:
                settled(gateway)
            end = time.monotonic() + (60 if "path" in config["global"]["semroute"]["cache"] else 2)
            while turn and time.monotonic() < end and not stats(gateway)["total_entries"]:
                time.sleep(0.05)
            hit = ask(gateway)
    return hit


def in_clear(config, bench):
    """Is the question readable in the file?"""
    for kept in bench.directory.glob("kept*"):
        kept.unlink()
    (bench.directory / "key").write_text("0123456789abcdef0123456789abcdef\n")
    with bench.serve(config) as gateway:
        settled(gateway)
    return any(QUESTION.encode() in kept.read_bytes() for kept in bench.directory.glob("kept*"))


def evicted(gateway, bench):
    """Which of two questions is still there after a third, when there is room for two."""
    for text in ("first", "second", "first", "third"):
        ask(gateway, text)
        time.sleep(0.1)
    return ask(gateway, "first")


def numbered(look):
    """A probe with an upstream whose answers are long and slow."""
    def see(config, bench):
        with Oracle() as oracle:
            config["providers"]["models"][0]["backend_refs"][0]["endpoint"] = f"127.0.0.1:{oracle.port}"
            with bench.serve(config) as gateway:
                return look(gateway, oracle)
    return see


def calls(gateway, oracle):
    """How many calls two identical requests at once become."""
    oracle.behaviour = {"delay": 2}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: ask(gateway), range(2)))
    return oracle.calls


def long_answer(gateway, oracle):
    settled(gateway, text="x" * 3000)
    return ask(gateway, "x" * 3000)


def identified(gateway, bench):
    """The status for a client that only this header makes known, where the backend has a key."""
    return gateway.post(chat("hello"), headers={"x-user": "anna"}).status


KEYED = site(model("one", {"endpoint": "@0", "api_key": "k"}))
MEMORY = cached()

KEYS = uses(PLUGIN, lambda use: cached(use)) + uses(DEFAULT, lambda use: cached(default=use)) + [
    Key(STORE + "enabled", MEMORY, (True, False), again(), (True, False)),
    Key(STORE + "max_entries", MEMORY, (10, 2), left("abcd"), (4, 2)),
    Key(STORE + "ttl_seconds", MEMORY, (60, 1), again(pause=1.5), (True, False)),
    Key(STORE + "eviction_policy", cached(store={"max_entries": 2}), ("lru", "fifo"), served(evicted), (True, False)),
    Key(CACHE + "path", MEMORY, (ABSENT, "%/kept.db"), kept_over_a_restart, (False, True)),
    Key(CACHE + "warm_file", MEMORY, (ABSENT, "%/known.jsonl"), known, (False, True)),
    Key(CACHE + "key_file", cached(path="%/kept.db"), (ABSENT, "%/key"), in_clear, (True, False)),
    Key(CACHE + "max_bytes", cached(max_entry_bytes=2048), ("1MiB", "64KiB"), left([str(n) * 30000 for n in range(4)]), (4, 1)),
    Key(CACHE + "max_entry_bytes", MEMORY, ("1MiB", "1KiB"), numbered(long_answer), (True, False)),
    Key(CACHE + "max_request_bytes", MEMORY, ("1MiB", "1KiB"), served(lambda g, b: [ask(g, "x " * 1000) for _ in range(3)][2]),
        (True, False)),
    Key("global.semroute.inference.cache_embedding_model", cached({"similarity_threshold": 0.95}), (ABSENT, "multilingual"),
        again("비밀번호 재설정은 어떻게 하나요?", first={"text": "비밀번호를 어떻게 재설정하나요?"}), (False, True)),
    Key(CACHE + "wait_ms", cached(), (60000, 0), numbered(calls), (1, 2)),
    Key(CACHE + "team_header", cached({"scope": "team"}), ("x-team", "x-other"), again(x_team="a"), (True, False)),
    Key("global.services.authz.identity.user_id_header", KEYED, ("x-user", "x-other"), served(identified), (200, 401)),
    Key("global.services.authz.identity.user_groups_header", KEYED, ("x-user", "x-other"), served(identified), (200, 401)),
]
