"""The streams of the three APIs have the shape that their public references show: tests/data/shapes has one written from
each reference. Held against it: our mock, the upstream of these tests, and what translations write; and each event is
what the official SDK's own types require."""
import copy
import functools
import itertools
import json
import typing

import anthropic.types
import openai.types.chat
import openai.types.responses
import pydantic
import pytest

from conftest import ROOT, Gateway, Mock, request
from test_formats import FORMATS
from test_translate import body_of
from tongues import PATHS, Tongues

# Members that are the model's or the client's own: no API says what is inside.
FREE = {"tools", "metadata", "reasoning", "text", "instructions", "mock"}


def one_of(events):
    return pydantic.TypeAdapter(typing.Annotated[events, pydantic.Field(discriminator="type")])


EVENTS = {
    "chat": pydantic.TypeAdapter(openai.types.chat.ChatCompletionChunk),
    "responses": one_of(openai.types.responses.ResponseStreamEvent),
    "messages": one_of(anthropic.types.RawMessageStreamEvent),
}


def events(text):
    """The events of a stream: their names and data."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = [line.partition(": ")[::2] for line in block.split("\n") if line and not line.startswith(":")]
        data = "".join(value for name, value in fields if name == "data")
        if data:
            found.append((dict(fields).get("event"), json.loads(data) if data != "[DONE]" else data))
    return [e for e in found if e[0] != "ping"]  # any number, anywhere


@functools.cache
def reference(api):
    return events((ROOT / "tests" / "data" / "shapes" / f"{api}.sse").read_text())


def step(event):
    """What an event does, without what it says; chats say it by the members of a delta alone."""
    name, data = event
    if data == "[DONE]":
        return "done"
    if "object" not in data:
        kind = data.get("delta", {}).get("type") if isinstance(data.get("delta"), dict) else None
        what = data.get("item") or data.get("content_block") or {}
        return name, data["type"], kind, what.get("type"), data.get("index", data.get("output_index"))
    if not data["choices"]:
        return "usage"
    choice = data["choices"][0]
    call = (choice["delta"].get("tool_calls") or [{}])[0]
    said = [k for k in ("role", "reasoning_content", "content", "tool_calls") if choice["delta"].get(k) is not None]
    return said[0] if said else "end", call.get("index"), "id" in call, choice["finish_reason"]


def members(value, at=""):
    """The paths of all members."""
    if isinstance(value, list):
        return set().union(*(members(v, at + "[]") for v in value))
    if not isinstance(value, dict):
        return set()
    return set().union(*({f"{at}.{k}"} | (members(v, f"{at}.{k}") if k not in FREE else set())
                         for k, v in value.items() if k != "input"), set())


def holds(api, got, without=()):
    """Every event is of its type, they come in the order of the reference, and none lacks a member; the reference
    is without these kinds of deltas, which the upstream does not know."""
    got = copy.deepcopy(got)
    for _, data in got:
        if data != "[DONE]":
            EVENTS[api].validate_python(data)
    wanted = [(s, list(group)) for s, group in itertools.groupby(reference(api), step) if s[2:3] != without]
    found = [(s, list(group)) for s, group in itertools.groupby(got, step)]
    assert [s for s, _ in found] == [s for s, _ in wanted]
    for (what, one), (_, other) in zip(wanted, found):
        for _, data in other:
            missing = members(one[0][1]) - members(data)
            assert not missing, (what, missing)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    directory, tongues = tmp_path_factory.mktemp("shapes"), Tongues()
    mock = Mock(directory / "mock.log")
    models = [{"name": api, "api_format": format, "backend_refs": [{"endpoint": f"127.0.0.1:{tongues.port}"}]}
              for api, format in FORMATS.items()]
    gateway = Gateway(json.dumps({"version": "v0.3", "providers": {"models": models, "defaults": {"default_model": "chat"}},
                                  "global": {"semroute": {"allow_anonymous": True}}}), directory)
    yield {"mock": mock.port, "tongues": tongues.port, "gateway": gateway.port}
    gateway.stop()
    mock.stop()
    tongues.stop()


def stream(port, api, model, **headers):
    answer = request(port, "POST", PATHS[api], body_of(api, model, stream=True, tools=True, reasoning=True), headers)
    assert answer.status == 200, answer
    if api == "responses":
        numbers = [data["sequence_number"] for _, data in events(answer.body.decode())]
        assert numbers == list(range(len(numbers)))
    return [e for e in events(answer.body.decode()) if not is_signature(e)]


def is_signature(event):
    """The chunk of a chat that gives back what only the reasoning's maker can read: an extension, which chats of one
    API do not have."""
    choices = event[1].get("choices") if event[1] != "[DONE]" else None
    return bool(choices) and set(choices[0]["delta"]) == {"reasoning_details"}


@pytest.mark.parametrize("api", PATHS)
def test_the_references_are_good(api):
    holds(api, reference(api))


@pytest.mark.parametrize("api", PATHS)
def test_the_upstream_of_these_tests(places, api):
    holds(api, stream(places["tongues"], api, "m"))


@pytest.mark.parametrize("api", PATHS)
def test_the_mock(places, api):
    holds(api, stream(places["mock"], api, "general", **{"x-mock-tools": "2", "x-mock-reasoning": "1", "x-mock-cached": "3"}))


@pytest.mark.parametrize("client,upstream", list(itertools.permutations(PATHS, 2)), ids=["-".join(p) for p in itertools.permutations(PATHS, 2)])
def test_translations(places, client, upstream):
    got = stream(places["gateway"], client, upstream)
    if upstream == "chat":  # whose calls have no end of their own, so items may be open at the same time
        got[2:-1] = sorted(got[2:-1], key=lambda e: e[1].get("output_index", 0))
    holds(client, got, ("signature_delta",) if upstream == "chat" else ())
