"""Workers that come and go: from a file, and from a real name server with short TTLs."""
import contextlib
import http.server
import shutil
import signal
import subprocess
import threading

from conftest import Gateway, chat, free_ports
from test_pools import Asked, Held, until

SITE = """
version: v0.3
providers:
  defaults: {default_model: m}
  models: [{name: m}]
routing: {}
global: {semroute: {loops: 2, pools: [{model: m, slow: {times: 0}, endpoints: {%s}%s}]}}
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
        worker.release(100_000)
    return workers


def test_file(tmp_path):
    """Hot; bad content keeps the last good one and is named with its line."""
    workers, file = opened(3), tmp_path / "workers"
    address = [f"127.0.0.1:{w.port}" for w in workers]
    file.write_text(f"{address[0]}\n{address[1]} 1 # second\n")
    with site(tmp_path, f"file: {file}", workers) as s:
        s.logged("pool m: 2 workers")
        until(lambda: s.used() == {0, 1})
        file.write_text(f"{address[1]}\n{address[2]}\n")
        until(lambda: s.used() == {1, 2})
        file.write_text(f"{address[0]}\nnonsense\n")
        s.logged("line 2: expected `host:port`, found `nonsense`; it keeps 2 workers")
        until(lambda: s.used() == {1, 2})
        kept = s.gateway.output().count("it keeps 2 workers")  # also when it saw the file before there was something in it
        file.unlink()
        s.logged("it keeps 2 workers", kept + 1)
        until(lambda: s.used() == {1, 2})
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
        until(lambda: f"semroute_worker_draining{{{worker}}} 1" in s.gateway.metrics())
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
    """Ports and weights of SRV records, those of a higher number are backups; after `keep` without an answer there is no
    worker."""
    workers = opened(3)
    with name_server(tmp_path) as dns:
        def record(worker, priority=0, weight=1):
            return f"--srv-host=_http._tcp.w.test,a.test,{workers[worker].port},{priority},{weight}"
        dns.serve("--address=/a.test/127.0.0.1", record(0), record(1), record(2, priority=1))
        with site(tmp_path, f'srv: _http._tcp.w.test, server: "127.0.0.1:{dns.port}", keep: 6s', workers) as s:
            s.logged("pool m: 3 workers")
            until(lambda: s.used() == {0, 1})
            dns.serve("--address=/a.test/127.0.0.1", record(2, priority=1))
            s.logged("pool m: 1 workers")  # also when the name server was away for longer than `keep`
            until(lambda: s.used() == {2})
            dns.serve("--address=/a.test/127.0.0.1")
            s.logged("it has no worker now")
            until(lambda: s.ask().status == 503)


class Watched:
    """A worker that says on command whether it is well and what it has to do, at an address of its own."""

    def __init__(self, address="127.0.0.1", port=0):
        self.address, self.status, self.running, self.requests, self.checks, self.scrapes = address, 200, 0, 0, 0, 0
        watched = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path == "/health":
                    watched.checks += 1
                    return self.answer(watched.status, "text/plain", b"")
                watched.scrapes += 1
                self.answer(200, "text/plain", b"vllm:num_requests_running %d\nvllm:num_requests_waiting 0\n"
                            b"vllm:prefix_cache_queries_total 1000\nvllm:prefix_cache_hits_total 250\n" % watched.running)

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                watched.requests += 1
                self.answer(200, "application/json", b'{"choices":[]}')

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def series(self, name, pool=""):
        return f'{name}{{{pool}worker="http://{self.address}:{self.port}"}} '

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


WATCHED = """
version: v0.3
providers:
  defaults: {default_model: m}
  models:
    - name: m
      reliability: {health_check_path: /health, health_check_interval: 100ms, health_check_timeout: 10s}
