"""Two gateways share answers over a Milvus (the server of PyPI's milvus-lite), started here; it is killed and started
again under load. Removals reach the other gateway's memory."""
import os
import pathlib
import signal
import socket
import sys
import threading
import time

import pytest

from conftest import Process, free_ports
from oracle import Oracle
from test_cache import Site, plugin

PATIENCE = 90
LONG = "word " * 40000  # its answer does not fit one row of the collection


class Milvus(Process):
    def __init__(self, directory, port):
        program = os.environ.get("SEMROUTE_MILVUS", pathlib.Path(sys.executable).parent / "milvus-lite")
        super().__init__([program, "server", "--data-dir", directory / "milvus", "--host", "127.0.0.1", "--port", port],
                         directory / f"milvus-{time.monotonic_ns()}.log")
        until(lambda: self.listens(port), "Milvus starts")

    def listens(self, port):
        assert self.child.poll() is None, self.output()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def health(site):
    return site.api("health").json()


def is_ready(site):
    return health(site)["state"] == "ready"


def is_written(site, n=0):
    """All is in the store, and so many answers at least: one is in the site's memory before it is in the queue."""
    said = health(site)
    return said["state"] == "ready" and said["queued"] == 0 and said["written"] >= n


@pytest.fixture
def pair(tmp_path):
    port = free_ports()
    running = {"milvus": Milvus(tmp_path, port)}
    with Oracle() as oracle:
        store = f"1000, backend_type: milvus, milvus: {{connection: {{host: 127.0.0.1, port: {port}}}}}"
        sites = [Site(tmp_path, oracle, cache=plugin(scope="user"), entries=store, more=", lookup_timeout_ms: 10000",
                      name=name) for name in ("first", "second")]
        for site in sites:
            until(lambda: is_ready(site), "the store is reached")
        yield sites, running, lambda: running.update(milvus=Milvus(tmp_path, port))
        for site in sites:
            site.gateway.stop()
    running["milvus"].signal(signal.SIGTERM)
    running["milvus"].wait()


ANNA, BERT = {"x-user": "anna"}, {"x-user": "bert"}


def asked_again(site, text, user=ANNA):
    """The answer, which must have been stored by somebody."""
    answer = site.ask(text, user)
    assert answer.headers.get("x-vsr-cache-hit") == "true", health(site)
    return answer.body


def test_what_one_has_stored_the_other_one_has(pair):
    (first, second), _, _ = pair
    answer, _ = first.stored("Who shares this?", ANNA)
    paraphrased, _ = first.stored("How do I reset my password?", ANNA)
    long, _ = first.stored(LONG, ANNA)
    assert len(long.body) > 150000
    until(lambda: is_written(first, 3), "they are written")
    assert asked_again(second, "Who shares this?") == answer.body
    assert asked_again(second, "How can I reset my password?") == paraphrased.body
    assert asked_again(second, LONG) == long.body
    assert not second.is_hit("Who shares this?", BERT)
    assert second.oracle.calls == len(first.oracle.asked)


def test_a_removal_reaches_the_other_ones_memory(pair):
    (first, second), _, _ = pair
    for user in (ANNA, BERT):
        first.stored("To be forgotten", user)
    first.stored(LONG, ANNA)
    until(lambda: is_written(first, 3), "they are written")
    for text, user in (("To be forgotten", ANNA), ("To be forgotten", BERT), (LONG, ANNA)):
        asked_again(second, text, user)
    assert second.api("stats").json()["total_entries"] == 3
    assert first.api("invalidate", {"user": "anna", "dry_run": False}).json()["removed"] == 2
    until(lambda: second.api("stats").json()["total_entries"] == 1, "they are gone from the other memory")
    until(lambda: is_written(first), "and from the store")
    before = second.oracle.calls
    assert not second.is_hit("To be forgotten", ANNA) and not second.is_hit(LONG, ANNA)
    assert second.oracle.calls == before + 2
    asked_again(second, "To be forgotten", BERT)
    second.api("flush", {"confirm": "flush response cache"})
    until(lambda: first.api("stats").json()["total_entries"] == 0, "a flush, too")


def test_milvus_is_killed_and_comes_back(pair):
    """No request fails, no answer is another request's, and what was put meanwhile is shared when Milvus is back."""
    (first, second), running, restart = pair
    stop, wrong, asked = threading.Event(), [], []
    before, _ = first.stored("Stored before", ANNA)
    until(lambda: is_written(first, 1), "it is written")

    def load(site, user):
        number = 0
        while not stop.is_set():
            text = f"Question of {user} number {number % 7}"
            answer = site.gateway.post({"model": "auto", "messages": [{"role": "user", "content": text}]},
                                       headers={"x-user": user})
            if answer.status != 200 or text not in answer.body.decode():
                wrong.append((text, answer))
            asked.append(text)
            number += 1
    threads = [threading.Thread(target=load, args=(site, user)) for site in (first, second) for user in ("a", "b")]
    for thread in threads:
        thread.start()
    try:
        running["milvus"].kill()
        until(lambda: health(first)["state"] == health(second)["state"] == "away", "it is noticed")
        count = len(asked)
        until(lambda: len(asked) > count + 50, "requests go on")
        away, _ = first.stored("Stored while it was away", ANNA)
        first.stored("Removed while it was away", ANNA)
        first.stored("Removed while it was away", BERT)
        assert first.api("invalidate", {"user": "bert", "dry_run": False}).json()["removed"] == 1
        restart()
        until(lambda: is_written(first) and is_written(second), "both have caught up")
        assert asked_again(second, "Stored while it was away") == away.body
        assert asked_again(second, "Stored before") == before.body
        asked_again(second, "Removed while it was away", ANNA)
        assert not second.is_hit("Removed while it was away", BERT)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[:3]
