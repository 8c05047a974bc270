"""A model hub on loopback with the interface of Hugging Face's: listings, files by commit, large files at another server
to which it redirects; counts what was asked and can be told to fail."""
import hashlib
import http.server
import json
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """files: path in the repository -> bytes. Those that end in .safetensors are large: the hub says their SHA-256, and
    redirects to `store`."""

    def __init__(self, files, repository="acme/tiny", token=None):
        self.files, self.repository, self.token = files, repository, token
        self.asked = []  # (server, path, headers) of every request
        self.cut = {}  # path -> bytes after which the connection closes, once
        self.lie = {}  # path -> members that replace those of the listing
        self.commit = COMMIT
        self.status = None  # for every listing
        self.store = self.serve("store")
        self.main = self.serve("hub")
        self.url = f"http://127.0.0.1:{self.main.server_port}"

    def serve(self, name):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                hub.asked.append((name, self.path, dict(self.headers)))
                hub.answer(name, self)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def close(self):
        for server in (self.main, self.store):
            server.shutdown()
            server.server_close()

    def listing(self):
        siblings = []
        for path, data in self.files.items():
            sibling = {"rfilename": path, "size": len(data), "blobId": "0" * 40}
            if path.endswith(".safetensors"):
                sibling["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            sibling.update(self.lie.get(path, {}))
            siblings.append(sibling)
        return {"id": self.repository, "sha": self.commit, "siblings": siblings}

    def answer(self, name, to):
        url = urllib.parse.urlsplit(to.path)
        path = urllib.parse.unquote(url.path)
        if name == "store":
            return self.send(to, path[1:])
        if self.token and to.headers.get("authorization") != f"Bearer {self.token}":
            return self.plain(to, 401, b"{}")
        listing = f"/api/models/{self.repository}/revision/"
        resolve = f"/{self.repository}/resolve/{self.commit}/"
        if path.startswith(listing):
            known = path[len(listing):] in ("main", "refs/pr/1", self.commit) and url.query == "blobs=true"
            status = self.status or (200 if known else 404)
            return self.plain(to, status, json.dumps(self.listing()).encode() if status == 200 else b"{}")
        if path.startswith(resolve) and path[len(resolve):] in self.files:
            file = path[len(resolve):]
            if not file.endswith(".safetensors"):
                return self.send(to, file)
            where = f"http://127.0.0.1:{self.store.server_port}/{urllib.parse.quote(file)}?signed=1"
            return self.plain(to, 302, b"moved", {"location": where})
        return self.plain(to, 404, b"{}")

    def plain(self, to, status, body, headers=None):
        to.send_response(status)
        for key, value in (headers or {}).items():
            to.send_header(key, value)
        to.send_header("content-length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    def send(self, to, file):
        data, start = self.files[file], 0
        if to.headers.get("range"):
            start = int(to.headers["range"].split("=")[1].rstrip("-"))
        to.send_response(206 if start else 200)
        if start:
            to.send_header("content-range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        to.send_header("content-length", str(len(data) - start))
        to.end_headers()
        cut = self.cut.pop(file, None)
        to.wfile.write(data[start:] if cut is None else data[start:cut])
        if cut is not None:
            to.wfile.flush()
            to.close_connection = True
