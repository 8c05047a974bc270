"""Rate limits and budgets, through the gateway and through Envoy, in memory and over a real Redis."""
import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import sqlite3
import threading
import time

import pytest

import envoy as real
from conftest import Process, chat, free_ports, request
from test_identity import ALICE, BOB, bearer, sha, until
from test_paths import Doors, Recorder
from test_tiers import settled

DOORS = ["gateway", "FULL_DUPLEX", "BUFFERED"]
USAGE = {"prompt_tokens": 40, "completion_tokens": 60, "total_tokens": 100}


class Limited(Doors):
    """Keys `alice` and `bob`; each answer has used 100 tokens."""

    limits, ratelimit, semroute, routing = {}, {}, {}, {"decisions": []}

    def config(self, port):
        return json.dumps({
            "version": "v0.3",
            "providers": {"defaults": {"default_model": "general"}, "models": [
                {"name": m, "pricing": {"prompt_per_1m": 10000, "completion_per_1m": 10000},
                 "backend_refs": [{"name": m, "endpoint": f"127.0.0.1:{port}"}]} for m in real.MODELS]},
            "routing": self.routing,
            "global": {"services": {"ratelimit": self.ratelimit}, "semroute": {
                "loops": 1, "workers": 1, "limits": self.limits, "identity": {"keys": [
                    {"name": "alice", "sha256": sha(ALICE), "tenant": "red", "groups": ["staff"]},
                    {"name": "bob", "sha256": sha(BOB), "tenant": "blue"}]}, **self.semroute}}})

    def post(self, door, key, model="general", path="/v1/chat/completions", text="hi", **more):
        body = json.dumps({**chat(text, model), **({"max_tokens": 5} if path == "/v1/messages" else {}), **more})
        connection = http.client.HTTPConnection("127.0.0.1", self.port(door), timeout=60)
        connection.request("POST", path, body, {"content-type": "application/json", **bearer(key)})
        answer = connection.getresponse()
        result = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return result


@pytest.fixture
def limited(tmp_path, monkeypatch):
    """limited(limits=..., ratelimit=...): a site with these."""
    running = []
    import test_paths

    class Usage(Recorder):
        pass
    answer = test_paths.json.dumps
    says = {"usage": USAGE}
    monkeypatch.setattr(test_paths.json, "dumps", lambda value, *a, **k: answer(
        {**value, **says} if isinstance(value, dict) and value.get("object") == "chat.completion" else value, *a, **k))

    def start(reports=True, **parts):
        if not reports:
            says.clear()
        site = type("Site", (Limited,), parts)(tmp_path)
        running.append(site)
        return site
    yield start
    for site in running:
        site.stop()


def peer(**rule):
    return {"providers": [{"type": "local-limiter", "rules": [{"name": "r", **rule}]}]}


@pytest.mark.parametrize("door", DOORS)
def test_requests(limited, door):
    """The shape of vLLM Semantic Router: for each user and model; the first that is too many is 429."""
    site = limited(ratelimit=peer(requests_per_unit=3, unit="hour"))
    assert [site.post(door, ALICE)[0] for _ in range(3)] == [200, 200, 200]
    status, headers, body = site.post(door, ALICE)
    error = json.loads(body)["error"]
    assert status == 429 and error["type"] == "rate_limit_error" and error["code"] == "rate_limit_exceeded"
    assert headers["x-ratelimit-limit"] == "3" and headers["x-ratelimit-remaining"] == "0"
    assert 3000 < int(headers["retry-after"]) < 3800 and int(headers["x-ratelimit-reset"]) > time.time() + 3000
    assert headers["x-vsr-response-path"] == "rate_limited" and headers["x-should-retry"] == "false"
    assert f"Retry after {headers['retry-after']} seconds" in error["message"]
    status, headers, body = site.post(door, ALICE, path="/v1/messages")
    assert status == 429 and json.loads(body)["type"] == "error" and json.loads(body)["error"]["type"] == "rate_limit_error"
    assert site.post(door, ALICE, "coder")[0] == 200, "each model has a count of its own"
    assert site.post(door, BOB)[0] == 200, "each user has one"


def read(site):
    """How many requests signals have read."""
    text = request(site.metrics, "GET", "/metrics").body.decode()
    return sum(map(int, re.findall(r"^llm_signal_extraction_total\{[^}]*\} (\d+)", text, re.MULTILINE)))


