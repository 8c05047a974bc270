"""Dashboards and alerts: Grafana's own model reads every dashboard, promtool runs the alerts' unit tests, and a real
Prometheus that scrapes a router with traffic answers every query. No Grafana opens the dashboards here."""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from conftest import ROOT, Gateway, Mock, Process, chat, free_ports, request, wait_http

DASHBOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"

SITE = """
version: v0.3
listeners: [{{name: main, address: 127.0.0.1, port: {listen}}}]
providers:
  defaults:
    default_model: small
    reasoning_families: {{qwen3: {{type: chat_template_kwargs, parameter: enable_thinking}}}}
  models:
    - name: small
      pricing: {{currency: USD, prompt_per_1m: 1.0, completion_per_1m: 2.0}}
      backend_refs: [{{endpoint: "127.0.0.1:{small}"}}]
    - name: large
      reasoning_family: qwen3
      pricing: {{currency: USD, prompt_per_1m: 5.0, completion_per_1m: 9.0}}
      backend_refs: [{{endpoint: "127.0.0.1:{large}"}}]
routing:
  signals:
    keywords:
      - {{name: codes, operator: OR, keywords: [code, program]}}
      - {{name: bad, operator: OR, keywords: [forbidden]}}
    pii: [{{name: private, threshold: 0.7, pii_types_allowed: [GPE]}}]
  decisions:
    - name: stop
      priority: 300
      rules: {{type: keyword, name: bad}}
      modelRefs: [{{model: small}}]
      plugins: [{{type: guard, configuration: {{action: block}}}}]
    - name: coding
      priority: 200
      rules: {{type: keyword, name: codes}}
      modelRefs: [{{model: large, use_reasoning: true}}]
      plugins: [{{type: response_cache, configuration: {{scope: global}}}}]
    - name: other
      priority: 100
      modelRefs: [{{model: small}}]
global:
  stores: {{response_cache: {{max_entries: 100}}}}
"""

# Panels that have data after the traffic below; the others need failures, stores or pools.
ALIVE = {"Requests", "Failed or shed", "Blocked", "Routing p99", "Requests by outcome", "Requests by model",
         "Requests by decision", "Time to the first token, p99", "Time to the last byte, p99", "Tokens", "In flight",
         "Connections", "What guards did", "Cost an hour", "Cost an hour by model", "Answered from the cache",
         "Reasoning", "Hit rate", "Answers kept", "Lookup p99", "Routing", "Signals, p99", "Decisions",
         "In flight by worker", "Reloads"}


def instant(query):
    return re.sub(r"\$__rate_interval", "30s", query).replace("$instance", ".*")


