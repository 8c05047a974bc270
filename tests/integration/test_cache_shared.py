"""Two gateways share answers over a real Redis, started here; it is killed and started again under load."""
import json
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import Process, free_ports
from keys_bench import make_certificates
from oracle import Oracle
from test_cache import Site, plugin

PATIENCE = 60


class Redis(Process):
    """Debian's server on a port of its own, without a file. `cli` is what a client must say before its command."""

    def __init__(self, directory, port, *more, cli=()):
        self.port = port
        self.cli = ["redis-cli", "-p", str(port), *map(str, cli)]
        address = () if "--tls-port" in more else ("--port", port)
        super().__init__([shutil.which("redis-server"), *address, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                          "--dir", directory, *more], directory / f"redis-{time.monotonic_ns()}.log")
        until = time.monotonic() + PATIENCE
        while self.ask("ping") != "PONG":
            assert time.monotonic() < until and self.child.poll() is None, self.output()
            time.sleep(0.05)

    def ask(self, *words):
        return subprocess.run([*self.cli, *words], capture_output=True, text=True).stdout.strip()

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()


def until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Alone:
    """One gateway with a Redis that is there already."""

    def __init__(self, directory, **connection):
        self.oracle = Oracle().__enter__()
        store = json.dumps({"connection": {"host": "127.0.0.1", **connection}})
        self.site = Site(directory, self.oracle, cache=plugin(), entries=f"1000, backend_type: redis, redis: {store}")

    def __enter__(self):
        return self.site

    def __exit__(self, *_):
        self.site.gateway.stop()
        self.oracle.__exit__()


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


RIGHTS = ("~semroute:*", "&semroute:*", "+@read", "+@write", "+@connection", "+@pubsub")  # of docs/operations.md


def test_tls_and_an_account_with_few_rights(tmp_path):
    """The real server's TLS, with certificates of both sides, and an ACL."""
    make_certificates(tmp_path)
    ca, cert, key = (tmp_path / name for name in ("ca.pem", "server.pem", "server.key"))
    port = free_ports()
    redis = Redis(tmp_path, port, "--port", 0, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
                  "--tls-ca-cert-file", ca, "--tls-auth-clients", "yes", "--requirepass", "admin",
                  cli=("--tls", "--cacert", ca, "--cert", cert, "--key", key, "--no-auth-warning", "-a", "admin"))
    assert redis.ask("acl", "setuser", "cache", "on", ">secret", *RIGHTS) == "OK"
    tls = {"enabled": True, "ca_file": str(ca), "cert_file": str(cert), "key_file": str(key)}
    wrong = {
        "clear text": {"user": "cache", "password": "secret"},
        "no certificate": {"user": "cache", "password": "secret", "tls": {**tls, "cert_file": "", "key_file": ""}},
        "another authority": {"user": "cache", "password": "secret", "tls": {**tls, "ca_file": str(tmp_path / "stranger.pem")}},
        "password": {"user": "cache", "password": "guessed", "tls": tls},
    }
    try:
        for name, connection in wrong.items():
            with Alone(tmp_path, port=port, **connection) as site:
                until(lambda: site.api("health").json()["state"] == "away", name)
                site.stored("Without a store")
                assert "guessed" not in site.api("health").body.decode() + site.gateway.output()
        with Alone(tmp_path, port=port, user="cache", password="secret", tls=tls) as site:
            until(lambda: site.api("health").json()["state"] == "ready", site.api("health").body)
            kept, _ = site.stored("Kept by the server")
            site.stored("Purged again")
            until(lambda: len(redis.ask("--raw", "keys", "*:r:*").split()) == 2, "they are written")
            until(lambda: site.api("health").json()["queued"] == 0, "nothing waits")
        with Alone(tmp_path, port=port, user="cache", password="secret", tls=tls) as site:
            until(lambda: entries(site) == 2, "they are loaded")
            assert site.ask("Kept by the server").body == kept.body
            site.api("flush", {"confirm": "flush response cache"})
            until(lambda: redis.ask("--raw", "keys", "*:r:*") == "", "they are gone")
    finally:
        redis.stop()


def test_a_cluster_is_refused_with_a_word_on_what_to_do(tmp_path):
    port = free_ports(2)
    redis = Redis(tmp_path, port, "--cluster-enabled", "yes", "--cluster-port", port + 1)
    try:
        with Alone(tmp_path, port=port) as site:
            until(lambda: "Redis Cluster" in site.api("health").json().get("message", ""), "it is told")
            health = site.api("health").json()
            assert health["state"] == "away" and "name a server without cluster-enabled" in health["message"]
            site.stored("In memory all the same")
    finally:
        redis.stop()
