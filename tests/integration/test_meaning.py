"""Rules of type `embedding` through the gateway: by meaning, in trees with other signals, under load, over reloads, without a model."""
import concurrent.futures
import http.client
import json
import re
import shutil
import time

import conftest
import openai
from conftest import ROOT, chat
from test_pools import until

MODEL = f"{ROOT}/models/all-MiniLM-L6-v2"
SITE = """
version: v0.3
listeners: [{{name: main, address: 127.0.0.1, port: 0}}]
providers:
  defaults: {{default_model: general}}
  models:
    - {{name: general, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
    - {{name: support, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
    - {{name: coder, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
routing:
  signals:
    keywords: [{{name: urgent, keywords: [urgent, asap]}}]
    embeddings:
      - name: refund
        threshold: 0.45
        candidates: ["I want my money back", "How do I return a product?", "The parcel arrived broken"]
      - name: code
        threshold: 0.35
        candidates: ["Fix the bug in this function", "Write a Python program"]
        aggregation_method: mean
  decisions:
    - name: urgent-refund
      priority: 20
      rules: {{operator: AND, conditions: [{{type: embedding, name: refund}}, {{type: keyword, name: urgent}}]}}
      modelRefs: [{{model: support}}]
    - name: programming
      priority: 10
      rules: {{operator: AND, conditions: [{{type: embedding, name: code}}, {{operator: NOT, conditions: [{{type: embedding, name: refund}}]}}]}}
      modelRefs: [{{model: coder}}]
global:
  model_catalog: {{embeddings: {{semantic: {{mmbert_model_path: "{model}"}}}}}}
  semroute: {{signal_deadline_ms: 60000{more}}}
"""
REFUND = "I would like to get the money back for the shoes I bought"
CODE = "please fix the bug in my python function"


def site(start, model=MODEL, more=""):
    mock = start.mock()
    return start.gateway(SITE.format(port=mock.port, model=model, more=more))


def decision(client, text):
    answer = client.chat.completions.with_raw_response.create(
        model="auto", messages=[{"role": "user", "content": text}], extra_headers={"x-vsr-debug": "true"})
    assert answer.parse().choices[0].message.content
    return answer.headers.get("x-vsr-selected-decision"), answer.headers.get("x-vsr-matched-embeddings")


def client_of(gateway):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key="sk-test", max_retries=0)


def metric(gateway, pattern):
    found = re.search(rf"^{pattern} (\S+)$", gateway.metrics(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_rules_by_meaning(start):
    gateway = site(start)
    client = client_of(gateway)
    assert decision(client, "urgent: " + REFUND) == ("urgent-refund", "refund")
    assert decision(client, REFUND) == (None, "refund")
    assert decision(client, CODE) == ("programming", "code")
    assert decision(client, "What is the capital of France?") == (None, None)
    until(lambda: metric(gateway, r'llm_signal_match_total{signal_type="embedding",signal_name="refund"}') == 2)
    answer = client.chat.completions.with_raw_response.create(
        model="auto", messages=[{"role": "user", "content": CODE}], stream=True)
    assert answer.headers["x-vsr-selected-model"] == "coder"
    assert 0.35 <= float(answer.headers["x-vsr-selected-confidence"]) <= 1


def test_the_same_text_is_read_once(start):
    gateway = site(start)
    client = client_of(gateway)
    batches = 'semroute_inference_batch_jobs_count{lane="short"}'
    decision(client, CODE)
    before = metric(gateway, batches)
    assert decision(client, CODE) == ("programming", "code")
    assert metric(gateway, batches) == before


def test_many_clients_share_batches(start):
    gateway = site(start)
    jobs, batches = (f'semroute_inference_batch_jobs_{x}{{lane="short"}}' for x in ("sum", "count"))
    before = metric(gateway, jobs), metric(gateway, batches)

    def ask(number):
        kind = number % 2
        text = f"Order {number}: {REFUND}, urgent" if kind else f"In file {number}: {CODE}"
        return gateway.post(chat(text), timeout=120).headers.get("x-vsr-selected-decision"), kind

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(96)))
    assert all(got == ("programming", "urgent-refund")[kind] for got, kind in answers), answers
    assert metric(gateway, jobs) - before[0] == 96
    assert metric(gateway, batches) - before[1] < 96
    assert metric(gateway, "semroute_inference_queue_length") == 0


def test_a_client_that_leaves_leaves_nothing(start):
    gateway = site(start)
    for number in range(20):
        client = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
        body = chat(f"{number} " + "The weather was fine on that day. " * 800)
        client.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        time.sleep(0.01)
        client.close()
    end = time.monotonic() + 60
    while metric(gateway, "semroute_inference_queue_length") and time.monotonic() < end:
        time.sleep(0.05)
    assert metric(gateway, "semroute_inference_queue_length") == 0
    assert decision(client_of(gateway), CODE)[0] == "programming"


def test_a_text_that_no_queue_holds_degrades_and_says_so(start):
    gateway = site(start, more=", inference: {queue_jobs: 1}")
    answer = gateway.post(chat("The weather was fine on that day. " * 400), timeout=120)
    assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "general"
    until(lambda: metric(gateway, r'semroute_signal_errors_total{signal="embedding",reason="limit"}') == 1)
    assert metric(gateway, r'semroute_inference_refused_total{reason="limit"}') == 1


def test_reload_keeps_the_encoder(start):
    gateway = site(start)
    client = client_of(gateway)
    assert decision(client, CODE)[0] == "programming"
    text = gateway.config_path.read_text()
    gateway.config_path.write_text(text.replace("Write a Python program", "How is the weather?").replace("threshold: 0.35", "threshold: 0.9"))
    end = time.monotonic() + 60
    while decision(client, CODE)[0] and time.monotonic() < end:
        time.sleep(0.1)
    assert decision(client, CODE) == (None, None)
    assert gateway.output().count('"event":"encoder_ready"') == 1


def test_without_the_default_model(start, tmp_path, monkeypatch):
    away = tmp_path / "bin" / "semroute"
    away.parent.mkdir()
    shutil.copy(conftest.BINARY, away)
    monkeypatch.setattr(conftest, "BINARY", away)
    monkeypatch.chdir(tmp_path)
    gateway = start.gateway(SITE.format(port=start.mock().port, model="", more=""), env={"SEMROUTE_MODELS": str(tmp_path)})
    answer = gateway.post(chat(CODE))
    assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "general"
    until(lambda: metric(gateway, r'semroute_signal_errors_total{signal="embedding",reason="unavailable"}') == 1)
    gateway.stop()
    assert '"event":"encoder_missing"' in gateway.output()


def test_a_model_that_does_not_fit_is_refused(start, tmp_path):
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    gateway = start.gateway(SITE.format(port=start.mock().port, model=folder, more=""), wait=False)
    assert gateway.wait(60) != 0
    assert "llama" in gateway.output() and "config.json" in gateway.output()
