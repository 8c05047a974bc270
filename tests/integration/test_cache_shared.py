"""Two gateways share answers over a real Redis, started here; it is killed and started again under load."""
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import Process, free_ports
from oracle import Oracle
from test_cache import Site, plugin

PATIENCE = 30


class Redis(Process):
    """Debian's server on a port of its own, without a file."""

    def __init__(self, directory, port):
        self.port = port
        super().__init__([shutil.which("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
                          "no", "--dir", directory], directory / f"redis-{time.monotonic_ns()}.log")
        until = time.monotonic() + PATIENCE
        while b"PONG" not in subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True).stdout:
            assert time.monotonic() < until and self.child.poll() is None, self.output()
            time.sleep(0.05)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture
def pair(tmp_path):
    port = free_ports()
    redis = Redis(tmp_path, port)
    with Oracle() as oracle:
        store = f"1000, backend_type: redis, redis: {{connection: {{host: 127.0.0.1, port: {port}}}}}"
        sites = [Site(tmp_path, oracle, cache=plugin(), entries=store, name=name) for name in ("first", "second")]
        for site in sites:
            until(lambda: site.api("health").json()["state"] == "ready", "the store is reached")
        running = {"redis": redis}
        yield sites, running, lambda: running.update(redis=Redis(tmp_path, port))
        for site in sites:
            site.gateway.stop()
    running["redis"].stop()


def entries(site):
    return site.api("stats").json()["total_entries"]


def test_what_one_has_stored_the_other_one_has(pair):
    (first, second), _, _ = pair
    answer, _ = first.stored("Who shares this?")
    paraphrased, _ = first.stored("How do I reset my password?")
    until(lambda: entries(second) == 2, "the records have arrived")
    again = second.ask("Who shares this?")
    assert again.headers["x-vsr-cache-hit"] == "true" and again.body == answer.body
    assert second.ask("How can I reset my password?").body == paraphrased.body, "vectors are searched there"


def test_a_purge_reaches_the_other_one(pair):
    (first, second), _, _ = pair
    first.stored("To be forgotten")
    until(lambda: entries(second) == 1, "the record has arrived")
    first.api("flush", {"confirm": "flush response cache"})
    until(lambda: entries(second) == 0, "it is gone there, too")


def test_redis_is_killed_and_comes_back(pair):
    """No request fails, no answer is another request's, and what was put meanwhile is shared when Redis is back."""
    (first, second), running, restart = pair
    stop, wrong, asked = threading.Event(), [], []

    def load(site, name):
        number = 0
        while not stop.is_set():
            text = f"Question {name} {number % 7}"
            answer = site.gateway.post({"model": "auto", "messages": [{"role": "user", "content": text}]})
            if answer.status != 200 or text not in answer.body.decode():
                wrong.append((text, answer))
            asked.append(text)
            number += 1
    threads = [threading.Thread(target=load, args=(site, name)) for site, name in ((first, "a"), (second, "b"))]
    for thread in threads:
        thread.start()
    try:
        running["redis"].kill()
        until(lambda: first.api("health").json()["state"] == "away", "it is noticed")
        before = len(asked)
        until(lambda: len(asked) > before + 50, "requests go on")
        away, _ = first.stored("Stored while it was away")
        restart()
        until(lambda: first.api("health").json()["state"] == "ready", "it is reached again")
        until(lambda: entries(first) == entries(second) == 15, "both have caught up")
        again = second.ask("Stored while it was away")
        assert again.headers.get("x-vsr-cache-hit") == "true" and again.body == away.body
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[:3]
