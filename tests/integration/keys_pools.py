"""The keys of pools, as test_config_keys.py tries them."""
import re
import threading
import time

from conftest import chat, request
from keys_offline import Key
from keys_online import patience, served, worker, workers_of
from keys_site import ABSENT, check, decision, model, site
from test_pools import Asked, until

POOL = "global.semroute.pools[0]."


def pooled(*entries, two="@2", **more):
    """Models `one` (workers 0 and 1, in shares of 3 to 1) and `two`, and these pools."""
    return site(model("one", {"endpoint": "@0", "weight": 3}, "@1"), model("two", two), pools=list(entries), **more)


def narrow(queue, **more):
    """Model `two`, the upstream with a gate, takes one request at a time."""
    return pooled({"model": "two", "max_in_flight": 1, "queue": queue}, two="@u", default="two",
                  signals={"keywords": [{"name": "k", "operator": "OR", "keywords": ["urgent"]}]},
                  decisions=[decision("urgent", "two", {"keyword": "k"})], **more)


class Occupied:
    """Model `two` is busy until the end."""

    def __init__(self, gateway, bench):
        self.gateway, self.gate, self.threads = gateway, bench.upstream.gate, []
        self.gate.clear()
        self.ask("first", "two")
        address = f"http://127.0.0.1:{bench.upstream.port}"
        until(lambda: f'semroute_worker_in_flight_requests{{worker="{address}"}} 1' in gateway.metrics())

    def ask(self, text, name="auto", **headers):
        headers = {k.replace("_", "-"): str(v) for k, v in headers.items()}
        self.threads.append(threading.Thread(target=self.gateway.post, args=(chat(text, name),), kwargs={"headers": headers}))
        self.threads[-1].start()

    def queue(self, text, n, **headers):
        self.ask(text, **headers)
        until(lambda: re.search(rf'semroute_pool_waiting_requests{{pool="two"}} {n}$', self.gateway.metrics(), re.M))

    def end(self):
        self.gate.set()
        for thread in self.threads:
            thread.join()


def second(gateway, bench):
    """The status of a request while the worker has another one: 503, or what it gets once the worker has room."""
    occupied, asked = Occupied(gateway, bench), Asked(gateway, "second", "two")
    for _ in patience(gateway):
        if not asked.is_alive():
            break
    occupied.end()
    return asked.status()


def last(gateway, bench):
    """Which of two requests that wait is served last."""
    occupied = Occupied(gateway, bench)
    occupied.queue("plain", 1)
    occupied.queue("urgent", 2, x_priority=5)
    occupied.end()
    return "plain" if b"plain" in bench.upstream.last_body else "urgent"


def share_of_what_joins(config, bench):
    """How many of eight requests go to a worker that a reload has added."""
    refs = config["providers"]["models"][0]["backend_refs"]
    joins = refs.pop()
    with bench.serve(config) as gateway:
        old = gateway.config_path.read_text()
        refs.append(joins)
        worker(gateway, bench)
        gateway.config_path.write_text(bench.write(config).read_text())
        until(lambda: 'semroute_config_reloads_total{result="success"} 1' in gateway.metrics())
        assert old != gateway.config_path.read_text()
        return sum(worker(gateway, bench) == "1" for _ in range(8))


def share_of_the_slow(gateway, bench):
    """How many of twelve requests go to a worker, after some for which it took longer than the other one."""
    behave = lambda **headers: request(bench.mock.port, "PUT", "/mock/behaviour", b"", headers)
    behave(**{"x-mock-delay-ms": "400"})
    for _ in range(28):
        worker(gateway, bench)
    behave()
    return sum(worker(gateway, bench) == "0" for _ in range(12))


def slow(**more):
    reliability = {"base_ejection_time": "1h", **more.pop("reliability", {})}
    return site(model("one", "@0", "@1", reliability=reliability), pools=[{"model": "one", "policy": "round_robin", **more}])


