"""Workers that come and go: from a file, and from a real name server with short TTLs."""
import contextlib
import shutil
import signal
import subprocess

from conftest import Gateway, chat, free_ports
from test_pools import Asked, Held, until

SITE = """
version: v0.3
providers:
  defaults: {default_model: m}
  models: [{name: m}]
routing: {}
global: {semroute: {loops: 2, pools: [{model: m, endpoints: {%s}%s}]}}
"""


class Site:
    def __init__(self, gateway, workers):
        self.gateway, self.workers = gateway, workers

    def ask(self, text="hello"):
        return self.gateway.post(chat(text, "m"))

    def used(self, n=6):
        """Which workers answer `n` requests."""
        before = [len(w.texts) for w in self.workers]
        assert [self.ask().status for _ in range(n)] == [200] * n
        return {i for i, w in enumerate(self.workers) if len(w.texts) > before[i]}

    def logged(self, text, times=1):
        until(lambda: self.gateway.output().count(text) >= times)


@contextlib.contextmanager
def site(tmp_path, endpoints, workers, more=""):
    gateway = Gateway(SITE % (endpoints, more), tmp_path)
    try:
        yield Site(gateway, workers)
    finally:
        for worker in workers:
            worker.release(1000)
        gateway.stop()
        for worker in workers:
            worker.stop()


def opened(n):
    """Upstreams that answer at once."""
    workers = [Held() for _ in range(n)]
    for worker in workers:
        worker.release(1000)
    return workers


def test_file(tmp_path):
    """Hot; bad content keeps the last good one and is named with its line."""
    workers, file = opened(3), tmp_path / "workers"
    address = [f"127.0.0.1:{w.port}" for w in workers]
    file.write_text(f"{address[0]}\n{address[1]} 1 # second\n")
    with site(tmp_path, f"file: {file}", workers) as s:
        s.logged("pool m: 2 workers")
        assert s.used() == {0, 1}
        file.write_text(f"{address[1]}\n{address[2]}\n")
        until(lambda: s.used() == {1, 2})
        file.write_text(f"{address[0]}\nnonsense\n")
        s.logged("line 2: expected `host:port`, found `nonsense`; it keeps 2 workers")
        assert s.used() == {1, 2}
        file.unlink()
        until(lambda: s.gateway.output().count("it keeps 2 workers") == 2)
        assert s.used() == {1, 2}
        file.write_text(address[0])
        until(lambda: s.used() == {0})


def test_draining(tmp_path):
    """A worker that is removed finishes its request and gets no new one; what waits goes to the one that joins."""
    first, second, file = Held(), Held(), tmp_path / "workers"
    file.write_text(f"127.0.0.1:{first.port}\n")
    with site(tmp_path, f"file: {file}", [first, second], ", max_in_flight: 1, queue: {timeout: 100s}") as s:
        s.logged("pool m: 1 workers")
        begun = Asked(s.gateway, "begun", "m")
        until(lambda: first.texts == ["begun"])
        waits = Asked(s.gateway, "waits", "m")
        until(lambda: 'semroute_pool_waiting_requests{pool="m"} 1' in s.gateway.metrics())
        file.write_text(f"127.0.0.1:{second.port}\n")
        until(lambda: second.texts == ["waits"])
        worker = f'worker="http://127.0.0.1:{first.port}"'
        assert f"semroute_worker_draining{{{worker}}} 1" in s.gateway.metrics()
        second.release(2)
        assert waits.status() == 200 and s.ask("next").status == 200
        first.release()
        assert begun.status() == 200
        assert first.texts == ["begun"] and second.texts == ["waits", "next"]
        until(lambda: f"semroute_worker_draining{{{worker}}} 1" not in s.gateway.metrics())


def test_without_workers(tmp_path):
    with site(tmp_path, f"file: {tmp_path}/none", []) as s:
        s.logged("it keeps 0 workers")
        answer = s.ask()
        assert answer.status == 503 and int(answer.headers["retry-after"]) >= 1
        assert s.gateway.get("/health").status == 200


class NameServer:
    """dnsmasq with a file of hosts and TTLs of a second."""

    def __init__(self, directory):
        self.port, self.directory, self.child = free_ports(1), directory, None

    def serve(self, *records):
        self.stop()
        arguments = [shutil.which("dnsmasq") or "/usr/sbin/dnsmasq", "--keep-in-foreground", f"--port={self.port}",
                     "--listen-address=127.0.0.1", "--bind-interfaces", "--no-resolv", "--no-hosts", "--local-ttl=1",
                     "--local=/test/", "--conf-file=/dev/null", "--user=", "--group=", f"--pid-file={self.directory}/dns.pid",
                     *records]
        self.child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGTERM)
            self.child.wait(30)
            self.child = None


@contextlib.contextmanager
def name_server(tmp_path):
    server = NameServer(tmp_path)
    try:
        yield server
    finally:
        server.stop()


def test_dns(tmp_path):
    """Addresses of a name, asked again by TTL; no name and no server keep the last good ones, for `keep`."""
    workers = opened(1)
    with name_server(tmp_path) as dns:
        dns.serve("--address=/w.test/127.0.0.1")
        endpoints = f'dns: "w.test:{workers[0].port}", server: "127.0.0.1:{dns.port}"'
        with site(tmp_path, endpoints, workers) as s:
            s.logged("pool m: 1 workers")
            assert s.used() == {0}
            dns.serve("--host-record=w.test,127.0.0.1", "--host-record=w.test,127.0.0.2")
            s.logged("pool m: 2 workers")
            dns.serve("--host-record=other.test,127.0.0.1")
            s.logged("the name has no such records; it keeps 2 workers")
            dns.stop()
            s.logged("no name server answers; it keeps 2 workers")
            assert s.used(1) <= {0}
            dns.serve("--address=/w.test/127.0.0.1")
            s.logged("good again")
            until(lambda: s.gateway.output().count("pool m: 1 workers") == 2)


def test_srv(tmp_path):
    """Ports and weights of SRV records; after `keep` without an answer there is no worker."""
    workers = opened(3)
    with name_server(tmp_path) as dns:
        def record(worker, priority=0, weight=1):
            return f"--srv-host=_http._tcp.w.test,a.test,{workers[worker].port},{priority},{weight}"
        dns.serve("--address=/a.test/127.0.0.1", record(0), record(1), record(2, priority=1))
        with site(tmp_path, f'srv: _http._tcp.w.test, server: "127.0.0.1:{dns.port}", keep: 3s', workers) as s:
            s.logged("pool m: 2 workers")
            assert s.used() == {0, 1}
            dns.serve("--address=/a.test/127.0.0.1", record(2, priority=1))
            until(lambda: s.used() == {2})
            dns.serve("--address=/a.test/127.0.0.1")
            s.logged("it has no worker now")
            until(lambda: s.ask().status == 503)
