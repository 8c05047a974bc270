"""Forms (multipart/form-data) of audio and images: routed by the `model` field, their text judged and redacted, files passed byte
for byte, through both doors, with the official client and curl."""
import contextlib
import email.parser
import email.policy
import gzip
import http.server
import json
import subprocess
import threading

import openai
import pytest

import envoy as real
from conftest import BINARY, Process, free_ports, request, wait_http
from test_codings import ATTACK, DOORS

SITE = """
version: v0.3
providers:
  models:
    - {{name: general, provider_model_id: whisper-1, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
    - {{name: open, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
  defaults: {{default_model: general}}
routing:
  signals: {{jailbreak: [{{name: jailbreak, threshold: 0.7}}], pii: [{{name: pii}}]}}
  decisions:
    - {{name: block, priority: 100, rules: {{type: jailbreak, name: jailbreak}}, plugins: [{{type: guard, configuration: {{action: block}}}}]}}
    - {{name: hide, priority: 90, rules: {{type: pii, name: pii}}, plugins: [{{type: guard, configuration: {{action: redact}}}}]}}
global:
  semroute:
    signal_deadline_ms: 20000
    inference: {{ask_below: 0}}
    endpoints: [default, /v1/files]
    guards: {{unread: {unread}}}
"""
AUDIO = b"ID3\x03" + bytes(range(256)) * 40 + b"\r\n--\r\n"


