"""Official clients whose model is served by another API, in all six directions and by every feature that all of the APIs
have: the objects and the events that they return are those of an upstream of their own API, and what they send back in the
next turn reaches the upstream as its own. Nothing of it is named as lost."""
import contextlib
import json
import subprocess

import anthropic
import openai
import pydantic
import pytest
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

from conftest import ROOT
from test_translate import PAIRS, body_of, translating
from tongues import CALLS, PATHS, REASONING, SEALED, SIGNATURE, TEXT

IDS = ["-".join(pair) for pair in PAIRS]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQK"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
by_pair = pytest.mark.parametrize("client,upstream", PAIRS, ids=IDS)


class Answer(pydantic.BaseModel):
    a: int


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with translating(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture
def site(shared):
    shared[1].short = shared[1].searching = False
    shared[1].seen.clear()
    return shared


class Clients:
    """The official clients of one port; `ask` returns the object, and of streams the events before it."""

    def __init__(self, port):
        self.warnings = []
        hooks = {"event_hooks": {"response": [lambda r: self.warnings.append(r.headers.get("x-vsr-protocol-warnings"))]}}
        self.openai = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0,
                                    http_client=openai.DefaultHttpxClient(**hooks))
        self.anthropic = anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key="k", max_retries=0,
                                             http_client=anthropic.DefaultHttpxClient(**hooks))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.openai.close()
        self.anthropic.close()

    def ask(self, api, body, helper=True):
        of = {"chat": self.openai.chat.completions, "responses": self.openai.responses, "messages": self.anthropic.messages}[api]
        if not body.get("stream"):
            return [], of.create(**body)
        options = {k: v for k, v in body.items() if k != "stream"}
        events = [e.to_dict() for e in of.create(**body)]
        if not helper:
            return events, None
        with of.stream(**options) as stream:
            for _ in stream:
                pass
            final = {"chat": "get_final_completion", "responses": "get_final_response", "messages": "get_final_message"}[api]
            return events, getattr(stream, final)()


OWN = {"id", "created", "created_at", "item_id", "signature", "encrypted_content", "reasoning_details", "model", "model_name"}


def own_left_out(value):
    """Without what must differ: ids, times and names of another server, and what only the reasoning's maker can read."""
    if isinstance(value, dict):
        return {k: own_left_out(v) for k, v in value.items() if k not in OWN and v is not None}
    if isinstance(value, list):
        return [own_left_out(v) for v in value]
    with contextlib.suppress(ValueError):
        return json.loads(value) if isinstance(value, str) and value.startswith("{") else value
    return value


def says_something(event):
    """Not so: pings, chunks with nothing but the proof of a reasoning, and such proofs of Messages."""
    if event.get("type") == "ping" or event.get("delta") == {"type": "signature_delta"}:
        return False
    choices = event.get("choices")
    return not choices or choices[0]["delta"] or "finish_reason" in choices[0]


def shown(events):
    """Events to compare. The first event of Messages counts tokens, which the other APIs do at the end."""
    events = [own_left_out(e) for e in events]
    for event in events:
        if event.get("type") == "message_start":
            del event["message"]["usage"]
    return [e for e in events if says_something(e)]


