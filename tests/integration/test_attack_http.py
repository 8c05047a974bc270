"""No way round the guards by HTTP: codings, content types, framing, methods, upgrades, overrides, pipelining and HTTP/2, through both
doors. What an upstream executes has been read by the guards in the same form."""
import concurrent.futures
import gzip
import json
import zlib

import pytest

import surface
from attack_site import MODELS, run, site  # noqa: F401 (a fixture)
from recorders import Raw

CHAT = "/v1/chat/completions"


def chat(text, model="general"):
    return json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()


ATTACK = chat(surface.ATTACK)
HARMLESS = chat(surface.HARMLESS)
JSON_TYPE = ("content-type", "application/json")


def message(body, headers, method="POST", path=CHAT, length=True, version="1.1"):
    lines = [f"{method} {path} HTTP/{version}", "host: semroute", *(f"{name}: {value}" for name, value in headers)]
    if length:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(body, extension="", trailers="", size=50):
    pieces = [body[i:i + size] for i in range(0, len(body), size)]
    coded = b"".join(b"%x%s\r\n%s\r\n" % (len(p), extension.encode(), p) for p in pieces)
    return coded + b"0\r\n" + trailers.encode() + b"\r\n"


def codings():
    for name, packed in (("gzip", gzip.compress(ATTACK)), ("deflate", zlib.compress(ATTACK)), ("br", ATTACK), ("zstd", ATTACK),
                         ("compress", ATTACK)):
        for value in (name, name.upper(), f"identity, {name}", f" {name} ", f"x-{name}", f"{name}, {name}"):
            yield f"content-encoding {value!r}", message(packed, [JSON_TYPE, ("content-encoding", value)])
            yield f"content-encoding {value!r}, plain", message(ATTACK, [JSON_TYPE, ("content-encoding", value)])
        yield f"{name} without a header", message(packed, [JSON_TYPE])
        yield f"transfer-encoding {name}", message(chunked(packed), [JSON_TYPE, ("transfer-encoding", f"{name}, chunked")], length=False)
        yield f"te {name}", message(chunked(ATTACK), [JSON_TYPE, ("transfer-encoding", f"chunked, {name}")], length=False)
    yield "content-encoding twice", message(gzip.compress(ATTACK), [JSON_TYPE, ("content-encoding", "identity"), ("content-encoding", "gzip")])
    yield "content_encoding", message(gzip.compress(ATTACK), [JSON_TYPE, ("content_encoding", "gzip")])


def framing():
    plain = [JSON_TYPE]
    both = len(ATTACK)
    yield "chunked", message(chunked(ATTACK), [*plain, ("transfer-encoding", "chunked")], length=False)
    yield "chunked, one byte each", message(chunked(ATTACK, size=1), [*plain, ("transfer-encoding", "chunked")], length=False)
    yield "chunk extensions", message(chunked(ATTACK, extension=";x=1;y"), [*plain, ("transfer-encoding", "chunked")], length=False)
    yield "trailers", message(chunked(ATTACK, trailers="x-selected-model: coder\r\ncontent-encoding: gzip\r\n"),
                              [*plain, ("transfer-encoding", "chunked"), ("trailer", "x-selected-model")], length=False)
    yield "two lengths", message(ATTACK, [*plain, ("content-length", "2")])
    yield "two equal lengths", message(ATTACK, [*plain, ("content-length", both)])
    yield "a list of lengths", message(ATTACK, [*plain, ("content-length", f"{both}, {both}")], length=False)
    yield "a signed length", message(ATTACK, [*plain, ("content-length", f"+{both}")], length=False)
    yield "length and chunked", message(chunked(ATTACK), [*plain, ("transfer-encoding", "chunked")])
    for value in ("Chunked", "chunked ", "\tchunked", "xchunked", "chunked, identity", "identity, chunked", "chunked, chunked", "cow"):
        yield f"transfer-encoding {value!r}", message(chunked(ATTACK), [*plain, ("transfer-encoding", value)], length=False)
    yield "transfer-encoding twice", message(chunked(ATTACK), [*plain, ("transfer-encoding", "identity"), ("transfer-encoding", "chunked")], length=False)
    yield "a space before the colon", message(ATTACK, plain).replace(b"content-length:", b"content-length :")
    yield "a folded header", message(ATTACK, [*plain, ("x", "1\r\n\t2")])
    yield "bare line feeds", message(ATTACK, plain).replace(b"\r\n", b"\n")
    yield "HTTP/1.0", message(ATTACK, plain, version="1.0")
    yield "HTTP/1.0, chunked", message(chunked(ATTACK), [*plain, ("transfer-encoding", "chunked")], length=False, version="1.0")
    yield "expect", message(ATTACK, [*plain, ("expect", "100-continue")])
    yield "NUL in a header", message(ATTACK, [*plain, ("x", "a\0b")])
    yield "two hosts", message(ATTACK, [*plain, ("host", "other")])
    yield "pipelined", message(HARMLESS, [*plain, ("x-case", "first")]) + message(ATTACK, plain)
    yield "pipelined GET before", b"GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n" + message(ATTACK, plain)
    yield "in the body of a GET", b"GET /v1/models HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(message(ATTACK, plain)) + message(ATTACK, plain)


