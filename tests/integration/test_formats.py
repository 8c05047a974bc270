"""Backends of one model that speak different APIs: each request is in the API of the backend that gets it, also when it
moves there from one that failed, and the official clients get, field by field, what an upstream of their own API gives."""
import contextlib
import itertools
import json

import pytest

import envoy as real
from conftest import BINARY, Gateway, Process, free_ports, request, semroute, wait_http
from test_translate import ask, body_of, plain
from tongues import PATHS, TEXT, Tongues

FORMATS = {"chat": "chat_completions", "responses": "responses", "messages": "anthropic"}
PAIRS = list(itertools.permutations(PATHS, 2))


def model(name, first, second, formats=("", ""), **weights):
    """A model whose first backend gets each request first, and is never left out for its failures."""
    refs = [{"name": f"{name}-{place}", "endpoint": f"127.0.0.1:{tongues.port}", "weight": weight, "api_key": f"key-{place}",
             **({"api_format": format} if format else {})}
            for place, tongues, format, weight in zip(("first", "second"), (first, second), formats, weights.get("weights", (1000, 1)))]
    return {"name": name, "provider_model_id": "served", "backend_refs": refs, "reliability": {"consecutive_5xx": 1000}}


def site_of(first, second):
    models = [model("-".join(p), first, second, [FORMATS[api] for api in p]) for p in PAIRS]
    models += [model("any", first, second, ("", "anthropic")), model("even", first, second, ("responses", "anthropic"), weights=(1, 1)),
               {**model("inherits", first, second, ("", "responses")), "api_format": "anthropic"}]
    return {"version": "v0.3", "providers": {"models": models, "defaults": {"default_model": "any"}},
            "global": {"semroute": {"allow_anonymous": True, "gateway": {"upstream": {"retries": 3}}}}}


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        first, second = Tongues(), Tongues()
        stack.callback(first.stop)
        stack.callback(second.stop)
        gateway = Gateway(json.dumps(site_of(first, second)), tmp_path_factory.mktemp("formats"))
        stack.callback(gateway.stop)
        yield gateway, first, second


@pytest.fixture
def site(servers):
    gateway, first, second = servers
    for tongues in (first, second):
        tongues.seen.clear()
        tongues.fail = None
    return gateway, first, second


def native(client, tongues, **what):
    """What the client gets from an upstream of its own API."""
    answer = plain(ask(client, tongues.port, body_of(client, "served", **what)))
    tongues.seen.clear()
    return answer


FAILURE = (500, b'{"error":{"message":"broken","type":"server_error"}}', "application/json")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("first,second", PAIRS, ids=["-".join(p) for p in PAIRS])
@pytest.mark.parametrize("client", PATHS)
def test_failover_changes_the_api(site, client, first, second, stream):
    gateway, broken, good = site
    wanted = native(client, good, stream=stream, tools=True)
    broken.fail = FAILURE
    got = plain(ask(client, gateway.port, body_of(client, f"{first}-{second}", stream=stream, tools=True)))
    assert got == wanted
    assert [(path, body["model"]) for path, _, body in broken.seen] == [(PATHS[first], "served")]
    assert [(path, body["model"]) for path, _, body in good.seen] == [(PATHS[second], "served")]


@pytest.mark.parametrize("client", PATHS)
def test_each_backend_gets_its_own_api(site, client):
    gateway, responses, messages = site
    wanted = native(client, messages)
    for _ in range(6):
        assert plain(ask(client, gateway.port, body_of(client, "even"))) == wanted
    assert {path for path, _, _ in responses.seen} == {PATHS["responses"]}
    assert {path for path, _, _ in messages.seen} == {PATHS["messages"]}


