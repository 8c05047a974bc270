"""The keys of `services.router_replay`, `semroute.replay` and the plugin `router_replay`, as test_config_keys.py tries them."""
import copy
import time

from conftest import chat, request
from keys_cache import WAITS
from keys_offline import Key, refused
from keys_online import served
from keys_site import decision, model, site

SERVICE, OWN = "global.services.router_replay.", "global.semroute.replay."
PLUGIN = "routing.decisions[].plugins[router_replay].configuration."
TEXT = "x" * 6000


def service(own=None, **keys):
    config = site(model("one", "@0"), **({"replay": own} if own else {}))
    config["global"]["services"] = {"router_replay": {"enabled": True, **keys}}
    return config


def plugin(**keys):
    config = site(model("one", "@0"), decisions=[decision("all", model="one", plugins=[
        {"type": "router_replay", "configuration": {"enabled": True, **keys}}])])
    config["global"]["services"] = {"router_replay": {}}
    return config


def records(gateway, least=0):
    end = time.monotonic() + WAITS
    while True:
        page = request(gateway.api_port, "GET", "/v1/router_replay?showDetails=true").json()
        if page.get("total", 0) >= least or time.monotonic() > end:
            return page.get("data", [])
        time.sleep(0.02)


def recorded(look, requests=1, text=TEXT):
    """What `look` makes of the records of so many requests, once the last one is there."""
    def see(gateway, bench):
        replayed = [gateway.post(chat(text)).headers.get("x-vsr-replay-id") for _ in range(requests)][-1]
        end = time.monotonic() + WAITS
        while replayed and time.monotonic() < end and not any(r["id"] == replayed for r in records(gateway)):
            time.sleep(0.02)
        return look(records(gateway))
    return served(see)


count = recorded(len)
BODY = recorded(lambda found: "request_body" in found[0])
ANSWER = recorded(lambda found: "response_body" in found[0])
SIZE = recorded(lambda found: len(found[0]["request_body"]))
THREE = recorded(len, 3)


def restarted(config, bench):
    """How many records a second process has."""
    config = copy.deepcopy(config)
    own = config["global"]["semroute"]["replay"]
    bench.start()
    own["path"] = str(bench.directory / own["path"])
    for _ in range(2):
        seen = count(config, bench)
    return seen


def later(config, bench):
    """Whether a record is there after more than a second."""
    def look(gateway, bench):
        gateway.post(chat("hello"))
        records(gateway, 1)
        time.sleep(1.2)
        return len(records(gateway))
    return served(look)(config, bench)


def path_of(config, bench):
    config = copy.deepcopy(config)
    own = config["global"]["semroute"]["replay"]
    name = own["path"]
    bench.start()
    own["path"] = str(bench.directory / name)
    count(config, bench)
    return [(bench.directory / file).exists() for file in ("first-records.db", "second-records.db")]


FILE = service({"path": "records.db"})

def said(config, bench):
    """The first line of the log on standard error, and of the access log."""
    def look(gateway, bench):
        assert gateway.post(chat("hello")).status == 200
        gateway.stop()
        lines = gateway.output().splitlines()
        access = next(line for line in lines if "default" in line and "200" in line)
        return [any(line.startswith("{") and "ready in" in line for line in lines), access.startswith("{")]
    return served(look)(config, bench)


LOGS = site(model("one", "@0"), access_log="stdout")
JSON_JSON, TEXT_JSON, JSON_TEXT = [True, True], [False, True], [True, False]

KEYS = [
    Key("global.semroute.log_format", LOGS, ("auto", "text"), said, (JSON_JSON, TEXT_JSON)),
    Key("global.semroute.access_log_format", LOGS, ("json", "text"), said, (JSON_JSON, JSON_TEXT)),
    Key(SERVICE + "enabled", service(), (False, True), count, (0, 1)),
    Key(SERVICE + "store_backend", FILE, ("memory", "sqlite"), restarted, (1, 2)),
    Key(SERVICE + "ttl_seconds", service(), (1, 0), later, (0, 1)),
    Key(SERVICE + "max_records", service(), (1, 2), THREE, (1, 2)),
    Key(SERVICE + "capture_request_body", service(), (False, True), BODY, (False, True)),
    Key(SERVICE + "capture_response_body", service(), (False, True), ANSWER, (False, True)),
    Key(SERVICE + "max_body_bytes", service(capture_request_body=True), (10, 20), SIZE, (10, 20)),
    Key(OWN + "max_bytes", service({"max_bytes": "1MiB"}, capture_request_body=True, max_body_bytes="48KiB"), ("64KiB", "1MiB"),
        recorded(len, 3, "x" * 40000), (1, 3)),
    Key(OWN + "path", service({"path": "x"}, store_backend="sqlite"), ("first-records.db", "second-records.db"), path_of,
        ([True, False], [True, True])),
    refused("routing.decisions[].plugins[router_replay].type", plugin(), ("router_replay", "rag"), "is not supported"),
    Key(PLUGIN + "enabled", plugin(), (False, True), count, (0, 1)),
    Key(PLUGIN + "max_records", plugin(), (1, 2), THREE, (1, 2)),
    Key(PLUGIN + "capture_request_body", plugin(), (False, True), BODY, (False, True)),
    Key(PLUGIN + "capture_response_body", plugin(), (False, True), ANSWER, (False, True)),
    Key(PLUGIN + "max_body_bytes", plugin(capture_request_body=True), (10, 20), SIZE, (10, 20)),
]
