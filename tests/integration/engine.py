"""A worker as vLLM is one over HTTP: /v1/chat/completions plain and streamed, /v1/models, /health, /metrics. It notes
what arrives, and has a prefix cache of the blocks of its prompts, which it reports as vLLM does (cached_tokens)."""
import hashlib
import http.server
import json
import socket
import threading

BLOCK = 64  # bytes of a prompt, for the 16 tokens of vLLM's block


class Seen:
    """One request as it arrived."""

    def __init__(self, path, headers, body):
        self.path, self.body = path, body
        self.headers = {name.lower(): value for name, value in headers.items()}


def prompt_of(body):
    return "".join(f"<|{m['role']}|>{m['content']}" for m in body.get("messages", []))


class Worker:
    """One worker of `model`; `fail` is a status that it answers with, `seen` what came to /v1/chat/completions."""

    def __init__(self, model, name):
        self.model, self.name, self.fail, self.seen, self.blocks = model, name, None, [], set()
        self.lock, self.connections = threading.Lock(), set()
        worker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                if self.path == "/v1/models":
                    self.send({"object": "list", "data": [{"id": worker.model, "object": "model", "created": 1,
                                                           "owned_by": "vllm"}]})
                elif self.path == "/metrics":
                    self.send(b"vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n", kind="text/plain")
                else:
                    self.send({})

            def do_POST(self):
                body = json.loads(self.read_body())
                if self.path != "/v1/chat/completions":  # the Rust router tries .../render, for the tokens of a prompt
                    self.send({"detail": "Not Found"}, 404)
                    return
                with worker.lock:
                    worker.seen.append(Seen(self.path, self.headers, body))
                if worker.fail:
                    self.send({"error": {"message": f"{worker.name} fails", "type": "BadRequestError", "param": None,
                                         "code": worker.fail}}, worker.fail)
                elif body["model"] != worker.model:
                    self.send({"error": {"message": f"The model `{body['model']}` does not exist.", "type": "NotFoundError",
                                         "param": "model", "code": 404}}, 404)
                elif body.get("stream"):
                    self.stream(body)
                else:
                    self.whole(body)

            def read_body(self):
                if self.headers.get("transfer-encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers["content-length"]))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def send(self, body, status=200, kind="application/json"):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def whole(self, body):
                tokens, cached = worker.prefill(prompt_of(body))
                self.send({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": worker.model,
                           "choices": [{"index": 0, "finish_reason": "stop",
                                        "message": {"role": "assistant", "content": f"{worker.name} answers."}}],
                           "usage": {"prompt_tokens": tokens, "completion_tokens": 2, "total_tokens": tokens + 2,
                                     "prompt_tokens_details": {"cached_tokens": cached}}})

            def stream(self, body):
                worker.prefill(prompt_of(body))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream; charset=utf-8")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": worker.model}
                deltas = [({"role": "assistant", "content": ""}, None)]
                deltas += [({"content": text}, None) for text in (worker.name, " ", "answers.")] + [({}, "stop")]
                events = [json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
                          for delta, end in deltas]
                for data in [*events, "[DONE]"]:
                    event = f"data: {data}\n\n".encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def process_request(self, connection, address):
                worker.connections.add(connection)
                super().process_request(connection, address)

            def handle_error(self, *_):
                pass

        self.server_class, self.handler_class = Server, Handler
        self.listen(0)

    def listen(self, port):
        self.server = self.server_class(("127.0.0.1", port), self.handler_class)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def prefill(self, prompt):
        """(tokens of the prompt, those of its longest prefix of blocks that were here); the blocks are here now."""
        data, key, hit, missed = prompt.encode(), b"", 0, False
        for at in range(0, len(data) - len(data) % BLOCK, BLOCK):
            key = hashlib.sha256(key + data[at:at + BLOCK]).digest()
            with self.lock:
                missed = missed or key not in self.blocks
                self.blocks.add(key)
            hit += not missed
        return (len(data) + 3) // 4, hit * BLOCK // 4

    def stop(self):
        """As if it were killed: connections that are open are cut."""
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.connections.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
