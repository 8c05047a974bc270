"""Nothing is lost in silence: every member and kind that the official clients know of requests, answers and streams reaches the
other side, or a name in x-vsr-protocol-warnings stands for it (in streams, in a comment before the last event)."""
import json
import re

import anthropic.types as ant
import openai.types.chat as chat
import openai.types.responses as res
import pytest
from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params

from made_up import fields, is_record, kinds, leaves, made, record, word_of
from test_translate import PAIRS, translating
from tongues import PATHS

BASE = {"chat": {"messages": [{"role": "user", "content": "hi"}]}, "responses": {"input": "hi"},
        "messages": {"max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}}
ROOTS = {"chat": completion_create_params.CompletionCreateParamsBase, "responses": response_create_params.ResponseCreateParamsBase,
         "messages": message_create_params.MessageCreateParamsBase}
OWN = {"model", "messages", "input", "store"}  # what every request here has, and what semroute acts on
REFUSED = {"background", "conversation", "previous_response_id", "prompt", "item_reference"}
# Names of the APIs for the same thing, and ids that only their own server knows.
ALIASES = {"stop_sequences": "stop", "thinking": "reasoning", "redacted_thinking": "reasoning", "max_tokens": "max_output_tokens"}
IDS = {"id", "response_id", "item_id", "container_id"}
KINDS = {
    "chat": {"tools": chat.ChatCompletionToolUnionParam, "messages": chat.ChatCompletionMessageParam,
             "content": chat.ChatCompletionContentPartParam},
    "responses": {"tools": res.ToolParam, "input": res.ResponseInputItemParam, "content": res.ResponseInputContentParam},
    "messages": {"tools": ant.ToolUnionParam, "content": ant.ContentBlockParam}}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with translating(tmp_path_factory.mktemp("site")) as site:
        yield site


def names(text):
    """All words that warnings have."""
    return set(re.split(r"[^A-Za-z0-9_]+", text or ""))


def lost_in_silence(value, arrived, warnings, about):
    """The members of `value` that neither arrived nor are named, themselves or what they are in."""
    told, text = names(warnings), json.dumps(arrived)
    about = about | {ALIASES[name] for name in about if name in ALIASES}
    return [".".join(path) for path, leaf in leaves(value)
            if str(leaf) not in text and path[-1] not in IDS and not told & {*path, *about} and "more" not in told]


def request_with(api, where, value):
    body = json.loads(json.dumps(BASE[api]))
    if where == "content":
        place = body["messages"] if api != "responses" else None
        message = {"role": "assistant" if value["type"] in ASSISTANTS else "user", "content": [value]}
        if place is None:
            body["input"] = [message]
        else:
            place.append(message)
    elif where == "root":
        body |= value
    elif isinstance(body.get(where), list):
        body[where].append(value)
    else:
        body[where] = [value]
    return body


OTHER_SOURCES = {"file_id", "file_url"}
ASSISTANTS = {"thinking", "redacted_thinking", "tool_use", "server_tool_use", "refusal"}


def cases():
    for client, upstream in PAIRS:
        for name, hint in fields(ROOTS[client]).items():
            if name not in OWN:
                yield client, upstream, "root", name, hint
        for where, union in KINDS[client].items():
            for kind in kinds(union):
                if is_record(kind):
                    yield client, upstream, where, word_of(kind) or kind.__name__, kind


def test_every_member_of_requests_arrives_or_is_named(site):
    gateway, tongues = site
    silent, n = [], 0
    for client, upstream, where, name, kind in cases():
        value = {name: made(kind)} if where == "root" else record(kind)
        for other in OTHER_SOURCES & set(value):  # of several sources a part has one
            del value[other]
        value.get("file", {}).pop("file_id", None) if isinstance(value.get("file"), dict) else None
        body = request_with(client, where, value)
        tongues.seen.clear()
        answer = gateway.post({**body, "model": upstream}, path=PATHS[client])
        n += 1
        if name in REFUSED:
            assert answer.status in (400, 404) and not tongues.seen and (name in answer.body.decode() or name == "item_reference")
            continue
        assert answer.status == 200, (client, upstream, where, name, answer.body)
        gone = lost_in_silence(value, tongues.seen[-1][2], answer.headers.get("x-vsr-protocol-warnings"), {name})
        if gone:
            silent.append((client, upstream, where, name, gone, answer.headers.get("x-vsr-protocol-warnings")))
    assert n > 300
    assert not silent, "\n".join(map(str, silent))


# ---- answers

def answers():
    """(API, what, a whole answer with it, its value)."""
    def responses(**more):
        return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [], **more}

    def messages(**more):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn",
                "usage": {"input_tokens": 1, "output_tokens": 1}, **more}

    def completion(message, **more):
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x", **message}}], **more}
    for kind in kinds(res.ResponseOutputItem):
        value = record(kind)
        yield "responses", word_of(kind), responses(output=[value]), value
    for kind in kinds(ant.ContentBlock):
        value = record(kind)
        yield "messages", word_of(kind), messages(content=[value]), value
    for name, hint in fields(chat.ChatCompletionMessage).items():
        if name not in ("role", "content", "tool_calls"):
            value = {name: made(hint)}
            yield "chat", name, completion(value), value
    for kind in kinds(chat.ChatCompletionMessageToolCallUnion):
        value = record(kind)
        yield "chat", word_of(kind), completion({"tool_calls": [value]}), value
    for api, make, whole in (("responses", responses, res.Response), ("messages", messages, ant.Message),
                             ("chat", lambda **more: completion({}, **more), chat.ChatCompletion)):
        for name, hint in fields(whole).items():
            if name not in ("id", "object", "type", "role", "model", "created", "created_at", "completed_at", "status", "output", "content",
                            "choices", "error", "stop_reason", "stop_sequence") and not (api == "responses" and name in ECHOES):
                value = {name: made(hint)}
                yield api, name, make(**value), value


