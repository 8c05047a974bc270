"""Fakes of the servers that keep cached answers: they note what they are told and answer so that a client goes on."""
import contextlib
import socketserver
import ssl
import threading
from concurrent import futures

import grpc


class Certificates:
    """Files of keys_bench.make_certificates: the server's own, and the authority of its clients, who must have one."""

    def __init__(self, directory):
        self.ca, self.cert, self.key = (directory / name for name in ("ca.pem", "server.pem", "server.key"))


class Redis:
    """`told` has the commands as lists of texts, `peers` the names in the clients' certificates."""

    def __init__(self, tls=None, clients=False):
        self.told, self.peers = [], []
        redis = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError, ValueError):  # a peer that does not like the certificate, or none
                    while line := self.rfile.readline():
                        words = [self.word() for _ in range(int(line[1:]))]
                        if tls and (peer := self.request.getpeercert()):
                            redis.peers.append(dict(pair[0] for pair in peer["subject"])["commonName"])
                        redis.told.append(words)
                        self.wfile.write(redis.answer(words))

            def word(self):
                return self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2].decode("latin-1")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.cert, tls.key)
            if clients:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(tls.ca)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @staticmethod
    def answer(words):
        kind = words[0]
        if kind == "SUBSCRIBE":
            return f"*3\r\n$9\r\nsubscribe\r\n${len(words[1])}\r\n{words[1]}\r\n:1\r\n".encode()
        if kind == "SCAN":
            return b"*2\r\n$1\r\n0\r\n*0\r\n"
        return {"XREVRANGE": b"*0\r\n", "XRANGE": b"*0\r\n", "GET": b"$-1\r\n"}.get(kind, b"+OK\r\n")

    @property
    def is_greeted(self):
        return self.command("SUBSCRIBE") is not None

    def command(self, name):
        """The first command of that name, without it; None: there was none."""
        return next((words[1:] for words in list(self.told) if words[0] == name), None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


LOADED = b"\x10\x03"  # GetLoadStateResponse{state: 3}


class Milvus:
    """A Milvus without anything in it. `told` has the calls: method, metadata, the request's bytes. `hold`, when there is
    one, is called before a lookup is answered."""

    def __init__(self, tls=None, clients=False):
        self.told, self.peers, self.hold = [], [], lambda: None
        milvus = self

        class Handler(grpc.GenericRpcHandler):
            def service(self, details):
                method = details.method.rsplit("/", 1)[1]

                def answer(request, context):
                    milvus.peers += [name.decode() for name in context.auth_context().get("x509_common_name", [])]
                    milvus.told.append((method, dict(details.invocation_metadata), request))
                    if method in ("Search", "Query"):
                        milvus.hold()
                    return LOADED if method == "GetLoadState" else b""
                return grpc.unary_unary_rpc_method_handler(answer)

        self.server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Handler()], options=[("grpc.so_reuseport", 0)])
        if tls:
            self.port = self.server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials(
                [(tls.key.read_bytes(), tls.cert.read_bytes())], tls.ca.read_bytes() if clients else None, clients))
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    @property
    def is_greeted(self):
        return self.call("GetLoadState") is not None

    def call(self, name):
        """Metadata and request of the first call of a method; None: there was none."""
        return next((call[1:] for call in list(self.told) if call[0] == name), None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(0).wait()


def fields(message):
    """The fields of a message of protobuf by their numbers, the last of each: numbers and bytes."""
    found, at = {}, 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        value = number()
        if tag & 7 == 2:
            at += value
            value = message[at - value:at]
        found[tag >> 3] = value
    return found
