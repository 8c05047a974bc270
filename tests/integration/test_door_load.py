"""The ext_proc door under load for two seconds, or until all of it has come about: every mode, bodies in pieces, calls
that are reset, while the configuration is replaced and metrics are read; at the end a drain with calls in progress.
Also run with the thread sanitizer."""
import json
import signal
import threading
import time

import grpc

from conftest import chat, request
from grpc_door import BUFFERED, FULL_DUPLEX, OPTIONS, STREAMED, Call, body, door, head, mutations, stubs  # noqa: F401
from test_pools import until

CLIENTS, SECONDS = 6, 2
TEXT = "please fix this python function, and explain why the loop never ends. "


class Client(threading.Thread):
    """Its own connection, one call after the other."""

    def __init__(self, stubs, target, number):
        super().__init__(daemon=True)
        self.stubs, self.target, self.number = stubs, target, number
        self.done, self.broken_off, self.fault, self.stop = 0, 0, None, threading.Event()

    def run(self):
        try:
            with grpc.insecure_channel(self.target, options=[*OPTIONS, ("grpc.use_local_subchannel_pool", 1)]) as channel:
                while not self.stop.is_set():
                    self.one(channel, self.done + self.number)
                    self.done += 1
        except Exception as error:
            self.fault = error

    def one(self, channel, turn):
        call = Call(self.stubs, channel, timeout=60)
        size = (1, 40, 400)[turn % 3]
        model = ("auto", "coder", "no-such-model")[turn % 5 % 3]
        data = json.dumps(chat(TEXT * size, model=model)).encode()
        mode = (BUFFERED, STREAMED, FULL_DUPLEX)[turn % 7 % 3]
        step = len(data) if mode == BUFFERED else max(1, len(data) // 5)
        pieces = [data[at:at + step] for at in range(0, len(data), step)]
        call.send(head(self.stubs, mode))
        if turn % 11 == 10:
            call.send(body(self.stubs, pieces[0][:50], False))
            call.answers.cancel()
            self.broken_off += 1
            return
        call.send(*[body(self.stubs, piece, piece is pieces[-1]) for piece in pieces])
        chosen, status = None, None
        while chosen is None and status is None:
            answer = call.next()
            kind = answer.WhichOneof("response")
            if kind == "immediate_response":
                status = answer.immediate_response.status.code
            elif kind in ("request_headers", "request_body"):
                chosen = mutations(getattr(answer, kind).response).get("x-selected-model")
        call.finish()
        call.code()
        assert (status == 404) == (model == "no-such-model"), (model, status)
        assert chosen == "coder" if model == "coder" else status or chosen, (model, chosen)


def test_load(stubs, door):
    clients = [Client(stubs, door.target, number) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    text = door.config.read_text()
    begin, reloads = time.monotonic(), 0
    while (now := time.monotonic()) < begin + SECONDS or (now < begin + 180 and not (
            all(c.done for c in clients) and sum(c.broken_off for c in clients))):
        reloads += 1
        door.config.write_text(f"{text}\n# {reloads}\n")
        door.signal(signal.SIGHUP)
        assert request(door.metrics_port, "GET", "/metrics").status == 200
        time.sleep(0.05)
    for client in clients:
        client.stop.set()
    for client in clients:
        client.join(60)
    assert [c.fault for c in clients] == [None] * CLIENTS
    assert all(c.done > 0 for c in clients) and sum(c.broken_off for c in clients) > 0
    until(lambda: counted(door) >= sum(c.done - c.broken_off for c in clients))


def counted(door):
    text = request(door.metrics_port, "GET", "/metrics").body.decode()
    return sum(int(line.split()[-1]) for line in text.splitlines()
               if line.startswith('semroute_requests_total{door="extproc"'))


def test_drain_under_load(stubs, door):
    """A call that has begun is answered after SIGTERM; new ones are not taken; the process ends by itself."""
    with grpc.insecure_channel(door.target, options=OPTIONS) as channel:
        calls = [Call(stubs, channel) for _ in range(20)]
        for call in calls:
            call.send(head(stubs, BUFFERED))
            assert call.next().WhichOneof("response") == "request_headers"
        door.signal(signal.SIGTERM)
        time.sleep(0.1)
        for call in calls:
            call.send(body(stubs, json.dumps(chat("hello", model="coder")).encode()))
            assert mutations(call.next().request_body.response)["x-selected-model"] == "coder"
            call.finish()
            assert call.code() == grpc.StatusCode.OK
        assert door.wait() == 0
