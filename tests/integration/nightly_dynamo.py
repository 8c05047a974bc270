"""semroute in front of NVIDIA Dynamo's real frontend and KV router, with deploy/dynamo, by its own gateway and by the real
Envoy: what arrives at each hop, the frontend's errors, the three scenarios of two layers of caches, and what is gone. Run by
`make test-dynamo`: its environment is too large for `make test`, which does not collect files of this name."""
import argparse
import contextlib
import json
import signal
import subprocess
import sys

import pytest
from tokenizers import Tokenizer

import second_router
from conftest import ROOT, request
from dynamo import Dynamo
from stores import Redis
from test_cache_shared import until
from test_second_router import ATTACK, DOORS, MATH, SYSTEM, TRACE, Envoy, Semroute

sys.path.insert(0, str(ROOT / "tools"))
import dynamo_trace  # noqa: E402

DEPLOY = ROOT / "deploy" / "dynamo"
MODELS = ["llama3-chat", "deepseek-v31"]
SHOW = {"extra_fields": ["worker_id", "timing"], "annotations": ["formatted_prompt"]}
DOCUMENT = "The archive of the lighthouse keepers of the northern coast, as it was kept from year to year. " * 12


def ask_for(text, model="auto", **more):
    return {"model": model, "max_tokens": 4, "messages": [{"role": "user", "content": text}], **more}


class Site:
    def __init__(self, directory, stack, frontends=1):
        self.dynamo = Dynamo(directory, MODELS, frontends)
        stack.callback(self.dynamo.stop)
        self.tap = second_router.Tap(self.dynamo.ports[0])
        stack.callback(self.tap.stop)
        redis = stack.enter_context(Redis())
        self.environment = {"FRONTEND": f"127.0.0.1:{self.tap.port}", "FRONTEND_SPARE": f"127.0.0.1:{self.dynamo.ports[-1]}",
                            "REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(redis.port)}
        self.semroute = Semroute(directory, self.environment, DEPLOY)
        stack.callback(self.semroute.stop)
        self.envoy = Envoy(directory, [self.semroute.extproc_port], self.tap.port, DEPLOY, ("dynamo-frontend-svc", 8000))
        stack.callback(self.envoy.stop)

    def ask(self, door, body, headers=None):
        """The answer, and what left semroute's door (None: nothing)."""
        tapped = len(self.tap.seen)
        port = (self.envoy if door == "envoy" else self.semroute).port
        answer = request(port, "POST", "/v1/chat/completions", body, headers, timeout=60)
        return answer, (self.tap.seen[tapped:] or [None])[0]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path_factory.mktemp("dynamo"), stack)


def records(answer):
    """(event, comment, data) of each record of a stream."""
    for record in answer.body.decode().split("\n\n"):
        lines = dict(line.split(":", 1) for line in record.splitlines())
        yield lines.get("event", "").strip(), lines.get("", "").strip(), lines.get("data", "").strip()


def is_hit(answer):
    return answer.headers.get("x-vsr-cache-hit") == "true"


def cached(answer):
    return answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"]


@pytest.mark.parametrize("door", DOORS)
def test_a_decided_request_arrives_as_a_normal_one(site, door):
    """At the frontend by the tap, at the worker by the prompt that the frontend made for it."""
    text = f"{MATH} ({door})"
    answer, sent = site.ask(door, ask_for(text, nvext=SHOW, stream=True), TRACE)
    assert answer.status == 200, answer
    assert sent.body["model"] == "deepseek-v31" and sent.body["chat_template_kwargs"] == {"thinking": True}
    assert sent.body["messages"] == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    assert sent.body["nvext"] == SHOW and sent.headers["traceparent"] == TRACE["traceparent"]
    assert sent.headers["x-vsr-model"] == "deepseek-v31" and sent.headers["x-vsr-category"] == "math"
    prompt = next(json.loads(comment) for event, comment, _ in records(answer) if event == "formatted_prompt")
    assert prompt == f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n<think>"
    data = [d for _, _, d in records(answer) if d]
    assert data[-1] == "[DONE]" and {json.loads(d)["model"] for d in data[:-1]} == {"deepseek-v31"}
    assert json.loads(data[0])["nvext"]["worker_id"]["decode_worker_id"] > 2 ** 53
    trace = TRACE["traceparent"].split("-")[1]
    until(lambda: trace in site.dynamo.log(), "the frontend's own log has the trace")
    assert answer.headers["x-vsr-selected-model"] == "deepseek-v31"


@pytest.mark.parametrize("door", DOORS)
def test_a_request_that_names_its_model_passes_as_it_is(site, door):
    body = ask_for(f"Named, by {door}.", "llama3-chat", nvext=SHOW)
    answer, sent = site.ask(door, body)
    assert answer.status == 200 and sent.body == body and answer.json()["model"] == "llama3-chat"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("wrong", [{"unknown_thing": 1}, {"temperature": "warm"}], ids=["member", "type"])
def test_errors_of_the_frontend_are_passed_on(site, door, wrong):
    """Flat ones, which are not of OpenAI's shape."""
    body = ask_for(f"Wrong, by {door}.", "llama3-chat", **wrong)
    theirs = request(site.dynamo.ports[0], "POST", "/v1/chat/completions", body)
    answer, _ = site.ask(door, body)
    assert answer.status == theirs.status == 400 and answer.json() == theirs.json() and "message" in answer.json()


