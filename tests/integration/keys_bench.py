"""Processes and peers for the keys that show only in a running gateway."""
import contextlib
import http.server
import json
import socket
import ssl
import subprocess
import threading
import time

from conftest import BINARY, Gateway, Mock, Process, free_ports
from keys_site import write

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
         "prompt_tokens_details": {"cached_tokens": 200}, "cache_creation_input_tokens": 300}

ANSWER = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": USAGE, "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}]}


class Upstream:
    """An upstream that counts its connections and reports USAGE, while its gate is open; with a certificate it speaks
    TLS."""

    def __init__(self, cert=None, key=None):
        self.connections, self.last_body, self.gate = 0, b"", threading.Event()
        self.gate.set()
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                upstream.connections += 1
                super().setup()

            def do_POST(self):
                upstream.last_body = self.rfile.read(int(self.headers["content-length"]))
                upstream.gate.wait(60)
                body = json.dumps(ANSWER).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a peer that does not like the certificate

        self.server = Server(("127.0.0.1", 0), Handler)
        if cert:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(cert, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def make_certificates(directory):
    """ca.pem signs server.pem and other.pem, both for server.key and 127.0.0.1; stranger.pem and stranger.key stand apart."""
    def run(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, cwd=directory)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for name in ("ca", "stranger"):
        run("req", "-x509", *curve, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", 30, "-subj", f"/CN={name}")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "server.key")
    for name in ("server", "other"):
        run("req", "-new", "-key", "server.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", 30,
            "-extfile", "names", "-out", f"{name}.pem")


class Bench:
    """What all probes share. Words in configurations: `@0`..`@3` the mock's workers, `@u` an upstream, `@t` one with TLS,
    `@s` one that accepts and stays silent, `@x` a port where nobody listens, `%/` the directory of files."""

    def __init__(self, directory):
        self.directory, self.closing, self.started = directory, contextlib.ExitStack(), 0
        self.mock = self.upstream = None

    def start(self):
        """The peers, when the first probe needs them."""
        if self.mock:
            return
        make_certificates(self.directory)
        self.mock = Mock(self.directory / "mock.log", 4)
        self.upstream, self.tls = Upstream(), Upstream(self.directory / "server.pem", self.directory / "server.key")
        self.silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        for peer in (self.mock, self.upstream, self.tls):
            self.closing.callback(peer.stop)
        self.closing.callback(self.silent.close)
        self.words = {"u": self.upstream.port, "t": self.tls.port, "s": self.silent.getsockname()[1], "x": free_ports(1)}

    def write(self, config):
        self.start()
        self.started += 1
        return write(config, self.directory / f"site{self.started}.yaml", self.mock.port, self.words)

    @contextlib.contextmanager
    def serve(self, config, env=None, flags=()):
        """A gateway that is ready."""
        gateway = Gateway(self.write(config).read_text(), self.directory, f"gateway{self.started}", flags, env)
        try:
            yield gateway
        finally:
            gateway.stop()

    @contextlib.contextmanager
    def listen(self, config):
        """A gateway on the listeners of its configuration, which has said that it is ready, or has ended."""
        process = Process([BINARY, "serve", "-c", self.write(config), "--api", "off", "--metrics", "off", "--extproc", "off"],
                          self.directory / f"listen{self.started}.log")
        try:
            end = time.monotonic() + 60
            while "ready in" not in process.output() and process.child.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            yield process
        finally:
            process.stop()
