"""Attacks and harmless texts as answers of a model, whole and streamed, through the gateway's plugin `response_jailbreak`.

    python3 figures_response.py [--attacks 150] [--harmless 20]

The same texts are classified by the command line as texts of a user. Writes response.md and response.json.
"""
import concurrent.futures
import http.client
import http.server
import json
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

import figures_common as common

WORDS = """
Development files' texts as answers of a model, read by the guard of answers (`response_jailbreak`, action `block`), whole and
as a stream of 24 characters an event and some events at a time, beside the same texts as a user's. The same models read all three: a whole answer is
one text, a stream is read in windows of 1,536 bytes as it passes, each with the end of the one before, and what is found
stops it. A text counts as an attack from 0.7. "Differs" are texts that are an attack to one reading and none to the other.
"""
SLICE, PAUSE = 1200, 0.02    # bytes of a stream at a time, seconds between them: the guard reads it as it grows
PIECE, WAYS = 24, ("user's text", "whole answer", "stream")


class Upstream(http.server.ThreadingHTTPServer):
    """Answers the request `answer N` with text N."""

    def __init__(self, texts):
        self.texts = texts
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A connection that the gateway closed: its stream was stopped."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = self.server.texts[int(body["messages"][-1]["content"].split()[1])]
        chunk = lambda delta, reason=None: {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}  # noqa: E731
        if body.get("stream"):
            events = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text[i:i + PIECE]}) for i in range(0, len(text), PIECE)), chunk({}, "stop")]
            raw, kind = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n", "text/event-stream"
        else:
            message = {"role": "assistant", "content": text}
            raw, kind = json.dumps({"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}), "application/json"
        raw = raw.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        try:
            for at in range(0, len(raw), SLICE if body.get("stream") else len(raw)):
                self.wfile.write(raw[at:at + SLICE] if body.get("stream") else raw)
                time.sleep(PAUSE if body.get("stream") else 0)
        except ConnectionError:    # a stream that was stopped
            self.close_connection = True


def configuration(upstream):
    plugin = {"type": "response_jailbreak", "configuration": {"action": "block"}}
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": "m"}, "models": [{"name": "m", "backend_refs": [{"name": "m", "endpoint": f"127.0.0.1:{upstream}"}]}]},
        "routing": {"signals": {"keywords": [{"name": "any", "operator": "OR", "keywords": ["answer"]}]},
                    "decisions": [{"name": "any", "rules": {"type": "keyword", "name": "any"}, "modelRefs": [{"model": "m"}], "plugins": [plugin]}]},
        "global": {"semroute": {"loops": 1, "signal_deadline_ms": 60000, "signal_deadline_max_ms": 60000}}})


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def flagged(port, number, stream):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    body = {"model": "auto", "stream": stream, "messages": [{"role": "user", "content": f"answer {number}"}]}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    raw = answer.read().decode()
    connection.close()
    if stream and answer.status == 200 and raw.endswith("data: [DONE]\n\n"):
        return '"content_filter"' in raw
    if not stream and answer.status in (200, 403):
        return answer.status == 403 and "response_jailbreak_blocked" in raw
    raise SystemExit(f"answer {number}, stream {stream}: {answer.status} {raw[:300]}")


def wait_until_ready(port, process):
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit("the gateway has ended")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the gateway does not listen")


def as_answers(args, texts):
    """(whole, stream): of each text whether it is taken for an attack."""
    upstream, port = Upstream(texts), free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "semroute.yaml"
        path.write_text(configuration(upstream.server_address[1]))
        with open(pathlib.Path(folder) / "log", "wb") as log:
            process = subprocess.Popen([args.binary, "serve", "--config", path, "--gateway", f"127.0.0.1:{port}", "--metrics", "off", "--api", "off", "--extproc", "off"], stdout=log, stderr=log)
        try:
            wait_until_ready(port, process)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                return [list(pool.map(lambda i, s=stream: flagged(port, i, s), range(len(texts)))) for stream in (False, True)]
        finally:
            process.terminate()
            process.wait()
            upstream.shutdown()


def main():
    args = common.arguments(__doc__)
    args.add_argument("--attacks", type=int, default=150)
    args.add_argument("--harmless", type=int, default=20, help="texts of each collection")
    args = args.parse_args()
    rows = [dict(r, attack=True) for r in common.sample(common.attacks(args.data), args.attacks, "response")]
    rows += [dict(r, attack=False) for r in common.harmless(args.data, args.harmless)]
    texts = [r["text"] for r in rows]
    answers = common.classify(args.binary, "jailbreak", texts, "cascade", "--precision", "int8")
    found = dict(zip(WAYS, [[a["score"] >= common.THRESHOLD for a in answers], *as_answers(args, texts)]))
    report = common.Report(args, "response", "Answers: the guard's errors on whole answers and streams", WORDS)
    kinds = {"attacks found": True, "harmless taken for attacks": False}
    figures = {way: {kind: common.rate(f for f, r in zip(flags, rows) if r["attack"] == attack) for kind, attack in kinds.items()} for way, flags in found.items()}
    differs = {way: common.rate(a != b for a, b in zip(flags, found[WAYS[0]])) for way, flags in found.items()}
    report.figures.update(ways=figures, differs=differs)
    report.add(common.table(["read as", *kinds, "differs from the user's text"], [[way, *(common.cell(f) for f in figures[way].values()), common.cell(differs[way])] for way in WAYS]),
               "## By collection\n", common.table(["collection", "texts", *WAYS], [
                   [f"{'attack' if attack else 'harmless'} {name}", len(mine), *(f"{100 * sum(flags[i] for i in mine) / len(mine):.1f} %" for flags in found.values())]
                   for attack, name in dict.fromkeys((r["attack"], r["source"]) for r in rows)
                   for mine in [[i for i, r in enumerate(rows) if (r["attack"], r["source"]) == (attack, name)]]]))
    report.write()


if __name__ == "__main__":
    main()
