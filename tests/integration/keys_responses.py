"""The keys of `global.semroute.responses`, as test_config_keys.py tries them. The upstream is tests/integration/tongues.py, whose answers
have ids of their own."""
import copy
import time

from keys_cache import WAITS
from keys_offline import Key, refused
from keys_online import served
from keys_site import ABSENT, model, site
from stores import Certificates, Redis
from tongues import Tongues

OWN = "global.semroute.responses."
TEXT = "remember the heron"


def kept(**keys):
    return site(model("one", "@0"), model("two", "@1"), responses=keys)


def create(gateway, text=TEXT, model="one", **more):
    return gateway.post({"model": model, "input": text, **more}, path="/v1/responses")


def status(gateway, id):
    return gateway.get("/v1/responses/" + id).status


def told(look):
    """A probe of a gateway whose upstream speaks Responses."""
    def see(config, bench):
        config = copy.deepcopy(config)
        tongues = Tongues(unique=True)
        try:
            for one in config["providers"]["models"]:
                one["backend_refs"][0]["endpoint"] = f"127.0.0.1:{tongues.port}"
            return served(lambda gateway, bench: look(gateway))(config, bench)
        finally:
            tongues.stop()
    return see


def first_of(*texts):
    """The status of the first of several responses, once all are there."""
    def look(gateway):
        ids = [create(gateway, text).json()["id"] for text in texts]
        return status(gateway, ids[0])
    return told(look)


def later(gateway):
    """Of a response after more than a second."""
    id = create(gateway).json()["id"]
    time.sleep(1.2)
    return status(gateway, id)


def second_turn(gateway):
    return create(gateway, previous_response_id=create(gateway).json()["id"]).status


def in_files(config, bench):
    """In which files the text is readable after the end."""
    names = ("first-kept.db", "second-kept.db")
    for name in names:
        for file in bench.directory.glob(name + "*"):
            file.unlink()
    (bench.directory / "key").write_text("0123456789abcdef0123456789abcdef\n")
    told(lambda gateway: create(gateway).status)(config, bench)
    return [any(TEXT.encode() in file.read_bytes() for file in bench.directory.glob(name + "*")) for name in names]


# ---- Redis ----

def stored(**more):
    return kept(store="redis", timeout="5s", redis={"host": "127.0.0.1", "port": 1, **more})


def met(look, tls=False, clients=False):
    """A probe of what a Redis is told: `look(redis)`."""
    def see(config, bench):
        bench.start()
        config = copy.deepcopy(config)
        with Redis(Certificates(bench.directory) if tls else None, clients) as store:
            config["global"]["semroute"]["responses"]["redis"]["port"] = store.port
            with bench.serve(config) as gateway:
                end = time.monotonic() + WAITS / 2
                while not store.is_greeted and time.monotonic() < end and gateway.get("/ready").status == 200:
                    time.sleep(0.02)
                return look(store)
    return see


def which(config, bench):
    """Which of two servers is met: ports 1 and 2 stand for theirs."""
    config = copy.deepcopy(config)
    with Redis() as one, Redis() as two:
        connection = config["global"]["semroute"]["responses"]["redis"]
        connection["port"] = {1: one, 2: two}[connection["port"]].port
        with bench.serve(config):
            end = time.monotonic() + WAITS
            while not (one.is_greeted or two.is_greeted) and time.monotonic() < end:
                time.sleep(0.02)
    return [one.is_greeted, two.is_greeted]


def silent(config, bench):
    """A Redis that does not answer questions: is the request soon refused?"""
    config = copy.deepcopy(config)
    with Redis() as store:
        good = store.answer
        store.answer = lambda words: b"" if words[0] == "GET" else good(words)
        config["global"]["semroute"]["responses"]["redis"]["port"] = store.port

        def look(gateway, bench):
            end = time.monotonic() + WAITS
            while not store.is_greeted and time.monotonic() < end:
                time.sleep(0.02)
            try:
                found = 404  # before the store is asked
                while found == 404 and time.monotonic() < end:
                    found = gateway.post({"model": "one", "input": "x", "previous_response_id": "resp_none"}, path="/v1/responses",
                                         timeout=5).status
                return found
            except TimeoutError:
                return "waits"
        return served(look)(config, bench)


def greeted(store):
    return store.is_greeted


def peer(store):
    return store.peers[0] if store.peers else None


def redis_keys():
    at, secure = OWN + "redis.", {"enabled": True, "ca_file": "%/ca.pem"}
    known = stored(tls={**secure, "cert_file": "%/server.pem", "key_file": "%/server.key"})
    return [
        Key(at + "host", stored(), ("127.0.0.1", "127.0.0.2"), met(greeted), (True, False)),
        Key(at + "port", stored(), (1, 2), which, ([True, False], [False, True])),
        Key(at + "database", stored(), ("3", "4"), met(lambda store: store.command("SELECT")), (["3"], ["4"])),
        Key(at + "user", stored(password="p"), ("ann", "bob"), met(lambda store: store.command("AUTH")), (["ann", "p"], ["bob", "p"])),
        Key(at + "password", stored(), ("p", "q"), met(lambda store: store.command("AUTH")), (["p"], ["q"])),
        refused(at + "timeout", kept(redis={"host": "127.0.0.1"}), (30, "long"), "expected"),
        Key(at + "tls.enabled", stored(tls=secure), (True, False), met(greeted, tls=True), (True, False)),
        Key(at + "tls.ca_file", stored(tls=secure), ("%/ca.pem", "%/stranger.pem"), met(greeted, tls=True), (True, False)),
        Key(at + "tls.cert_file", known, ("%/server.pem", "%/other.pem"), met(peer, True, True), ("server", "other")),
        Key(at + "tls.key_file", known, ("%/server.key", "%/ca.key"), met(peer, True, True), ("server", None)),
    ]


LONG = "x" * 40000

KEYS = [
    Key(OWN + "enabled", kept(), (True, False), first_of("one"), (200, 404)),
    Key(OWN + "store", stored(), ("redis", "memory"), met(greeted), (True, False)),
    Key(OWN + "path", kept(path="%/first-kept.db"), ("%/first-kept.db", "%/second-kept.db"), in_files, ([True, False], [False, True])),
    Key(OWN + "key_file", kept(path="%/first-kept.db"), (ABSENT, "%/key"), in_files, ([True, False], [False, False])),
    *redis_keys(),
    Key(OWN + "prefix", stored(), ("a:", "b:"), met(lambda store: store.command("SUBSCRIBE")[0][:2]), ("a:", "b:")),
    Key(OWN + "timeout", stored(), ("200ms", "60s"), silent, (503, "waits")),
    Key(OWN + "ttl_seconds", kept(), (1, 0), told(later), (404, 200)),
    Key(OWN + "max_entries", kept(), (1, 2), first_of("one", "two"), (404, 200)),
    Key(OWN + "max_bytes", kept(max_entry_bytes="60KiB"), ("64KiB", "1MiB"), first_of(LONG, LONG), (404, 200)),
    Key(OWN + "max_entry_bytes", kept(), ("32KiB", "1MiB"), first_of(LONG), (404, 200)),
    Key(OWN + "max_turns", kept(), (1, 2), told(second_turn), (400, 200)),
    Key(OWN + "upstream_models[]", kept(), ("one", "two"), first_of("one"), (404, 200)),
]
