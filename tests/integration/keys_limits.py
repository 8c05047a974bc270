"""The keys of `services.ratelimit` and `semroute.limits`, as test_config_keys.py tries them."""
import copy
import sqlite3
import time

from conftest import chat, free_ports
from keys_cache import WAITS
from keys_identity import ALICE, OTHER, SENT, sha
from keys_offline import Key, refused
from keys_online import served
from keys_site import model, site
from stores import Certificates, Redis

PEER, OWN = "global.services.ratelimit.", "global.semroute.limits."
OTHERS = {"authorization": f"Bearer {OTHER}"}
RULE = {"name": "r", "requests_per_unit": 1, "unit": "day"}
FREE = {"prompt_per_1m": 1e6, "completion_per_1m": 1e6}


def keyed(limits=None, ratelimit=None, **key):
    """Two keys, two models with prices; an answer of the mock has some tokens."""
    config = site(model("one", "@0", pricing=FREE), model("two", "@1", pricing=FREE), limits=limits or {}, identity={"keys": [
        {"name": "alice", "sha256": sha(ALICE), "tenant": "red", "team": "t1", "groups": ["staff"], **key},
        {"name": "other", "sha256": sha(OTHER), "tenant": "blue", "team": "t2", "groups": ["guests"]}]})
    if ratelimit:
        config["global"]["services"] = {"ratelimit": ratelimit}
    return config


def peer(**rule):
    return keyed(ratelimit={"providers": [{"type": "local-limiter", "rules": [{**RULE, **rule}]}]})


def own(**rule):
    return keyed({"rules": [{**RULE, **rule}]})


def budget(**more):
    return keyed({"budgets": [{"name": "b", "period": "month", **({"tokens": 1} if "cost" not in more else {}), **more}]})


def statuses(*requests):
    """Statuses of requests one after the other: (headers, model)."""
    return served(lambda gateway, bench: [gateway.post(chat("hello there, how are you?", name), headers=headers).status
                                          for headers, name in requests])


AGAIN = statuses((SENT, "one"), (SENT, "one"))
BOTH = statuses((SENT, "one"), (OTHERS, "one"))
MODELS = statuses((SENT, "one"), (SENT, "two"))
PASSED, LIMITED = [200, 200], [200, 429]


def spent_by(gateway):
    """Alice asks until her budget is spent."""
    end = time.monotonic() + WAITS
    while gateway.post(chat("hello"), headers=SENT).status == 200:
        assert time.monotonic() < end


def says(text):
    def look(gateway, bench):
        for _ in range(2):
            answer = gateway.post(chat("hello"), headers=SENT)
        return text in answer.json()["error"]["message"]
    return served(look)


def counted(config, bench):
    """The name in metrics."""
    def look(gateway, bench):
        gateway.post(chat("hello"), headers=SENT)
        end = time.monotonic() + WAITS
        while 'semroute_limit_requests_total{rule="' not in (text := gateway.metrics()) and time.monotonic() < end:
            time.sleep(0.02)
        return text.split('semroute_limit_requests_total{rule="')[1].split('"')[0]
    return served(look)(config, bench)


def matches(path, config, *names):
    rows = {"user": ("alice", "other"), "group": ("staff", "guests"), "tenant": ("red", "blue"), "key": ("alice", "other")}
    keys = []
    for name in names:
        mine, theirs = rows[name]
        keys.append(Key(path + name, config(), (mine, theirs), AGAIN, (LIMITED, PASSED)))
    keys.append(Key(path + "model", config(), ("one", "two"), AGAIN, (LIMITED, PASSED)))
    return keys


# ---- the store ----

def stored(**more):
    connection = {"host": "127.0.0.1", "port": 1, **more}
    return keyed({"store": "redis", "redis": connection, "rules": [RULE], "timeout": "5s"}, {"fail_open": True})


def met(look, tls=False, clients=False, word="EVAL"):
    """A probe of what a Redis is told by requests: `look(redis)`."""
    def see(config, bench):
        bench.start()
        config = copy.deepcopy(config)
        with Redis(Certificates(bench.directory) if tls else None, clients) as store:
            config["global"]["semroute"]["limits"]["redis"]["port"] = store.port
            with bench.serve(config) as gateway:
                end = time.monotonic() + WAITS
                while not store.command(word) and time.monotonic() < end:
                    gateway.post(chat("hello"), headers=SENT)
                return look(store)
    return see


def which(config, bench):
    config = copy.deepcopy(config)
    with Redis() as one, Redis() as two:
        connection = config["global"]["semroute"]["limits"]["redis"]
        connection["port"] = {1: one, 2: two}[connection["port"]].port
        with bench.serve(config) as gateway:
            end = time.monotonic() + WAITS
            while not (one.command("EVAL") or two.command("EVAL")) and time.monotonic() < end:
                gateway.post(chat("hello"), headers=SENT)
    return [store.command("EVAL") is not None for store in (one, two)]


def peer_name(store):
    return store.peers[0] if store.peers else None


def away(config, bench):
    """Nothing listens where the Redis should be."""
    config = copy.deepcopy(config)
    config["global"]["semroute"]["limits"]["redis"]["port"] = free_ports()
    return served(lambda gateway, bench: gateway.post(chat("hello"), headers=SENT).status)(config, bench)


def silent(config, bench):
    """A Redis that does not answer: is the request soon refused?"""
    config = copy.deepcopy(config)
    with Redis() as store:
        config["global"]["semroute"]["limits"]["redis"]["port"] = store.port

        def look(gateway, bench):
            end = time.monotonic() + WAITS
            while not store.command("EVAL") and time.monotonic() < end:
                gateway.post(chat("hello"), headers=SENT)
            store.answer = lambda words: b""
            try:
                return gateway.post(chat("hello"), headers=SENT, timeout=5).status
            except TimeoutError:
                return "waits"
        return served(look)(config, bench)


