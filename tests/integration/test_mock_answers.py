"""Answers of `semroute mock` as somebody meets them who tries semroute with it: conversations by id go on, and no guard stops what it says."""
import json

import openai
import pytest

from conftest import Mock, request

FORMATS = {"chat": "chat_completions", "responses": "responses", "messages": "anthropic"}


def config(port):
    guard = {"name": "stop", "priority": 100, "rules": {"operator": "OR", "conditions": [{"type": "jailbreak", "name": "jailbreak"}]},
             "plugins": [{"type": "guard", "configuration": {"action": "block"}}]}
    reads = {"name": "read", "priority": 1, "modelRefs": [{"model": "chat"}],
             "plugins": [{"type": "response_jailbreak", "configuration": {"action": "block"}}]}
    return json.dumps({
        "version": "v0.3",
        "providers": {"models": [{"name": m, "api_format": FORMATS[m], "backend_refs": [{"endpoint": f"127.0.0.1:{port}"}]} for m in FORMATS],
                      "defaults": {"default_model": "chat"}},
        "routing": {"signals": {"jailbreak": [{"name": "jailbreak"}]}, "decisions": [guard, reads]},
        "global": {"semroute": {"allow_anonymous": True, "signal_deadline_ms": 20000, "inference": {"ask_below": 0}}}})


@pytest.fixture
def site(start, tmp_path):
    mock = Mock(tmp_path / "mock.log", 1, same_ids=False)
    try:
        yield start.gateway(config(mock.port)), mock
    finally:
        mock.stop()


@pytest.mark.parametrize("model", [*FORMATS, "auto"])
def test_a_conversation_goes_on(site, model):
    gateway, mock = site
    with openai.OpenAI(base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key="k", max_retries=0) as client:
        ids, previous = [], None
        for text in ("How do I boil an egg?", "How do I boil an egg?", "And a soft one?"):
            answer = client.responses.create(model=model, input=text, **({"previous_response_id": previous} if previous else {}))
            assert answer.status == "completed" and "answer of worker 0" in answer.output_text
            previous = answer.id
            ids.append(previous)
        assert len(set(ids)) == 3
        assert [client.responses.retrieve(i).id for i in ids] == ids
        assert mock.last_body().count(b"boil an egg") == 2


def test_calls_have_ids_of_their_own(site):
    gateway, mock = site
    body = {"model": "chat", "messages": [{"role": "user", "content": "Hello."}]}
    calls = []
    for _ in range(2):
        answer = request(gateway.port, "POST", "/v1/chat/completions", body, {"x-mock-tools": "2"}).json()
        calls += [c["id"] for c in answer["choices"][0]["message"]["tool_calls"]]
    assert len(set(calls)) == 4


def test_the_usual_text_comes_from_behaviour(site):
    gateway, mock = site
    assert request(mock.port, "PUT", "/mock/behaviour", headers={"x-mock-text": "So be it."}).status == 200
    for _ in range(2):
        answer = gateway.post({"model": "chat", "messages": [{"role": "user", "content": "Hello."}]})
        assert answer.json()["choices"][0]["message"]["content"] == "So be it."