# What a response repeats of its request.
ECHOES = set(fields(ROOTS["responses"])) - {"moderation"}
SUMS = {"total_tokens", "input_tokens", "prompt_tokens"}  # counted anew, where the cache is beside the input or inside it


def told_of(usage):
    """Without sums."""
    return {k: v for k, v in usage.items() if k not in SUMS} if isinstance(usage, dict) else usage


def test_every_member_of_answers_arrives_or_is_named(site):
    gateway, tongues = site
    silent, n = [], 0
    for api, name, whole, value in answers():
        tongues.fail = (200, json.dumps(whole).encode(), "application/json")
        for client in PATHS:
            if client == api:
                continue
            answer = gateway.post({**BASE[client], "model": api}, path=PATHS[client])
            n += 1
            assert answer.status == 200, (api, client, name, answer.body)
            value = {k: told_of(v) for k, v in value.items()}
            gone = lost_in_silence(value, answer.json(), answer.headers.get("x-vsr-protocol-warnings"), {name})
            if gone:
                silent.append((api, client, name, gone, answer.headers.get("x-vsr-protocol-warnings")))
    tongues.fail = None
    assert n > 80
    assert not silent, "\n".join(map(str, silent))


# ---- streams

def frames(events):
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" if "type" in e else f"data: {json.dumps(e)}\n\n" for e in events)


