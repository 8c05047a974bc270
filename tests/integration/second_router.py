"""The second routers behind semroute: the real Rust vLLM router (PyPI `vllm-router`), the real Production Stack router
where it is installed, recorded exchanges of it where it is not; and a tap that notes what semroute sends to them."""
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import socket
import sys
import threading
import time

from conftest import ROOT, Process, free_ports, request, wait_http
from engine import Seen, prompt_of

RUST = pathlib.Path(sys.executable).parent / "vllm-router"
STACK = os.environ.get("PRODUCTION_STACK_ROUTER")  # the Python one; it needs Python 3.12
RECORDED = json.loads((ROOT / "tests" / "data" / "routers" / "production-stack.json").read_text())
KINDS = ["rust", "stack" if STACK else "recorded"]
PATIENCE = 60


class Rust(Process):
    """The Rust router in gateway mode: workers are added by model, and it filters them by the model of a request."""

    def __init__(self, workers, directory, policy="cache_aware", port=None):
        self.port = port or free_ports()
        super().__init__([RUST, "--host", "127.0.0.1", "--port", self.port, "--prometheus-port", free_ports(),
                          "--enable-igw", "--policy", policy, "--retry-max-retries", 1, "--log-level", "warning"],
                         directory / f"vllm-router-{time.monotonic_ns()}.log")
        wait_http(self.port, "/liveness", self, timeout=PATIENCE)
        for worker in workers:
            self.add(worker)

    def add(self, worker):
        answer = request(self.port, "POST", "/workers", {"url": worker.url, "model_id": worker.model})
        assert answer.status in (200, 202), answer
        end = time.monotonic() + PATIENCE
        while not any(w["url"] == worker.url and w["is_healthy"] for w in self.workers()):
            assert time.monotonic() < end, self.output()
            time.sleep(0.05)

    def workers(self):
        return request(self.port, "GET", "/workers").json()["workers"]


class Stack(Process):
    """The Production Stack's own router."""

    def __init__(self, workers, directory, policy="prefixaware", port=None):
        self.port = port or free_ports()
        super().__init__([STACK, "--host", "127.0.0.1", "--port", self.port, "--service-discovery", "static",
                          "--static-backends", ",".join(w.url for w in workers), "--static-models",
                          ",".join(w.model for w in workers), "--engine-stats-interval", 5, "--log-level", "warning",
                          "--routing-logic", policy], directory / f"production-stack-{time.monotonic_ns()}.log")
        wait_http(self.port, "/health", self, timeout=PATIENCE)


class Relay:
    """An HTTP server that passes each POST on to where `choose(seen)` says, bytes and headers as they came, streams as
    they come; `choose` may answer itself with (status, content type, body)."""

    def __init__(self, choose, added=(), port=0):
        self.seen = []
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                data = self.rfile.read(int(self.headers["content-length"]))
                seen = Seen(self.path, self.headers, json.loads(data))
                relay.seen.append(seen)
                way = choose(seen)
                if isinstance(way, tuple):
                    self.reply(*way)
                    return
                connection = http.client.HTTPConnection("127.0.0.1", way, timeout=60)
                headers = {n: v for n, v in self.headers.items() if n.lower() not in ("host", "connection")}
                try:
                    connection.request("POST", self.path, data, headers)
                    self.pass_on(connection.getresponse())
                finally:
                    connection.close()

            def reply(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def pass_on(self, answer):
                self.send_response_only(answer.status)
                for name, value in [*answer.getheaders(), *added]:
                    if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                        self.send_header(name, value)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                while data := answer.read1(65536):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Recorded(Relay):
    """Plays the Production Stack router from what was recorded of it: requests pass unchanged to a worker of their model,
    prompts that begin alike to the same one, and its errors are its own."""

    def __init__(self, workers, directory, policy="prefixaware", port=0):
        self.workers = workers
        super().__init__(self.choose, RECORDED["added"], port)

    def choose(self, seen):
        mine = [w for w in self.workers if w.model == seen.body["model"]]
        if not mine:
            said = RECORDED["no_such_model"]
            return said["status"], said["type"], (said["body"] % seen.body["model"]).encode()
        first = hashlib.sha256(prompt_of(seen.body)[:128].encode()).digest()
        worker = mine[first[0] % len(mine)]
        if not is_open(worker.port):
            said = RECORDED["worker_away"]
            return said["status"], said["type"], said["body"].encode()
        return worker.port


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


def start(kind, workers, directory, **more):
    return {"rust": Rust, "stack": Stack, "recorded": Recorded}[kind](workers, directory, **more)


class Tap(Relay):
    """Between semroute and a router: `seen` has each request as it left."""

    def __init__(self, target, port=0):
        super().__init__(lambda seen: target, port=port)
