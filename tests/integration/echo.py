"""An upstream that answers with the last user message, streamed in pieces of a few characters when asked to."""
import http.server
import json
import threading


class Echo:
    """Listens on a port of its own; `bodies` has every request body as it came."""

    def __init__(self, piece=5):
        self.bodies = []
        echo = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                raw = self.read_body()
                echo.bodies.append(raw.decode())
                body = json.loads(raw)
                text = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
                (self.stream if body.get("stream") else self.whole)(text)

            def read_body(self):
                if self.headers.get("transfer-encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers["content-length"]))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def whole(self, text):
                answer = json.dumps({"id": "e", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def stream(self, text):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                pieces = [text[i:i + piece] for i in range(0, len(text), piece)]
                events = [{"content": p} for p in pieces] + [{}]
                for number, delta in enumerate(events):
                    self.event(json.dumps({"id": "e", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
                        {"index": 0, "delta": delta, "finish_reason": "stop" if number == len(pieces) else None}]}))
                self.event("[DONE]")
                self.wfile.write(b"0\r\n\r\n")

            def event(self, data):
                line = f"data: {data}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
