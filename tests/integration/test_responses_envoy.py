"""The second door: behind the real Envoy conversations of Responses are continued by id, read and removed as at the gateway."""
import contextlib

import openai
import pytest

import envoy as real
from conftest import BINARY, Process, free_ports, request, wait_http
from test_cache_shared import Redis, until
from test_responses_state import MODELS, RESULTS, TOOLS, ask, config, unknown
from tongues import Tongues


@pytest.fixture(scope="module", params=[("BUFFERED", "memory"), ("FULL_DUPLEX", "redis"), ("BUFFERED", "redis")], ids="-".join)
def door(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("responses")
    mode, store = request.param
    with contextlib.ExitStack() as stack:
        tongues = Tongues(unique=True)
        stack.callback(tongues.stop)
        responses = {}
        if store == "redis":
            redis = Redis(directory, free_ports())
            stack.callback(redis.stop)
            responses = {"store": "redis", "redis": {"host": "127.0.0.1", "port": redis.port}, "timeout": "20s"}
        port, metrics = free_ports(), free_ports()
        file = directory / "semroute.yaml"
        file.write_text(config(tongues.port, responses))
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        envoy = real.Envoy(directory, mode, port, tongues.port)
        stack.callback(envoy.stop)
        client = stack.enter_context(openai.OpenAI(base_url=f"http://127.0.0.1:{envoy.port}/v1", api_key="client-key", max_retries=0))
        until(lambda: settled(client), "the store answers")
        yield client, tongues, envoy


def settled(client):
    try:
        client.responses.retrieve("resp_none")
    except openai.APIStatusError as error:
        return error.status_code == 404
    except openai.APIConnectionError:
        return False


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("model", MODELS)
def test_a_conversation(door, model, stream):
    client, tongues, _ = door
    first = ask(client, stream, model=model, input="2+2?", tools=TOOLS)
    second = ask(client, stream, model=model, input=RESULTS, previous_response_id=first.id)
    assert second.previous_response_id == first.id
    sent = tongues.seen[-1][2]
    assert "previous_response_id" not in sent and "2+2?" in str(sent) and len(sent.get("messages") or sent["input"]) > 2
    assert client.responses.retrieve(second.id).to_dict() == second.to_dict()
    assert len(list(client.responses.input_items.list(second.id))) == 6


def test_what_is_unknown_or_removed(door):
    client, tongues, envoy = door
    answer = client.responses.create(model="chat", input="one")
    before = len(tongues.seen)
    unknown(lambda: client.responses.create(model="chat", input="x", previous_response_id="resp_none"), "previous_response_not_found")
    unknown(lambda: client.responses.retrieve("resp_none"))
    headers = {"authorization": "Bearer client-key"}
    assert request(envoy.port, "DELETE", "/v1/responses/" + answer.id, headers=headers).json()["deleted"] is True
    unknown(lambda: client.responses.retrieve(answer.id))
    assert len(tongues.seen) == before
