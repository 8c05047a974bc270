"""Answers of semroute's own through the real Envoy, in one message and in pieces (`streamed_replies`)."""
import contextlib
import json
import socket

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, chat, free_ports, request, wait_http
from keys_site import decision, model, site, write

LONG = "All of it, word by word. " * 12000  # about 300 kB, and several MB as events


def config(**extproc):
    return site(model("general", "@0"), model("coder", "@1"), default="general", extproc=extproc,
                signals={"keywords": [{"name": word, "operator": "OR", "keywords": [word]} for word in ("short", "long")]},
                decisions=[replying("short", "Hi there."), replying("long", LONG)])


def replying(word, message):
    answer = decision(word, rules={"keyword": word}, priority=9,
                      plugins=[{"type": "fast_response", "configuration": {"message": message}}])
    del answer["modelRefs"]
    return answer


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    mock = Mock(tmp_path_factory.mktemp("replies") / "mock.log")
    yield mock
    mock.stop()


@pytest.fixture(scope="module")
def door(tmp_path_factory, mock):
    """door(mode, streamed): an Envoy in that mode, in front of a semroute with or without streamed_replies."""
    directory = tmp_path_factory.mktemp("replies")
    doors, envoys, stack = {}, {}, contextlib.ExitStack()

    def start(mode, streamed):
        if streamed not in doors:
            port, metrics = free_ports(), free_ports()
            file = write(config(streamed_replies=streamed), directory / f"semroute-{streamed}.yaml", mock.port)
            process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                               f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / f"{streamed}.log")
            stack.callback(process.stop)
            wait_http(metrics, "/metrics", process)
            doors[streamed] = port
        if (mode, streamed) not in envoys:
            envoys[mode, streamed] = real.Envoy(directory, mode, doors[streamed], mock.port)
            stack.callback(envoys[mode, streamed].stop)
        return envoys[mode, streamed]

    with stack:
        yield start


@pytest.mark.parametrize("mode", list(real.MODES))
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("sse", [False, True])
@pytest.mark.parametrize("word", ["short", "long"])
def test_a_reply_arrives_whole(door, mode, streamed, sse, word):
    envoy = door(mode, streamed)
    answer = request(envoy.port, "POST", "/v1/chat/completions", chat(f"a {word} one", stream=sse))
    assert answer.status == 200, answer
    assert answer.headers["x-vsr-fast-response"] == "true" and answer.headers["x-vsr-selected-decision"] == word
    in_pieces = streamed and mode == "FULL_DUPLEX" and (sse or word == "long")
    assert ("content-length" not in answer.headers) == in_pieces, answer.headers
    want = "Hi there." if word == "short" else LONG.strip()
    if sse:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = answer.body.decode().split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""]
        deltas = [json.loads(e.removeprefix("data: "))["choices"][0]["delta"].get("content", "") for e in events[:-2]]
        assert "".join(deltas).strip() == want
    else:
        assert answer.json()["choices"][0]["message"]["content"].strip() == want


def test_an_error_after_the_body_began_to_pass(door):
    """Envoy has the reply to the headers already: the answer comes in one message."""
    envoy = door("FULL_DUPLEX", True)
    body = b'{"model": "coder", "messages": []%s} and something else' % (b" " * 3000)
    with socket.create_connection(("127.0.0.1", envoy.port), timeout=60) as s:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
                  b"content-length: %d\r\n\r\n" % len(body) + body[:100])
        s.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            assert s.recv(1) is None, "the request is not complete"
        s.settimeout(60)
        s.sendall(body[100:])
        answer = s.recv(65536)
    assert answer.startswith(b"HTTP/1.1 400"), answer[:300]
