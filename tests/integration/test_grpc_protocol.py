"""The raw protocol of the ext_proc door, used by an independent client: Python's grpcio with stubs made from
proto/."""
import asyncio
import json
import time

import grpc
import pytest

from conftest import BINARY, ROOT, Process, chat, free_ports, wait_http
from grpc_door import (BUFFERED, FULL_DUPLEX, OPTIONS, PIECE, PROCESS, STREAMED, Call, body, channel, door, head,  # noqa: F401
                       mutations, serve, stubs)


def buffered(stubs, channel, request):
    """The answer to a whole request in BUFFERED mode."""
    call = Call(stubs, channel)
    call.send(head(stubs, BUFFERED))
    first = call.next()
    assert first.WhichOneof("response") == "request_headers"
    call.send(body(stubs, json.dumps(request).encode()))
    answer = call.next()
    call.finish()
    assert call.code() == grpc.StatusCode.OK
    return answer


def alive(stubs, channel):
    answer = buffered(stubs, channel, chat("hello", model="coder"))
    assert answer.WhichOneof("response") == "request_body", answer
    assert mutations(answer.request_body.response)["x-selected-model"] == "coder"


def test_buffered_decision(stubs, channel):
    alive(stubs, channel)
    answer = buffered(stubs, channel, chat("please fix this python function for me")).request_body.response
    chosen = mutations(answer)["x-selected-model"]
    assert json.loads(answer.body_mutation.body)["model"] == chosen != "auto"


def test_models_whose_workers_envoy_has(stubs, tmp_path):
    """Models without backends: the verdict names the model, and Envoy's routes do the rest."""
    file = tmp_path / "site.yaml"
    file.write_text((ROOT / "tests/data/config/corpus/behind_envoy.yaml").read_text())
    port, metrics = free_ports(), free_ports()
    process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", "off", "--metrics",
                       f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], tmp_path / "semroute.log")
    wait_http(metrics, "/metrics", process)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS) as own:
            for asked, text, model, sent in [("auto", "a poem, please", "large", "org/large"),
                                             ("auto", "hello", "small", "small"), ("large", "hello", "large", "org/large")]:
                answer = buffered(stubs, own, chat(text, model=asked))
                assert answer.WhichOneof("response") == "request_body", answer
                assert mutations(answer.request_body.response)["x-selected-model"] == model
                assert json.loads(answer.request_body.response.body_mutation.body)["model"] == sent
    finally:
        process.stop()


def duplex(stubs, channel, data, size):
    """Sends the body in pieces of `size`, then reads everything: header answer and pieces."""
    call = Call(stubs, channel)
    call.send(head(stubs, FULL_DUPLEX))
    call.send(*[body(stubs, data[at:at + size], False) for at in range(0, len(data), size)], body(stubs, b""))
    first = call.next()
    assert first.WhichOneof("response") == "request_headers"
    pieces, end = [], False
    while not end:
        answer = call.next()
        assert answer.WhichOneof("response") == "request_body"
        piece = answer.request_body.response.body_mutation.streamed_response
        assert len(piece.body) <= PIECE
        pieces.append(piece.body)
        end = piece.end_of_stream
    call.finish()
    assert call.code() == grpc.StatusCode.OK
    return mutations(first.request_headers.response), b"".join(pieces)


@pytest.mark.parametrize("size", [1, 7, 16384, 1 << 20])
def test_full_duplex_in_any_pieces(stubs, channel, size):
    text = "write a python function that sorts a list " * (5 if size < 100 else 5000)
    data = json.dumps(chat(text)).encode()
    headers, out = duplex(stubs, channel, data, size)
    sent, got = json.loads(data), json.loads(out)
    assert got["model"] == headers["x-selected-model"] != "auto"
    assert got["messages"] == sent["messages"]


def test_explicit_model_passes_ten_megabytes(stubs, channel):
    data = json.dumps(chat("x" * (10 << 20), model="coder")).encode()
    headers, out = duplex(stubs, channel, data, 1 << 20)
    assert out == data and headers["x-selected-model"] == "coder"
    answer = buffered(stubs, channel, json.loads(data))
    assert answer.WhichOneof("response") == "request_body"


