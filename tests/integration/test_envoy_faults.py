"""The same failures of a worker behind the real Envoy, which tries the picker's second choice; semroute is left with no
request of an answer that ended."""
import http.client
import json

import pytest

from conftest import Mock, chat, request
from keys_site import model
from test_envoy_picker import picker
from test_faults import BEFORE, INSIDE, STREAMED, Bad
from test_pools import until

RETRIES = "{retry_on: connect-failure, num_retries: 2}"
MORE = ("{retry_on: 'connect-failure,reset,5xx,retriable-status-codes', retriable_status_codes: [429], num_retries: 2, "
        "per_try_idle_timeout: 8s}")


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    mock = Mock(tmp_path_factory.mktemp("faults") / "mock.log")
    yield mock
    mock.stop()


# Behind Envoy an answer has begun with its head.
BEGUN = [fault for fault in BEFORE if fault.endswith("after the head")]


def door(tmp_path, mock, bad):
    """The faulty worker stands where Envoy has the mock's first one."""
    def change(text):
        assert RETRIES in text
        return text.replace(RETRIES, MORE).replace(f"port_value: {mock.port}}}", f"port_value: {bad.port}}}")
    models = model("general", {"endpoint": f"127.0.0.1:{bad.port}"}, {"endpoint": "@1"})
    return picker(tmp_path, mock, models, fallback_endpoints=1, change=change)


def ask(envoy, stream):
    """The status and the body; status None: the connection ended inside the answer."""
    try:
        answer = request(envoy.port, "POST", "/v1/chat/completions", chat("hello", "general", stream=stream), timeout=60)
        return answer.status, answer.body
    except (http.client.IncompleteRead, ConnectionError, http.client.RemoteDisconnected) as cut:
        return None, getattr(cut, "partial", b"")


def nothing_in_flight(semroute):
    text = request(semroute.metrics_port, "GET", "/metrics").body.decode()
    series = [line for line in text.splitlines() if line.startswith(("semroute_worker_in_flight_requests{",
                                                                     "llm_model_inflight_requests{"))]
    return series and all(line.endswith(" 0") for line in series)


@pytest.mark.parametrize("stream", (False, True), ids=("plain", "stream"))
@pytest.mark.parametrize("fault", [fault for fault in BEFORE if fault not in BEGUN])
def test_before_the_answer(tmp_path, mock, fault, stream):
    bad = Bad(BEFORE[fault][0])
    try:
        with door(tmp_path, mock, bad) as (envoy, semroute):
            answers = [ask(envoy, stream) for _ in range(2)]
            assert [status for status, _ in answers] == [200] * 2, answers
            assert bad.requests > 0
            until(lambda: nothing_in_flight(semroute))
    finally:
        bad.stop()


@pytest.mark.parametrize("fault, stream", [(fault, stream) for fault in INSIDE for stream in (False, True) if fault != "drip"] +
                         [(fault, True) for fault in STREAMED] + [(fault, stream) for fault in BEGUN for stream in (False, True)])
def test_inside_the_answer(tmp_path, mock, fault, stream):
    """Envoy ends the client's answer, and no second one follows; the other worker's is whole."""
    bad = Bad((INSIDE | STREAMED | BEFORE)[fault][0])
    try:
        with door(tmp_path, mock, bad) as (envoy, semroute):
            answers = [ask(envoy, stream) for _ in range(2)]
            whole = [body for status, body in answers if status == 200]
            assert len(whole) == 2 - bad.requests == 1, answers
            assert whole[0].endswith(b"data: [DONE]\n\n") if stream else json.loads(whole[0])["choices"]
            until(lambda: nothing_in_flight(semroute))
    finally:
        bad.stop()