SUMS = {"signals": {"keywords": [{"name": "sums", "keywords": ["solve"]}]}, "decisions": [
    {"name": "sums", "rules": {"type": "keyword", "name": "sums"}, "modelRefs": [{"model": "coder"}]}]}
TWO = {"rules": [{"name": "all", "requests_per_unit": 2, "unit": "hour", "per": ["user"]}]}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("store", ["memory", "redis"])
def test_a_limited_client_costs_no_signal(limited, redis, store, door):
    """What is known before routing is asked before it."""
    site = limited(routing=SUMS, limits=TWO if store == "memory" else over(redis, **TWO))
    assert until(lambda: site.post(door, BOB)[0] == 200), "the store answers"
    assert [site.post(door, ALICE, "auto", text="solve 2+2")[0] for _ in range(2)] == [200, 200]
    before = read(site)
    assert before > 0
    status, headers, _ = site.post(door, ALICE, "auto", text="solve 3+3")
    assert status == 429 and headers["x-ratelimit-limit"] == "2" and headers["x-ratelimit-remaining"] == "0"
    assert 3000 < int(headers["retry-after"]) < 3800
    assert read(site) == before
    assert site.post(door, BOB, "auto", text="solve 4+4")[0] == 200 and read(site) > before


def test_it_slides(limited):
    site = limited(ratelimit=peer(requests_per_unit=2, unit="second"))
    begin = time.monotonic()
    passed = []
    while len(passed) < 8:
        status, headers, _ = site.post("gateway", ALICE)
        if status == 200:
            passed.append(time.monotonic())
        else:
            assert status == 429 and headers["retry-after"] in ("1", "2")
    assert passed[-1] - begin >= 3, "8 requests at 2 a second take 3 seconds at least"


def test_who_matches(limited):
    site = limited(ratelimit={"providers": [{"type": "local-limiter", "rules": [
        {"name": "staff", "match": {"group": "staff"}, "requests_per_unit": 1, "unit": "day"},
        {"name": "coder", "match": {"user": "*", "model": "coder"}, "requests_per_unit": 1, "unit": "day"},
        {"name": "bob", "match": {"user": "bob", "model": "expert"}, "requests_per_unit": 1, "unit": "day"}]}]})
    assert [site.post("gateway", ALICE)[0] for _ in range(2)] == [200, 429]
    assert [site.post("gateway", BOB)[0] for _ in range(4)] == [200] * 4
    assert [site.post("gateway", BOB, "coder")[0] for _ in range(2)] == [200, 429]
    assert [site.post("gateway", BOB, "expert")[0] for _ in range(2)] == [200, 429]


def test_combinations(limited):
    site = limited(limits={"rules": [
        {"name": "all", "requests_per_unit": 5, "unit": "day"},
        {"name": "tenant-model", "per": ["tenant", "model"], "requests_per_unit": 2, "unit": "day"}]})
    assert [site.post("gateway", ALICE)[0] for _ in range(3)] == [200, 200, 429]
    assert [site.post("gateway", ALICE, "coder")[0] for _ in range(3)] == [200, 200, 429]
    assert [site.post("gateway", BOB)[0] for _ in range(2)] == [200, 429], "all of them together"


@pytest.mark.parametrize("door", DOORS)
def test_tokens_settle(limited, door):
    """An answer has 100 tokens: the third request finds 200 used of 150."""
    site = limited(limits={"rules": [{"name": "t", "per": ["key"], "tokens_per_unit": 150, "unit": "hour"}]})
    assert site.post(door, ALICE)[0] == 200
    assert site.post(door, ALICE)[0] == 200
    assert until(lambda: site.post(door, ALICE)[0] == 429)
    status, headers, _ = site.post(door, ALICE)
    assert status == 429 and headers["x-ratelimit-limit"] == "150" and headers["x-ratelimit-remaining"] == "0"
    status, _, body = site.post(door, BOB, text="word " * 2000)
    assert status == 429 and "alone needs more" in json.loads(body)["error"]["message"]
    assert site.post(door, BOB)[0] == 200


