"""Backends that speak another API than the client: the official clients get, field by field, what an upstream of their own
API gives them. The upstream is tests/integration/tongues.py, which says the same in all three."""
import contextlib
import hashlib
import json

import anthropic
import openai
import pytest

from conftest import Gateway, request
from test_pools import until
from tongues import CALLS, REASONING, TEXT, PATHS, Tongues

FORMATS = {"chat": "chat_completions", "responses": "responses", "messages": "anthropic"}
PAIRS = [(client, upstream) for client in PATHS for upstream in PATHS if client != upstream]

SITE = """
version: v0.3
providers:
  models:
    - {{name: chat, api_format: chat_completions, backend_refs: [{{endpoint: "127.0.0.1:{port}", api_key: key-of-chat}}]}}
    - {{name: responses, api_format: responses, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
    - {{name: messages, provider_model_id: claude, api_format: anthropic, backend_refs: [{{endpoint: "127.0.0.1:{port}", api_key: key-of-messages}}]}}
    - {{name: gone, api_format: chat_completions, backend_refs: [{{endpoint: "127.0.0.1:9"}}]}}
  defaults: {{default_model: chat}}
routing:
  signals: {{keywords: [{{name: sums, operator: OR, keywords: [sum]}}, {{name: gone, operator: OR, keywords: [elsewhere]}}]}}
  decisions:
    - name: sums
      rules: {{operator: AND, conditions: [{{type: keyword, name: sums}}]}}
      modelRefs: [{{model: messages, use_reasoning: false}}]
    - name: gone
      rules: {{operator: AND, conditions: [{{type: keyword, name: gone}}]}}
      modelRefs: [{{model: gone, use_reasoning: false}}, {{model: messages, use_reasoning: false}}]
global: {{semroute: {{access_log: stdout, allow_anonymous: true}}}}
"""


@contextlib.contextmanager
def translating(folder):
    """A gateway of SITE and its upstream, which speaks every API: for the tests of a whole file."""
    with contextlib.ExitStack() as stack:
        tongues = Tongues()
        stack.callback(tongues.stop)
        gateway = Gateway(SITE.format(port=tongues.port), folder)
        stack.callback(gateway.stop)
        yield gateway, tongues


@pytest.fixture
def site(start):
    tongues = Tongues()
    try:
        yield start.gateway(SITE.format(port=tongues.port)), tongues
    finally:
        tongues.stop()


TOOL = {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}


def body_of(api, model, tools=False, reasoning=False, stream=False):
    """The same question in each API."""
    body = {"model": model}
    if stream:
        body["stream"] = True
    if api == "messages":
        body |= {"max_tokens": 20000, "messages": [{"role": "user", "content": "2+2?"}], "system": "Be brief."}
        if tools:
            body["tools"] = [{"name": "add", "description": "adds", "input_schema": TOOL["parameters"]}]
        if reasoning:
            body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    elif api == "responses":
        body |= {"input": "2+2?", "instructions": "Be brief.", "max_output_tokens": 20000}
        if tools:
            body["tools"] = [{"type": "function", "strict": False, **TOOL}]
        if reasoning:
            body["reasoning"] = {"effort": "low"}
    else:
        body |= {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}],
                 "max_completion_tokens": 20000}
        if tools:
            body["tools"] = [{"type": "function", "function": TOOL}]
        if reasoning:
            body["reasoning_effort"] = "low"
        if stream:
            body["stream_options"] = {"include_usage": True}
    return body


def ask(api, port, body):
    """What the API's official client returns for it, as plain data."""
    base = f"http://127.0.0.1:{port}"
    options = {k: v for k, v in body.items() if k != "stream"}
    if api == "messages":
        with anthropic.Anthropic(base_url=base, api_key="client-key", max_retries=0) as client:
            if not body.get("stream"):
                return client.messages.create(**options).to_dict()
            with client.messages.stream(**options) as stream:
                return stream.get_final_message().to_dict()
    with openai.OpenAI(base_url=base + "/v1", api_key="client-key", max_retries=0) as client:
        if api == "responses":
            if not body.get("stream"):
                return client.responses.create(**options).to_dict()
            with client.responses.stream(**options) as stream:
                for _ in stream:
                    pass
                return stream.get_final_response().to_dict()
        if not body.get("stream"):
            return client.chat.completions.create(**options).to_dict()
        options.pop("stream_options")
        with client.chat.completions.stream(**options, stream_options={"include_usage": True}) as stream:
            return stream.get_final_completion().to_dict()


