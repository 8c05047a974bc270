"""Starts the real program for each test: mock upstreams, the gateway, temporary configurations.

Every process is started here, on loopback and free ports, and stopped by its id. A skipped test fails the run.
"""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest

import shares

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("SEMROUTE", ROOT / "build" / "semroute"))


def port_range():
    """The ports that this process may give out: those below what bench/process.c and outgoing connections take, shared among the processes of a
    parallel run."""
    first, last = 10240, 28000
    share = (last - first) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    first += share * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    return first, first + share


def free_ports(count=1):
    """`count` consecutive ports that were free a moment ago. When each was given once, the oldest are given again."""
    first, last = port_range()
    for _ in range(2):
        for step in range(0, last - first - count, count):
            base = first + (os.getpid() * 97 + step) % (last - first - count)
            ports = range(base, base + count)
            if not free_ports.given.intersection(ports) and can_bind(ports):
                free_ports.given.update(ports)
                return base
        free_ports.given.clear()
    raise RuntimeError("no free ports")


def can_bind(ports):
    with contextlib.ExitStack() as stack:
        for port in ports:
            s = stack.enter_context(socket.socket())
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


free_ports.given = set()

REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error: ",
           "Assertion `")


def fault_of(args, code, output, sent=()):
    """What is wrong with how a process ended: a sanitizer's report, or a signal that no test sent; None."""
    for mark in REPORTS:
        if mark in output:
            return f"{args}: {output[max(0, output.index(mark) - 200):][:6000]}"
    if code is not None and code < 0 and -code not in sent:
        return f"{args} died of signal {-code}:\n{output[-3000:]}"
    return None


class Process:
    """A child with its output in a file. stop() fails when it died, or said what a sanitizer says."""

    def __init__(self, args, log, env=None):
        self.log_path = log
        self.args = [str(a) for a in args]
        self.sent = set()
        self.log = open(log, "wb")
        self.child = subprocess.Popen(self.args, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                      env={**os.environ, **(env or {})})

    @property
    def pid(self):
        return self.child.pid

    def output(self):
        """What it has written; while it runs, once nothing more comes: its logs have a writer of their own."""
        log, size, end = pathlib.Path(self.log_path), -1, time.monotonic() + 2
        while self.child.poll() is None and size != log.stat().st_size and time.monotonic() < end:
            size = log.stat().st_size
            time.sleep(0.1)
        return log.read_text(errors="replace")

    def signal(self, number):
        self.sent.add(number)
        self.child.send_signal(number)

    def wait(self, timeout=60):
        return self.child.wait(timeout)

    def stop(self):
        if self.child.poll() is None:
            try:
                self.signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.child.wait(10)
                self.signal(signal.SIGTERM)  # cuts what a failed test left open
                self.child.wait(60)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.log.close()
        fault = fault_of(self.args, self.child.returncode, self.output(), self.sent)
        if fault:
            raise AssertionError(fault)

    def rss_kib(self):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise RuntimeError("no VmRSS")


def wait_http(port, path, process, timeout=60):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if process.child.poll() is not None:
            raise RuntimeError(f"{process.args} ended with {process.child.returncode}:\n{process.output()}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", path)
            status = connection.getresponse().status
            connection.close()
            if status == 200:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args} not ready:\n{process.output()}")


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)} {self.body[:500]!r}>"


