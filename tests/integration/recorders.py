"""Upstreams in Python (FastAPI) and Go (net/http) that record what they would have executed (tests/upstreams), and a client
that sends bytes as they are, many on one connection."""
import http.client
import json
import socket
import sys

from conftest import ROOT, Process, free_ports, request, wait_http
from languages import go_program

SOURCES = ROOT / "tests" / "upstreams"


class Upstream(Process):
    """One of the recording servers; `seen()` has its records since the last call, by the request's `x-case`."""

    def __init__(self, language, directory):
        self.language, self.port = language, free_ports()
        if language == "python":
            args = [sys.executable, "-m", "uvicorn", "--app-dir", SOURCES, "app:app", "--port", self.port, "--log-level", "warning",
                    "--timeout-keep-alive", "600"]
        else:
            args = [go_program(SOURCES / "go", "upstream-go"), self.port]
        super().__init__(args, directory / f"upstream-{language}.log")
        wait_http(self.port, "/_seen", self, timeout=60)

    def seen(self):
        return request(self.port, "GET", "/_seen").json()


class Raw:
    """A client of one connection: sends what it is given, reads answers as HTTP/1.1 frames them, and connects again when
    the other side has closed."""

    def __init__(self, port, patience=60):
        self.port, self.socket, self.patience = port, None, patience

    def connect(self):
        self.close()
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=self.patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        if self.socket:
            self.socket.close()
            self.socket = None

    def send(self, data, method="POST"):
        """(status, headers with lower-case names, body) of the answer to one request's bytes; status 0: no answer, or
        the other side closed a new connection without one."""
        while True:
            fresh = not self.socket
            if fresh:
                self.connect()
            try:
                self.socket.sendall(data)
                answer = http.client.HTTPResponse(self.socket, method=method)
                answer.begin()
                while answer.status == 100:
                    answer = http.client.HTTPResponse(self.socket, method=method)
                    answer.begin()
                body = answer.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh:
                    return 0, {}, b""
                continue
            headers = {name.lower(): value for name, value in answer.getheaders()}
            if answer.will_close:
                self.close()
            return answer.status, headers, body

    def post(self, path, body, headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", "host: semroute", "content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        return self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
