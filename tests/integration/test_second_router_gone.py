"""What happens when a part of the chain client, Envoy, semroute, second router, worker is gone; the three scenarios of two
layers of caches; and two replicas of semroute behind one Envoy, which share answers over Redis."""
import contextlib
import re
import signal
import threading

import pytest

import second_router
from conftest import chat, request
from engine import Worker
from test_cache_shared import Redis, until
from test_second_router import ATTACK, DEPLOY, DOORS, MATH, Envoy, Fleet, Semroute, peers

DOCUMENT = "The archive of the lighthouse keepers of the northern coast, as it was kept from year to year. " * 12


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(params=second_router.KINDS)
def kind(request):
    return request.param


@pytest.fixture
def fleet(kind, tmp_path, stack):
    return Fleet(tmp_path, kind, stack)


def is_hit(answer):
    return answer.headers.get("x-vsr-cache-hit") == "true"


def asked_otherwise(answers, ask):
    """The first hit among paraphrases of "How do I reset my password?", which has these answers: on a machine that is busy
    a lookup may have no time, and is a miss, which is kept too."""
    bodies = [answer.body for answer in answers]
    for begin in ("How can I", "How could I", "How should I", "How might I"):
        answer, *seen = ask(f"{begin} reset my password?")
        if is_hit(answer):
            assert answer.body in bodies
            return answer, *seen
        bodies.append(answer.body)
    raise AssertionError(f"never a hit: {answer}")


# ---- the second router's own errors ----

@pytest.mark.parametrize("door", DOORS)
def test_errors_of_the_router_itself_are_passed_on(fleet, door):
    """All workers of the model are gone, and the router says so in its own words."""
    for worker in fleet.of("llama3-chat"):
        worker.stop()
    body = chat("Who is there?", "llama3-chat")
    theirs = request(fleet.router.port, "POST", "/v1/chat/completions", body)
    assert theirs.status >= 500 and theirs.headers["content-type"].startswith("text/plain"), theirs
    answer, sent, arrived = fleet.ask(door, body)
    assert sent.body == body and arrived is None
    assert answer.status >= 500 and answer.headers["content-type"] == theirs.headers["content-type"], answer
    assert answer.body.split(b"(")[0] == theirs.body.split(b"(")[0]
    answer, _, arrived = fleet.ask(door, chat(MATH))
    assert answer.status == 200 and arrived.body["model"] == "deepseek-v31", "the other model is not touched"


# ---- semroute is gone ----

def test_without_semroute_envoy_forwards(fleet, tmp_path):
    """The fail-safe of the shipped file, and its price: nothing is decided, and guards do not read."""
    assert fleet.ask("envoy", chat(ATTACK, "llama3-chat"))[0].status == 403
    fleet.semroute.signal(signal.SIGKILL)
    fleet.semroute.wait()
    body = chat("Who answers when nobody decides?", "llama3-chat")
    answer, sent, arrived = fleet.ask("envoy", body)
    assert answer.status == 200 and sent.body == body and arrived.body["model"] == "llama3-chat"
    assert not [name for name in (*answer.headers, *sent.headers) if name.startswith("x-vsr-")]
    assert fleet.ask("envoy", chat(ATTACK, "llama3-chat"))[0].status == 200, "docs/deploy/production-stack.md says so"
    assert fleet.ask("envoy", chat(MATH))[0].status == 404, "nobody knows `auto`"
    assert fleet.envoy.stat("failure_mode_allowed") >= 3
    again = Semroute(tmp_path, peers(fleet.tap.port, fleet.workers, fleet.redis.port), name="again",
                     extproc_port=fleet.semroute.extproc_port)
    try:
        until(lambda: fleet.ask("envoy", chat(ATTACK, "llama3-chat"))[0].status == 403, "Envoy reaches it again")
        assert fleet.ask("envoy", chat(MATH))[2].body["model"] == "deepseek-v31"
    finally:
        again.stop()


# ---- the second router is gone ----

def test_without_the_router_semroute_goes_to_the_workers(fleet):
    """No request fails; when the router is back it is used again."""
    port = fleet.tap.port
    fleet.tap.stop()
    for number in range(6):
        answer, _, arrived = fleet.ask("gateway", chat(f"{MATH} ({number})"))
        assert answer.status == 200 and arrived.body["model"] == "deepseek-v31", answer
        answer, _, arrived = fleet.ask("gateway", chat(f"Question {number}", "llama3-chat", stream=True))
        assert answer.status == 200 and b"[DONE]" in answer.body and arrived.body["model"] == "llama3-chat"
    fleet.tap = second_router.Tap(fleet.router.port, port)
    numbers = iter(range(10 ** 6))
    until(lambda: fleet.ask("gateway", chat(f"Back {next(numbers)}", "llama3-chat"))[1], "the router is used again")
    until(lambda: all([fleet.ask("gateway", chat(f"Usual {next(numbers)}", "llama3-chat"))[1] for _ in range(20)]),
          "the workers are spares only", patience=180)  # also when the router was ejected for being slow
    fleet.tap.stop()


