"""Keys of the servers that keep cached answers: what a Redis and a Milvus are told."""
import base64
import copy
import time

from conftest import request
from keys_cache import CACHE, STORE, WAITS, ask, cached
from keys_offline import Key, refused
from keys_online import served
from oracle import Oracle
from stores import Certificates, Milvus, Redis, fields

KINDS = {"redis": Redis, "milvus": Milvus}
REDIS, MILVUS = STORE + "redis.", STORE + "milvus."


def health(gateway):
    return request(gateway.api_port, "GET", "/api/v1/response-cache/health").json()


def stored(kind, **connection):
    """A cache in a server of this kind; `met` sets its port."""
    return cached(store={"backend_type": kind, kind: {"connection": {"host": "127.0.0.1", "port": 1, **connection}}})


def settle(gateway, store, kind):
    """Waits until the client has introduced itself, or is known not to come so far."""
    end = time.monotonic() + WAITS
    while time.monotonic() < end and not store.is_greeted:
        now = health(gateway)
        if now["backend"] != kind or now["state"] == "away":
            return
        time.sleep(0.02)


def met(kind, look, tls=False, clients=False):
    """A probe of what a server of this kind was told: `look(store, gateway)`."""
    def see(config, bench):
        bench.start()
        config = copy.deepcopy(config)
        with KINDS[kind](Certificates(bench.directory) if tls else None, clients) as store:
            config["global"]["stores"]["response_cache"][kind]["connection"]["port"] = store.port
            with bench.serve(config) as gateway:
                settle(gateway, store, kind)
                return look(store, gateway)
    return see


def which(kind):
    """Which of two servers is met: ports 1 and 2 stand for theirs."""
    def see(config, bench):
        config = copy.deepcopy(config)
        with KINDS[kind]() as one, KINDS[kind]() as two:
            connection = config["global"]["stores"]["response_cache"][kind]["connection"]
            connection["port"] = {1: one, 2: two}[connection["port"]].port
            with bench.serve(config) as gateway:
                end = time.monotonic() + WAITS
                while time.monotonic() < end and not (one.is_greeted or two.is_greeted):
                    time.sleep(0.02)
        return [one.is_greeted, two.is_greeted]
    return see


def greeted(store, gateway):
    return store.is_greeted


def peer(store, gateway):
    """The name in the certificate of the client that was let in."""
    return store.peers[0] if store.peers else None


def command(name, at):
    return met("redis", lambda store, gateway: store.command(name)[at])


def called(method, look):
    """Of the first call of a method: `look(metadata, request)`."""
    return met("milvus", lambda store, gateway: look(*store.call(method)))


def searched(look):
    """Of the search for a question: `look(request)`."""
    def see(store, gateway):
        end = time.monotonic() + WAITS
        while health(gateway)["state"] != "ready" and time.monotonic() < end:
            time.sleep(0.02)
        ask(gateway)
        return look(store.call("Search")[1])
    return met("milvus", see)


def account(metadata, request):
    return base64.b64decode(metadata["authorization"]).decode()


def told(*texts):
    """Which of these texts is in a request."""
    return lambda metadata, request: [t for t in texts if t.encode() in request]


def asked_meanwhile(config, bench):
    """Is the model asked while the store still says nothing?"""
    early = []
    with Oracle() as oracle:
        config = copy.deepcopy(config)
        config["providers"]["models"][0]["backend_refs"][0]["endpoint"] = f"127.0.0.1:{oracle.port}"

        def hold():
            end = time.monotonic() + 3
            while not oracle.calls and time.monotonic() < end:
                time.sleep(0.01)
            early.append(oracle.calls > 0)

        def look(store, gateway):
            end = time.monotonic() + WAITS
            while health(gateway)["state"] != "ready" and time.monotonic() < end:
                time.sleep(0.02)
            store.hold = hold
            ask(gateway)
            return all(early)  # none: the time was over before the store was asked
        return met("milvus", look)(config, bench)