def test_keys_stand_where_each_api_has_them(site):
    gateway, chat, messages = site
    chat.fail = FAILURE
    gateway.post(body_of("chat", "chat-messages"), headers={"authorization": "Bearer client-key", "openai-organization": "o"})
    assert chat.seen[0][1]["authorization"] == "Bearer key-first" and chat.seen[0][1]["openai-organization"] == "o"
    assert "anthropic-version" not in chat.seen[0][1]
    headers = messages.seen[0][1]
    assert headers["x-api-key"] == "key-second" and headers["anthropic-version"] == "2023-06-01"
    assert not {"authorization", "openai-organization"} & set(headers)


def test_a_backend_without_a_format_has_the_models(site):
    gateway, first, second = site
    first.fail = FAILURE
    gateway.post(body_of("chat", "any"))
    gateway.post(body_of("chat", "inherits"))
    assert [path for path, _, _ in first.seen] == [PATHS["chat"], PATHS["messages"]]
    assert [path for path, _, _ in second.seen] == [PATHS["messages"], PATHS["responses"]]


def test_warnings_are_those_of_the_backend_that_answered(site):
    gateway, first, second = site
    first.fail = FAILURE
    answer = gateway.post({**body_of("chat", "messages-chat"), "seed": 1})
    assert answer.status == 200 and "x-vsr-protocol-warnings" not in answer.headers
    assert "seed" not in first.seen[0][2] and second.seen[0][2]["seed"] == 1
    answer = gateway.post({**body_of("chat", "chat-messages"), "seed": 1})
    assert answer.status == 200 and answer.headers["x-vsr-protocol-warnings"] == "seed"


def test_what_one_api_cannot_say_goes_to_the_other(site):
    """Only Responses has `prompt`: a backend of another API gives way, and nothing is counted as its failure."""
    gateway, first, second = site
    answer = gateway.post({"model": "chat-responses", "input": "x", "prompt": {"id": "pmpt_1"}}, path="/v1/responses")
    assert answer.status == 200 and answer.json()["output"][0]["content"][0]["text"] == TEXT
    assert not first.seen and second.seen[0][2]["prompt"] == {"id": "pmpt_1"}
    answer = gateway.post({"model": "chat-messages", "input": "x", "prompt": {"id": "pmpt_1"}}, path="/v1/responses")
    assert answer.status == 400 and answer.json()["error"]["code"] == "not_translatable"
    assert len(first.seen) == 0 and len(second.seen) == 1
    assert gateway.post(body_of("chat", "chat-messages")).status == 200 and len(first.seen) == 1


def test_a_failure_that_no_other_backend_can_mend(site):
    """The one backend whose API says it all fails: that is no fault of the request."""
    gateway, first, second = site
    first.fail = FAILURE
    answer = gateway.post({"model": "responses-chat", "input": "x", "prompt": {"id": "pmpt_1"}}, path="/v1/responses")
    assert answer.status == 502 and "cannot be translated" in answer.json()["error"]["message"]
    assert len(first.seen) == 1 and not second.seen


def test_a_connection_that_is_refused_changes_the_api(start):
    good = Tongues()
    try:
        config = site_of(good, good)
        lost = config["providers"]["models"][1]  # chat-messages
        lost["backend_refs"][0]["endpoint"] = "127.0.0.1:9"
        gateway = start.gateway(json.dumps(config))
        answer = gateway.post({**body_of("chat", lost["name"], stream=True)})
        assert answer.status == 200 and answer.body.endswith(b"data: [DONE]\n\n")
        assert [path for path, _, _ in good.seen] == [PATHS["messages"]]
    finally:
        good.stop()


def test_explain_shows_what_the_worker_gets(site, tmp_path):
    _, first, second = site
    (tmp_path / "site.yaml").write_text(json.dumps(site_of(first, second)))
    for name, limit in (("chat-messages", False), ("messages-chat", True)):
        body = json.dumps({"model": name, "messages": [{"role": "user", "content": "hello"}]})
        told = semroute("explain", "-c", tmp_path / "site.yaml", "--request", "-", "--json", input=body).stdout
        assert ("max_tokens" in told) == limit, told


# ---- behind Envoy ----

ENDPOINT = "x-gateway-destination-endpoint"


