"""What /ready says while the process starts, while it serves, and of what it lacks."""
import contextlib
import http.client
import json
import os
import time

import grpc

from conftest import BINARY, Process, free_ports, request, wait_http
from grpc_door import stubs  # noqa: F401 - a fixture
from keys_site import decision, model, site
from test_failover import Toggled
from test_reload import text as two_models

PATIENCE = 120


def ask(port, path="/ready"):
    """The answer; None where nothing listens yet, or the listener has just been replaced."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return request(port, "GET", path)
    return None


def said(port):
    """What /ready says; nothing where nothing listens for a moment."""
    answer = ask(port)
    return answer.json() if answer else {}


def until(condition, process):
    """The first answer of `condition` that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        assert process.child.poll() is None, process.output()
        time.sleep(0.01)
    raise AssertionError(process.output())


def serve(config, log):
    gateway, metrics, api = free_ports(), free_ports(), free_ports()
    process = Process([BINARY, "serve", "-c", config, "--gateway", f"127.0.0.1:{gateway}", "--metrics", f"127.0.0.1:{metrics}",
                       "--api", f"127.0.0.1:{api}", "--extproc", "off"], log)
    process.port, process.metrics_port, process.api_port = gateway, metrics, api
    return process


def messages(page, kind):
    return {item["what"]: item["message"] for item in page.get(kind, [])}


def test_while_the_process_starts(start, tmp_path):
    """The configuration is a pipe into which nothing was written yet: probes are answered, all else is not."""
    mock = start.mock(workers=2)
    file = tmp_path / "pipe.yaml"
    os.mkfifo(file)
    process = serve(file, tmp_path / "serve.log")
    try:
        for port, service in ((process.metrics_port, "semroute"), (process.api_port, "classification-api")):
            answer = until(lambda: ask(port), process)
            page = answer.json()
            assert (answer.status, page["status"], page["service"], page["ready"]) == (503, "starting", service, False)
            assert messages(page, "missing")["process"] == "it starts"
        loading = until(lambda: messages(said(process.metrics_port), "missing").get("loading"), process)
        assert loading.startswith("configuration pipe.yaml, for ")
        assert ask(process.metrics_port, "/health").status == 200
        for port, path in ((process.metrics_port, "/metrics"), (process.api_port, "/api/v1/page/configuration")):
            answer = ask(port, path)
            assert answer.status == 503 and answer.json()["error"]["code"] == "starting"
        refused = ask(process.port)
        assert refused is None  # the doors are not open
        with open(file, "w") as pipe:
            pipe.write(two_models(mock, "one"))
        wait_http(process.port, "/ready", process, timeout=PATIENCE)
        answer = until(lambda: (a := ask(process.metrics_port)) and a.status == 200 and a, process)
        assert answer.json() == {"status": "ready", "service": "semroute", "ready": True}
        assert ask(process.metrics_port, "/metrics").status == 200
    finally:
        process.stop()


def test_tool_database_says_how_far_it_is(start, tmp_path):
    """Tools whose vectors were never made: the start takes long, and says so. The next one has the vectors."""
    mock = start.mock(workers=2)
    n = 2000
    tools = tmp_path / "many_tools.json"
    tools.write_text(json.dumps([
        {"tool": {"type": "function", "function": {"name": f"tool_{i}"}}, "description": f"Makes thing {i} in city {i % 97}"}
        for i in range(n)]))
    config = site(model("one", "@0"), model("two", "@1"), decisions=[
        decision(plugins=[{"type": "tools", "configuration": {"enabled": True, "mode": "filtered", "semantic_selection": True}}])])
    config["global"]["integrations"] = {"tools": {"enabled": True, "tools_db_path": str(tools)}}
    file = tmp_path / "semroute.yaml"
    file.write_text(json.dumps(config).replace('"@0"', f'"127.0.0.1:{mock.port}"').replace('"@1"', f'"127.0.0.1:{mock.port + 1}"'))
    process = serve(file, tmp_path / "serve.log")
    try:
        def progress():
            answer = ask(process.metrics_port)
            assert not answer or answer.status == 503, process.output()
            items = answer.json()["missing"] if answer else []
            return [item for item in items if item["message"].startswith("tool database") and item.get("done")]
        (item,) = until(progress, process)
        assert item["total"] == n and 0 < item["done"] < n
        assert item["message"].startswith(f"tool database many_tools.json: {item['done']} of {n}, for ")
        wait_http(process.port, "/ready", process, timeout=PATIENCE)
        assert f"tool database many_tools.json: 0 of {n} (0 %)" in process.output()
    finally:
        process.stop()
    again = serve(file, tmp_path / "again.log")
    try:
        wait_http(again.port, "/ready", again, timeout=PATIENCE)
        assert "tool database" not in again.output()
    finally:
        again.stop()