class Forms:
    """An upstream that reads forms as Python's standard library does, and answers with the text that it was told."""

    def __init__(self):
        upstream = self
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = b""
                if self.headers.get("transfer-encoding"):
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers["content-length"]))
                head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
                parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
                fields = {}
                for part in parsed.iter_parts():
                    name = part.get_param("name", header="content-disposition")
                    fields[name] = (part.get_filename(), part.get_payload(decode=True))
                upstream.seen.append((self.path, dict(self.headers.items()), body, fields))
                answer = json.dumps({"text": "heard", "usage": {"type": "duration", "seconds": 2}}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def serve(directory, stack, upstream, name, unread):
    gateway, extproc = free_ports(), free_ports()
    file = directory / f"{name}.yaml"
    file.write_text(SITE.format(port=upstream.port, unread=unread))
    process = Process([BINARY, "serve", "-c", file, "--gateway", f"127.0.0.1:{gateway}", "--api", "off", "--metrics", "off", "--extproc",
                       f"127.0.0.1:{extproc}"], directory / f"{name}.log")
    stack.callback(process.stop)
    wait_http(gateway, "/ready", process)
    return gateway, extproc


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """A router that lets media pass behind a gateway and three Envoys; and the gateway of one that does not."""
    directory = tmp_path_factory.mktemp("forms")
    with contextlib.ExitStack() as stack:
        upstream = Forms()
        stack.callback(upstream.stop)
        gateway, extproc = serve(directory, stack, upstream, "open", "{audio: ignore, images: ignore}")
        ports = {"gateway": gateway, "closed": serve(directory, stack, upstream, "closed", "{}")[0]}
        for mode in ("BUFFERED", "STREAMED", "FULL_DUPLEX"):
            envoy = real.Envoy(directory, mode, extproc, upstream.port)
            stack.callback(envoy.stop)
            ports[mode] = envoy.port
        yield ports, upstream


@pytest.fixture(params=DOORS)
def door(request, doors):
    ports, upstream = doors
    upstream.seen.clear()
    return ports[request.param], upstream


def form(*fields, boundary="X-1", end=b"--\r\n"):
    """(name, value) or (name, filename, bytes)"""
    out = b""
    for name, *value in fields:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
        if len(value) == 2:
            head += f'; filename="{value[0]}"\r\nContent-Type: audio/mpeg'
        content = value[-1] if isinstance(value[-1], bytes) else value[-1].encode()
        out += head.encode() + b"\r\n\r\n" + content + b"\r\n"
    return out + f"--{boundary}".encode() + end


def post(port, body, path="/v1/audio/transcriptions", kind="multipart/form-data; boundary=X-1", **headers):
    return request(port, "POST", path, body, {"content-type": kind, **headers}, timeout=60)


PLAIN = form(("model", "open"), ("file", "a.mp3", AUDIO), ("prompt", "a talk about trees"), ("timestamp_granularities[]", "word"),
             ("timestamp_granularities[]", "segment"))


def test_a_form_passes_byte_for_byte(door):
    port, upstream = door
    answer = post(port, PLAIN)
    assert answer.status == 200 and answer.json()["text"] == "heard" and answer.headers["x-vsr-selected-model"] == "open"
    path, headers, body, fields = upstream.seen[-1]
    assert path == "/v1/audio/transcriptions" and body == PLAIN and fields["file"] == ("a.mp3", AUDIO)
    assert headers["content-type"] == "multipart/form-data; boundary=X-1"


def test_the_upstreams_name_and_redacted_text_take_their_places(door):
    port, upstream = door
    answer = post(port, form(("file", "a.mp3", AUDIO), ("prompt", "Call Anna at anna.smith@example.com about trees."), ("model", "general")))
    assert answer.status == 200
    fields = upstream.seen[-1][3]
    assert fields["model"] == (None, b"whisper-1") and fields["file"] == ("a.mp3", AUDIO)
    assert b"anna.smith@example.com" not in upstream.seen[-1][2] and fields["prompt"][1].startswith(b"Call ")


def test_private_data_in_names_is_hidden_too(door):
    port, upstream = door
    answer = post(port, form(("model", "open"), ("file", "anna.smith@example.com talks.mp3", AUDIO), ("anna.smith@example.com", "x")))
    assert answer.status == 200 and b"anna.smith@example.com" not in upstream.seen[-1][2]


ATTACKS = {
    "prompt": form(("model", "open"), ("file", "a.mp3", AUDIO), ("prompt", ATTACK)),
    "another field": form(("model", "open"), ("x", ATTACK)),
    "its name": form(("model", "open"), (ATTACK, "x")),
    "a file of text": form(("model", "open"), ("file", "a.txt", ATTACK.encode())),
    "the name of a file": form(("model", "open"), ("file", ATTACK, AUDIO)),
    "a prompt as a file": form(("model", "open"), ("prompt", "a.txt", ATTACK.encode())),
}


@pytest.mark.parametrize("where", ATTACKS)
def test_an_attack_is_blocked(door, where):
    port, upstream = door
    for path in ("/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits", "/v1/files"):
        answer = post(port, ATTACKS[where], path)
        assert answer.status == 403 and answer.json()["error"]["code"] in ("jailbreak_blocked", "unread_content"), (path, answer)
    packed = post(port, gzip.compress(ATTACKS[where]), **{"content-encoding": "gzip"})
    assert packed.status == 403 and not upstream.seen


def test_a_compressed_form_goes_on_plain(door):
    port, upstream = door
    assert post(port, gzip.compress(PLAIN), **{"content-encoding": "gzip"}).status == 200
    assert upstream.seen[-1][2] == PLAIN


def test_media_that_no_guard_reads_is_unread(doors):
    ports, upstream = doors
    upstream.seen.clear()
    answer = post(ports["closed"], PLAIN)
    assert answer.status == 403 and answer.json()["error"]["code"] == "unread_content" and not upstream.seen
    answer = post(ports["closed"], form(("model", "open"), ("prompt", "a talk about trees")))
    assert answer.status == 200


REFUSED = {
    "no model": (form(("file", "a.mp3", AUDIO)), 404, "endpoint_not_found"),
    "auto": (form(("model", "auto")), 404, "model_not_automatic"),
    "an unknown model": (form(("model", "other")), 404, "model_not_found"),
    "two models": (form(("model", "open"), ("model", "general")), 400, "duplicate_field"),
    "a model as a file too": (form(("model", "open"), ("model", "m", AUDIO)), 400, "duplicate_field"),
    "a model in capitals": (form(("model", "open"), ("Model", "general")), 400, "ambiguous_field"),
    "no end": (form(("model", "open"), end=b"\r\n"), 400, "invalid_form"),
    "a preamble": (b"hello\r\n" + PLAIN, 400, "invalid_form"),
    "an epilogue": (PLAIN + b"hello", 400, "invalid_form"),
    "line feeds": (PLAIN.replace(b"\r\n", b"\n"), 400, "invalid_form"),
    "a boundary inside": (form(("model", "open"), ("prompt", "a\n--X-1\nb")), 400, "invalid_form"),
    "another extended name": (PLAIN.replace(b'"a.mp3"', b'"a.mp3"; filename*=UTF-8\'\'anna.smith%40example.com.mp3'), 400, "invalid_form"),
    "an extended name alone": (PLAIN.replace(b'filename="a.mp3"', b"filename*=UTF-8''anna.smith%40example.com.mp3"), 400, "invalid_form"),
    "an extended name to redact": (PLAIN.replace(b'"a.mp3"', b'"anna.smith@example.com"; filename*=UTF-8\'\'anna.smith%40example.com'), 400,
                                   "invalid_form"),
    "a coding": (PLAIN.replace(b"Content-Type: audio/mpeg", b"Content-Transfer-Encoding: base64"), 400, "invalid_form"),
    "JSON": (json.dumps({"model": "open"}).encode(), 400, "invalid_form"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_parsers_read_in_different_ways_is_refused(door, case):
    port, upstream = door
    body, status, code = REFUSED[case]
    answer = post(port, body)
    # bytes behind the closing boundary are refused by ext_proc before it knows what they are
    assert answer.status == status and (answer.json()["error"]["code"] == code or case == "an epilogue") and not upstream.seen, answer


def test_chats_are_no_forms(door):
    port, upstream = door
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/embeddings"):
        answer = post(port, PLAIN, path)
        assert answer.status == 400 and "send JSON" in answer.body.decode() and not upstream.seen


def test_the_official_client(door):
    port, upstream = door
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0) as client:
        heard = client.audio.transcriptions.create(model="general", file=("talk.mp3", AUDIO), prompt="a talk about trees",
                                                   timestamp_granularities=["word"], response_format="verbose_json")
        assert heard.text == "heard"
        assert upstream.seen[-1][3]["model"] == (None, b"whisper-1") and upstream.seen[-1][3]["file"] == ("talk.mp3", AUDIO)
        assert client.audio.translations.create(model="general", file=("talk.mp3", AUDIO)).text == "heard"
        with pytest.raises(openai.PermissionDeniedError):
            client.images.edit(model="general", image=("a.png", b"\x89PNG\0\xff"), prompt=ATTACK)


def test_curl(doors, tmp_path):
    ports, upstream = doors
    upstream.seen.clear()
    (tmp_path / "a.mp3").write_bytes(AUDIO * 150)  # over a megabyte: curl waits for 100-continue, a second unless told
    done = subprocess.run(["curl", "-sSv", "--expect100-timeout", "60",
                           f"http://127.0.0.1:{ports['gateway']}/v1/audio/transcriptions", "-F", "model=general", "-F",
                           f"file=@{tmp_path / 'a.mp3'}", "-F", "prompt=trees"], capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["text"] == "heard" and b"100 Continue" in done.stderr
    assert upstream.seen[-1][3]["file"] == ("a.mp3", AUDIO * 150)
