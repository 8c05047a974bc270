"""`semroute mock --engine`: what the simulated engine answers, shows and publishes, as clients of vLLM see it."""
import http.client
import itertools
import json
import socket
import threading
import time

import msgpack
import pytest
import zmq

from conftest import free_ports, request, semroute, wait_http

BLOCK = 16
WORDS = " ".join(f"word{i:04}" for i in range(400))


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("the condition was never met")


def ask(port, text, tokens=4, stream=False, **more):
    body = {"model": "m", "messages": [{"role": "system", "content": text}, {"role": "user", "content": "go on"}],
            "max_tokens": tokens, "ignore_eos": True, "stream": stream, **more}
    return request(port, "POST", "/v1/chat/completions", body)


def ask_or_lose(*args, **more):
    try:
        return ask(*args, **more)
    except (OSError, http.client.HTTPException) as e:
        return e


def stats(port):
    return request(port, "GET", "/mock/stats").json()["engine"]


def metric(port, name):
    text = request(port, "GET", "/metrics").body.decode()
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"vllm:{name}{{"))


def order(port, path, method="PUT"):
    answer = request(port, method, path)
    assert answer.status == 200, answer


def test_usage_and_times(start):
    mock = start.mock(1, ("--engine", "--speed", "100"))
    cold, warm = (ask(mock.port, WORDS).json() for _ in range(2))
    tokens = request(mock.port, "POST", "/tokenize", {"model": "m", "messages": [
        {"role": "system", "content": WORDS}, {"role": "user", "content": "go on"}]}).json()
    prompt = cold["usage"]["prompt_tokens"]
    assert tokens["count"] == len(tokens["tokens"]) == prompt > 400
    assert cold["usage"]["completion_tokens"] == 4 and cold["choices"][0]["finish_reason"] == "length"
    assert cold["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert warm["usage"]["prompt_tokens_details"]["cached_tokens"] == (prompt - 1) // BLOCK * BLOCK
    for answer in (cold, warm):  # the clock of the engine does not know how busy this machine is
        times, cached = answer["mock"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        assert times["first_us"] - times["queued_us"] == (prompt - cached) * 100
        assert times["last_us"] - times["first_us"] == 3 * 10100
    assert metric(mock.port, "prefix_cache_hits_total") == warm["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert metric(mock.port, "prefix_cache_queries_total") == 2 * prompt
    assert metric(mock.port, "time_to_first_token_seconds_count") == 2
    assert metric(mock.port, "num_requests_running") == metric(mock.port, "num_requests_waiting") == 0


def test_streams(start):
    mock = start.mock(1, ("--engine", "--speed", "100", "--stream-interval", "4"))
    answer = ask(mock.port, "hello", tokens=10, stream=True, stream_options={"include_usage": True})
    events = [json.loads(line[6:]) for line in answer.body.decode().split("\n\n") if line.startswith("data: {")]
    texts = [e["choices"][0]["delta"]["content"] for e in events if e["choices"] and e["choices"][0]["delta"].get("content")]
    assert len(texts) == 1 + 3  # the first token, then 4, 4 and 1
    assert events[-2]["choices"][0]["finish_reason"] == "length"
    assert events[-1]["usage"]["completion_tokens"] == 10 and events[-1]["mock"]["worker"] == 0


def test_completions_of_token_numbers(start):
    mock = start.mock(1, ("--engine", "--speed", "100"))
    tokens = request(mock.port, "POST", "/tokenize", {"prompt": WORDS}).json()["tokens"]
    first = request(mock.port, "POST", "/v1/completions", {"model": "m", "prompt": tokens}).json()
    again = request(mock.port, "POST", "/v1/completions", {"model": "m", "prompt": WORDS}).json()
    assert first["usage"]["prompt_tokens"] == again["usage"]["prompt_tokens"] == len(tokens)
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == (len(tokens) - 1) // BLOCK * BLOCK


def test_budget_and_limits(start):
    mock = start.mock(1, ("--engine", "--blocks", "64", "--running", "1", "--waiting", "1"))
    assert ask(mock.port, WORDS + WORDS).status == 400  # over 1,024 tokens
    order(mock.port, "/mock/slow?factor=100")  # the busy ones outlast all that comes
    threads = [threading.Thread(target=ask_or_lose, args=(mock.port, "busy", 900)) for _ in range(2)]
    threads[0].start()
    wait_until(lambda: stats(mock.port)["running"] == 1)
    threads[1].start()
    wait_until(lambda: stats(mock.port)["waiting"] == 1)
    refused = ask(mock.port, "third")
    assert refused.status == 503 and refused.headers["retry-after"] == "1"
    order(mock.port, "/mock/kill?for_ms=1")
    for thread in threads:
        thread.join()


class Subscriber:
    """Reads a worker's KV events as vLLM's example subscriber does."""

    def __init__(self, mock):
        line = wait_until(lambda: next((l for l in mock.output().splitlines() if l.startswith("worker 0") and "events" in l), None))
        events, replay = (line.split()[line.split().index(word) + 1] for word in ("events", "replay"))
        self.context = zmq.Context()
        self.sub, self.replay = self.context.socket(zmq.SUB), self.context.socket(zmq.DEALER)
        self.sub.subscribe(b"")
        for s, endpoint in ((self.sub, events), (self.replay, replay)):
            s.linger, s.rcvtimeo = 0, 60000
            s.connect(endpoint)

    def next(self):
        topic, number, payload = self.sub.recv_multipart()
        assert topic == b""
        return int.from_bytes(number, "big"), msgpack.unpackb(payload)

    def again(self, first):
        self.replay.send_multipart([b"", first.to_bytes(8, "big")])
        batches = {}
        while True:
            empty, number, payload = self.replay.recv_multipart()
            assert empty == b""
            if number == b"\xff" * 8:
                assert payload == b""
                return batches
            batches[int.from_bytes(number, "big")] = msgpack.unpackb(payload)

    def close(self):
        self.context.destroy(linger=0)


@pytest.fixture
def published(start):
    mock = start.mock(1, ("--engine", "--speed", "100", "--blocks", "256", "--kv-events", "0"))
    subscriber, attempts = Subscriber(mock), itertools.count()
    try:  # what is published before the subscription has arrived is lost
        wait_until(lambda: ask(mock.port, f"attempt {next(attempts)} {WORDS}").status == 200 and subscriber.sub.poll(200))
        last = max(subscriber.again(0))
        while subscriber.next()[0] != last:
            pass
        yield mock, subscriber, last + 1
    finally:
        subscriber.close()


def test_events(published):
    mock, subscriber, number = published
    prompt = request(mock.port, "POST", "/tokenize", {"messages": [
        {"role": "system", "content": WORDS}, {"role": "user", "content": "go on"}]}).json()["tokens"]
    ask(mock.port, WORDS)
    got, (when, events, rank) = subscriber.next()
    assert got == number and rank == 0 and abs(when - time.time()) < 3600
    kind, hashes, parent, tokens, size, lora, medium = events[-1]
    assert (kind, parent, size, lora, medium) == ("BlockStored", None, BLOCK, None, "GPU")
    assert tokens == prompt[:len(tokens)] and len(hashes) == len(tokens) // BLOCK == len(prompt) // BLOCK
    ask(mock.port, WORDS + " and more text" * 20)  # shares the beginning: only what is new is stored
    _, (_, events, _) = subscriber.next()
    stored = next(e for e in events if e[0] == "BlockStored")
    assert stored[2] in hashes
    while not any(e[0] == "BlockRemoved" for e in events):  # until the budget is used up
        ask(mock.port, f"{number} " + WORDS)
        number, (_, events, _) = subscriber.next()
    order(mock.port, "/reset_prefix_cache", "POST")
    while events[-1] != ["AllBlocksCleared"]:
        _, (_, events, _) = subscriber.next()
    assert stats(mock.port)["blocks_stored"] == 0


def test_lost_events_can_be_read_again(published):
    mock, subscriber, number = published
    order(mock.port, "/mock/lose-events?count=1")
    ask(mock.port, "first " + WORDS, tokens=1)
    ask(mock.port, "second " + WORDS, tokens=1)
    got, batch = subscriber.next()
    assert got == number + 1
    again = subscriber.again(number)
    assert sorted(again) == [number, number + 1] and again[number + 1] == batch
    assert subscriber.again(number + 2) == {}


def test_malformed_replay_requests_are_dropped(published):
    mock, subscriber, number = published
    for frames in ([b"x"], [b"", b"short"], [b"", b"", b""], [b"a", (0).to_bytes(8, "big")]):
        subscriber.replay.send_multipart(frames)
    assert max(subscriber.again(0)) == number - 1


def test_events_as_maps(start):
    mock = start.mock(1, ("--engine", "--speed", "100", "--kv-events", "0", "--kv-form", "dynamo"))
    subscriber = Subscriber(mock)
    try:
        ask(mock.port, WORDS)
        event = subscriber.again(0)[0][1][0]
    finally:
        subscriber.close()
    assert event["type"] == "BlockStored" and event["parent_block_hash"] is None and event["block_size"] == BLOCK


def test_kill_and_recover(start):
    mock = start.mock(2, ("--engine", "--speed", "10"))
    lost = []
    thread = threading.Thread(target=lambda: lost.append(ask_or_lose(mock.port + 1, WORDS, tokens=50000)))
    thread.start()
    wait_until(lambda: stats(mock.port + 1)["running"] == 1)
    order(mock.port, "/mock/kill?worker=1")
    thread.join()
    assert isinstance(lost[0], OSError)

    def refused():
        try:
            socket.create_connection(("127.0.0.1", mock.port + 1), timeout=5).close()
        except ConnectionRefusedError:
            return True
        except OSError:  # it was in the queue of the port when that was closed
            pass
        return False

    wait_until(refused)
    order(mock.port, "/mock/recover?worker=1")
    wait_http(mock.port + 1, "/health", mock)
    assert ask(mock.port + 1, WORDS).json()["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    order(mock.port, "/mock/kill?worker=1&for_ms=1")  # comes back by itself
    wait_until(lambda: getattr(ask_or_lose(mock.port + 1, "x"), "status", None) == 200)


def test_hang_slow_fail_evict(start):
    mock = start.mock(1, ("--engine", "--speed", "10"))
    answers = []
    order(mock.port, "/mock/hang")
    thread = threading.Thread(target=lambda: answers.append(ask(mock.port, WORDS)))
    thread.start()
    wait_until(lambda: stats(mock.port)["waiting"] == 1)
    assert request(mock.port, "GET", "/health").status == 200 and not answers
    order(mock.port, "/mock/recover")
    thread.join()
    prompt = answers[0].json()["usage"]["prompt_tokens"]
    order(mock.port, "/mock/evict")
    order(mock.port, "/mock/slow?factor=3")
    slow = ask(mock.port, WORDS).json()
    assert slow["mock"]["first_us"] - slow["mock"]["queued_us"] == prompt * 300
    order(mock.port, "/mock/fail?status=502")
    assert ask(mock.port, WORDS).status == 502
    order(mock.port, "/mock/recover")
    assert ask(mock.port, WORDS).status == 200


@pytest.mark.parametrize("path", ["/mock/kill?worker=7", "/mock/slow?factor=x", "/mock/kill?for_ms=-1"])
def test_wrong_orders(start, path):
    mock = start.mock(1, ("--engine",))
    assert request(mock.port, "PUT", path).status == 400


def test_without_an_engine(start):
    mock = start.mock(1)
    assert request(mock.port, "GET", "/metrics").status == 404
    assert request(mock.port, "PUT", "/mock/hang").status == 409
    order(mock.port, "/mock/fail?status=500")
    assert ask(mock.port, "x").status == 500
    order(mock.port, "/mock/recover")
    assert "mock" not in ask(mock.port, "x").json()


def test_wrong_options():
    assert semroute("mock", "--kv-events", 0).returncode == 2
    assert semroute("mock", "--engine", "--speed", 0, "--port", 0).returncode == 2
    assert semroute("mock", "--engine", "--blocks", 0, "--port", 0).returncode == 2
    taken = free_ports()
    with socket.create_server(("127.0.0.1", taken)):
        assert semroute("mock", "--engine", "--port", 0, "--kv-events", taken).returncode == 3