@pytest.mark.parametrize("door", DOORS)
def test_an_attack_reaches_nobody(site, door):
    answer, sent = site.ask(door, ask_for(ATTACK, "llama3-chat"))
    assert answer.status == 403 and answer.json()["error"]["code"] == "jailbreak_blocked" and sent is None


@pytest.mark.parametrize("door", DOORS)
def test_three_scenarios(site, door):
    """Semantic hit: no inference. Overlap: the worker whose KV cache has the document. Novel: from nothing."""
    question = {"gateway": "How do I reset my password?", "envoy": "How do I change my email address?"}[door]
    first, _ = site.ask(door, ask_for(question))
    assert first.status == 200
    until(lambda: is_hit(site.ask(door, ask_for(question))[0]), "the answer is kept")
    hit, sent = site.ask(door, ask_for(question.replace("do I", "can I")))
    assert is_hit(hit) and hit.body == first.body and sent is None, hit

    def about(text):
        messages = [{"role": "system", "content": f"{door} {DOCUMENT}"}, {"role": "user", "content": text}]
        return site.ask(door, ask_for("", "llama3-chat", nvext=SHOW) | {"messages": messages})[0]
    warm = about("How many keepers were there?").json()["nvext"]["worker_id"]
    for year in range(3):
        answer = about(f"What was built in {1850 + year}?")
        assert answer.json()["nvext"]["worker_id"] == warm and not is_hit(answer)
        assert cached(answer) >= 0.8 * answer.json()["usage"]["prompt_tokens"]

    novel, sent = site.ask(door, ask_for(f"{door.capitalize()}: design a consensus algorithm for a chain of sensors.", nvext=SHOW))
    assert novel.status == 200 and sent and not is_hit(novel)
    assert cached(novel) <= 0.4 * novel.json()["usage"]["prompt_tokens"], "no more than the template's first tokens"


@pytest.fixture
def own(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path, stack, frontends=2)


def test_without_semroute_envoy_forwards(own):
    own.semroute.signal(signal.SIGKILL)
    own.semroute.wait()
    body = ask_for("Who answers when nobody decides?", "llama3-chat")
    answer, sent = own.ask("envoy", body)
    assert answer.status == 200 and sent.body == body and answer.json()["model"] == "llama3-chat"
    assert own.ask("envoy", ask_for(MATH))[0].status == 404, "nobody knows `auto`"
    assert own.envoy.stat("failure_mode_allowed") >= 2


def test_without_a_frontend_or_the_workers(own):
    """The spare frontend takes over; and when a model's workers are gone, what the frontend says is passed on."""
    own.tap.stop()
    own.dynamo.frontends[0].signal(signal.SIGKILL)
    for number in range(6):
        answer, _ = own.ask("gateway", ask_for(f"Question {number}", "llama3-chat"))
        assert answer.status == 200, answer
    mocker = own.dynamo.mockers["deepseek-v31"]
    mocker.signal(signal.SIGKILL)
    mocker.wait()
    answers = []
    until(lambda: answers.append(own.ask("gateway", ask_for("Who is there?", "deepseek-v31"))[0]) or answers[-1].status == 404,
          "the model is gone")
    assert answers[-1].json()["message"] and {a.status for a in answers} <= {200, 404, 500, 503}, answers
    assert own.ask("gateway", ask_for("Still here?", "llama3-chat"))[0].status == 200


def test_kv_events_of_the_real_mockers(tmp_path):
    """What other clients have warmed is known from the mockers' own events, and the tokens of a prompt are those of the
    frontend: its blocks are found in them."""
    args = argparse.Namespace(workers=3, speed=10)
    tokenizer = dynamo_trace.train([[(0, 0, {"messages": [{"role": "user", "content": DOCUMENT}]})]])
    site = dynamo_trace.OneHop(tmp_path, dynamo_trace.make_model(tmp_path / "model", tokenizer), args, 512, "kv")
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(site.stop)
        for number, port in enumerate(reversed(site.workers)):
            body = ask_for(f"Archive {number}: {DOCUMENT}", dynamo_trace.MODEL)
            known = sum(site.values("semroute_pool_known_blocks"))
            assert request(port, "POST", "/v1/chat/completions", body).status == 200
            until(lambda: sum(site.values("semroute_pool_known_blocks")) > known + 5, "the worker has told of the blocks")
            answer = site.gateway.post(body | {"stream": False}, headers={"x-vsr-debug": "true"})
            assert answer.headers["x-vsr-worker"] == f"worker-{port}", answer.headers
            tokens = len(Tokenizer.from_file(str(tmp_path / "model" / "tokenizer.json")).encode(
                dynamo_trace.prompt_of(body), add_special_tokens=False).ids)
            assert answer.json()["usage"]["prompt_tokens"] == tokens
            assert answer.headers["x-vsr-worker-reason"].split("overlap=")[1].split("/")[0] != "0", answer.headers
            assert cached(answer) >= 0.8 * tokens


def test_a_trace_through_both_routers():
    """Over the same mockers semroute's policies reach what Dynamo's own KV router does."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "dynamo_trace.py", "--json", "--requests", "80", "--workers", "3",
                           "--ways", "dynamo kv,semroute auto,semroute kv"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    theirs, *ours = map(json.loads, done.stdout.splitlines())
    for row in (theirs, *ours):
        assert row["lost"] == 0 and row["requests"] == theirs["requests"] and row["of_one"] <= 1.01, row
    assert max(row["hit"] for row in ours) >= theirs["hit"] - 0.03, (theirs, ours)
