"""What no rule needs is not loaded: encoders are opened when a rule or a caller needs them. The second reader, which a server opens
at its start (test_second_reader.py), is off here."""
import os
import pathlib
import re
import shutil
import signal
import time

from conftest import ROOT, Gateway, request

MODELS = {"SEMROUTE_MODELS": str(ROOT / "models")}

KEYWORDS = """
version: v0.3
global: {semroute: {inference: {multilingual: "off"}}}
providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{name: b, endpoint: "127.0.0.1:9"}]}]}
routing:
  modelCards: [{name: m}]
  signals: {keywords: [{name: deep, operator: OR, keywords: [deep]}]}
  decisions: [{name: deep, priority: 1, rules: {type: keyword, name: deep}}]
"""
GUARDS = """
version: v0.3
global: {semroute: {inference: {multilingual: "off"}}}
providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{name: b, endpoint: "127.0.0.1:9"}]}]}
routing:
  modelCards: [{name: m}]
  signals: {jailbreak: [{name: attack}]}
  decisions: [{name: attack, priority: 1, rules: {type: jailbreak, name: attack},
               plugins: [{type: guard, configuration: {action: block}}]}]
"""


def encoders(server):
    text = request(server.metrics_port, "GET", "/metrics").body.decode()
    return int(re.search(r"^semroute_encoders_open (\d+)$", text, re.M).group(1))


def test_a_keyword_configuration_opens_no_encoder(tmp_path):
    server = Gateway(KEYWORDS, tmp_path, env=MODELS)
    try:
        assert encoders(server) == 0 and "encoder_ready" not in server.output()
        assert request(server.api_port, "GET", "/health").status == 200
        assert request(server.api_port, "POST", "/api/v1/explain", {"text": "how deep is it"}).status == 200
        assert encoders(server) == 0 and "encoder_ready" not in server.output()
        answer = request(server.api_port, "POST", "/api/v1/classify/intent", {"text": "Solve x^2 = 4."}, timeout=120)
        assert answer.status == 200 and answer.json()["classification"]["category"] == "math"
        assert encoders(server) == 1
        answer = request(server.api_port, "POST", "/api/v1/embeddings", {"texts": ["a cat"]}, timeout=120)
        assert answer.status == 200 and encoders(server) == 2
        for _ in range(2):
            request(server.api_port, "POST", "/api/v1/embeddings", {"texts": ["a dog"]}, timeout=120)
        assert encoders(server) == 2
    finally:
        server.stop()


def reload(server):
    def reloads():
        return server.output().count('"config_reload"')

    before, end = reloads(), time.monotonic() + 60
    server.child.send_signal(signal.SIGHUP)
    while reloads() == before:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_the_api_opened_stays_open_over_reloads(tmp_path):
    """It is not read from the disk again for every configuration, and the first call after a reload does not wait for it."""
    server = Gateway(KEYWORDS, tmp_path, env=MODELS)
    try:
        reload(server)
        assert encoders(server) == 0
        request(server.api_port, "POST", "/api/v1/classify/intent", {"text": "Solve x^2 = 4."}, timeout=120)
        request(server.api_port, "POST", "/api/v1/embeddings", {"texts": ["a cat"]}, timeout=120)
        for _ in range(3):
            reload(server)
            assert encoders(server) == 2
        request(server.api_port, "POST", "/api/v1/embeddings", {"texts": ["a dog"]}, timeout=120)
        assert encoders(server) == 2
    finally:
        server.stop()


def test_a_replaced_model_leaves_no_memory_behind(tmp_path):
    """Its files changed, so a reload opens it again; the memory of the one before goes back to the operating system."""
    models = tmp_path / "models"
    models.mkdir()
    (models / "all-MiniLM-L6-v2").symlink_to(ROOT / "models" / "all-MiniLM-L6-v2")
    shutil.copytree(ROOT / "models" / "neural", models / "neural")
    server = Gateway(GUARDS, tmp_path, env={"SEMROUTE_MODELS": str(models)})

    def resident():
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{server.pid}/status").read_text()).group(1)) << 10

    try:
        before = resident()
        for turn in range(1, 4):
            os.utime(models / "neural" / "config.json", (turn, turn))
            reload(server)
            assert encoders(server) == 1
        end = time.monotonic() + 60
        while resident() > before + (16 << 20) and time.monotonic() < end:
            time.sleep(0.1)
        assert resident() <= before + (16 << 20)
    finally:
        server.stop()


def test_guards_open_theirs(tmp_path):
    server = Gateway(GUARDS, tmp_path, env=MODELS)
    try:
        assert encoders(server) == 1
    finally:
        server.stop()
