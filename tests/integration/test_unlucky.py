"""An unlucky world: pipes that nobody reads, files that never answer, closed descriptors, names that do not resolve,
signals at the wrong time. Requests go on, and the process ends when it is told to."""
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest
from conftest import BINARY, builtin_on, chat, free_ports, request, wait_http
from test_http_behaviour import Wire, post_bytes

F_SETPIPE_SZ = 1031
END = int(os.environ.get("UNLUCKY_END", 40))  # seconds: an end that takes longer is a process that hangs


class Site:
    """A gateway whose standard streams the test chose; ended by its id."""

    def __init__(self, config, directory, env=None, wait=True, shell=None, **streams):
        self.port, self.metrics_port, self.api_port = free_ports(1), free_ports(1), free_ports(1)
        self.config_path = directory / "semroute.yaml"
        if config is not None:
            self.config_path.write_text(config)
        self.args = [str(BINARY), "serve", "--gateway", f"127.0.0.1:{self.port}", "--metrics",
                     f"127.0.0.1:{self.metrics_port}", "--api", f"127.0.0.1:{self.api_port}", "--extproc", "off", "-c",
                     str(self.config_path)]
        args = ["sh", "-c", f'exec "$@" {shell}', "sh", *self.args] if shell else self.args
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
        self.child = subprocess.Popen(args, env={**os.environ, **(env or {})}, **streams)
        if wait:
            wait_http(self.port, "/ready", self)

    def output(self):
        return "(not kept)"

    def post(self, body, **more):
        return request(self.port, "POST", "/v1/chat/completions", body, **more)

    def metrics(self):
        return request(self.metrics_port, "GET", "/metrics").body.decode()

    def end(self, *signals):
        for number in signals or (signal.SIGTERM,):
            self.child.send_signal(number)
            time.sleep(0.2)
        return self.child.wait(END)