def with_schema(api, body):
    if api == "chat":
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    elif api == "responses":
        body["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}}
    else:
        body["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
    return body


def with_media(api, body):
    """An image by its bytes, one by its URL, and a file."""
    url, text = "https://example.com/a.png", "What is it?"
    if api == "chat":
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}},
                   {"type": "image_url", "image_url": {"url": url}},
                   {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64," + PDF}}]
        body["messages"] = body["messages"][:1] + [{"role": "user", "content": content}]
    elif api == "responses":
        body["input"] = [{"role": "user", "content": [
            {"type": "input_text", "text": text}, {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64," + PIXEL},
            {"type": "input_image", "detail": "auto", "image_url": url},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64," + PDF}]}]
    else:
        body["messages"] = [{"role": "user", "content": [
            {"type": "text", "text": text}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {"type": "image", "source": {"type": "url", "url": url}},
            {"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}]}]
    return body


FEATURES = {
    "text": lambda api, model, stream: body_of(api, model, stream=stream),
    "tools": lambda api, model, stream: body_of(api, model, tools=True, stream=stream),
    "reasoning": lambda api, model, stream: body_of(api, model, reasoning=True, stream=stream),
    "reasoning and tools": lambda api, model, stream: body_of(api, model, tools=True, reasoning=True, stream=stream),
    "schema": lambda api, model, stream: with_schema(api, body_of(api, model, stream=stream)),
    "media": lambda api, model, stream: with_media(api, body_of(api, model, stream=stream)),
    "cut": lambda api, model, stream: body_of(api, model, stream=stream),
}
# Named, because the other API has another word for it: budgets for efforts, and names of schemas.
NAMED = {"thinking.budget_tokens", "response_format.json_schema.name"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("feature", FEATURES)
@by_pair
def test_objects_and_events_are_those_of_a_native_upstream(site, client, upstream, feature, stream):
    gateway, tongues = site
    tongues.short = feature == "cut"
    body = FEATURES[feature](client, upstream, stream)
    with Clients(tongues.port) as native, Clients(gateway.port) as through:
        parsed = feature != "cut"  # clients of chats parse no answer that was cut
        wanted_events, wanted = native.ask(client, body, parsed)
        events, got = through.ask(client, body, parsed)
    assert tongues.seen[-1][0] == PATHS[upstream]
    assert all(set(named.split(", ")) <= NAMED for named in through.warnings if named)
    assert (got and own_left_out(got.to_dict())) == (wanted and own_left_out(wanted.to_dict()))
    if feature == "cut" and upstream == "messages":  # it ends a block before it says that the answer was cut
        for event in wanted_events:
            if event.get("type") == "response.output_item.done":
                event["item"]["status"] = "completed"
    if got and not stream:  # whole and of the right types, which the clients do not look at
        type(got).model_validate(got.to_dict())
    assert bool(events) == stream and shown(events) == shown(wanted_events)


@by_pair
def test_what_upstreams_see_is_what_their_own_client_sends(site, client, upstream):
    gateway, tongues = site
    with Clients(gateway.port) as through, Clients(tongues.port) as native:
        through.ask(client, with_media(client, body_of(client, upstream)))
        seen = tongues.seen[-1][2]
        native.ask(upstream, with_media(upstream, body_of(upstream, upstream)))
    wanted = tongues.seen[-1][2]
    assert seen.pop("model") == ("claude" if upstream == "messages" else upstream) and wanted.pop("model")
    for own in ("store", "type"):  # said by semroute, and by no client
        seen.pop(own, None)
    if upstream == "responses":
        assert seen["input"][0].pop("type") == "message"
    assert seen == wanted


@by_pair
def test_clients_skip_what_a_stream_says_of_losses(site, client, upstream):
    gateway, tongues = site
    body = body_of(client, upstream, tools=True, stream=True)
    with Clients(gateway.port) as through:
        wanted = through.ask(client, body)
        tongues.searching = True
        got = through.ask(client, body)
        raw = gateway.post(body, path=PATHS[client]).body.decode()
        tongues.searching = False
    assert shown(got[0]) == shown(wanted[0]) and own_left_out(got[1].to_dict()) == own_left_out(wanted[1].to_dict())
    named = {"chat": "system_fingerprint", "responses": "output[].web_search_call", "messages": "messages[].content[].server_tool_use"}
    assert f"\n\n: x-vsr-protocol-warnings: {named[upstream]}\n\n" in raw


def turn_of(api, body, answer):
    """The request of the next turn, as the client's users write it: all that came, and the results of the calls."""
    if api == "chat":
        body["messages"] += [answer.choices[0].message] + [{"role": "tool", "tool_call_id": c[0], "content": "4"} for c in CALLS]
    elif api == "responses":
        body["input"] = [{"role": "user", "content": body["input"]}, *answer.output] + [
            {"type": "function_call_output", "call_id": c[0], "output": "4"} for c in CALLS]
    else:
        body["messages"] += [{"role": "assistant", "content": answer.content},
                             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": c[0], "content": "4"} for c in CALLS]}]
    return body


def turn_seen(api, sent):
    """What the upstream sees of that turn: reasoning with what proves it, text, calls, results."""
    if api == "responses":
        items = sent["input"][1:]
        assert [i["type"] for i in items] == ["reasoning", "message"] + ["function_call"] * 2 + ["function_call_output"] * 2
        return ((items[0]["summary"][0]["text"], items[0]["encrypted_content"]), items[1]["content"][0]["text"],
                [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in items[2:4]], [(i["call_id"], i["output"]) for i in items[4:]])
    if api == "messages":
        said, results = sent["messages"][1]["content"], sent["messages"][2]["content"]
        assert [b["type"] for b in said] == ["thinking", "text", "tool_use", "tool_use"]
        return ((said[0]["thinking"], said[0]["signature"]), said[1]["text"], [(b["id"], b["name"], b["input"]) for b in said[2:]],
                [(b["tool_use_id"], b["content"]) for b in results])
    said, results = sent["messages"][-3], sent["messages"][-2:]
    return ((said["reasoning_content"], None), said["content"],
            [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in said["tool_calls"]],
            [(m["tool_call_id"], m["content"]) for m in results])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@by_pair
def test_reasoning_calls_and_ids_come_back_in_the_next_turn(site, client, upstream, stream):
    gateway, tongues = site
    body = body_of(client, upstream, tools=True, reasoning=True, stream=stream)
    with Clients(gateway.port) as through:
        _, first = through.ask(client, body)
        turn = turn_of(client, body_of(client, upstream, tools=True, reasoning=True), first)
        through.ask(client, turn)
    proof = {"chat": None, "responses": SEALED, "messages": SIGNATURE}[upstream]
    assert turn_seen(upstream, tongues.seen[-1][2]) == (
        (REASONING, proof), TEXT, [tuple(c) for c in CALLS], [(c[0], "4") for c in CALLS])
    assert all(set(named.split(", ")) <= NAMED for named in through.warnings if named)


@by_pair
def test_clients_parse_what_a_schema_asks_for(site, client, upstream):
    gateway, tongues = site

    def parsed(port):
        with Clients(port) as c:
            if client == "chat":
                return c.openai.chat.completions.parse(model=upstream, messages=[{"role": "user", "content": "x"}],
                                                       response_format=Answer).choices[0].message.parsed
            if client == "responses":
                return c.openai.responses.parse(model=upstream, input="x", text_format=Answer).output_parsed
            return c.anthropic.messages.parse(model=upstream, max_tokens=99, messages=[{"role": "user", "content": "x"}],
                                              output_format=Answer).parsed_output
    assert parsed(tongues.port) == parsed(gateway.port) == Answer(a=3)


# ---- other clients

@pytest.mark.parametrize("upstream", PATHS)
def test_node_returns_what_a_native_upstream_gives(site, upstream):
    gateway, tongues = site

    def told(port, model):
        done = subprocess.run(["node", ROOT / "tests" / "node" / "apis.mjs", str(port), model], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    native = told(tongues.port, upstream)
    got = told(gateway.port, upstream)
    assert set(got) == set(native) and len(native) == 12
    for case in native:
        assert native[case] and shown(got[case].pop("events", [])) == shown(native[case].pop("events", [])), case
        assert own_left_out(got[case]) == own_left_out(native[case]), case


def langchain(api, port, model):
    if api == "messages":
        return ChatAnthropic(base_url=f"http://127.0.0.1:{port}", api_key="k", model=model, max_retries=0, max_tokens=20000)
    more = {"use_responses_api": True, "output_version": "responses/v1"} if api == "responses" else {}
    return ChatOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", model=model, max_retries=0, stream_usage=True, **more)


@by_pair
def test_langchain_returns_what_a_native_upstream_gives(site, client, upstream):
    gateway, tongues = site

    def told(port):
        model = langchain(client, port, upstream).bind_tools([{"name": "add", "description": "adds", "parameters": SCHEMA}])
        pieces = list(model.stream("2+2?"))
        joined = pieces[0]
        for piece in pieces[1:]:
            joined += piece
        return [fields(model.invoke("2+2?")), fields(joined)]

    def fields(message):
        data = message.model_dump()
        data["response_metadata"] = {k: v for k, v in data["response_metadata"].items() if k not in ("model", "model_name")}
        return {key: data[key] for key in ("content", "tool_calls", "usage_metadata", "response_metadata")}

    native, got = told(tongues.port), told(gateway.port)
    assert native[0]["tool_calls"] and native[0]["usage_metadata"] and own_left_out(got) == own_left_out(native)