def kept(config, bench):
    """The status of an answer after the workers' file has gone for a while."""
    file = bench.directory / "workers"
    with bench.serve(config) as gateway:
        file.write_text(f"127.0.0.1:{bench.mock.port}\n")
        until(lambda: "pool one: 1 workers" in gateway.output())
        file.unlink()
        until(lambda: "it keeps 1 workers" in gateway.output())
        keep = config["global"]["semroute"]["pools"][0]["endpoints"]["keep"]
        end = time.monotonic() + (4 if keep == "0s" else 60)
        while time.monotonic() < end and "it has no worker now" not in gateway.output():
            time.sleep(0.05)
        return gateway.post(chat("hello", "one")).status


def named(config, bench):
    """What was found of the workers, or why none were."""
    (bench.directory / "workers0").write_text("127.0.0.1:1\n")
    with bench.serve(config) as gateway:
        until(lambda: '"discover"' in gateway.output())
        return re.search(r"pool one: (?:/\S*/)?([^;\n\"]*)", gateway.output())[1]


def found(**endpoints):
    return pooled({"model": "one", "endpoints": endpoints})


ENDPOINTS = [
    Key(POOL + "endpoints.file", found(), ("%/workers0", "%/nothing"), named, ("1 workers", "nothing: cannot be opened: No such file or directory")),
    Key(POOL + "endpoints.dns", found(server="127.0.0.1:9"), ("a.test:1", "b.test:1"), named,
        ("DNS: `a.test`: no name server answers", "DNS: `b.test`: no name server answers")),
    Key(POOL + "endpoints.srv", found(server="127.0.0.1:9"), ("_a.test", "_b.test"), named,
        ("DNS: `_a.test`: no name server answers", "DNS: `_b.test`: no name server answers")),
    Key(POOL + "endpoints.server", found(dns="localhost:1"), ("127.0.0.1:9", "[::1]:9"), named,
        ("DNS: `localhost`: no name server answers", "DNS: `localhost`: the name server's answer is bad")),
    Key(POOL + "endpoints.keep", found(file="%/workers"), ("0s", "500ms"), kept, (200, 503)),
]

KEYS = [
    *ENDPOINTS,
    Key(POOL + "name", pooled({"model": "one"}, {"model": "two", "name": "a"}), ("a", "b"),
        lambda config, bench: check(config, bench.directory), ("error: pool `a` is given twice", "good")),
    Key(POOL + "model", pooled({"policy": "least_request"}), ("one", "two"), workers_of(4), (1, 2)),
    Key(POOL + "policy", pooled({"model": "one"}), ("least_request", "round_robin"), workers_of(4), (1, 2)),
    Key(POOL + "max_in_flight", narrow({"max": 0}), (0, 1), served(second), (200, 503)),
    Key(POOL + "queue.max", narrow({}), (0, 1), served(second), (503, 200)),
    Key(POOL + "queue.timeout", narrow({}), ("100ms", "60s"), served(second), (503, 200)),
    Key(POOL + "queue.priority_header", narrow({"timeout": "60s"}), ("x-other", "x-priority"), served(last),
        ("urgent", "plain")),
    Key(POOL + "queue.priorities.*", narrow({"timeout": "60s", "priorities": {"urgent": "0"}}), ("0", "5"), served(last),
        ("urgent", "plain")),
    Key(POOL + "slow_start", site(model("one", "@0", "@1"), pools=[{"model": "one"}]), (ABSENT, "1h"), share_of_what_joins,
        (4, 1)),
    Key(POOL + "slow.times", slow(), (0, 2.5), served(share_of_the_slow), (6, 0)),
    Key(POOL + "slow.recovery", slow(reliability={"base_ejection_time": "1ms"}), ("0s", "10h"),
        served(lambda gateway, bench: share_of_the_slow(gateway, bench) > 3), (True, False)),
]