@pytest.fixture
def site(tmp_path):
    running = []

    def begin(config, **more):
        running.append(Site(config, tmp_path, **more))
        return running[-1]

    yield begin
    for one in running:
        if one.child.poll() is None:
            one.child.kill()
            one.child.wait()


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """A library for LD_PRELOAD: files below $HANG_DIRECTORY and the names *.hang.test never answer while
    $HANG_SWITCH exists, like a dead mount and a resolver that lost its network."""
    directory = tmp_path_factory.mktemp("shim")
    source = directory / "shim.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <netdb.h>
        #include <stdarg.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static void hang(void)
        {
            const char *on = getenv("HANG_SWITCH");
            while (on && access(on, F_OK) == 0)
                usleep(50000);
        }
        static int opened(const char *name, const char *path, int flags, mode_t mode)
        {
            const char *directory = getenv("HANG_DIRECTORY");
            if (directory && strncmp(path, directory, strlen(directory)) == 0)
                hang();
            int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
            return real(path, flags, mode);
        }
        #define OPEN(name) int name(const char *path, int flags, ...) { va_list v; va_start(v, flags); \\
            mode_t mode = flags & O_CREAT ? va_arg(v, mode_t) : 0; va_end(v); return opened(#name, path, flags, mode); }
        OPEN(open)
        OPEN(open64)
        int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
        {
            if (host && strstr(host, ".hang.test"))
                hang();
            int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
                (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
            return real(host, service, hints, out);
        }
    """)
    library = directory / "shim.so"
    subprocess.run([shutil.which("cc"), "-shared", "-fPIC", "-O1", "-U_FORTIFY_SOURCE", "-o", library, source, "-ldl"],
                   check=True)
    return library


ONE = """
version: v0.3
providers:
  defaults: {{default_model: one}}
  models:
  - {{name: one, backend_refs: [{{name: a, endpoint: "{upstream}"}}]}}
global:
  semroute:
    access_log: "{log}"
    gateway: {{drain_timeout_ms: 2000, upstream: {{connect_timeout_ms: 3000}}}}
"""


def one(upstream, log="off"):
    return ONE.format(upstream=upstream, log=log)


def ask_quietly(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        request(port, "POST", "/v1/chat/completions", chat("hello", model="one"))


def full_pipe():
    """A pipe of one page that nobody reads."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    return reader, writer


def ask_all(port, count, at_once=8):
    """The status of `count` requests; a request that is not answered fails the test."""
    results = []

    def some(n):
        for _ in range(n):
            results.append(request(port, "POST", "/v1/chat/completions", chat("hello", model="one")).status)

    threads = [threading.Thread(target=some, args=(count // at_once,)) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == count // at_once * at_once
    return results


def test_pipes_that_nobody_reads_stop_no_request_and_no_exit(site):
    reader, writer = full_pipe()
    closed = free_ports(1)
    gateway = site(one(f"127.0.0.1:{closed}", log="stdout"), stdout=writer, stderr=writer)
    os.close(writer)
    assert set(ask_all(gateway.port, 400)) == {502}
    end = time.monotonic() + END
    while 'semroute_log_lines_total{log="process",result="left_out"}' not in gateway.metrics():
        assert time.monotonic() < end, gateway.metrics()
        time.sleep(0.1)
    assert gateway.end() == 0
    os.close(reader)


def test_repeated_faults_are_counted_not_repeated(site, tmp_path):
    log = tmp_path / "stderr"
    with open(log, "wb") as out:
        gateway = site(one(f"127.0.0.1:{free_ports(1)}"), stderr=out)
        ask_all(gateway.port, 800)
        assert gateway.end() == 0
    events = [json.loads(line) for line in log.read_text().splitlines()]
    failed = [e for e in events if e["event"] == "upstream_failed"]
    summary = [e for e in events if e["event"] == "repeated"]
    assert 0 < len(failed) < 400, len(failed)
    left_out = sum(int(re.search(r"(\d+) more", e["msg"]).group(1)) for e in summary if "upstream_failed" in e["msg"])
    assert len(failed) + left_out >= 800  # a request may try more than once


def test_standard_streams_closed_at_the_start(site, start):
    mock = start.mock(workers=1)
    gateway = site(one(f"127.0.0.1:{mock.port}", log="stdout"), shell="<&- >&- 2>&-")
    for fd in range(3):
        assert os.readlink(f"/proc/{gateway.child.pid}/fd/{fd}") == "/dev/null"
    assert gateway.post(chat("hello", model="one")).status == 200
    assert gateway.end() == 0


def test_a_command_still_says_that_it_could_not_write(tmp_path):
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", BINARY, "version"], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "standard output" in done.stderr


def test_a_fifo_as_configuration_is_refused_at_the_start(site, tmp_path):
    os.mkfifo(tmp_path / "semroute.yaml")
    gateway = site(None, wait=False, stderr=subprocess.PIPE)
    _, error = gateway.child.communicate(timeout=END)
    assert gateway.child.returncode == 1 and b"nothing was written" in error, error


def test_a_fifo_with_a_writer_is_read(tmp_path):
    text = one("127.0.0.1:1")
    done = subprocess.run(["bash", "-c", 'exec "$0" check <(printf %s "$1")', BINARY, text], capture_output=True, text=True,
                          timeout=END)
    assert done.returncode == 0, done.stderr


def test_a_fifo_or_a_dead_mount_at_a_reload_changes_nothing(site, start, shim, tmp_path):
    mock = start.mock(workers=1)
    switch, log = tmp_path / "switch", tmp_path / "stderr"
    (tmp_path / "mount").mkdir()
    with open(log, "wb") as out:
        gateway = site(one(f"127.0.0.1:{mock.port}"), stderr=out,
                       env={"LD_PRELOAD": str(shim), "HANG_DIRECTORY": str(tmp_path / "mount"), "HANG_SWITCH": str(switch)})

    def says(what):
        end = time.monotonic() + END
        while what not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            assert gateway.post(chat("hello", model="one")).status == 200
            time.sleep(0.1)

    path = gateway.config_path
    path.unlink()
    os.mkfifo(path)
    gateway.child.send_signal(signal.SIGHUP)
    says("nothing was written")
    switch.touch()
    path.unlink()
    (tmp_path / "mount" / "semroute.yaml").write_text(one(f"127.0.0.1:{mock.port}"))
    path.symlink_to(tmp_path / "mount" / "semroute.yaml")
    assert gateway.end() == 0
    switch.unlink()


def test_a_dead_mount_at_a_start_is_an_error(site, shim, tmp_path):
    switch = tmp_path / "switch"
    switch.touch()
    (tmp_path / "semroute.yaml").write_text(one("127.0.0.1:1"))
    gateway = site(None, wait=False, stderr=subprocess.PIPE,
                   env={"LD_PRELOAD": str(shim), "HANG_DIRECTORY": str(tmp_path), "HANG_SWITCH": str(switch)})
    _, error = gateway.child.communicate(timeout=END)
    assert gateway.child.returncode == 1 and b"does not answer" in error, error
    switch.unlink()


def test_a_signal_ends_a_start_that_hangs(site, shim, tmp_path):
    switch = tmp_path / "switch"
    switch.touch()
    (tmp_path / "semroute.yaml").write_text(one("127.0.0.1:1"))
    gateway = site(None, wait=False,
                   env={"LD_PRELOAD": str(shim), "HANG_DIRECTORY": str(tmp_path), "HANG_SWITCH": str(switch)})

    def threads():
        for task in pathlib.Path(f"/proc/{gateway.child.pid}/task").glob("*"):
            with contextlib.suppress(OSError):  # it has just ended
                yield (task / "comm").read_text().strip()

    end = time.monotonic() + END
    while "sr-signals" not in threads():
        assert time.monotonic() < end and gateway.child.poll() is None
        time.sleep(0.02)
    assert gateway.end() == 128 + signal.SIGTERM
    switch.unlink()


def test_a_second_signal_ends_a_reload_that_hangs(site, start, shim, tmp_path):
    """The watcher's thread sits in open(): neither one signal nor two may wait for it."""
    mock = start.mock(workers=1)
    switch = tmp_path / "switch"
    for signals in ((signal.SIGTERM,), (signal.SIGTERM, signal.SIGINT)):
        gateway = site(one(f"127.0.0.1:{mock.port}"),
                       env={"LD_PRELOAD": str(shim), "HANG_DIRECTORY": str(tmp_path), "HANG_SWITCH": str(switch)})
        wire = Wire(gateway.port)
        body = json.dumps(chat("hi", model="one", stream=True)).encode()
        wire.socket.sendall(post_bytes(body, b"x-mock-chunks: 2000\r\nx-mock-chunk-delay-ms: 100\r\n"))
        assert b"200" in wire.file.readline()
        switch.touch()
        gateway.child.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert gateway.end(*signals) == 0
        switch.unlink()
        wire.close()


def test_a_resolver_that_never_answers_stops_no_exit(site, shim, tmp_path):
    switch = tmp_path / "switch"
    switch.touch()
    gateway = site(one("models.hang.test:80"), env={"LD_PRELOAD": str(shim), "HANG_SWITCH": str(switch)})
    asking = threading.Thread(target=ask_quietly, args=(gateway.port,))
    asking.start()
    time.sleep(0.5)
    assert gateway.end() == 0
    asking.join()
    switch.unlink()
