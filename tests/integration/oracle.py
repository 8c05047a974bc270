"""An upstream whose every answer is another one: it numbers its calls and says what it was asked, plain or streamed,
with reasoning, tool calls and text of many kinds. What a cache may give again can so be told from what it may not."""
import http.server
import json
import threading
import time

TEXT = "Zeile eins\n\n  eingerückt\t\"zitiert\" 漢字 🙂 </s> \\ end"


def last_user(body):
    content = [m for m in body.get("messages", []) if m.get("role") == "user"]
    text = content[-1]["content"] if content else body.get("prompt", "")
    if isinstance(text, list):
        text = " ".join(part.get("text", "") for part in text)
    return text


class Oracle:
    def __init__(self):
        self.asked = []          # bodies, in order
        self.behaviour = {}      # status, delay, hold (an event), cut, headers, error: how the next calls go
        self.lock = threading.Lock()
        oracle = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with oracle.lock:
                    oracle.asked.append(body)
                    number = len(oracle.asked)
                    how = dict(oracle.behaviour)
                time.sleep(how.get("delay", 0))
                if "hold" in how:
                    how["hold"].wait(60)
                if body.get("stream"):
                    oracle.stream(self, body, number, how)
                else:
                    oracle.plain(self, body, number, how)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.server.shutdown()
        self.server.server_close()

    @property
    def calls(self):
        return len(self.asked)

    @staticmethod
    def content(body, number):
        return f"answer {number} of {body['model']} to: {last_user(body)} {TEXT}"

    def plain(self, handler, body, number, how):
        answer = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1700000000 + number,
                  "model": body["model"], "x_unknown": {"kept": [1, 2.50, None]},
                  "choices": [{"index": i, "message": {"role": "assistant", "content": self.content(body, number)},
                               "finish_reason": "stop"} for i in range(body.get("n", 1))],
                  "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}
        if "error" in how:
            answer = {"error": {"message": how["error"], "type": "server_error", "code": None}}
        data = json.dumps(answer, ensure_ascii=False, indent=1).encode()
        handler.send_response(how.get("status", 200))
        handler.send_header("content-type", "application/json")
        for name, value in how.get("headers", {}).items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:how.get("cut")] if how.get("cut") else data)
        if how.get("cut"):
            handler.close_connection = True

    def chunks(self, body, number):
        base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1700000000 + number,
                "model": body["model"]}

        def chunk(delta, finish=None):
            return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        yield chunk({"role": "assistant", "content": ""})
        yield chunk({"reasoning_content": "first I\nthink"})
        text = self.content(body, number)
        for at in range(0, len(text), 5):
            yield chunk({"content": text[at:at + 5]})
        if body.get("tools"):
            yield chunk({"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function",
                                         "function": {"name": "look", "arguments": ""}}]})
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\": "}}]})
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})
        yield chunk({}, "tool_calls" if body.get("tools") else "stop")
        if body.get("stream_options", {}).get("include_usage"):
            yield {**base, "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}

    def stream(self, handler, body, number, how):
        handler.send_response(how.get("status", 200))
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()

        def write(data):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        for at, chunk in enumerate(self.chunks(body, number)):
            if how.get("cut") == at:
                handler.close_connection = True
                handler.connection.close()
                return
            write(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")
            time.sleep(how.get("pause", 0))
        if "error" in how:
            write(b"data: " + json.dumps({"error": {"message": how["error"]}}).encode() + b"\n\n")
        if not how.get("no_done"):
            write(b"data: [DONE]\n\n")
        write(b"")