COMPRESSION = "\n      prompt_compression: {enabled: true}\n"  # goes on under the file's last mapping, the modules


def last_byte_to_verdict(stubs, channel, data, seconds):
    """Sends a body over that time; how long its verdict took after the last of it."""
    pieces = [data[at:at + (len(data) + 29) // 30] for at in range(0, len(data), (len(data) + 29) // 30)]
    call = Call(stubs, channel)
    call.send(head(stubs, FULL_DUPLEX))
    for number, piece in enumerate(pieces):
        time.sleep(seconds / len(pieces))
        call.send(body(stubs, piece, number == len(pieces) - 1))
    last = time.monotonic()
    assert mutations(call.next().request_headers.response)["x-selected-model"]
    took = time.monotonic() - last
    call.finish()
    assert call.code() == grpc.StatusCode.OK
    return took * 1000


def test_a_body_is_read_while_it_arrives(stubs, channel, tmp_path, capsys):
    """What is wrong with the beginning of a body is answered before its end is sent. How much less time is left after
    the last byte of a body that came slowly is printed."""
    text = "Explain how this function sorts its list, and why the loop ends. " * 16000
    data = json.dumps(chat(text)).encode()
    for spoilt, status in ((data[:500000] + b'"}]}}', 400), (data.replace(b'"auto"', b'"nobody"'), 404)):
        call = Call(stubs, channel)
        call.send(head(stubs, FULL_DUPLEX), *[body(stubs, spoilt[at:at + 65536], False) for at in range(0, len(spoilt), 65536)])
        assert call.next().immediate_response.status.code == status
        call.finish()
    for name, more in (("", ""), (", compressed as it comes", COMPRESSION)):
        with serve(tmp_path, more) as process, grpc.insecure_channel(process.target, options=OPTIONS) as own:
            slowly, at_once = (sorted(last_byte_to_verdict(stubs, own, data, s) for _ in range(5))[2] for s in (0.3, 0))
        with capsys.disabled():
            print(f"\nfrom the last byte of {len(data) >> 10} KiB to the verdict{name}: {slowly:.1f} ms when it came over "
                  f"300 ms, {at_once:.1f} ms when it came at once")


def test_message_over_the_limit(stubs, channel):
    call = Call(stubs, channel)
    call.send(head(stubs, BUFFERED), body(stubs, b" " * (65 << 20)))
    assert call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    alive(stubs, channel)


def test_hostile_orders(stubs, channel):
    """Whatever comes in whatever order: the call ends by a status or waits for its peer, others are served."""
    pb = stubs.pb
    data = json.dumps(chat("hello", model="coder")).encode()
    answer_head = pb.ProcessingRequest(response_headers=pb.HttpHeaders(end_of_stream=True))
    trailers = pb.ProcessingRequest(request_trailers=pb.HttpTrailers())
    orders = [
        [pb.ProcessingRequest()],
        [body(stubs, data)],
        [answer_head],
        [trailers],
        [pb.ProcessingRequest(response_body=pb.HttpBody(body=b"x", end_of_stream=True))],
        [head(stubs, BUFFERED), head(stubs, BUFFERED)],
        [head(stubs, FULL_DUPLEX), body(stubs, data), body(stubs, data)],
        [head(stubs, BUFFERED), body(stubs, data), body(stubs, data), trailers, answer_head],
        [head(stubs, BUFFERED, end=True), body(stubs, data)],
        [head(stubs, 3), body(stubs, data)],
        [head(stubs, 99), body(stubs, data)],
        [pb.ProcessingRequest(request_headers=pb.HttpHeaders()), body(stubs, data)],
    ]
    for order in orders:
        call = Call(stubs, channel, timeout=60)
        call.send(*order)
        call.finish()
        assert call.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE), order
        alive(stubs, channel)


def test_bytes_that_are_no_message(stubs, channel):
    raw = channel.unary_stream(PROCESS)  # its end comes with the message: a client that still sends may read a reset first
    deep = b""
    for _ in range(5000):  # Metadata { Struct { Value { Struct ... , far over any real nesting
        deep = b"\x2a" + varint(len(deep)) + deep
        deep = b"\x12" + varint(len(deep)) + deep
        deep = b"\x0a" + varint(len(deep)) + deep
    inner = b"\x12" + varint(len(deep)) + deep
    entry = b"\x0a" + varint(len(inner)) + inner
    for garbage in [b"\xff", b"\x12\x05\x0a", b"\x00\x00", b"\x12\xff\xff\xff\xff\x0f", b"\x42" + varint(len(entry)) + entry]:
        call = raw(garbage, timeout=60)
        with pytest.raises(grpc.RpcError) as error:
            list(call)
        assert error.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL), garbage[:20]
        alive(stubs, channel)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def test_statuses_of_the_protocol(stubs, channel):
    with pytest.raises(grpc.RpcError) as error:
        list(channel.unary_stream("/envoy.service.ext_proc.v3.ExternalProcessor/Other")(b""))
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
    spaces = body(stubs, b" " * 10000).SerializeToString()
    with pytest.raises(grpc.RpcError) as error:
        list(channel.unary_stream(PROCESS)(spaces, compression=grpc.Compression.Gzip))
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED and "compressed" in error.value.details()
    call = Call(stubs, channel, timeout=0.3)
    call.send(head(stubs, BUFFERED))
    assert call.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    alive(stubs, channel)