@contextlib.contextmanager
def door(directory, first, second, mode, **extproc):
    """semroute with one model on both upstreams, and an Envoy of this mode in front."""
    config = site_of(first, second)
    config["providers"]["models"] = [model("general", first, second, ("responses", "anthropic"), weights=(1, 1))]
    config["providers"]["defaults"]["default_model"] = "general"
    config["global"]["semroute"]["extproc"] = extproc
    file, port, metrics = directory / "semroute.yaml", free_ports(), free_ports()
    file.write_text(json.dumps(config))
    with contextlib.ExitStack() as stack:
        process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics", f"127.0.0.1:{metrics}",
                           "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(process.stop)
        wait_http(metrics, "/metrics", process)
        envoy = real.Envoy(directory, mode, port, first.port,
                           change=lambda text: text.replace(f"port_value: {first.port + 1}", f"port_value: {second.port}"))
        stack.callback(envoy.stop)
        yield envoy


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_envoy_is_told_the_backend(site, tmp_path, stream):
    """Each backend gets its API; no backend of another one is named as a fallback of it."""
    _, first, second = site
    wanted = {client: native(client, second, stream=stream) for client in PATHS}
    with door(tmp_path, first, second, real.PICKER, destination_header=ENDPOINT, fallback_endpoints=4) as envoy:
        for client in PATHS:
            for _ in range(2):
                assert plain(ask(client, envoy.port, body_of(client, "general", stream=stream))) == wanted[client]
        for _ in range(0 if stream else 2):  # Messages cannot say it
            answer = request(envoy.port, "POST", PATHS["responses"], {"model": "general", "input": "x", "prompt": {"id": "p"}})
            assert answer.status == 200 and first.seen.pop()[2]["prompt"] == {"id": "p"}
    assert [path for path, _, _ in first.seen] == [PATHS["responses"]] * 3
    assert [path for path, _, _ in second.seen] == [PATHS["messages"]] * 3
    for tongues in (first, second):
        assert {headers[ENDPOINT] for _, headers, _ in tongues.seen} == {f"127.0.0.1:{tongues.port}"}


def test_envoy_does_not_tell_the_backend(site, tmp_path):
    _, first, second = site
    with door(tmp_path, first, second, "BUFFERED", hold_ms=150) as envoy:
        for client in PATHS:
            answer = request(envoy.port, "POST", PATHS[client], body_of(client, "general"))
            assert answer.status == 500 and "different APIs" in answer.json()["error"]["message"]
    assert not first.seen and not second.seen


# ---- the check ----

def test_the_check_warns_where_envoy_chooses(site, tmp_path):
    _, first, second = site
    config, file = site_of(first, second), tmp_path / "site.yaml"
    for extproc, warned in ((None, False), ({"hold_ms": 100}, True), ({"hold_ms": 100, "destination_header": ENDPOINT}, False)):
        if extproc:
            config["global"]["semroute"]["extproc"] = extproc
        file.write_text(json.dumps(config))
        told = semroute("check", file)
        assert ("`chat-messages` speak different APIs" in told.stdout + told.stderr) == warned


def test_kinds_that_speak_different_apis_say_so(site, tmp_path):
    """A backend of the kind `anthropic` beside others: those say what they speak."""
    config, file = {"version": "v0.3", "providers": {"defaults": {"default_model": "m"}}}, tmp_path / "site.yaml"
    refs = [{"name": "a", "endpoint": "127.0.0.1:9", "type": "anthropic"}, {"name": "b", "endpoint": "127.0.0.1:10"}]
    config["providers"]["models"] = [{"name": "m", "backend_refs": refs}]
    for format, code in ((None, 1), ("chat_completions", 0)):
        if format:
            refs[1]["api_format"] = format
        file.write_text(json.dumps(config))
        told = semroute("check", file)
        assert told.returncode == code and ("unless each says its `api_format`" in told.stdout + told.stderr) == (code == 1)