def connection(kind):
    """The keys that every server has."""
    at, name = STORE + kind + ".connection.", STORE + kind + ".connection.tls."
    secure = {"enabled": True, "ca_file": "%/ca.pem"}
    known = stored(kind, tls={**secure, "cert_file": "%/server.pem", "key_file": "%/server.key"})
    return [
        Key(at + "host", stored(kind), ("127.0.0.1", "127.0.0.2"), met(kind, greeted), (True, False)),
        Key(at + "port", stored(kind), (1, 2), which(kind), ([True, False], [False, True])),
        Key(name + "enabled", stored(kind, tls=secure), (True, False), met(kind, greeted, tls=True), (True, False)),
        Key(name + "ca_file", stored(kind, tls=secure), ("%/ca.pem", "%/stranger.pem"), met(kind, greeted, tls=True),
            (True, False)),
        Key(name + "cert_file", known, ("%/server.pem", "%/other.pem"), met(kind, peer, True, True), ("server", "other")),
        Key(name + "key_file", known, ("%/server.key", "%/ca.key"), met(kind, peer, True, True), ("server", None)),
    ]


KEYS = connection("redis") + connection("milvus") + [
    Key(STORE + "backend_type", stored("redis"), ("memory", "redis"), served(lambda g, b: health(g)["backend"]),
        ("memory", "redis")),
    Key(REDIS + "connection.database", stored("redis"), ("3", "4"), command("SELECT", 0), ("3", "4")),
    Key(REDIS + "connection.user", stored("redis", password="p"), ("anna", "bert"), command("AUTH", 0), ("anna", "bert")),
    Key(REDIS + "connection.password", stored("redis", user="anna"), ("p", "q"), command("AUTH", 1), ("p", "q")),
    Key(REDIS + "index.prefix", stored("redis"), ("a:", "b:"), command("SUBSCRIBE", 0), ("a:news", "b:news")),
    Key(MILVUS + "connection.database", stored("milvus"), ("one", "two"),
        called("HasCollection", lambda metadata, request: (metadata["dbname"], fields(request)[2])),
        (("one", b"one"), ("two", b"two"))),
    Key(MILVUS + "connection.user", stored("milvus", password="p"), ("anna", "bert"), called("HasCollection", account),
        ("anna:p", "bert:p")),
    Key(MILVUS + "connection.password", stored("milvus"), ("token", "other"), called("HasCollection", account),
        ("token", "other")),
    Key(MILVUS + "collection.name", stored("milvus"), ("one", "two"),
        called("CreateCollection", lambda metadata, request: fields(request)[3]), (b"one", b"two")),
    Key(MILVUS + "collection.index.params.M", stored("milvus"), (8, 32), called("CreateIndex", told('"M":8', '"M":32')),
        (['"M":8'], ['"M":32'])),
    Key(MILVUS + "collection.index.params.efConstruction", stored("milvus"), (100, 200),
        called("CreateIndex", told('"efConstruction":100', '"efConstruction":200')),
        (['"efConstruction":100'], ['"efConstruction":200'])),
    Key(MILVUS + "search.consistency_level", stored("milvus"), ("Bounded", "Eventually"),
        searched(lambda request: fields(request)[14]), (2, 3)),
    Key(MILVUS + "search.params.ef", stored("milvus"), (100, 200),
        searched(lambda request: [b'{"ef":100}' in request, b'{"ef":200}' in request]), ([True, False], [False, True])),
    Key(CACHE + "lookup_timeout_ms", stored("milvus"), (20, 10000), asked_meanwhile, (True, False)),
    refused(STORE + "embedding_model", cached(store={}), ("mmbert", "word2vec"), "unknown value `word2vec`"),
    refused(STORE + "similarity_threshold", cached(store={}), (0.8, 2), "must be"),
    refused(REDIS + "connection.timeout", stored("redis"), (30, "long"), "expected"),
    refused(MILVUS + "connection.timeout", stored("milvus"), (30, "long"), "expected"),
    refused(REDIS + "search.topk", stored("redis"), (1, 0), "must be"),
    refused(MILVUS + "search.topk", stored("milvus"), (10, 0), "must be"),
    refused(REDIS + "index.name", stored("redis"), ("idx", ["idx"]), "expected"),
    refused(REDIS + "index.index_type", stored("redis"), ("HNSW", "IVF"), "unknown value `IVF`"),
    refused(MILVUS + "collection.index.type", stored("milvus"), ("HNSW", "IVF_FLAT"), "unknown value `IVF_FLAT`"),
    refused(MILVUS + "collection.description", stored("milvus"), ("a note", ["a note"]), "expected"),
    refused("routing.decisions[].plugins[response_cache].type", cached(), ("response_cache", "cache"), "unknown plugin `cache`"),
]