class Prometheus(Process):
    def __init__(self, directory, target, *flags):
        self.port = free_ports()
        config = directory / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(ALERTS)],
            "scrape_configs": [{"job_name": "semroute", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}]}))
        super().__init__(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory / 'tsdb'}",
                          f"--web.listen-address=127.0.0.1:{self.port}", *flags], directory / "prometheus.log")
        wait_http(self.port, "/-/ready", self, timeout=60)

    def get(self, path, **query):
        answer = request(self.port, "GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
        return answer.json()

    def ask(self, query):
        """(status or error, values)"""
        answer = self.get("query", query=instant(query))
        if answer["status"] != "success":
            return answer["error"], []
        return "success", [float(series["value"][1]) for series in answer["data"]["result"]]


def send(gateway):
    for round_ in range(4):
        for text in ("What is the capital of Peru?", "Fix this code please", "a forbidden word", f"code {round_}"):
            gateway.post(chat(text))
            gateway.post(chat(text, stream=True))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dashboards")
    with contextlib.ExitStack() as stack:
        mock = Mock(directory / "mock.log", workers=2)
        stack.callback(mock.stop)
        listen = free_ports()
        gateway = Gateway(SITE.format(listen=listen, small=mock.port, large=mock.port + 1), directory)
        stack.callback(gateway.stop)
        prometheus = Prometheus(directory, gateway.metrics_port)
        stack.callback(prometheus.stop)
        yield gateway, prometheus


def test_files_are_what_the_tool_writes():
    done = subprocess.run([sys.executable, ROOT / "tools" / "dashboards.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_tool_finds_a_query_without_its_metric():
    sys.path.insert(0, str(ROOT / "tools"))
    import dashboards
    table = dashboards.metrics()
    assert table["semroute_requests_total"] == ("COUNTER", {"door", "outcome"})
    assert len(table) > 90
    assert dashboards.mistakes("sum (rate(semroute_request_total[5m]))", table) == ["no metric `semroute_request_total`"]
    assert dashboards.mistakes("sum by (model) (rate(semroute_requests_total[5m]))", table) == ["no label `model`"]
    assert dashboards.mistakes('rate(llm_model_requests_total_bucket{le="1"}[5m])', table)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_grafana_model_reads_all_of_a_dashboard(path):
    document = json.loads(path.read_text())
    back = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(document)))

    def lost(ours, theirs, where):
        if isinstance(ours, dict):
            for key, value in ours.items():
                if not isinstance(theirs, dict) or key not in theirs:
                    yield f"{where}/{key}"
                else:
                    yield from lost(value, theirs[key], f"{where}/{key}")
        elif isinstance(ours, list):
            assert len(ours) == len(theirs)
            for i, (a, b) in enumerate(zip(ours, theirs)):
                yield from lost(a, b, f"{where}/{i}")
        elif ours != theirs:
            yield f"{where}: {ours} -> {theirs}"

    assert list(lost(document, back, "")) == []
    cells = [(p["gridPos"]["x"] + dx, p["gridPos"]["y"] + dy) for p in document["panels"]
             for dx in range(p["gridPos"]["w"]) for dy in range(p["gridPos"]["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24, "panels lie over each other"


def test_alerts_fire_when_they_should():
    checked = subprocess.run(["promtool", "check", "rules", ALERTS], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    rules = ROOT / "tests" / "data" / "prometheus" / "alerts_test.yaml"
    done = subprocess.run(["promtool", "test", "rules", rules], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    names = re.findall(r"- alert: (\w+)", ALERTS.read_text())
    tested = rules.read_text()
    missing = [name for name in names if f"alertname: {name}\n" not in tested]
    assert len(names) == 18 and missing == [], "each alert has a test in which it fires"


def test_prometheus_answers_every_query(site):
    gateway, prometheus = site
    panels = [(path.stem, panel["title"], target["expr"]) for path in DASHBOARDS
              for panel in json.loads(path.read_text())["panels"] for target in panel["targets"]]
    waiting, errors, end = panels, [], time.monotonic() + 120
    while waiting and not errors and time.monotonic() < end:
        send(gateway)
        time.sleep(1)
        still = []
        for name, title, query in waiting:
            status, values = prometheus.ask(query)
            if status != "success":
                errors.append(f"{name}: {title}: {status}: {query}")
            elif title in ALIVE and not any(value == value for value in values):
                still.append((name, title, query))
        waiting = still
    assert not errors, "\n".join(errors)
    assert not waiting, "no data: " + "\n".join(f"{name}: {title}: {query}" for name, title, query in waiting)
    assert {title for _, title, _ in panels} >= ALIVE


def test_prometheus_evaluates_the_alerts(site):
    gateway, prometheus = site
    end = time.monotonic() + 60
    while time.monotonic() < end:
        rules = prometheus.get("rules")["data"]["groups"][0]["rules"]
        if all(rule["health"] == "ok" for rule in rules):
            break
        time.sleep(0.2)
    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []


@pytest.mark.parametrize("result", ["success", "error"])
def test_the_first_reload_is_seen(site, result):
    """increase() needs a series from before the first reload."""
    gateway, _ = site
    assert re.search(rf'^semroute_config_reloads_total\{{result="{result}"\}} 0$', gateway.metrics(), re.M)


def test_prometheus_is_the_real_one():
    assert shutil.which("prometheus") and shutil.which("promtool")
    assert pathlib.Path(ALERTS).exists()
