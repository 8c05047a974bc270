"""HEAD, OPTIONS and Expect, as curl and proxies use them, at the gateway and (the methods) behind Envoy."""
import contextlib
import json
import socket
import subprocess

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, builtin_on, chat, free_ports, request, wait_http


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    directory = tmp_path_factory.mktemp("methods")
    with contextlib.ExitStack() as stack:
        mock = Mock(directory / "mock.log")
        stack.callback(mock.stop)
        gateway, extproc = free_ports(), free_ports()
        file = directory / "semroute.yaml"
        file.write_text(builtin_on(mock.port))
        process = Process([BINARY, "serve", "-c", file, "--gateway", f"127.0.0.1:{gateway}", "--metrics", "off", "--api", "off",
                           "--extproc", f"127.0.0.1:{extproc}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(gateway, "/ready", process)
        envoy = real.Envoy(directory, "FULL_DUPLEX", extproc, mock.port)
        stack.callback(envoy.stop)
        yield {"gateway": gateway, "envoy": envoy.port}


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_options_says_which_methods_there_are(doors, door):
    for path, methods in (("/v1/models", "GET, HEAD, OPTIONS"), ("/v1/models/auto", "GET, HEAD, OPTIONS"),
                          ("/v1/responses/resp_x", "GET, HEAD, DELETE, OPTIONS"), ("/v1/responses/resp_x/input_items", "GET, HEAD, OPTIONS"),
                          ("/v1/chat/completions", "POST, OPTIONS"), ("/v1/audio/transcriptions", "POST, OPTIONS")):
        answer = request(doors[door], "OPTIONS", path)
        assert answer.status == 204 and answer.headers["allow"] == methods and not answer.body, (path, answer)
    assert request(doors[door], "OPTIONS", "/nothing").status == 404
    assert request(doors[door], "DELETE", "/v1/models").status == 405
    put = request(doors[door], "PUT", "/v1/responses/resp_x", {})
    assert put.status == 405 and put.headers["allow"] == "GET, DELETE"


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_each_model_is_as_in_the_list(doors, door):
    models = request(doors[door], "GET", "/v1/models").json()["data"]
    assert models and all(request(doors[door], "GET", f"/v1/models/{model['id']}").json() == model for model in models)


@pytest.mark.parametrize("door", ["gateway", "envoy"])
def test_head_is_get_without_a_body(doors, door):
    for path in ("/v1/models", "/v1/models/auto", "/v1/models/none"):
        whole, head = request(doors[door], "GET", path), request(doors[door], "HEAD", path)
        assert head.status == whole.status and not head.body and head.headers["content-type"] == whole.headers["content-type"]
        assert head.headers.get("content-length", str(len(whole.body))) == str(len(whole.body))
    assert request(doors[door], "HEAD", "/v1/chat/completions").status == 405


def curl(port, path, *options):
    return subprocess.run(["curl", "-sS", "-i", f"http://127.0.0.1:{port}{path}", *options], capture_output=True, timeout=60, check=True).stdout


def test_curl(doors):
    assert curl(doors["gateway"], "/v1/models", "-I").startswith(b"HTTP/1.1 200")
    assert b"\r\nallow: POST, OPTIONS\r\n" in curl(doors["gateway"], "/v1/chat/completions", "-X", "OPTIONS")
    body = json.dumps(chat("hello"))
    asked = curl(doors["gateway"], "/v1/chat/completions", "-H", "content-type: application/json", "-H", "expect: 100-continue",
                 "--expect100-timeout", "60", "-d", body)
    assert asked.startswith(b"HTTP/1.1 100 Continue\r\n\r\n") and b"HTTP/1.1 200 OK" in asked


def exchange(port, head, body=b""):
    """What comes back to a head alone; then to its body, where it is asked for."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        s.sendall(head.encode())
        first = s.recv(65536)
        if first == b"HTTP/1.1 100 Continue\r\n\r\n":
            s.sendall(body)
            while b"\r\n\r\n" not in first.partition(b"\r\n\r\n")[2]:
                more = s.recv(65536)
                assert more
                first += more
        return first


def test_a_client_that_waits_is_told_at_once(doors):
    body = json.dumps(chat("hello")).encode()
    head = "POST {} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n{}\r\n"
    told = exchange(doors["gateway"], head.format("/v1/chat/completions", len(body), ""), body)
    assert told.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    for path, length, more, status in (("/nothing", len(body), "", 404), ("/v1/chat/completions", 1 << 40, "", 413),
                                       ("/v1/chat/completions", len(body), "content-encoding: br\r\n", 415)):
        told = exchange(doors["gateway"], head.format(path, length, more))
        assert told.startswith(b"HTTP/1.1 %d" % status), told  # before a byte of the body


def test_an_expectation_that_is_not_known_is_ignored(doors):
    body = json.dumps(chat("hello")).encode()
    answer = request(doors["gateway"], "POST", "/v1/chat/completions", body, {"expect": "a-miracle"})
    assert answer.status == 200
