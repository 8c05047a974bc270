"""Reload without dropping anything: file writes, ConfigMap symlink swaps, SIGHUP, mistakes, and under load."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

from conftest import ROOT, chat, request
from test_pools import until

CONFIG = """
version: v0.3
providers:
  defaults: {{default_model: {default}}}
  models:
  - {{name: one, backend_refs: [{{name: a, endpoint: "127.0.0.1:{a}"}}]}}
  - {{name: two, backend_refs: [{{name: b, endpoint: "127.0.0.1:{b}"}}]}}
"""


def text(mock, default):
    return CONFIG.format(default=default, a=mock.port, b=mock.port + 1)


def write(path, text):
    """In its place, the length as before: at no moment is there half of a text."""
    with open(path, "r+") as file:
        file.write(text)


def swap(path, text):
    """At one stroke: it is seen once, and a mistake in it is counted once."""
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


def model_now(gateway):
    return gateway.post(chat("hello")).headers["x-vsr-selected-model"]


def wait_model(gateway, name, timeout=60):
    end = time.monotonic() + timeout
    while model_now(gateway) != name:
        assert time.monotonic() < end, gateway.output()
        time.sleep(0.05)


def test_file_write_sighup_and_mistake(start):
    mock = start.mock(workers=2)
    gateway = start.gateway(text(mock, "one"))
    assert model_now(gateway) == "one"
    write(gateway.config_path, text(mock, "two"))
    wait_model(gateway, "two")
    swap(gateway.config_path, text(mock, "tow"))
    until(lambda: re.search(r"gateway\d*\.yaml:4:\d+", gateway.output()))
    assert model_now(gateway) == "two"
    write(gateway.config_path, text(mock, "one"))
    gateway.signal(signal.SIGHUP)
    wait_model(gateway, "one")
    assert 'semroute_config_reloads_total{result="error"} 1' in gateway.metrics()


def guarded(mock, logs, access, audit="audit.log", memo="16MiB", jobs=4096):
    """A guard for private data, logs in the folder `logs`, and an engine for the embeddings of the API."""
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": "one"},
                      "models": [{"name": "one", "backend_refs": [{"name": "a", "endpoint": f"127.0.0.1:{mock.port}"}]}]},
        "routing": {"signals": {"pii": [{"name": "pii"}]},
                    "decisions": [{"name": "pii", "rules": {"type": "pii", "name": "pii"}, "modelRefs": [{"model": "one"}],
                                   "plugins": [{"type": "guard", "configuration": {"action": "flag"}}]}]},
        "global": {"semroute": {"loops": 1, "access_log": str(logs / access), "inference": {"queue_jobs": jobs, "ask_below": 0},
                                "guards": {"audit_log": str(logs / audit), "memo_bytes": memo}}}})


def remembered(gateway):
    found = re.search(r'semroute_guard_remembered_units_total\{signal="pii"\} (\d+)', gateway.metrics())
    return int(found.group(1)) if found else 0


def embeds(gateway):
    """The status for three texts, which are three jobs of the engine."""
    return request(gateway.api_port, "POST", "/api/v1/embeddings", {"texts": ["one", "two", "three"]}, timeout=120).status


def paths_in(log):
    return [json.loads(line)["path"] for line in log.read_text().splitlines()] if log.exists() else []


def failed(gateway):
    return 'semroute_config_reloads_total{result="error"} 1' in gateway.metrics()


def test_a_rejected_configuration_changes_nothing(start, tmp_path):
    mock = start.mock(workers=1)
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    gateway = start.gateway(guarded(mock, tmp_path, "one.log"), env={"SEMROUTE_MODELS": str(ROOT / "models")})
    text = chat("Write to zebra.quagga@example.com today.")
    assert gateway.post(text).status == 200 and embeds(gateway) == 200
    swap(gateway.config_path, guarded(mock, tmp_path, "two.log", "missing/audit.log", memo=0, jobs=1))
    until(lambda: failed(gateway))
    assert embeds(gateway) == 200
    before = remembered(gateway)
    assert gateway.post(text).status == 200
    assert remembered(gateway) > before
    until(lambda: paths_in(one).count("/v1/chat/completions") == 2)
    assert paths_in(two) == []
    swap(gateway.config_path, guarded(mock, tmp_path, "two.log", memo=0, jobs=1))
    until(lambda: reloads(gateway) == 1)
    assert embeds(gateway) == 413
    before = remembered(gateway)
    assert gateway.post(text).status == 200
    assert remembered(gateway) == before
    until(lambda: "/v1/chat/completions" in paths_in(two))


def test_an_engine_that_a_rejected_configuration_started(start, tmp_path):
    """The first use of the engine takes the settings of the configuration that is in force."""
    mock = start.mock(workers=1)
    gateway = start.gateway(guarded(mock, tmp_path, "one.log"), env={"SEMROUTE_MODELS": str(ROOT / "models")})
    bad = json.loads(guarded(mock, tmp_path, "two.log", "missing/audit.log", jobs=1))
    bad["routing"]["signals"]["embeddings"] = [{"name": "near", "threshold": 0.5, "candidates": ["a refund"]}]
    swap(gateway.config_path, json.dumps(bad))
    until(lambda: failed(gateway))
    assert embeds(gateway) == 200


def test_configmap_symlink_swap(start, tmp_path):
    mock = start.mock(workers=2)
    volume = tmp_path / "volume"
    for name, default in (("..v1", "one"), ("..v2", "two")):
        (volume / name).mkdir(parents=True)
        (volume / name / "semroute.yaml").write_text(text(mock, default))
    (volume / "..data").symlink_to("..v1")
    (volume / "semroute.yaml").symlink_to("..data/semroute.yaml")
    gateway = start.gateway(None, flags=["-c", volume / "semroute.yaml"])
    assert model_now(gateway) == "one"
    (volume / "..data_tmp").symlink_to("..v2")
    os.rename(volume / "..data_tmp", volume / "..data")
    wait_model(gateway, "two")


def hold_streams(gateway, count, results):
    body = json.dumps(chat("hi", model="one", stream=True)).encode()
    head = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-mock-chunks: 60\r\n"
            b"x-mock-chunk-delay-ms: 100\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))

    def one():
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as s:
            s.sendall(head + body)
            received = b""
            while piece := s.recv(65536):
                received += piece
        results.append(received.startswith(b"HTTP/1.1 200") and b"[DONE]" in received and b'"error"' not in received)

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def reloads(gateway):
    return int(re.search(r'semroute_config_reloads_total\{result="success"\} (\d+)', gateway.metrics()).group(1))


def test_reload_under_load(start, tmp_path, capsys):
    mock = start.mock(workers=2)
    gateway = start.gateway(text(mock, "one"))
    script = tmp_path / "post.lua"
    script.write_text('wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
                      f"wrk.body = '{json.dumps(chat('hello there'))}'\n")
    streams = []
    threads = hold_streams(gateway, 50, streams)
    load = subprocess.Popen(["wrk", "-t1", "-c200", "-d6s", "--timeout", "60s", "-s", str(script),
                             f"http://127.0.0.1:{gateway.port}/v1/chat/completions"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for turn in range(8):
        time.sleep(0.6)
        write(gateway.config_path, text(mock, ("two", "one")[turn % 2]))
        if turn % 3 == 0:
            gateway.signal(signal.SIGHUP)
        until(lambda: reloads(gateway) >= min(turn, 4))
    output = load.communicate(timeout=60)[0]
    for thread in threads:
        thread.join(60)
    requests = int(re.search(r"(\d+) requests in", output).group(1))
    with capsys.disabled():
        print(f"\nreload under load: {requests} requests at 200 connections, {len(streams)} streams, "
              f"{reloads(gateway)} reloads")
    assert "Socket errors" not in output and "Non-2xx" not in output, output
    assert len(streams) == 50 and all(streams)
    assert reloads(gateway) >= 4 and requests > 500