# ---- two layers of caches ----

@pytest.mark.parametrize("door", DOORS)
def test_three_scenarios(fleet, door):
    """Semantic hit: no inference. Overlap: inference where the prefix is warm. Novel: inference from nothing."""
    def cached(answer):
        return answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"]

    first, _, arrived = fleet.ask(door, chat("How do I reset my password?"))
    assert first.status == 200 and arrived and cached(first) == 0
    answers = [first]

    def is_kept():
        answers.append(fleet.ask(door, chat("How do I reset my password?"))[0])
        return is_hit(answers[-1])
    until(is_kept, "the answer is kept")
    hit, sent, arrived = asked_otherwise(answers, lambda text: fleet.ask(door, chat(text)))
    assert sent is None and arrived is None

    def about(question):
        return [{"role": "system", "content": DOCUMENT}, {"role": "user", "content": question}]
    _, _, one = fleet.ask(door, chat("", "llama3-chat") | {"messages": about("How many keepers were there?")})
    answers = [fleet.ask(door, {"model": "llama3-chat", "messages": about(f"What was built in {1850 + year}?")})[0]
               for year in range(4)]
    assert not any(map(is_hit, answers))
    names = {a.json()["choices"][0]["message"]["content"] for a in answers}
    assert len(names) == 1 and all(cached(a) >= 0.8 * a.json()["usage"]["prompt_tokens"] for a in answers), answers

    novel, _, arrived = fleet.ask(door, chat("Design a distributed consensus algorithm for a blockchain of sensors."))
    assert novel.status == 200 and arrived and not is_hit(novel) and cached(novel) == 0


# ---- two replicas ----

@pytest.fixture
def pair(kind, tmp_path, stack):
    """Two replicas behind one Envoy, over one Redis. Its checks have more time than the shipped second: one that is late
    makes it take the dead replica for as good as the other one."""
    text, count = re.subn(r"\{timeout: 1s, interval", "{timeout: 30s, interval", (DEPLOY / "envoy.yaml").read_text())
    assert count == 1
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "envoy.yaml").write_text(text)
    fleet = Fleet.__new__(Fleet)
    fleet.workers = [stack.enter_context(Worker(model, model)) for model in ("llama3-chat", "deepseek-v31")]
    fleet.router = second_router.start(kind, fleet.workers, tmp_path)
    stack.callback(fleet.router.stop)
    fleet.tap = second_router.Tap(fleet.router.port)
    stack.callback(fleet.tap.stop)
    redis = Redis(tmp_path, second_router.free_ports())
    stack.callback(redis.stop)
    fleet.replicas = []
    for name in ("first", "second"):
        fleet.replicas.append(Semroute(tmp_path, peers(fleet.tap.port, fleet.workers, redis.port), name=name))
        stack.callback(fleet.replicas[-1].stop)
    fleet.envoy = Envoy(tmp_path, [r.extproc_port for r in fleet.replicas], fleet.tap.port, deploy=tmp_path / "deploy")
    stack.callback(fleet.envoy.stop)
    return fleet


def test_replicas_share_answers_and_survive_the_kill_of_one(pair):
    """What one replica kept both give. When one is killed under load, requests that name a model are all answered,
    and automatic ones as soon as Envoy knows; the answers that the dead one kept are still there."""
    def direct(replica, text):
        return request(replica.port, "POST", "/v1/chat/completions", chat(text))
    first, second = pair.replicas
    until(lambda: is_hit(direct(first, "Who shares this?")), "it is kept")
    until(lambda: is_hit(direct(second, "Who shares this?")), "the other one has it")
    through = {pair.ask("envoy", chat("Who shares this?"))[0].headers.get("x-vsr-cache-hit") for _ in range(6)}
    assert through == {"true"}

    stop, named, automatic = threading.Event(), [], []

    def load(into, model):
        number = 0
        while not stop.is_set():
            number += 1
            into.append(request(pair.envoy.port, "POST", "/v1/chat/completions", chat(f"{model} {number % 5}", model), timeout=60))
    threads = [threading.Thread(target=load, args=(named, "llama3-chat")), threading.Thread(target=load, args=(automatic, "auto"))]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(named) > 20 and len(automatic) > 20, "load")
        first.signal(signal.SIGKILL)
        first.wait()
        until(lambda: pair.envoy.stat("cluster.semroute.membership_healthy") == 1, "Envoy knows")
        before = len(named), len(automatic)
        until(lambda: len(named) > before[0] + 30 and len(automatic) > before[1] + 30, "it goes on")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [a.status for a in named] == [200] * len(named)
    assert all(a.status == 200 or "`auto`" in a.body.decode() or "'auto'" in a.body.decode() for a in automatic), "unread"
    assert all(a.status == 200 for a in automatic[before[1] + 1:])
    assert is_hit(pair.ask("envoy", chat("Who shares this?"))[0]), "kept by the one that died"
