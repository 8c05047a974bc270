"""/v1/embeddings answered by the router's own encoder, at the gateway and behind Envoy: the official client gets what the API listener
gives; models of upstreams pass by name; guards, limits and the list of models know it."""
import base64
import contextlib
import json
import math
import struct

import openai
import pytest

import envoy as real
from conftest import BINARY, Mock, Process, free_ports, request, wait_http
from test_codings import ATTACK

NAME = "all-MiniLM-L6-v2"
SITE = """
version: v0.3
providers:
  models:
    - {{name: general, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
  defaults: {{default_model: general}}
routing:
  signals: {{jailbreak: [{{name: jailbreak, threshold: 0.7}}], pii: [{{name: pii}}]}}
  decisions:
    - {{name: block, priority: 100, rules: {{type: jailbreak, name: jailbreak}}, plugins: [{{type: guard, configuration: {{action: block}}}}]}}
    - {{name: hide, priority: 90, rules: {{type: pii, name: pii}}, plugins: [{{type: guard, configuration: {{action: redact}}}}]}}
global:
  router: {{include_config_models_in_list: true}}
  semroute:
    signal_deadline_ms: 20000
    limits: {{budgets: [{{name: all, tokens: 5000, period: day}}]}}
"""

@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    directory = tmp_path_factory.mktemp("embeddings")
    with contextlib.ExitStack() as stack:
        mock = Mock(directory / "mock.log")
        stack.callback(mock.stop)
        gateway, extproc, api = free_ports(), free_ports(), free_ports()
        file = directory / "semroute.yaml"
        file.write_text(SITE.format(port=mock.port).replace(
            "    limits: {budgets: [{name: all, tokens: 5000, period: day}]}\n", ""))
        process = Process([BINARY, "serve", "-c", file, "--gateway", f"127.0.0.1:{gateway}", "--metrics", "off", "--api", f"127.0.0.1:{api}",
                           "--extproc", f"127.0.0.1:{extproc}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(gateway, "/ready", process)
        ports = {"gateway": gateway, "api": api}
        for mode in ("BUFFERED", "FULL_DUPLEX"):
            envoy = real.Envoy(directory, mode, extproc, mock.port)
            stack.callback(envoy.stop)
            ports[mode] = envoy.port
        yield ports


@pytest.fixture(params=["gateway", "BUFFERED", "FULL_DUPLEX"])
def door(request, doors):
    return doors[request.param], doors["api"]


def embed(port, **body):
    return request(port, "POST", "/v1/embeddings", body, timeout=120)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


@pytest.mark.parametrize("model", ["auto", "MoM", NAME])
def test_the_official_client_gets_the_encoders_vectors(door, model):
    port, api = door
    texts = ["How do I reset my password?", "I cannot log in.", "The recipe needs two eggs."]
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0) as client:
        made = client.embeddings.create(model=model, input=texts)  # base64 on the wire
        plain = client.embeddings.create(model=model, input=texts, encoding_format="float")
    assert made.model == NAME and [d.index for d in made.data] == [0, 1, 2] and len(made.data[0].embedding) == 384
    assert made.usage.prompt_tokens == made.usage.total_tokens == plain.usage.total_tokens > 15
    assert cosine(made.data[0].embedding, made.data[1].embedding) > cosine(made.data[0].embedding, made.data[2].embedding) + 0.2
    listener = embed(api, model=model if model != "MoM" else "auto", input=texts).json()
    for mine, float_form, theirs in zip(made.data, plain.data, listener["data"]):
        assert cosine(mine.embedding, theirs["embedding"]) > 0.9999 and cosine(float_form.embedding, theirs["embedding"]) > 0.9999


def test_dimensions_and_base64(door):
    port, _ = door
    answer = embed(port, model="auto", input="trees", dimensions=8, encoding_format="base64")
    vector = struct.unpack("<8f", base64.b64decode(answer.json()["data"][0]["embedding"]))
    assert abs(sum(x * x for x in vector) - 1) < 1e-5 and answer.headers["x-vsr-response-path"] == "local"


REFUSED = [
    ({"model": "auto"}, 400), ({"model": "auto", "input": ""}, 400), ({"model": "auto", "input": []}, 400),
    ({"model": "auto", "input": "x", "dimensions": 0}, 400), ({"model": "auto", "input": "x", "dimensions": 385}, 400),
    ({"model": "auto", "input": "x", "encoding_format": "hex"}, 400), ({"model": "auto", "input": ["x"] * 2049}, 413),
    ({"model": "auto", "input": "word " * 40000}, 413), ({"model": "other", "input": "x"}, 404), ({"input": "x"}, 400),
]


@pytest.mark.parametrize("body,status", REFUSED)
def test_what_is_not_possible_is_refused(door, body, status):
    answer = embed(door[0], **body)
    assert answer.status == status and answer.json()["error"]["message"], answer


def test_guards_read_it(door):
    port, _ = door
    assert embed(port, model=NAME, input=["a tree", ATTACK]).json()["error"]["code"] == "jailbreak_blocked"
    ids = embed(port, model="auto", input=[[1, 2, 3]])
    assert ids.status == 403 and ids.json()["error"]["code"] == "unread_content"
    hidden = embed(port, model="auto", input="Write to anna.smith@example.com.").json()["data"][0]["embedding"]
    placeholder = embed(port, model="auto", input="Write to [EMAIL_ADDRESS_1].").json()["data"][0]["embedding"]
    assert cosine(hidden, placeholder) > 0.9999


def test_models_of_upstreams_pass_by_name(door):
    answer = embed(door[0], model="general", input="x")
    assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "general"


def test_the_list_has_it(door):
    port, _ = door
    listed = {m["id"]: m for m in request(port, "GET", "/v1/models").json()["data"]}
    assert listed[NAME]["capabilities"] == ["embeddings"] and "general" in listed
    assert request(port, "GET", f"/v1/models/{NAME}").json() == listed[NAME]


def test_tokens_count_in_limits(start):
    mock = start.mock()
    gateway = start.gateway(SITE.format(port=mock.port).replace("tokens: 5000", "tokens: 60"))
    first = embed(gateway.port, model="auto", input="one two three four five six seven eight nine ten " * 4)
    assert first.status == 200 and first.json()["usage"]["total_tokens"] > 30
    second = embed(gateway.port, model="auto", input="one two three four five six seven eight nine ten " * 4)
    assert second.status == 429


def test_a_client_that_leaves_and_one_that_stays(doors):
    import socket
    body = json.dumps({"model": "auto", "input": ["some words to embed " * 40] * 50}).encode()
    for _ in range(5):
        s = socket.create_connection(("127.0.0.1", doors["gateway"]))
        s.sendall(b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        s.close()
    assert embed(doors["gateway"], model="auto", input="x").status == 200
