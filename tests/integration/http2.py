"""A client of HTTP/2 for tests: the independent h2 package on a plain socket."""
import contextlib
import json
import socket
import ssl
import time

import h2.config
import h2.connection
import h2.events
import h2.settings

PATIENCE = 60
CHAT = "/v1/chat/completions"


def until(holds, what):
    """Waits for a condition, generously: these machines are slow."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.02)


class Client:
    """One connection of the independent h2 package, which checks every frame of the server."""

    def __init__(self, port, tls=None, settings=None, checks=True, buffer=None):
        sock = socket.socket()
        if buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", port))
        self.socket = tls.wrap_socket(sock, server_hostname="localhost") if tls else sock
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            header_encoding="utf-8", validate_outbound_headers=checks, normalize_outbound_headers=checks))
        if settings:
            self.h2.local_settings = h2.settings.Settings(client=True, initial_values=settings)
        self.h2.initiate_connection()
        self.events, self.closed, self.credit = [], False, True
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def head(self, method="POST", path=CHAT, host="localhost", more=()):
        return [(":method", method), (":path", path), (":scheme", "http"), (":authority", host), *more]

    def send(self, headers, body=None, end=True):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, headers, end_stream=end and body is None)
        if body is not None:
            self.h2.send_data(stream, body, end_stream=end)
        self.flush()
        return stream

    def post(self, body, more=()):
        return self.send(self.head(more=(("content-type", "application/json"), *more)), json.dumps(body).encode())

    def get(self, path, more=()):
        return self.send(self.head("GET", path, more=more))

    def read(self):
        """Takes what the server sent next; False at the end of the connection."""
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLError):
            data = b""
        if not data:
            self.closed = True
            return False
        for event in self.h2.receive_data(data):
            self.events.append(event)
            if self.credit and isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server has closed: the next read says so
            self.flush()
        return True

    def wait(self, kind, stream=None):
        def found():
            return next((e for e in self.events if isinstance(e, kind) and (stream is None or getattr(e, "stream_id", None) == stream)), None)
        while not found():
            if not self.read():
                break
        assert found(), (kind, self.events[-5:])
        return found()

    def answer(self, stream):
        self.wait(h2.events.StreamEnded, stream)
        head = dict(self.wait(h2.events.ResponseReceived, stream).headers)
        return int(head[":status"]), head, self.bytes(stream)

    def bytes(self, stream):
        return b"".join(e.data for e in self.events if isinstance(e, h2.events.DataReceived) and e.stream_id == stream)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
