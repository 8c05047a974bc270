"""The policies that know the workers' caches by their KV events: simulated engines publish over ZeroMQ, and other
clients than the gateway fill and empty their caches, so that only events can tell."""
import http.client
import itertools
import json
import re
import signal
import time

import pytest

from conftest import BINARY, free_ports, request, wait_http
from test_pools import until

BLOCKS = 256


def text(name):
    return " ".join(f"{name}{i:04}" for i in range(300))


def body(prompt, **more):
    return {"model": "one", "messages": [{"role": "user", "content": prompt}], "max_tokens": 2, "ignore_eos": True, **more}


class Site:
    """Engines that publish, and a gateway that listens to them."""

    def __init__(self, start, policy="kv", workers=3, form="vllm", replay=True, blocks=BLOCKS, **keys):
        self.start, self.workers = start, workers
        self.events = free_ports(2 * workers)
        self.options = ("--engine", "--speed", "100", "--blocks", str(blocks), "--kv-form", form,
                        "--kv-events", str(self.events), "--kv-replay", str(self.events + workers))
        self.mock = start.mock(workers, self.options)
        self.port = self.mock.port
        offset = self.events - self.port
        keys = {"endpoint": f"tcp://{{host}}:{{port{offset:+}}}", "wait": "10s", **keys}
        if replay:
            keys["replay"] = f"tcp://{{host}}:{{port{offset + workers:+}}}"
        refs = [{"name": f"w{i}", "endpoint": f"127.0.0.1:{self.port + i}"} for i in range(workers)]
        self.pool = {"model": "one", "policy": policy, "kv_events": keys}
        self.refs = refs
        self.gateway = start.gateway(self.config())
        until(lambda: self.metric("connected") == [1] * workers)

    def config(self, **more):
        return json.dumps({
            "version": "v0.3",
            "providers": {"defaults": {"default_model": "one"}, "models": [{"name": "one", "backend_refs": self.refs}]},
            "routing": {"signals": {}, "decisions": []},
            "global": {"semroute": {"loops": 1, "pools": [{**self.pool, **more}]}}})

    def reload(self, **more):
        self.gateway.config_path.write_text(self.config(**more))
        self.gateway.signal(signal.SIGHUP)

    def metric(self, name):
        """A metric of each worker, in their order; None where there is none."""
        found = dict(re.findall(rf'^semroute_pool_(?:kv_)?{name}{{pool="one",worker="http://127.0.0.1:(\d+)"}} (\S+)$',
                                self.gateway.metrics(), re.MULTILINE))
        return [float(found[str(self.port + i)]) if str(self.port + i) in found else None for i in range(self.workers)]

    def fill(self, worker, prompt, **more):
        """Another client asks a worker; its events have arrived then."""
        before = self.metric("batches")[worker]
        self.post(worker, prompt, **more)
        until(lambda: self.metric("batches")[worker] > before)

    def post(self, worker, prompt, **more):
        assert request(self.port + worker, "POST", "/v1/chat/completions", body(prompt, **more)).status == 200

    def lose(self, worker):
        """A batch that is lost and one after it, which shows the gap; again where the router has asked for the first in
        between, as it does now and then. Returns both texts."""
        for number in range(6):
            lost, after = text(f"lost{number} "), text(f"after{number} ")
            self.order(worker, "/mock/lose-events?count=1")
            self.post(worker, lost, max_tokens=1)
            self.post(worker, after, max_tokens=1)
            until(lambda: self.learned(worker, after))
            end = time.monotonic() + 10  # counts are reported once a second
            while time.monotonic() < end:
                if self.metric("gaps")[worker]:
                    return lost, after
                time.sleep(0.02)
        raise AssertionError("no gap was seen")

    def learned(self, worker, prompt):
        """Is it the one that would be picked, for what it has? Nothing is asked for that."""
        seen = request(self.gateway.api_port, "POST", "/api/v1/explain", {"request": body(prompt)}).json()["worker"]
        return seen["backend"] == f"w{worker}" and seen.get("overlap", 0) > 0

    def order(self, worker, what, method="PUT"):
        assert request(self.port + worker, method, what).status == 200

    def ask(self, prompt, model="one", **more):
        answer = self.gateway.post({**body(prompt, **more), "model": model}, headers={"x-vsr-debug": "true"})
        assert answer.status == 200, answer
        return int(answer.headers["x-vsr-worker"][1:]), answer.headers["x-vsr-worker-reason"]