def streams():
    """(API, what, the text of a stream with it)."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": []}
    created = {"type": "response.created", "response": head}
    done = {"type": "response.completed", "response": {**head, "status": "completed", "usage": {"input_tokens": 1, "output_tokens": 1}}}
    for kind in kinds(res.ResponseStreamEvent):
        word = word_of(kind)
        if word not in SAID_ELSEWHERE:
            yield "responses", word, frames([created, {"output_index": 0, "content_index": 0, **record(kind)}, done])
    for kind in kinds(res.ResponseOutputItem):
        item = record(kind)
        yield "responses", word_of(kind), frames([created, {"type": "response.output_item.added", "output_index": 0, "item": item},
                                                  {"type": "response.output_item.done", "output_index": 0, "item": item}, done])
    start = {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                                                  "usage": {"input_tokens": 1, "output_tokens": 1}}}
    end = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}, {"type": "message_stop"}]
    for kind in kinds(ant.ContentBlock):
        yield "messages", word_of(kind), frames([start, {"type": "content_block_start", "index": 0, "content_block": record(kind)},
                                                 {"type": "content_block_stop", "index": 0}, *end])
    text, thinking = ({"type": "content_block_start", "index": 0, "content_block": {"type": kind, kind: ""}} for kind in ("text", "thinking"))
    for kind in kinds(ant.RawContentBlockDelta):
        yield "messages", word_of(kind), frames([start, thinking if word_of(kind) == "signature_delta" else text, {"type": "content_block_delta", "index": 0, "delta": record(kind)},
                                                 {"type": "content_block_stop", "index": 0}, *end])
    for name, hint in fields(chat.chat_completion_chunk.ChoiceDelta).items():
        if name != "role":
            yield "chat", name, frames([{"id": "c", "model": "m", "created": 1, "choices": [{"index": 0, "delta": {name: made(hint)}}]},
                                        {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}])


# The end of what deltas said before, progress, and events that the other tests have.
SAID_ELSEWHERE = {"error", "response.failed", "response.created", "response.in_progress", "response.queued", "response.completed",
                  "response.incomplete", "response.content_part.added", "response.content_part.done", "response.output_item.added",
                  "response.output_item.done", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
                  "response.reasoning_summary_text.done", "response.reasoning_text.done", "response.function_call_arguments.delta",
                  "response.function_call_arguments.done", "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"}


def test_every_event_of_streams_arrives_or_is_named(site):
    gateway, tongues = site
    silent, n = [], 0
    for api, name, stream in streams():
        tongues.fail = (200, stream.encode(), "text/event-stream")
        values = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
        for client in PATHS:
            if client == api:
                continue
            answer = gateway.post({**BASE[client], "model": api, "stream": True}, path=PATHS[client])
            n += 1
            text = answer.body.decode()
            named = "".join(re.findall(r"^: x-vsr-protocol-warnings: (.*)$", text, re.M))
            assert not re.search(r'^(event: error|data: {"error")', text, re.M), (api, client, name, text)
            data = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
            about = {name, name.removeprefix("response.").partition(".")[0]} | ({"citations"} if name == "citations_delta" else set()) | (
                {"annotations"} if "annotation" in name else set())
            gone = lost_in_silence({"events": values}, data, named, about)
            gone = [path for path in gone if path.split(".")[-1] not in COUNTED]
            if gone:
                silent.append((api, client, name, gone, named))
    tongues.fail = None
    assert n > 150
    assert not silent, "\n".join(map(str, silent))


COUNTED = {"sequence_number", "output_index", "content_index", "summary_index", "index", "obfuscation"}  # counted anew; padding


GUARDED = """
version: v0.3
providers:
  models: [{{name: claude, api_format: anthropic, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}]
  defaults: {{default_model: claude}}
routing:
  decisions:
    - name: read
      modelRefs: [{{model: claude, use_reasoning: false}}]
      plugins: [{{type: response_jailbreak, configuration: {{action: block}}}}]
global: {{semroute: {{allow_anonymous: true, inference: {{ask_below: 0}}, signal_deadline_ms: 20000}}}}
"""


@pytest.mark.parametrize("client", ["chat", "responses"])
def test_streams_that_guards_read_name_their_losses_too(start, site, client):
    tongues = site[1]
    gateway = start.gateway(GUARDED.format(port=tongues.port))
    tongues.searching = True
    answer = gateway.post({**BASE[client], "model": "auto", "stream": True}, path=PATHS[client])
    tongues.searching = False
    text = answer.body.decode()
    assert answer.status == 200 and "The sum is" in "".join(re.findall(r'"(?:content|delta)": ?"(.*?)"[,}]', text))
    assert "\n\n: x-vsr-protocol-warnings: messages[].content[].server_tool_use\n\n" in text
    last = "data: [DONE]\n\n" if client == "chat" else '"status":"completed"'
    assert last in text.partition(": x-vsr-protocol-warnings")[2]
