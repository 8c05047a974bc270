"""The second door: behind the real Envoy, requests for a model whose upstream speaks another API are translated too."""
import contextlib

import pytest

import envoy as real
from conftest import BINARY, Process, free_ports, request, wait_http
from test_translate import body_of
from tongues import PATHS, TEXT, Tongues

SITE = """
version: v0.3
providers:
  models:
    - {{name: general, provider_model_id: claude, api_format: anthropic, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
  defaults: {{default_model: general}}
routing:
  decisions: [{{name: all, modelRefs: [{{model: general, use_reasoning: false}}]}}]
global: {{semroute: {{allow_anonymous: true}}}}
"""


@pytest.fixture(scope="module", params=["BUFFERED", "FULL_DUPLEX"])
def door(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("translate")
    with contextlib.ExitStack() as stack:
        tongues = Tongues()
        stack.callback(tongues.stop)
        port, metrics = free_ports(), free_ports()
        file = directory / "semroute.yaml"
        file.write_text(SITE.format(port=tongues.port))
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        envoy = real.Envoy(directory, request.param, port, tongues.port)
        stack.callback(envoy.stop)
        yield envoy, tongues


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_chat_reaches_messages(door, stream):
    envoy, tongues = door
    answer = request(envoy.port, "POST", PATHS["chat"], {**body_of("chat", "auto", stream=stream), "seed": 1})
    path, headers, sent = tongues.seen[-1]
    assert path == PATHS["messages"] and sent["model"] == "claude" and sent["messages"][0]["content"] == "2+2?"
    assert headers["anthropic-version"] == "2023-06-01"
    assert answer.status == 200 and answer.headers["x-vsr-protocol-warnings"] == "seed"
    if stream:
        assert answer.body.endswith(b"data: [DONE]\n\n") and b'"object":"chat.completion.chunk"' in answer.body
    else:
        assert answer.json()["choices"][0]["message"]["content"] == TEXT


def test_an_error_is_in_the_clients_words(door):
    envoy, tongues = door
    tongues.fail = (400, b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}', "application/json")
    answer = request(envoy.port, "POST", PATHS["chat"], body_of("chat", "auto"))
    tongues.fail = None
    assert answer.status == 400 and answer.json()["error"] == {
        "message": "no", "type": "invalid_request_error", "param": None, "code": None}