routing: {}
global: {semroute: {pools: [{model: m, policy: least_load, metrics: {interval: 100ms}, endpoints: {%s}}]}}
"""


@contextlib.contextmanager
def watched(tmp_path, endpoints, workers):
    gateway = Gateway(WATCHED % endpoints, tmp_path)
    try:
        yield gateway
    finally:
        gateway.stop()
        for worker in workers:
            worker.stop()


def shares(gateway, workers, n=6):
    before = [w.requests for w in workers]
    assert [gateway.post(chat("hello", "m")).status for _ in range(n)] == [200] * n
    return [w.requests - b for w, b in zip(workers, before)]


def check_and_scrape(gateway, workers, remove):
    """Both workers are checked and asked for their load; one that is removed is not, and has no series any more."""
    a, b = workers
    until(lambda: a.checks > 1 and b.checks > 1 and a.scrapes > 1 and b.scrapes > 1)
    a.status = 500
    until(lambda: a.series("semroute_worker_down") + "1" in gateway.metrics())
    assert shares(gateway, workers) == [0, 6]
    a.status = 200
    until(lambda: a.series("semroute_worker_down") + "0" in gateway.metrics())
    b.running = 50
    until(lambda: b.series("semroute_pool_worker_running", 'pool="m",') + "50" in gateway.metrics())
    until(lambda: b.series("semroute_pool_reported_hit_rate", 'pool="m",') + "0.25" in gateway.metrics())
    assert shares(gateway, workers) == [6, 0]
    remove()
    until(lambda: a.series("semroute_worker_down") not in gateway.metrics())
    until(lambda: a.series("semroute_pool_worker_running", 'pool="m",') not in gateway.metrics())
    assert b.series("semroute_worker_down") + "0" in gateway.metrics()
    until(lambda: asked_no_more(gateway, a, b))


def asked_no_more(gateway, gone, stays):
    """No question while the one that stays is asked ten times."""
    before, goal = gone.checks + gone.scrapes, stays.checks + 10
    until(lambda: stays.checks >= goal)
    return gone.checks + gone.scrapes == before


def test_checks_and_loads_of_a_file(tmp_path):
    workers, file = [Watched(), Watched()], tmp_path / "workers"
    lines = [f"127.0.0.1:{w.port}\n" for w in workers]
    file.write_text("".join(lines))
    with watched(tmp_path, f"file: {file}", workers) as gateway:
        check_and_scrape(gateway, workers, lambda: file.write_text(lines[1]))
        file.write_text("".join(lines))
        checks = workers[0].checks
        until(lambda: workers[0].checks > checks)


def test_checks_and_loads_of_dns(tmp_path):
    """Two addresses of one name, with one port."""
    with name_server(tmp_path) as dns:
        first = Watched()
        workers = [first, Watched("127.0.0.2", first.port)]
        dns.serve("--host-record=w.test,127.0.0.1", "--host-record=w.test,127.0.0.2")
        with watched(tmp_path, f'dns: "w.test:{first.port}", server: "127.0.0.1:{dns.port}"', workers) as gateway:
            check_and_scrape(gateway, workers, lambda: dns.serve("--host-record=w.test,127.0.0.2"))


def test_checks_and_loads_of_srv(tmp_path):
    with name_server(tmp_path) as dns:
        workers = [Watched(), Watched()]
        records = [f"--srv-host=_http._tcp.w.test,a.test,{w.port}" for w in workers]
        dns.serve("--address=/a.test/127.0.0.1", *records)
        with watched(tmp_path, f'srv: _http._tcp.w.test, server: "127.0.0.1:{dns.port}"', workers) as gateway:
            check_and_scrape(gateway, workers, lambda: dns.serve("--address=/a.test/127.0.0.1", records[1]))


def test_series_of_workers_that_are_gone(tmp_path):
    """As many workers as come and go: what is there now has its series, and the table of metrics does not grow."""
    file = tmp_path / "workers"
    file.write_text("127.9.9.9:1\n")
    with site(tmp_path, f"file: {file}", []) as s:
        for first in (2, 402, 802):
            file.write_text("".join(f"127.9.9.9:{port}\n" for port in range(first, first + 400)))
            until(lambda: f'semroute_worker_open{{worker="http://127.9.9.9:{first + 399}"}} 0' in s.gateway.metrics())
        until(lambda: s.gateway.metrics().count("semroute_worker_open{") == 400)
        assert '"other"' not in s.gateway.metrics()
        assert s.ask().status == 502
        assert 'semroute_upstream_connects_total{backend="m",result="error"}' in s.gateway.metrics()