def kept(config, bench):
    """How many counts a file has after the end."""
    for name in ("first.db", "second.db"):
        for side in ("", "-wal"):
            (bench.directory / (name + side)).unlink(missing_ok=True)
    served(lambda gateway, bench: gateway.post(chat("hello"), headers=SENT).status)(config, bench)
    found = []
    for name in ("first.db", "second.db"):
        if (bench.directory / name).exists():
            database = sqlite3.connect(bench.directory / name)
            found.append(name)
            assert database.execute("SELECT count(*) FROM spent").fetchone()[0] == 1
            database.close()
    return found


def redis_keys():
    at, secure = OWN + "redis.", {"enabled": True, "ca_file": "%/ca.pem"}
    known = stored(tls={**secure, "cert_file": "%/server.pem", "key_file": "%/server.key"})
    greeted = met(lambda store: store.command("EVAL") is not None)
    return [
        Key(at + "host", stored(), ("127.0.0.1", "127.0.0.2"), greeted, (True, False)),
        Key(at + "port", stored(), (1, 2), which, ([True, False], [False, True])),
        Key(at + "database", stored(), ("3", "4"), met(lambda store: store.command("SELECT"), word="SELECT"), (["3"], ["4"])),
        Key(at + "user", stored(password="p"), ("ann", "bob"), met(lambda store: store.command("AUTH"), word="AUTH"),
            (["ann", "p"], ["bob", "p"])),
        Key(at + "password", stored(), ("p", "q"), met(lambda store: store.command("AUTH"), word="AUTH"), (["p"], ["q"])),
        refused(at + "timeout", keyed({"redis": {"host": "127.0.0.1"}}), (30, "long"), "expected"),
        Key(at + "tls.enabled", stored(tls=secure), (True, False), met(lambda store: store.command("EVAL") is not None, tls=True),
            (True, False)),
        Key(at + "tls.ca_file", stored(tls=secure), ("%/ca.pem", "%/stranger.pem"),
            met(lambda store: store.command("EVAL") is not None, tls=True), (True, False)),
        Key(at + "tls.cert_file", known, ("%/server.pem", "%/other.pem"), met(peer_name, True, True), ("server", "other")),
        Key(at + "tls.key_file", known, ("%/server.key", "%/ca.key"), met(peer_name, True, True), ("server", None)),
    ]


P, R, B = PEER + "providers[].", OWN + "rules[].", OWN + "budgets[]."

KEYS = [
    Key(PEER + "fail_open", stored(), (True, False), away, (200, 429)),
    refused(P + "type", peer(), ("local-limiter", "envoy-ratelimit"), "envoy-ratelimit"),
    Key(P + "rules[].name", peer(), ("a", "b"), counted, ("a", "b")),
    *matches(P + "rules[].match.", peer, "user", "group"),
    Key(P + "rules[].requests_per_unit", peer(), (1, 2), AGAIN, (LIMITED, PASSED)),
    Key(P + "rules[].tokens_per_unit", peer(requests_per_unit=0), (1, 1000000), AGAIN, ([429, 429], PASSED)),
    Key(P + "rules[].unit", peer(), ("day", "hour"), says("a day"), (True, False)),
    Key(R + "name", own(), ("a", "b"), counted, ("a", "b")),
    *matches(R + "match.", own, "user", "group", "tenant", "key"),
    Key(R + "per[]", own(), ("user", "model"), BOTH, (PASSED, LIMITED)),
    Key(R + "requests_per_unit", own(), (1, 2), AGAIN, (LIMITED, PASSED)),
    Key(R + "tokens_per_unit", own(requests_per_unit=0), (1, 1000000), AGAIN, ([429, 429], PASSED)),
    Key(R + "unit", own(), ("day", "hour"), says("a day"), (True, False)),
    Key(B + "name", budget(tokens=100), ("a", "b"), counted, ("a", "b")),
    *[Key(B + "match." + name, budget(), pair, statuses((SENT, "one")), ([429], [200])) for name, pair in (
        ("user", ("alice", "other")), ("group", ("staff", "guests")), ("tenant", ("red", "blue")), ("key", ("alice", "other")),
        ("model", ("one", "two")))],
    Key(B + "per[]", budget(tokens=12), ("user", "model"),
        served(lambda gateway, bench: (spent_by(gateway), gateway.post(chat("hello"), headers=OTHERS).status)[1]), (200, 429)),
    Key(B + "tokens", budget(), (1, 1000000), statuses((SENT, "one")), ([429], [200])),
    Key(B + "cost", budget(cost=1), (0.5, 1000000), statuses((SENT, "one")), ([429], [200])),
    Key(B + "period", budget(), ("month", "day"), says("a month"), (True, False)),
    Key(OWN + "store", stored(), ("redis", "memory"), met(lambda store: store.command("EVAL") is not None), (True, False)),
    *redis_keys(),
    Key(OWN + "prefix", stored(), ("a:", "b:"), met(lambda store: store.command("EVAL")[2][:2]), ("a:", "b:")),
    Key(OWN + "timeout", stored(), ("200ms", "60s"), silent, (200, "waits")),
    Key(OWN + "path", budget(tokens=100000), ("%/first.db", "%/second.db"), kept, (["first.db"], ["second.db"])),
    refused(OWN + "max_counters", own(), (1024, 1), "`max_counters`"),
]
