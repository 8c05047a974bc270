"""What the tests of the ext_proc door by an independent client share: Python's grpcio with stubs made from proto/."""
import contextlib
import queue
import subprocess
import sys

import grpc
import pytest

from conftest import BINARY, ROOT, Mock, Process, builtin_on, free_ports, wait_http

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


@contextlib.contextmanager
def serve(directory, more=""):
    """semroute with Envoy's door alone; gives its process with .target, .config and .metrics_port."""
    mock = Mock(directory / "mock.log")
    config = directory / "semroute.yaml"
    config.write_text(builtin_on(mock.port) + more)
    port, metrics = free_ports(), free_ports()
    process = Process([BINARY, "serve", "-c", config, "--gateway", "off", "--api", "off", "--metrics",
                       f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], directory / "semroute.log")
    wait_http(metrics, "/metrics", process)
    process.target, process.config, process.metrics_port = f"127.0.0.1:{port}", config, metrics
    yield process
    process.stop()
    mock.stop()


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("grpc")) as process:
        yield process


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
