"""The raw protocol of Envoy's door, spoken by an independent client: Python's grpcio with stubs made from proto/."""
import asyncio
import json
import queue
import subprocess
import sys

import grpc
import pytest

from conftest import BINARY, ROOT, Mock, Process, builtin_on, chat, free_ports, wait_http

PROCESS = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
STREAMED, BUFFERED, FULL_DUPLEX = 1, 2, 4
PIECE = 65536
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    out = tmp_path_factory.mktemp("stubs")
    done = subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={out}",
                           f"--grpc_python_out={out}", "ext_proc.proto", "health.proto"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(out))
    import ext_proc_pb2
    import ext_proc_pb2_grpc
    import health_pb2
    import health_pb2_grpc

    class Stubs:
        pb, service = ext_proc_pb2, ext_proc_pb2_grpc.ExternalProcessorStub
        health, health_service = health_pb2, health_pb2_grpc.HealthStub

    yield Stubs
    sys.path.remove(str(out))


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """semroute with Envoy's door alone; gives its process with .target."""
    directory = tmp_path_factory.mktemp("grpc")
    mock = Mock(directory / "mock.log")
    config = directory / "semroute.yaml"
    config.write_text(builtin_on(mock.port))
    port, metrics = free_ports(), free_ports()
    process = Process([BINARY, "serve", "-c", config, "--gateway", "off", "--api", "off", "--metrics",
                       f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
    wait_http(metrics, "/metrics", process)
    process.target = f"127.0.0.1:{port}"
    yield process
    process.stop()
    mock.stop()


@pytest.fixture
def channel(door):
    with grpc.insecure_channel(door.target, options=OPTIONS) as channel:
        yield channel


class Call:
    """One Process call, message by message."""

    def __init__(self, stubs, channel, timeout=120, **more):
        self.out = queue.Queue()
        self.answers = stubs.service(channel).Process(iter(self.out.get, None), timeout=timeout, **more)

    def send(self, *requests):
        for request in requests:
            self.out.put(request)

    def finish(self):
        self.out.put(None)

    def next(self):
        return next(self.answers)

    def code(self):
        """Reads until the call is over."""
        try:
            for _ in self.answers:
                pass
        except grpc.RpcError:
            pass
        return self.answers.code()


def head(stubs, mode, end=False, path=b"/v1/chat/completions", method=b"POST"):
    fields = {":method": method, ":path": path, ":scheme": b"http", ":authority": b"test",
              "content-type": b"application/json"}
    values = [stubs.pb.HeaderValue(key=key, raw_value=value) for key, value in fields.items()]
    return stubs.pb.ProcessingRequest(
        request_headers=stubs.pb.HttpHeaders(headers=stubs.pb.HeaderMap(headers=values), end_of_stream=end),
        protocol_config=stubs.pb.ProtocolConfiguration(request_body_mode=mode))


def body(stubs, data, end=True):
    return stubs.pb.ProcessingRequest(request_body=stubs.pb.HttpBody(body=data, end_of_stream=end))


def mutations(common):
    return {option.header.key: option.header.raw_value.decode() for option in common.header_mutation.set_headers}


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
        call = Call(stubs, channel, timeout=20)
        call.send(*order)
        call.finish()
        assert call.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE), order
        alive(stubs, channel)


def test_bytes_that_are_no_message(stubs, channel):
    raw = channel.stream_stream(PROCESS)
    deep = b""
    for _ in range(5000):  # Metadata { Struct { Value { Struct ... , far over any real nesting
        deep = b"\x2a" + varint(len(deep)) + deep
        deep = b"\x12" + varint(len(deep)) + deep
        deep = b"\x0a" + varint(len(deep)) + deep
    inner = b"\x12" + varint(len(deep)) + deep
    entry = b"\x0a" + varint(len(inner)) + inner
    for garbage in [b"\xff", b"\x12\x05\x0a", b"\x00\x00", b"\x12\xff\xff\xff\xff\x0f", b"\x42" + varint(len(entry)) + entry]:
        call = raw(iter([garbage]), timeout=20)
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
        list(channel.stream_stream("/envoy.service.ext_proc.v3.ExternalProcessor/Other")(iter([b""])))
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
    call = Call(stubs, channel, compression=grpc.Compression.Gzip)
    call.send(head(stubs, BUFFERED), body(stubs, b" " * 10000))
    assert call.code() == grpc.StatusCode.UNIMPLEMENTED
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