OWN = {"id", "created", "created_at", "item_id", "signature", "encrypted_content", "reasoning_details"}


def plain(value):
    """Without what must differ: ids and times of another server, and what only the reasoning's maker can read."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in OWN and v is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("what", ["text", "tools", "reasoning"])
@pytest.mark.parametrize("client,upstream", PAIRS, ids=["-".join(p) for p in PAIRS])
def test_clients_get_what_their_own_api_gives(site, client, upstream, what, stream):
    gateway, tongues = site
    more = {what: True} if what != "text" else {}
    native = ask(client, tongues.port, body_of(client, upstream, stream=stream, **more))
    translated = ask(client, gateway.port, body_of(client, upstream, stream=stream, **more))
    path, _, sent = tongues.seen[-1]
    assert path == PATHS[upstream]
    assert sent["model"] == ("claude" if upstream == "messages" else upstream)
    wanted, got = plain(native), plain(translated)
    assert got.pop("model") == sent["model"]
    wanted.pop("model")
    assert got == wanted


def test_ids_of_calls_are_those_of_the_upstream(site):
    gateway, _ = site
    calls = ask("chat", gateway.port, body_of("chat", "messages", tools=True))["choices"][0]["message"]["tool_calls"]
    assert [c["id"] for c in calls] == [c[0] for c in CALLS]


def test_the_way_back_of_a_conversation(site):
    """A client sends back what it got: the upstream sees its own reasoning and calls again."""
    gateway, tongues = site
    first = gateway.post(body_of("chat", "messages", tools=True, reasoning=True)).json()["choices"][0]["message"]
    assert first["reasoning_content"] == REASONING and first["content"] == TEXT
    turn = body_of("chat", "messages", tools=True, reasoning=True)
    turn["messages"] += [first] + [{"role": "tool", "tool_call_id": c[0], "content": "4"} for c in CALLS]
    answer = gateway.post(turn)
    assert answer.status == 200 and "x-vsr-protocol-warnings" not in answer.headers
    sent = tongues.seen[-1][2]["messages"]
    assert sent[1]["content"][0] == {"type": "thinking", "thinking": REASONING, "signature": "SIG"}
    assert [b["type"] for b in sent[1]["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert [b["tool_use_id"] for b in sent[2]["content"]] == ["call_1", "call_2"]


def test_calls_that_come_back_without_their_reasoning(site):
    """Messages refuse a budget of reasoning after such calls."""
    gateway, tongues = site
    turn = body_of("chat", "messages", tools=True, reasoning=True)
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    turn["messages"] += [{"role": "assistant", "content": None, "reasoning_content": REASONING, "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": "call_1", "content": "4"}]
    answer = gateway.post({**turn, "temperature": 0.5})
    assert answer.status == 200 and answer.headers["x-vsr-protocol-warnings"] == "reasoning, reasoning_effort"
    sent = tongues.seen[-1][2]
    assert "thinking" not in sent and sent["temperature"] == 0.5


def test_headers_of_the_other_api(site):
    gateway, tongues = site
    gateway.post(body_of("chat", "messages"), headers={"authorization": "Bearer client-key", "openai-organization": "o"})
    headers = tongues.seen[-1][1]
    assert headers["x-api-key"] == "key-of-messages" and headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers and "openai-organization" not in headers
    gateway.post(body_of("messages", "responses"), path="/v1/messages?beta=true",
                 headers={"x-api-key": "client-key", "anthropic-version": "2023-06-01", "anthropic-beta": "x"})
    path, headers, _ = tongues.seen[-1]
    assert path == "/v1/responses" and headers["authorization"] == "Bearer client-key"
    assert not {"x-api-key", "anthropic-version", "anthropic-beta"} & set(headers)


def test_what_is_lost_is_named(site):
    gateway, _ = site
    answer = gateway.post({**body_of("chat", "messages"), "seed": 1, "logit_bias": {"1": 1}})
    assert answer.headers["x-vsr-protocol-warnings"] == "seed, logit_bias"
    answer = gateway.post({**body_of("chat", "messages", stream=True), "seed": 1})
    assert answer.headers["x-vsr-protocol-warnings"] == "seed"
    assert "x-vsr-protocol-warnings" not in gateway.post(body_of("chat", "messages")).headers
    assert "x-vsr-protocol-warnings" not in gateway.post({**body_of("chat", "chat"), "seed": 1}).headers


def test_what_only_one_api_takes_is_changed(site):
    """A probe of a client of Messages, as OpenAI takes it; an empty turn, as Messages take it."""
    gateway, tongues = site
    user = "user_" + "a" * 64 + "_account__session_1"
    gateway.post({**body_of("messages", "responses"), "max_tokens": 1, "metadata": {"user_id": user}}, path="/v1/messages")
    sent = tongues.seen[-1][2]
    assert sent["max_output_tokens"] == 16 and sent["user"] == hashlib.sha256(user.encode()).hexdigest()
    turns = [{"role": role, "content": text} for role, text in (("user", "2+2?"), ("assistant", ""), ("user", ""))]
    answer = gateway.post({"model": "messages", "messages": turns, "stop": ["\n"]})
    sent = tongues.seen[-1][2]
    assert sent["messages"] == [{"role": "user", "content": "2+2?"}, {"role": "user", "content": "."}]
    assert "stop_sequences" not in sent
    assert answer.headers["x-vsr-protocol-warnings"] == "messages[].content, stop"


def test_what_cannot_be_left_out_is_refused(site):
    gateway, tongues = site
    answer = gateway.post({"model": "chat", "input": "x", "prompt": {"id": "pmpt_1"}}, path="/v1/responses")
    assert answer.status == 400 and answer.json()["error"]["code"] == "not_translatable"
    assert not tongues.seen


@pytest.mark.parametrize("client,upstream", PAIRS, ids=["-".join(p) for p in PAIRS])
def test_errors_are_in_the_clients_words(site, client, upstream):
    gateway, tongues = site
    tongues.fail = (400, json.dumps(
        {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}} if upstream == "messages" else
        {"error": {"message": "too long", "type": "invalid_request_error", "param": None, "code": "c"}}).encode(), "application/json")
    answer = gateway.post(body_of(client, upstream), path=PATHS[client])
    assert answer.status == 400 and answer.json()["error"]["message"] == "too long"
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert ("type" in answer.json()) == (client == "messages")
    tongues.fail = (418, b"<html>teapot</html>", "text/html")
    answer = gateway.post(body_of(client, upstream, stream=True), path=PATHS[client])
    assert answer.status == 418 and answer.json()["error"]["message"] == "<html>teapot</html>"
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("status, says", ((401, "authentication_error"), (403, "permission_error"), (429, "rate_limit_error"), (404, "not_found_error")))
def test_the_status_says_more_than_a_general_type(site, status, says):
    gateway, tongues = site
    tongues.fail = (status, b'{"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": "x"}}', "application/json")
    answer = gateway.post(body_of("messages", "chat"), path=PATHS["messages"])
    assert (answer.status, answer.json()["error"]["type"]) == (status, says)


def test_an_answer_that_is_none(site):
    gateway, tongues = site
    for body in (b"hello", b'{"choices":[]}'):
        tongues.fail = (200, body, "application/json")
        answer = gateway.post(body_of("chat", "messages"))
        assert answer.status == 502 and answer.json()["error"]["code"] == "bad_upstream_answer"


@pytest.mark.parametrize("client,upstream", PAIRS, ids=["-".join(p) for p in PAIRS])
def test_a_stream_that_is_lost_has_no_end(site, client, upstream):
    gateway, tongues = site
    tongues.cut = 6
    answer = gateway.post(body_of(client, upstream, stream=True), path=PATHS[client])
    assert answer.status == 200
    for end in (b"[DONE]", b"message_stop", b"response.completed", b'"finish_reason":"stop"'):
        assert end not in answer.body
    assert b"error" in answer.body


def test_a_routed_request_is_edited_and_then_translated(site):
    gateway, tongues = site
    answer = gateway.post({"model": "auto", "messages": [{"role": "user", "content": "a sum"}], "stream": True})
    path, _, sent = tongues.seen[-1]
    assert path == "/v1/messages" and sent["model"] == "claude" and sent["max_tokens"] == 4096
    assert answer.headers["x-vsr-selected-model"] == "messages"
    assert b"prompt_tokens" not in answer.body and answer.body.endswith(b"data: [DONE]\n\n")


def test_failover_crosses_apis(site):
    """The first model cannot be reached: the second one speaks another API, and the client does not notice."""
    gateway, tongues = site
    answer = gateway.post({"model": "auto", "messages": [{"role": "user", "content": "elsewhere"}]})
    assert answer.status == 200 and answer.json()["choices"][0]["message"]["content"] == TEXT
    assert tongues.seen[-1][0] == "/v1/messages"


def test_usage_is_counted(site):
    gateway, _ = site
    gateway.post(body_of("messages", "chat", stream=True), path="/v1/messages")
    until(lambda: '"completion_tokens":5' in gateway.output())


def test_the_same_api_passes_byte_for_byte(site):
    gateway, tongues = site
    native = request(tongues.port, "POST", "/v1/messages", body_of("messages", "claude", stream=True))
    passed = gateway.post(body_of("messages", "messages", stream=True), path="/v1/messages")
    assert passed.body == native.body


def test_reasoning_of_another_api_does_not_reach_its_own(site):
    """A conversation that moves to a model whose upstream speaks the client's API: what others made stays out, and is named."""
    gateway, tongues = site
    ask = body_of("messages", "chat", tools=True, reasoning=True)
    path, results = "/v1/messages", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": c[0], "content": "4"} for c in CALLS]}
    for model, kinds in (("chat", []), ("responses", []), ("messages", ["thinking"])):
        first = gateway.post({**ask, "model": model}, path=path).json()["content"]
        assert "thinking" in [b["type"] for b in first]
        turn = {**ask, "model": "messages", "messages": ask["messages"] + [{"role": "assistant", "content": first}, results]}
        answer = gateway.post(turn, path=path)
        sent = tongues.seen[-1][2]
        assert answer.status == 200 and tongues.seen[-1][0] == path
        assert [b["type"] for b in sent["messages"][1]["content"]] == [*kinds, "text", "tool_use", "tool_use"]
        assert sent["thinking"]["type"] == ("enabled" if kinds else "disabled")
        assert answer.headers.get("x-vsr-protocol-warnings") == (None if kinds else "reasoning, thinking")