def well(port):
    try:
        return request(port, "GET", "/health").status == 200
    except (OSError, http.client.HTTPException):
        return False


def overlap(reason):
    return int(re.search(r"overlap=(\d+)/", reason)[1])


@pytest.mark.parametrize("form", ["vllm", "dynamo"])
def test_the_worker_that_another_client_warmed_is_picked(start, form):
    site = Site(start, form=form)
    for worker in (2, 0, 1):
        site.fill(worker, text(f"document{worker} "))
    for model in ("one", "auto"):
        for worker in range(3):
            picked, reason = site.ask(text(f"document{worker} "), model)
            assert picked == worker and reason.startswith("prefix; overlap=") and overlap(reason) > 30, (form, worker, reason)
    picked, reason = site.ask(text("nothing like it "))
    assert overlap(reason) == 0
    seen = request(site.gateway.api_port, "POST", "/api/v1/explain", {"request": {**body(text("document2 ")), "model": "auto"}})
    assert seen.json()["worker"]["backend"] == "w2" and seen.json()["worker"]["policy"] == "kv"


def test_what_is_removed_and_cleared_is_forgotten(start):
    site = Site(start)
    site.fill(1, text("document "))
    assert site.ask(text("document ")) [0] == 1
    site.order(1, "/reset_prefix_cache", "POST")
    until(lambda: site.metric("known_blocks")[1] == 0)
    assert overlap(site.ask(text("document "))[1]) == 0
    for i in range(12):  # more than the budget: the first is pushed out, and the events say so
        site.fill(2, text(f"other{i} "))
    until(lambda: site.metric("known_blocks")[2] <= BLOCKS)
    until(lambda: site.learned(2, text("other11 ")))
    assert overlap(site.ask(text("other0 "))[1]) == 0
    assert site.ask(text("other11 "))[0] == 2


def test_a_gap_is_replayed(start):
    site = Site(start)
    site.fill(0, text("before "))
    lost, after = site.lose(1)
    assert site.metric("gaps")[1] == 1
    until(lambda: site.learned(1, lost) and site.learned(1, after))
    assert site.ask(lost)[0] == 1 and site.ask(after)[0] == 1
    assert site.metric("bad") == [0, 0, 0]


def test_without_a_replay_a_gap_clears_what_is_known(start):
    site = Site(start, replay=False)
    first = itertools.count()  # what is published before the worker knows of its subscriber is lost
    until(lambda: [site.post(1, text(f"first{next(first)} ")), site.metric("known_blocks")[1]][1])
    site.post(1, text("before "))
    until(lambda: site.learned(1, text("before ")))
    _, after = site.lose(1)
    assert site.metric("gaps")[1] == 1
    assert overlap(site.ask(text("before "))[1]) == 0
    assert site.ask(after)[0] == 1


def test_what_was_missed_last_is_asked_for(start):
    site = Site(start)
    site.order(1, "/mock/lose-events?count=1")
    site.post(1, text("lost "), max_tokens=1)
    until(lambda: site.metric("known_blocks")[1])  # no other event shows the gap
    assert site.ask(text("lost "))[0] == 1


