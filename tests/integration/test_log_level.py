"""The level of the process log, changed while the process runs: who may, what is written about it, and what ends it."""
import json
import subprocess
import time

import pytest

from conftest import BINARY, chat, request
from test_failover import reload

TOKENS = {"authorization": "Bearer of-an-operator"}
VIEWER = {"authorization": "Bearer of-a-viewer"}
SECRET = "xyzzy-never-logged"
CONFIG = """
version: v0.3
providers:
  defaults: {default_model: one}
  models: [{name: one, backend_refs: [{endpoint: "127.0.0.1:%d"}]}]
routing:
  signals: {jailbreak: [{name: attack, threshold: 0.9}]}
  decisions: []
global:
  services:
    management_api:
      auth:
        mode: bearer
        tokens: [{env: OPERATORS, role: operator}, {env: VIEWERS, role: viewer}]
  semroute: {loops: 1, log_level: warn, guards: {audit_log: "%s"}}  # one loop: a request has ended before the next one is read
"""


def events(gateway, name):
    lines = (line for line in gateway.output().splitlines() if line.startswith("{"))
    return [line for line in map(json.loads, lines) if line.get("event") == name]


def until(condition):
    end = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.fixture
def gateway(start, tmp_path):
    mock = start.mock(workers=1)
    gateway = start.gateway(CONFIG % (mock.port, tmp_path / "audit.jsonl"), env={"OPERATORS": "of-an-operator", "VIEWERS": "of-a-viewer"})
    gateway.audit = tmp_path / "audit.jsonl"
    return gateway


def put(gateway, level, headers=None, method="PUT"):
    return request(gateway.api_port, method, "/api/v1/log", {"level": level}, TOKENS if headers is None else headers)


def level(gateway):
    return request(gateway.api_port, "GET", "/api/v1/log", headers=VIEWER).json()


def test_requests_are_logged_while_it_is_debug(gateway):
    assert level(gateway) == {"level": "warn", "configured": "warn"}
    assert gateway.post(chat(SECRET)).status == 200
    for method in ("PUT", "POST"):
        answer = put(gateway, "debug", method=method)
        assert (answer.status, answer.json()) == (200, {"level": "debug", "configured": "warn"})
    assert gateway.post(chat(SECRET)).status == 200
    (line,) = until(lambda: events(gateway, "request"))
    assert line["level"] == "debug" and " 200 gateway  -> one  " in line["msg"]
    said = events(gateway, "log_level")
    assert [one["msg"].split("; set by 127.0.0.1:")[0] for one in said] == [
        "debug until the next reload or start (it was warn)", "debug until the next reload or start (it was debug)"]
    assert put(gateway, "error").json()["level"] == "error"
    assert gateway.post(chat(SECRET)).status == 200
    assert len(until(lambda: len(e := events(gateway, "log_level")) == 3 and e)) == 3  # also the last, though it is no error
    assert len(events(gateway, "request")) == 1
    audits = until(lambda: len(a := [json.loads(line) for line in gateway.audit.read_text().splitlines()]) == 3 and a)
    assert [(a["event"], a["action"], a["before"]) for a in audits] == [
        ("log_level", "debug", "warn"), ("log_level", "debug", "debug"), ("log_level", "error", "debug")]
    assert all(a["peer"].startswith("127.0.0.1:") and a["time"] for a in audits)
    assert SECRET not in gateway.output() and SECRET not in gateway.audit.read_text()
    assert "of-an-operator" not in gateway.output() + gateway.audit.read_text()


def test_who_may_and_what_is_refused(gateway):
    assert put(gateway, "debug", {}).status == put(gateway, "debug", {"authorization": "Bearer x"}).status == 401
    assert put(gateway, "debug", VIEWER).status == 401
    assert request(gateway.metrics_port, "PUT", "/api/v1/log", {"level": "debug"}, TOKENS).status == 404
    for body in (b"", b"{}", b"debug", b'{"level": 1}', b'{"level": "loud"}', b'["debug"]', b'{"level": "debug"'):
        for method in ("PUT", "POST"):
            answer = request(gateway.api_port, method, "/api/v1/log", body, {**TOKENS, "content-type": "application/json"})
            assert answer.status == 400 and "debug" in answer.json()["error"]["message"], (body, answer.body)
    assert request(gateway.api_port, "DELETE", "/api/v1/log", headers=TOKENS).status == 405
    assert level(gateway) == {"level": "warn", "configured": "warn"}


def test_a_reload_sets_it_back(gateway):
    assert put(gateway, "info").status == 200
    reload(gateway, gateway.config_path.read_text() + "nonsense: 1\n")  # a mistake changes nothing
    assert level(gateway)["level"] == "info"
    gateway.config_path.write_text(gateway.config_path.read_text().replace("nonsense: 1\n", "# new\n"))
    until(lambda: level(gateway) == {"level": "warn", "configured": "warn"})


def test_command(gateway):
    def run(*words, env=None):
        return subprocess.run([BINARY, "log", "--api", str(gateway.api_port), *words], capture_output=True, text=True, timeout=60,
                              env=env)
    token = ("--token", "of-an-operator")
    assert run(*token).stdout == "warn\n"
    assert run(*token, "debug").stdout == "debug until the next reload or start; the configuration says warn\n"
    assert json.loads(run("--json", env={"SEMROUTE_ADMIN_TOKEN": "of-a-viewer"}).stdout) == {"level": "debug", "configured": "warn"}
    refused = run("--token", "of-a-viewer", "info")
    assert refused.returncode == 1 and "the router answered 401" in refused.stderr
    assert run(*token, "loud").returncode == 2
    assert run(*token, "warn").stdout == "warn\n"