def test_metrics_have_the_rules_only(limited):
    site = limited(limits={"rules": [{"name": "few", "per": ["user"], "requests_per_unit": 1, "unit": "day"}]})
    assert [site.post("gateway", ALICE)[0] for _ in range(3)] == [200, 429, 429]
    text = request(site.metrics, "GET", "/metrics").body.decode()
    assert 'semroute_limit_requests_total{rule="few",result="allowed"} 1' in text
    assert 'semroute_limit_requests_total{rule="few",result="limited"} 2' in text
    assert "alice" not in text


def test_parallel_requests_do_not_slip_through(limited):
    site = limited(limits={"rules": [{"name": "n", "requests_per_unit": 20, "unit": "day"}]}, semroute={"loops": 4})
    results = []
    threads = [threading.Thread(target=lambda: results.extend(site.post("gateway", ALICE)[0] for _ in range(8))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200] * 20 + [429] * 44


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("most, statuses", [(30, [200, 429]), (4000, [200, 200])])
def test_an_answer_without_a_report_counts_by_its_size(limited, door, most, statuses):
    """An upstream, or a client that closes early, hides nothing: four bytes of an answer count as a token."""
    site = limited(reports=False, limits={"rules": [{"name": "t", "per": ["key"], "tokens_per_unit": most, "unit": "hour"}]})
    seen = []
    for number in range(len(statuses)):
        settled(lambda: request(site.metrics, "GET", "/metrics").body.decode(), number)
        status, _, body = site.post(door, ALICE)
        seen.append(status)
        assert status != 200 or (b'"usage"' not in body and len(body) > 150)
    assert seen == statuses


@pytest.mark.parametrize("door", DOORS)
def test_a_budget_is_spent(limited, door):
    """An answer costs 1.00; the budget of a month says when it is new."""
    site = limited(limits={"budgets": [{"name": "b", "per": ["tenant"], "cost": 1.5, "period": "month"}]})
    assert site.post(door, ALICE)[0] == 200
    assert site.post(door, ALICE)[0] == 200
    assert until(lambda: site.post(door, ALICE)[0] == 429)
    _, headers, body = site.post(door, ALICE)
    error = json.loads(body)["error"]
    now = time.gmtime()
    first = f"{now.tm_year + now.tm_mon // 12}-{now.tm_mon % 12 + 1:02}-01T00:00:00Z"
    assert error["code"] == "budget_exceeded" and first in error["message"] and "1.50 a month" in error["message"]
    assert headers["x-should-retry"] == "false" and int(headers["retry-after"]) > 0
    assert headers["x-ratelimit-limit"] == "1.5" and headers["x-ratelimit-remaining"] == "0"
    assert site.post(door, BOB)[0] == 200


# ---- over Redis ----

class Server:
    """A real redis-server without persistence."""

    def __init__(self, directory, password=None):
        self.port, self.directory, self.password = free_ports(), directory, password
        self.start()

    def start(self):
        secret = ["--requirepass", self.password] if self.password else []
        self.process = Process(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                                "--dir", str(self.directory), *secret], self.directory / "redis.log")
        assert until(lambda: "Ready to accept connections" in self.process.output())

    def command(self, *words):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection, connection.makefile("rb") as answer:
            for line in ([("AUTH", self.password)] if self.password else []) + [words]:
                connection.sendall(b"*%d\r\n" % len(line) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in line))
                reply = answer.readline()
            return reply

    def stop(self):
        self.process.stop()


@pytest.fixture
def redis(tmp_path):
    server = Server(tmp_path)
    yield server
    server.stop()


def over(redis, **more):
    return {"store": "redis", "redis": {"host": "127.0.0.1", "port": redis.port}, "timeout": "10s", **more}


@pytest.mark.parametrize("door", DOORS)
def test_redis_counts_for_all(limited, redis, door, tmp_path):
    """Two processes and one count; 429 as without Redis."""
    limits = over(redis, rules=[{"name": "n", "per": ["user"], "requests_per_unit": 6, "unit": "hour"}])
    first = limited(limits=limits)
    other = tmp_path / "other"
    other.mkdir()
    second = type("Site", (Limited,), {"limits": limits})(other)
    try:
        for site in (first, second):  # one after the other: each answer counts, and there are six
            assert until(lambda: site.post("gateway", BOB)[0] == 200)
        assert [site.post(door, ALICE)[0] for site in (first, second) * 3] == [200] * 6
        for site in (first, second):
            status, headers, body = site.post(door, ALICE)
            assert status == 429 and headers["x-ratelimit-limit"] == "6" and headers["x-ratelimit-remaining"] == "0"
            assert 3000 < int(headers["retry-after"]) < 3800
    finally:
        second.stop()