def test_a_worker_that_is_killed_and_comes_back_begins_anew(start):
    site = Site(start)
    site.fill(2, text("document "))
    assert site.ask(text("document "))[0] == 2
    site.mock.signal(signal.SIGKILL)
    site.mock.wait()
    until(lambda: site.metric("connected") == [0, 0, 0])
    assert site.metric("known_blocks")[2] == 0
    again = start.process([BINARY, "mock", "--port", str(site.port), "--workers", "3", *site.options])
    for worker in range(3):
        wait_http(site.port + worker, "/health", again)
    until(lambda: site.metric("connected") == [1, 1, 1])
    assert overlap(site.ask(text("document "))[1]) == 0, again.output()
    site.fill(0, text("other "))
    until(lambda: site.learned(0, text("other ")))
    assert site.ask(text("other "))[0] == 0


def test_numbers_that_begin_again(start):
    site = Site(start)
    site.fill(1, text("document "))
    site.order(1, "/mock/kill?for_ms=1")  # its events count from 0, on the same connection
    until(lambda: well(site.port + 1))
    site.fill(1, text("other "))
    until(lambda: site.metric("restarts")[1] == 1)
    until(lambda: site.learned(1, text("other ")))
    assert site.ask(text("other "))[0] == 1
    assert overlap(site.ask(text("document "))[1]) == 0


def test_a_router_that_starts_later_learns_what_is_kept(start):
    site = Site(start)
    site.fill(1, text("document "))
    second = start.gateway(site.config())
    address = f"http://127.0.0.1:{site.port + 1}"
    until(lambda: re.search(rf'known_blocks{{pool="one",worker="{address}"}} [1-9]', second.metrics()))
    answer = second.post(body(text("document ")), headers={"x-vsr-debug": "true"})
    assert answer.headers["x-vsr-worker"] == "w1"


@pytest.mark.parametrize("policy", ["cost", "auto"])
def test_cost_and_auto_use_what_is_known(start, policy):
    site = Site(start, policy=policy)
    site.fill(2, text("document "))
    site.ask(text("document "))  # its tokens are not waited for, and known from now on
    until(lambda: site.ask(text("document ") + " more")[0] == 2)
    assert overlap(site.ask(text("document ") + " and more")[1]) > 30


def test_workers_without_tokenize_are_estimated(start):
    site = Site(start, tokenize="/nothing")
    site.fill(1, text("document "))
    first = site.ask(text("document "))[0]
    assert {site.ask(text("document "))[0] for _ in range(3)} == {first}
    until(lambda: "POST /nothing" in site.gateway.output())


def test_what_is_remembered_of_a_worker_has_a_limit(start):
    site = Site(start, max_blocks=64, blocks=2048)
    for i in range(6):
        site.fill(0, text(f"document{i} "))
    assert site.metric("known_blocks")[0] == 64 and site.metric("unknown_blocks")[0] > 100


def test_a_reload_changes_what_is_listened_to(start):
    site = Site(start)
    site.fill(1, text("document "))
    site.reload(policy="prefix")
    until(lambda: site.metric("connected") == [None] * 3)
    site.reload(load_guard=3)
    until(lambda: site.metric("connected") == [1] * 3)
    until(lambda: site.ask(text("document "))[0] == 1 and overlap(site.ask(text("document "))[1]) > 30)


def test_workers_that_are_discovered_are_listened_to(start, tmp_path):
    site = Site(start)
    workers = tmp_path / "workers.txt"
    workers.write_text(f"127.0.0.1:{site.port}\n")
    site.fill(1, text("document "))
    site.reload(endpoints={"file": str(workers)})
    until(lambda: site.metric("connected") == [1, None, None])
    workers.write_text("".join(f"127.0.0.1:{site.port + i}\n" for i in range(2)))
    until(lambda: site.metric("connected") == [1, 1, None])
    until(lambda: site.metric("known_blocks")[1])
    answer = site.gateway.post(body(text("document ")), headers={"x-vsr-debug": "true"})
    assert answer.headers["x-vsr-worker"] == f"127.0.0.1:{site.port + 1}"