def test_health(stubs, channel):
    service = stubs.health_service(channel)
    for name in ["", "envoy.service.ext_proc.v3.ExternalProcessor"]:
        answer = service.Check(stubs.health.HealthCheckRequest(service=name))
        assert answer.status == stubs.health.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as error:
        service.Check(stubs.health.HealthCheckRequest(service="nobody"))
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    watch = service.Watch(stubs.health.HealthCheckRequest())
    assert next(watch).status == stubs.health.HealthCheckResponse.SERVING
    watch.cancel()


def test_slow_reader_holds_up_nobody(stubs, door, channel):
    """A client that sends 24 MiB and reads nothing of the echo: it waits, the others do not."""
    data = json.dumps(chat("x" * (24 << 20), model="coder")).encode()
    with grpc.insecure_channel(door.target, options=[*OPTIONS, ("grpc.use_local_subchannel_pool", 1)]) as own:
        call = Call(stubs, own)
        call.send(head(stubs, FULL_DUPLEX))
        call.send(*[body(stubs, data[at:at + (1 << 20)], False) for at in range(0, len(data), 1 << 20)],
                  body(stubs, b""))
        for _ in range(20):
            alive(stubs, channel)
        got = bytearray()
        assert call.next().WhichOneof("response") == "request_headers"
        while len(got) < len(data):
            answer = call.next()
            assert answer.WhichOneof("response") == "request_body"
            got += answer.request_body.response.body_mutation.streamed_response.body
        assert bytes(got) == data
        call.finish()
        assert call.code() == grpc.StatusCode.OK


def test_ten_thousand_streams_of_one_connection(stubs, door):
    count = 10000
    before = door.rss_kib()

    async def one(stub, ready, go):
        call = stub.Process()
        await call.write(head(stubs, BUFFERED))
        answer = await call.read()
        assert answer.WhichOneof("response") == "request_headers"
        ready.append(call)
        if len(ready) == count:
            go.set()
        await go.wait()
        await call.write(body(stubs, json.dumps(chat("hello", model="coder")).encode()))
        answer = await call.read()
        assert mutations(answer.request_body.response)["x-selected-model"] == "coder"
        await call.done_writing()
        assert await call.code() == grpc.StatusCode.OK

    async def everything():
        ready, go = [], asyncio.Event()
        async with grpc.aio.insecure_channel(door.target, options=OPTIONS) as channel:
            stub = stubs.service(channel)
            tasks = [asyncio.create_task(one(stub, ready, go)) for _ in range(count)]
            await go.wait()
            rss = door.rss_kib()
            await asyncio.gather(*tasks)
            return rss

    rss = asyncio.run(everything())
    assert (rss - before) / count < 32, f"{(rss - before) / count:.1f} KiB for each waiting stream"