OWN_NAMES = """
version: v0.3
providers:
  models:
    - {{name: claude, api_format: anthropic, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
    - name: to-chat
      backend_refs: [{{endpoint: "127.0.0.1:9", api_format: anthropic}}, {{endpoint: "127.0.0.1:{port}", api_format: chat_completions}}]
    - name: to-claude
      backend_refs: [{{endpoint: "127.0.0.1:9", api_format: chat_completions}}, {{endpoint: "127.0.0.1:{port}", api_format: anthropic}}]
    - {{name: any, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
  defaults: {{default_model: claude}}
global: {{semroute: {{allow_anonymous: true}}}}
"""


def test_what_is_cut_out_depends_on_the_backend(start):
    """Unsigned reasoning is cut out for backends that speak Messages, and stays for those of which semroute knows no API."""
    tongues = Tongues()
    try:
        gateway = start.gateway(OWN_NAMES.format(port=tongues.port))
        block = {"type": "thinking", "thinking": REASONING, "signature": ""}
        for model in ("claude", "any", "to-chat", "to-claude"):
            body = {**body_of("messages", model), "messages": [
                {"role": "user", "content": "2+2?"}, {"role": "assistant", "content": [block, {"type": "text", "text": "4"}]},
                {"role": "user", "content": "3+3?"}]}
            assert gateway.post(body, path="/v1/messages").status == 200
            path, _, sent = tongues.seen[-1]
            assert path == PATHS["chat" if model == "to-chat" else "messages"]
            if model == "to-chat":
                assert sent["messages"][2]["reasoning_content"] == REASONING
            else:
                assert sent["messages"][1]["content"][:-1] == ([block] if model == "any" else [])
    finally:
        tongues.stop()
