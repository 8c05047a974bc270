"""The response cache behind the real Envoy: answers are kept from what Envoy shows of them, and given as replies."""
import contextlib
import json
import time

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, chat, free_ports, request, wait_http
from keys_site import decision, model, site, write


def config():
    plugins = [{"type": "response_cache", "configuration": {"scope": "global"}}]
    return site(model("general", "@0"), model("coder", "@1"), default="general",
                decisions=[decision("all", model="general", plugins=plugins)])


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """door(mode): an Envoy in that mode in front of one semroute, and the mock behind both."""
    directory = tmp_path_factory.mktemp("cache")
    with contextlib.ExitStack() as stack:
        mock = Mock(directory / "mock.log")
        stack.callback(mock.stop)
        port, metrics = free_ports(), free_ports()
        file = write(config(), directory / "semroute.yaml", mock.port)
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        envoys = {}

        def start(mode):
            if mode not in envoys:
                envoys[mode] = real.Envoy(directory, mode, port, mock.port)
                stack.callback(envoys[mode].stop)
            return envoys[mode]
        yield start, mock, metrics


def served(mock):
    return sum(json.loads(request(mock.port + worker, "GET", "/mock/stats").body)["requests"] for worker in range(2))


def ask(envoy, text, stream):
    answer = request(envoy.port, "POST", "/v1/chat/completions", chat(text, stream=stream))
    assert answer.status == 200, answer
    return answer


@pytest.mark.parametrize("mode", ["FULL_DUPLEX"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_an_answer_is_given_again(door, mode, stream):
    start, mock, _ = door
    envoy, text = start(mode), f"How tall is the tower, {mode} {stream}?"
    first = ask(envoy, text, stream)
    assert "x-vsr-cache-hit" not in first.headers
    until = time.monotonic() + 60
    while time.monotonic() < until:
        calls = served(mock)
        again = ask(envoy, text, stream)
        if again.headers.get("x-vsr-cache-hit") == "true":
            break
        first = again
    assert again.headers.get("x-vsr-cache-hit") == "true" and served(mock) == calls
    assert again.body == first.body and again.headers["x-vsr-response-path"] == "cache"
    assert again.headers["content-type"].startswith("text/event-stream" if stream else "application/json")


@pytest.mark.parametrize("mode", list(real.MODES))
def test_what_one_mode_kept_another_one_gives(door, mode):
    """In modes that show no whole answer nothing is kept, and hits are given all the same."""
    start, mock, _ = door
    text = f"How deep is the lake behind {mode}?"
    until = time.monotonic() + 60
    while ask(start("FULL_DUPLEX"), text, False).headers.get("x-vsr-cache-hit") != "true":
        assert time.monotonic() < until
    calls = served(mock)
    assert ask(start(mode), text, False).headers.get("x-vsr-cache-hit") == "true" and served(mock) == calls
