"""Picking a worker of a pool: simulated engines behind the gateway, and what clients and operators see of the choice."""
import contextlib
import http.client
import json
import re
from types import SimpleNamespace

import pytest

from conftest import request, semroute
from test_pools import until

LONG = "The first paragraph of a long document that many questions are about. " * 40


def config(mock, policy, **more):
    refs = [{"name": f"w{i}", "endpoint": f"127.0.0.1:{mock.port + i}"} for i in range(mock.workers)]
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": "one"}, "models": [{"name": "one", "backend_refs": refs}]},
        "routing": {"signals": {}, "decisions": []},
        "global": {"semroute": {"loops": 1, "pools": [{"model": "one", "policy": policy, **more}]}}})


def ask(gateway, text, model="one", **more):
    body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 4, **more}
    answer = gateway.post(body, headers={"x-vsr-debug": "true"})
    assert answer.status == 200
    until(lambda: idle(gateway))  # else the next request may see this one in flight
    return answer


def idle(gateway):
    counts = [line for line in gateway.metrics().splitlines() if line.startswith("semroute_worker_in_flight_requests{")]
    return counts and all(line.endswith(" 0") for line in counts)


def worker(answer):
    return int(answer.headers["x-vsr-worker"][1:])


@pytest.mark.parametrize("policy", ["prefix", "cost", "auto"])
@pytest.mark.parametrize("model", ["one", "auto"])
def test_a_prefix_stays_with_its_worker(start, policy, model):
    mock = start.mock(4, ("--engine", "--speed", "100"))
    gateway = start.gateway(config(mock, policy))
    homes = {}
    for turn in range(3):
        for family in range(8):
            text = f"Document {family}. {LONG} Question {turn}."
            answer = ask(gateway, text, model)
            assert homes.setdefault(family, worker(answer)) == worker(answer)
            if turn:
                assert answer.headers["x-vsr-worker-reason"].startswith("cost;" if policy == "cost" else "prefix; overlap=4")
                assert answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"] > 400
    if policy != "auto":  # to which the documents mean the same
        assert len(set(homes.values())) == 4
    metrics = gateway.metrics()
    assert "semroute_pool_expected_hit_rate{" in metrics and "semroute_pool_known_bytes{" in metrics


def test_a_conversation_that_grows_stays(start):
    mock = start.mock(4, ("--engine", "--speed", "100"))
    gateway = start.gateway(config(mock, "prefix"))
    messages = [{"role": "system", "content": LONG}]
    homes = set()
    for turn in range(6):
        messages.append({"role": "user", "content": f"Question {turn}? " * 8})
        answer = gateway.post({"model": "one", "messages": messages, "max_tokens": 4}, headers={"x-vsr-debug": "true"})
        homes.add(worker(answer))
        until(lambda: idle(gateway))
        messages.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})
    assert len(homes) == 1


def test_load_of_other_clients_counts(start):
    """They are three, and go when the test says so: a report may still count a request of ours that has ended."""
    mock = start.mock(2, ("--engine",))
    gateway = start.gateway(config(mock, "least_load", metrics={"interval": "100ms"}))
    address = f"http://127.0.0.1:{mock.port}"
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 30000,
                       "ignore_eos": True})
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            busy = http.client.HTTPConnection("127.0.0.1", mock.port, timeout=60)
            stack.callback(busy.close)
            busy.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        until(lambda: f'semroute_pool_worker_running{{pool="one",worker="{address}"}} 3' in gateway.metrics())
        assert {worker(ask(gateway, "hello")) for _ in range(4)} == {1}
    until(lambda: f'semroute_pool_worker_running{{pool="one",worker="{address}"}} 0' in gateway.metrics())
    until(lambda: {worker(ask(gateway, "hello")) for _ in range(4)} == {0, 1})