def test_failed_reload_is_named(start):
    mock = start.mock(workers=2)
    gateway = start.gateway(two_models(mock, "one"))
    gateway.config_path.write_text(two_models(mock, "one") + "\nnonsense: 1\n")
    page = until(lambda: "nonsense" in str(messages(p := said(gateway.metrics_port), "notes")) and p, gateway)
    assert page["ready"] and page["status"] == "ready"
    note = messages(page, "notes")["configuration"]
    assert note.startswith("the last reload failed, and revision ") and "nonsense" in note
    public = said(gateway.port)  # clients learn no names
    assert "nonsense" not in messages(public, "notes")["configuration"]
    gateway.config_path.write_text(two_models(mock, "two"))
    until(lambda: "notes" not in said(gateway.metrics_port), gateway)


HEALTHY = """
version: v0.3
providers:
  defaults: {default_model: one}
  models:
    - name: one
      reliability: {health_check_path: "/health?deep=1", health_check_interval: 100ms, health_check_timeout: 5s}
      backend_refs: [{base_url: "http://127.0.0.1:%d/base"}]
    - name: two
      reliability: {health_check_path: "/health?deep=1", health_check_interval: 100ms, health_check_timeout: 5s}
      backend_refs: [{base_url: "http://127.0.0.1:%d/base"}]
global: {semroute: {ready_needs_worker: %s}}
"""


def test_models_without_a_worker(start):
    """They are named, to operators; requests try the workers all the same, so the process is ready."""
    workers = [Toggled(), Toggled()]
    try:
        gateway = start.gateway(HEALTHY % (workers[0].port, workers[1].port, "false"))
        until(lambda: said(gateway.metrics_port) == {"status": "ready", "service": "semroute", "ready": True}, gateway)
        workers[0].status = 500
        page = until(lambda: "workers" in messages(p := said(gateway.metrics_port), "notes") and p, gateway)
        assert page["ready"] and messages(page, "notes")["workers"] == "models without a worker that is well: 1 of 2 (one)"
        assert messages(said(gateway.port), "notes")["workers"] == "models without a worker that is well: 1 of 2"
        workers[1].status = 500
        page = until(lambda: "2 of 2" in str(p := said(gateway.metrics_port)) and p, gateway)
        assert page["ready"] and messages(page, "notes")["workers"] == "no model has a worker that is up: 2 of 2 (one, two)"
    finally:
        for worker in workers:
            worker.stop()


def test_both_doors_need_a_worker(stubs, tmp_path):
    """`ready_needs_worker`: /ready and grpc.health.v1 say no while all workers are down, and yes when one is up again."""
    workers = [Toggled(), Toggled()]
    file = tmp_path / "semroute.yaml"
    file.write_text(HEALTHY % (workers[0].port, workers[1].port, "true"))
    metrics, door = free_ports(), free_ports()
    process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics", f"127.0.0.1:{metrics}",
                       "--extproc", f"127.0.0.1:{door}"], tmp_path / "serve.log")
    try:
        wait_http(metrics, "/ready", process, timeout=PATIENCE)
        with grpc.insecure_channel(f"127.0.0.1:{door}") as channel:
            def health(service=""):
                answer = stubs.health_service(channel).Check(stubs.health.HealthCheckRequest(service=service), timeout=60)
                return stubs.health.HealthCheckResponse.ServingStatus.Name(answer.status)
            assert health() == health("envoy.service.ext_proc.v3.ExternalProcessor") == "SERVING"
            workers[0].status = workers[1].status = 500
            answer = until(lambda: (a := ask(metrics)) and a.status == 503 and a, process)
            page = answer.json()
            assert page["status"] == "not_ready" and not page["ready"]
            assert messages(page, "missing") == {"workers": "no model has a worker that is up: 2 of 2 (one, two)"}
            assert ask(metrics, "/health").status == 200
            until(lambda: health() == "NOT_SERVING", process)
            workers[1].status = 200
            until(lambda: (a := ask(metrics)) and a.status == 200, process)
            until(lambda: health() == "SERVING", process)
    finally:
        process.stop()
        for worker in workers:
            worker.stop()