def test_redis_settles_tokens_and_budgets(limited, redis):
    site = limited(limits=over(redis, rules=[{"name": "t", "per": ["key"], "tokens_per_unit": 150, "unit": "hour"}],
                               budgets=[{"name": "b", "per": ["tenant"], "tokens": 350, "period": "day"}]))
    assert until(lambda: site.post("gateway", BOB)[0] == 200)
    assert site.post("gateway", ALICE)[0] == 200
    assert site.post("gateway", ALICE)[0] == 200
    assert until(lambda: site.post("gateway", ALICE)[0] == 429)
    assert int(redis.command("DBSIZE")[1:]) == 4
    assert site.post("gateway", ALICE, text="word " * 300)[0] == 429


def test_parallel_requests_over_redis(limited, redis):
    site = limited(limits=over(redis, rules=[{"name": "n", "match": {"user": "alice"}, "requests_per_unit": 20, "unit": "day"}]),
                   semroute={"loops": 4})
    assert until(lambda: site.post("gateway", BOB)[0] == 200)
    results = []
    threads = [threading.Thread(target=lambda: results.extend(site.post("gateway", ALICE)[0] for _ in range(8))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200] * 20 + [429] * 44


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fail_open", [False, True])
def test_redis_is_away(limited, redis, door, fail_open):
    site = limited(limits=over(redis, rules=[{"name": "n", "requests_per_unit": 1000, "unit": "day"}]),
                   ratelimit={"fail_open": fail_open})
    assert until(lambda: site.post(door, ALICE)[0] == 200)
    redis.stop()
    assert until(lambda: "is away" in site.process.output())
    status, headers, body = site.post(door, ALICE)
    if fail_open:
        assert status == 200
    else:
        assert status == 429 and headers["retry-after"] == "5" and "x-ratelimit-limit" not in headers
        assert json.loads(body)["error"]["code"] == "rate_limit_unavailable"
    redis.start()
    assert until(lambda: site.post(door, ALICE)[0] == 200)
    failed = 'semroute_limit_requests_total{rule="n",result="failed"}'
    assert until(lambda: failed in request(site.metrics, "GET", "/metrics").body.decode())


# ---- over a restart ----

def written(directory):
    """What a copy of the file and its log says."""
    copy = directory / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("budgets.db", "budgets.db-wal"):
        if (directory / name).exists():
            shutil.copy(directory / name, copy / name)
    try:
        with contextlib.closing(sqlite3.connect(copy / "budgets.db")) as database:
            return database.execute("SELECT coalesce(max(count), 0) FROM spent").fetchone()[0]
    except sqlite3.DatabaseError:
        return 0


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_budgets_outlive_the_process(tmp_path, limited, how):
    limits = {"path": str(tmp_path / "budgets.db"), "budgets": [{"name": "b", "per": ["key"], "tokens": 150, "period": "month"}]}
    first = limited(limits=limits)
    assert first.post("gateway", ALICE)[0] == 200 and first.post("gateway", BOB)[0] == 200
    assert until(lambda: first.post("gateway", ALICE)[0] == 429)
    if how == "kill":
        assert until(lambda: written(tmp_path) >= 200)
        first.process.signal(signal.SIGKILL)
        first.process.child.wait()
    else:
        first.process.stop()
    again = tmp_path / "again"
    again.mkdir()
    second = type("Site", (Limited,), {"limits": limits})(again)
    try:
        assert second.post("gateway", ALICE)[0] == 429
        assert second.post("gateway", BOB)[0] == 200
    finally:
        second.stop()


def test_a_file_that_cannot_be_used(tmp_path, limited):
    (tmp_path / "budgets.db").write_text("no database " * 1000)
    site = limited(limits={"path": str(tmp_path / "budgets.db"), "budgets": [{"name": "b", "tokens": 150, "period": "month"}]})
    assert until(lambda: "kept in memory only" in site.process.output())
    assert site.post("gateway", ALICE)[0] == 200
    assert (tmp_path / "budgets.db").read_text().startswith("no database")