def test_a_report_of_a_worker_that_is_gone_is_forgotten(start):
    mock = start.mock(2, ("--engine",))
    gateway = start.gateway(config(mock, "least_load", metrics={"interval": "100ms"}))
    address = f"http://127.0.0.1:{mock.port}"
    until(lambda: f'semroute_pool_worker_running{{pool="one",worker="{address}"}}' in gateway.metrics())
    request(mock.port + 1, "PUT", "/mock/kill?worker=0")
    until(lambda: f'semroute_pool_worker_running{{pool="one",worker="{address}"}}' not in gateway.metrics())


def test_a_session_stays_by_header_and_by_user(start):
    mock = start.mock(4, ("--engine", "--speed", "100"))
    gateway = start.gateway(config(mock, "session", session={"header": "x-session"}))
    body = {"model": "one", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 2}
    for name in range(6):
        by_header = {gateway.post(body, headers={"x-vsr-debug": "true", "x-session": str(name)}).headers["x-vsr-worker"]
                     for _ in range(4)}
        by_user = {worker(ask(gateway, "hello", user=f"user {name}")) for _ in range(4)}
        assert len(by_header) == 1 and len(by_user) == 1


def test_explain_names_the_worker(start):
    mock = start.mock(2, ("--engine", "--speed", "100"))
    gateway = start.gateway(config(mock, "prefix"))
    home = worker(ask(gateway, LONG, "auto"))
    body = {"model": "auto", "messages": [{"role": "user", "content": LONG}], "max_tokens": 4}
    seen = request(gateway.api_port, "POST", "/api/v1/explain", {"request": body}).json()["worker"]
    assert seen["backend"] == f"w{home}" and seen["policy"] == "prefix" and seen["reason"] == "prefix"
    assert 0 < seen["overlap"] <= seen["blocks"]


@pytest.mark.parametrize("policy, why", [
    ("round_robin", "turn"), ("least_request", "fewest requests"), ("least_load", "least load"), ("session", "least load"),
    ("prefix", "least load, has 0 of "), ("cost", "cost, has 0 of "), ("meaning", "least load"), ("auto", "least load, has 0 of ")])
def test_explain_draws_the_worker_of_every_policy(tmp_path, policy, why):
    """Also of those to which no cache matters; a model's only worker is not worth a line."""
    path = tmp_path / "semroute.yaml"
    for workers in (2, 1):
        path.write_text(config(SimpleNamespace(port=1, workers=workers), policy))
        drawn = semroute("explain", "-c", path, "hello " * 80).stdout
        assert len(re.findall(f"on w[01] \\({policy}: {re.escape(why)}", drawn)) == workers - 1, drawn


def test_workers_without_a_name_go_by_their_address(start):
    mock = start.mock(2, ("--engine", "--speed", "100"))
    nameless = json.loads(config(mock, "prefix"))
    for ref in nameless["providers"]["models"][0]["backend_refs"]:
        del ref["name"]
    gateway = start.gateway(json.dumps(nameless))
    home = ask(gateway, LONG, "auto").headers["x-vsr-worker"]
    assert home in {f"127.0.0.1:{mock.port + i}" for i in range(2)}
    body = {"model": "auto", "messages": [{"role": "user", "content": LONG}], "max_tokens": 4}
    assert request(gateway.api_port, "POST", "/api/v1/explain", {"request": body}).json()["worker"]["backend"] == home
    assert f'backend="{home}"' in gateway.metrics()


def test_the_same_in_other_words_goes_to_the_same_worker(start):
    mock = start.mock(4, ("--engine", "--speed", "100"))
    gateway = start.gateway(config(mock, "meaning", meaning={"threshold": 0.5, "wait": "10s"}))
    questions = [("How do I reset my password?", "I forgot my password, how can I reset it?"),
                 ("What is the capital of France?", "Which city is the capital of France?"),
                 ("Explain how photosynthesis works in plants.", "How does photosynthesis in a plant work?")]
    homes = {}
    for first, second in questions:
        for model in ("one", "auto"):
            homes.setdefault(first, worker(ask(gateway, first, model)))
    for first, second in questions:
        answer = ask(gateway, second, "auto")
        reason = answer.headers["x-vsr-worker-reason"]
        assert worker(answer) == homes[first] and reason.startswith("meaning; similarity=0."), reason
    assert len(set(homes.values())) == 3