def request(port, method, path, body=None, headers=None, timeout=30):
    """One request on its own connection; header names of the answer are lower-case."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        connection.request(method, path, body=body, headers={"content-type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        return Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


class Mock(Process):
    """`semroute mock`: workers on consecutive ports. With `same_ids` answers can be compared byte by byte."""

    def __init__(self, log, workers=4, options=(), same_ids=True):
        self.port = free_ports(max(workers, 4))  # builtin_on names four: the others stay closed
        self.workers = workers
        super().__init__([BINARY, "mock", "--port", self.port, "--workers", workers, *(("--same-ids",) if same_ids else ()),
                          *options], log)
        for worker in range(workers):
            wait_http(self.port + worker, "/health", self)

    def last_body(self, worker=0):
        return request(self.port + worker, "GET", "/mock/last").body

    def last_head(self, worker=0):
        return request(self.port + worker, "GET", "/mock/last-head").body.decode()


class Gateway(Process):
    """`semroute serve` with a configuration text; ports in the text are the test's own affair."""

    def __init__(self, config, directory, name="gateway", flags=(), env=None, wait=True, binary=None):
        self.port, self.metrics_port, self.api_port = free_ports(1), free_ports(1), free_ports(1)
        args = [binary or BINARY, "serve", "--gateway", f"127.0.0.1:{self.port}", "--metrics", f"127.0.0.1:{self.metrics_port}",
                "--api", f"127.0.0.1:{self.api_port}", "--extproc", "off"]
        self.config_path = None
        if config is not None:
            self.config_path = directory / f"{name}.yaml"
            self.config_path.write_text(config)
            args += ["-c", self.config_path]
        super().__init__([*args, *flags], directory / f"{name}.log", env)
        if wait:
            wait_http(self.port, "/ready", self)

    def post(self, body, path="/v1/chat/completions", headers=None, **more):
        return request(self.port, "POST", path, body, headers, **more)

    def get(self, path, headers=None):
        return request(self.port, "GET", path, headers=headers)

    def metrics(self):
        return request(self.metrics_port, "GET", "/metrics").body.decode()


def chat(text, model="auto", **more):
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


@pytest.fixture
def start(tmp_path):
    """start.mock(workers=..), start.gateway(config, ...): stopped when the test ends."""

    class Start:
        running = []

        def mock(self, workers=4, options=()):
            name = f"mock{len(self.running)}"
            self.running.append(Mock(tmp_path / f"{name}.log", workers, options))
            return self.running[-1]

        def gateway(self, config=None, **more):
            name = f"gateway{len(self.running)}"
            self.running.append(Gateway(textwrap.dedent(config) if config is not None else None, tmp_path, name, **more))
            return self.running[-1]

        def process(self, args, **more):
            self.running.append(Process(args, tmp_path / f"process{len(self.running)}.log", **more))
            return self.running[-1]

    starter = Start()
    starter.running = []
    yield starter
    with contextlib.ExitStack() as stack:
        for process in starter.running:
            stack.callback(process.stop)


def builtin_on(port):
    """The built-in configuration with its upstream ports moved to a mock's."""
    text = (ROOT / "src" / "config" / "builtin.yaml").read_text()
    for worker in range(4):
        text = text.replace(f"127.0.0.1:{9001 + worker}", f"127.0.0.1:{port + worker}")
    return text


@pytest.fixture(scope="module")
def default_site(tmp_path_factory):
    """The built-in configuration in front of four mock workers, shared by a module's tests."""
    directory = tmp_path_factory.mktemp("site")
    mock = Mock(directory / "mock.log")
    try:
        # a busy machine may need more than the second that ships
        gateway = Gateway(builtin_on(mock.port) + "  semroute: {signal_deadline_ms: 20000}\n", directory)
        try:
            yield gateway, mock
        finally:
            gateway.stop()
    finally:
        mock.stop()


def semroute(*args, input=None, env=None, timeout=300):
    """Runs a command of the binary; returns the completed process with text output."""
    done = subprocess.run([str(BINARY), *map(str, args)], input=input, capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})})
    fault = fault_of(done.args, done.returncode, done.stdout + done.stderr)
    assert fault is None, fault
    return done


def pytest_xdist_make_scheduler(config, log):
    return shares.ByShare(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # one process of a parallel run; the first one has the whole table
        return
    skipped = len(reporter.stats.get("skipped", [])) + len(reporter.stats.get("xfailed", []))
    if skipped:
        reporter.write_line(f"{skipped} tests were skipped: that is a failure here")
        session.exitstatus = 1


def pytest_report_header():
    version = subprocess.run([str(BINARY), "version"], capture_output=True, text=True).stdout.strip()
    return f"talking to {version} on Python {sys.version.split()[0]}"