def types():
    for value in ("application/json", "text/plain", "application/xml", "application/x-ndjson", "application/jsonl", "application/octet-stream",
                  "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "Multipart/Form-Data; boundary=x", " multipart/mixed; boundary=x", "", "application/json, text/plain",
                  "application/vnd.api+json", "text/event-stream", "application/cbor", "application/json; charset=utf-8"):
        yield f"content-type {value!r}", message(ATTACK, [("content-type", value)])
        yield f"content-type {value!r} twice", message(ATTACK, [("content-type", value), ("content-type", "application/json")])
    yield "no content-type", message(ATTACK, [])
    for charset in ("utf-16", "utf-16le", "utf-32", "utf-8-sig", "iso-8859-1", "cp037", "ebcdic-cp-us", "shift_jis"):
        for quoted in (charset, f'"{charset}"', charset.upper()):
            value = f"application/json; charset={quoted}"
            name = {"ebcdic-cp-us": "cp037", "utf-8-sig": "utf-8-sig"}.get(charset, charset)
            yield f"{value}", message(ATTACK.decode().encode(name), [("content-type", value)])
    form = f"--x\r\ncontent-disposition: form-data; name=prompt\r\n\r\n{surface.ATTACK}\r\n--x--\r\n".encode()
    for value in ("multipart/form-data; boundary=x", "multipart/form-data;boundary=\"x\"", "MULTIPART/form-data; boundary=x"):
        for path in (CHAT, "/v1/audio/transcriptions", "/v1/images/edits", "/v1/files"):
            yield f"a form at {path}, {value}", message(form, [("content-type", value)], path=path)
    yield "lines", message(HARMLESS + b"\n" + ATTACK + b"\n", [("content-type", "application/x-ndjson")])


def methods():
    for method in ("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "post", "Post", "POSTS", "QUERY", "SEARCH", "LINK"):
        yield f"{method}", message(ATTACK, [JSON_TYPE], method=method)
        for override in ("x-http-method-override", "x-http-method", "x-method-override"):
            yield f"{method} with {override}", message(ATTACK, [JSON_TYPE, (override, "POST")], method=method)
    for method, path in (("CONNECT", "semroute:443"), ("GET", "/v1/realtime?model=general"), ("GET", CHAT)):
        for upgrade in ("websocket", "h2c", "WebSocket, h2c", "TLS/1.0"):
            yield f"{method} {path} upgrade {upgrade}", message(ATTACK, [
                JSON_TYPE, ("connection", "Upgrade, HTTP2-Settings"), ("upgrade", upgrade), ("http2-settings", "AAMAAABkAAQAAP__"),
                ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="), ("sec-websocket-version", "13")], method=method, path=path)
    for upgrade in ("websocket", "h2c"):
        yield f"POST upgrade {upgrade}", message(ATTACK, [
            JSON_TYPE, ("connection", "Upgrade, HTTP2-Settings"), ("upgrade", upgrade), ("http2-settings", "AAMAAABkAAQAAP__"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="), ("sec-websocket-version", "13")])
    for name in ("x-original-url", "x-rewrite-url", "x-original-uri", "x-forwarded-uri", "x-forwarded-path", "x-envoy-original-path", ":path"):
        yield f"{name}", message(ATTACK, [JSON_TYPE, (name, CHAT)], path="/v1/models")
        yield f"{name}, posted elsewhere", message(ATTACK, [JSON_TYPE, (name, CHAT)], path="/v1/files")


def send_all(site, cases, patience=2):  # noqa: F811
    """Sends each to both doors; what upstreams executed, by the case's name. A message that its framing makes longer than what is
    sent gets no answer: nothing waits for it longer than `patience` seconds, and many are sent at once."""
    for upstream in site.upstreams.values():
        upstream.seen()
    names, told, todo = {}, {}, []
    for door in ("gateway", "envoy"):
        for number, (name, data) in enumerate(cases):
            case = f"{door}-{number}"
            names[case] = f"{name!r} at the {door}"
            last = data.rindex(b" HTTP/1.")
            last += data[last:].index(b"\n") + 1  # behind the last request line
            todo.append((case, site.ports[door, "match"], data[:last] + b"x-case: %s\r\n" % case.encode() + data[last:]))

    def send(item):
        case, port, data = item
        client = Raw(port, patience)
        told[case] = client.send(data)
        client.close()

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        list(pool.map(send, todo))
    ran = {}
    for upstream in site.upstreams.values():
        ran.update(upstream.seen())
    return {names[case]: (record, told[case]) for case, record in ran.items() if case in names}


@pytest.mark.parametrize("value", ["application/json; charset=utf-7", "application/json;charset=utf-16", "text/plain", "Application/JSON",
                                   "application/x-www-form-urlencoded", "application/json, text/plain", "application/x-ndjson", "", None])
def test_upstreams_are_told_what_was_read(site, value):  # noqa: F811
    """A body that was read as JSON in UTF-8 is for the upstream, too: it may not decode or parse it in another way."""
    headers = [] if value is None else [("content-type", value)]
    ran = send_all(site, [("plain", message(HARMLESS, headers)), ("before", message(HARMLESS, [*headers, JSON_TYPE])),
                          ("behind", message(HARMLESS, [JSON_TYPE, *headers]))], patience=60)
    assert len(ran) == 6
    assert {record["headers"]["content-type"] for record, _ in ran.values()} == {"application/json"}


@pytest.mark.parametrize("kind", [codings, framing, types, methods], ids=lambda kind: kind.__name__)
def test_no_form_of_a_request_passes_the_guards(site, kind):  # noqa: F811
    cases = list(kind())
    ran = send_all(site, cases)
    wrong = [f"{name}: {answer[0]}, ran {record['endpoint']} with {record['texts'][:4]}" for name, (record, answer) in ran.items()]
    assert not wrong, f"{len(wrong)} of {2 * len(cases)} requests:\n" + "\n".join(wrong[:20])
    assert run(site, []) == []  # all routers still answer
