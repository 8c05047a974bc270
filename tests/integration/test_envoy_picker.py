"""semroute as an endpoint picker behind the real Envoy: deploy/envoy/endpoint-picker.yaml, what Envoy offers as a
subset, backends with names instead of addresses, and backends that are gone."""
import contextlib
import json
import socket
import time

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, chat, free_ports, request, wait_http
from keys_site import decision, model, site, write
from test_pools import until

ENDPOINT = "x-gateway-destination-endpoint"
SUBSET = """\
          - name: envoy.filters.http.set_metadata
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config
              metadata:
              - {metadata_namespace: envoy.lb.subset_hint, value: {x-gateway-destination-endpoint-subset: %s}}
"""
EXT_PROC = "          - name: envoy.filters.http.ext_proc\n"


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    mock = Mock(tmp_path_factory.mktemp("picker") / "mock.log")
    yield mock
    mock.stop()


@contextlib.contextmanager
def picker(directory, mock, *models, subset=None, change=None, decisions=(), limits=None, **extproc):
    """semroute with these models (`@N`: a worker of the mock) and an Envoy in front; yields Envoy and semroute."""
    config = site(*models, default="general", decisions=decisions, limits=limits or {}, extproc={"destination_header": ENDPOINT, **extproc})
    path, port, metrics = write(config, directory / "semroute.yaml", mock.port), free_ports(), free_ports()

    def changed(text):
        if subset is not None:
            assert EXT_PROC in text
            text = text.replace(EXT_PROC, SUBSET % json.dumps(subset) + EXT_PROC, 1)
        return change(text) if change else text

    with contextlib.ExitStack() as stack:
        semroute = Process([BINARY, "serve", "-c", path, "--gateway", "off", "--api", "off", "--metrics",
                            f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
        stack.callback(semroute.stop)
        semroute.metrics_port = metrics
        wait_http(metrics, "/metrics", semroute)
        envoy = real.Envoy(directory, real.PICKER, port, mock.port, change=changed)
        stack.callback(envoy.stop)
        yield envoy, semroute


def ask(envoy, name="general", timeout=30):
    return request(envoy.port, "POST", "/v1/chat/completions", chat("hello", name), timeout=timeout)


def workers(envoy, count, name="general"):
    """Which of the mock's workers answered, request by request."""
    answers = [ask(envoy, name) for _ in range(count)]
    assert [a.status for a in answers] == [200] * count, answers
    return [int(a.json()["choices"][0]["message"]["content"].split()[6]) for a in answers]


def offers(mock, *numbers):
    return [f"127.0.0.1:{mock.port + n}" for n in numbers]


def test_every_model_has_its_backends(tmp_path, mock):
    with picker(tmp_path, mock, model("general", "@0"), model("coder", "@1", "@2")) as (envoy, _):
        assert set(workers(envoy, 2)) == {0}
        assert sorted(workers(envoy, 10, "coder")) == [1] * 5 + [2] * 5
        head = mock.last_head(1).lower()
        assert f"{ENDPOINT}: 127.0.0.1:{mock.port + 1}\r\n" in head


def test_weights_hold(tmp_path, mock):
    heavy = [{"endpoint": "@0", "weight": 3}, {"endpoint": "@1", "weight": 1}]
    with picker(tmp_path, mock, model("general", *heavy)) as (envoy, _):
        assert sorted(workers(envoy, 8)) == [0] * 6 + [1] * 2


def test_only_what_envoy_offers(tmp_path, mock):
    models = [model("general", "@0", "@1", "@2"), model("coder", "@3")]
    with picker(tmp_path, mock, *models, subset=offers(mock, 1, 2)) as (envoy, _):
        assert sorted(set(workers(envoy, 6))) == [1, 2]
        none = ask(envoy, "coder")
        assert none.status == 503 and none.json()["error"]["type"] == "server_error" and none.headers["retry-after"]


@pytest.mark.parametrize("offered, answers", [((0, 1), "general"), ((0,), "general"), ((1, 2), "coder-upstream"), ((2,), "coder-upstream"),
                                              ((3,), None)])
def test_the_next_model_when_the_offer_has_no_worker_of_the_first(tmp_path, mock, offered, answers):
    """The offer is intersected with the workers of the decision's models, one model after the other; 503 last."""
    models = [model("general", "@0"), model("coder", "@1", "@2", provider_model_id="coder-upstream"), model("other", "@3")]
    both = decision("both", modelRefs=[{"model": "general"}, {"model": "coder"}])
    with picker(tmp_path, mock, *models, decisions=[both], subset=offers(mock, *offered)) as (envoy, _):
        for _ in range(2):
            answer = ask(envoy, "auto")
            assert (answer.json().get("model") if answer.status == 200 else None) == answers, answer
            if answers:
                worker = int(answer.json()["choices"][0]["message"]["content"].split()[6])
                assert worker in offered and json.loads(mock.last_body(worker))["model"] == answers
                assert answer.headers["x-vsr-selected-model"] == ("general" if answers == "general" else "coder")
            else:
                assert answer.status == 503 and answer.headers["retry-after"]


def test_the_limits_of_the_next_model(tmp_path, mock):
    """It takes over as often as its limit says, and what no worker could take counts nowhere else."""
    models = [model("general", "@0"), model("coder", "@1"), model("other", "@3")]
    both = decision("both", modelRefs=[{"model": "general"}, {"model": "other"}, {"model": "coder"}])
    rules = [{"name": name, "match": {"model": name}, "requests_per_unit": 2, "unit": "day"} for name in ("coder", "other")]
    with picker(tmp_path, mock, *models, decisions=[both], limits={"rules": rules}, subset=offers(mock, 1)) as (envoy, semroute):
        assert [ask(envoy, "auto").status for _ in range(3)] == [200, 200, 503]
        assert ask(envoy, "coder").status == 429
        assert ask(envoy, "other").status == 503


def test_offers_as_text_with_odd_entries(tmp_path, mock):
    text = f" nonsense, {offers(mock, 2)[0]} ,127.0.0.1, [::1]:1"
    with picker(tmp_path, mock, model("general", "@0", "@2"), subset=text) as (envoy, _):
        assert set(workers(envoy, 3)) == {2}


def test_an_empty_offer_is_503(tmp_path, mock):
    with picker(tmp_path, mock, model("general", "@0"), subset=[]) as (envoy, _):
        assert ask(envoy).status == 503


def test_overload_is_429_for_a_data_plane_that_asks_for_endpoints(tmp_path, mock):
    with picker(tmp_path, mock, model("general", "@0"), max_streams=1) as (envoy, _):
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", envoy.port), timeout=10) as s:
            s.sendall(head)
            until(lambda: envoy.stat("streams_started"))
            shed = ask(envoy)
        assert shed.status == 429 and shed.json()["error"]["type"] == "rate_limit_error", shed
        assert shed.headers["retry-after"] == "1"


def test_a_backend_by_name(tmp_path, mock):
    names = [{"endpoint": f"localhost:{mock.port + 1}"}]
    with picker(tmp_path, mock, model("general", *names), model("lost", {"endpoint": "no-such-host.invalid:1"})) as (envoy, _):
        until(lambda: ask(envoy).status == 200)  # the name is known
        assert set(workers(envoy, 3)) == {1}
        lost = ask(envoy, "lost")
        assert lost.status == 503 and "backend" in lost.json()["error"]["message"]


def test_a_backend_that_is_gone_is_tried_last(tmp_path, mock):
    """Envoy says that nobody answered; the next requests go to the other one."""
    gone = {"endpoint": f"127.0.0.1:{free_ports()}"}
    models = model("general", gone, {"endpoint": "@1"})
    with picker(tmp_path, mock, models, change=lambda text: text.replace(
            f"port_value: {mock.port}}}", f"port_value: {gone['endpoint'].split(':')[1]}}}")) as (envoy, _):
        asked = [(time.monotonic(), ask(envoy).status, time.monotonic()) for _ in range(10)]
        failed = [number for number, (_, status, _) in enumerate(asked) if status != 200]
        assert all(asked[number][1] == 503 for number in failed) and (not failed or failed[0] < 2), asked
        # it is tried again when it has cooled for five seconds, on a machine that is so slow
        assert all(asked[later][2] - asked[first][0] >= 5 for first, later in zip(failed, failed[1:])), asked


def test_fallbacks_are_tried_by_envoy(tmp_path, mock):
    gone = {"endpoint": f"127.0.0.1:{free_ports()}"}
    models = model("general", gone, {"endpoint": "@1"})
    with picker(tmp_path, mock, models, fallback_endpoints=1, change=lambda text: text.replace(
            f"port_value: {mock.port}}}", f"port_value: {gone['endpoint'].split(':')[1]}}}")) as (envoy, _):
        assert [ask(envoy).status for _ in range(6)] == [200] * 6
        both = [line for line in mock.last_head(1).lower().splitlines() if line.startswith(ENDPOINT)]
        assert both[0].count(",") == 1, both
