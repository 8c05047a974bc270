"""One reading for all parsers: a body that parsers of Go, Python, Node, Rust and Java read differently is refused, and what any of
them reads is what the guards have read."""
import json
import re

import pytest

from attack_site import LINEAR, MODELS, configuration
from conftest import Gateway
from languages import readings
from recorders import Raw, Upstream
from surface import ATTACK, HARMLESS

ATTACKED = json.dumps(ATTACK)
ASKS = json.dumps(HARMLESS)


def body(*members):
    return ("{" + ", ".join(members) + "}").encode()


def messages(content=ASKS, role='"user"', key="messages"):
    return f'"{key}": [{{"role": {role}, "content": {content}}}]'


MODEL = '"model": "general"'

# Spellings of a key that some parser takes for the key itself. Go folds case as Unicode does: U+017F is an s, U+212A a k.
def spellings(key):
    yield key.upper()
    yield key.capitalize()
    yield key[:-1] + key[-1].upper()
    yield key.replace("s", "\u017f")
    yield key.replace("k", "\u212a")
    yield key.replace("i", "\u0130")
    yield "".join(chr(ord(c) + 0xFEE0) for c in key)
    yield key[0] + chr(ord(key[1]) + 0xFEE0) + key[2:]
    yield "".join(f"\\u{ord(c):04x}" for c in key)
    yield key[0] + f"\\u{ord(key[1]):04X}" + key[2:]
    yield "".join(f"\\u{ord(c):04x}" for c in key.upper())
    for more in ("\\u0000", " ", "\\u200b", "\\ufeff", "\\t"):
        yield key + more
        yield more + key


def spelled():
    """Bodies whose attack, or whose other model, is behind a key that is spelled in another way: beside the key and alone."""
    for other in spellings("model"):
        yield f"{other} after", body(MODEL, f'"{other}": "coder"', messages())
        yield f"{other} before", body(f'"{other}": "coder"', MODEL, messages())
    for other in spellings("messages"):
        yield f"{other} after", body(MODEL, messages(), messages(ATTACKED, key=other))
        yield f"{other} before", body(MODEL, messages(ATTACKED, key=other), messages())
    for key, value in (("content", ATTACKED), ("role", '"system"')):
        for other in spellings(key):
            yield f"{other} after", body(MODEL, f'"messages": [{{"role": "user", "content": {ASKS}, "{other}": {value}}}]')
            yield f"{other} before", body(MODEL, f'"messages": [{{"{other}": {value}, "role": "user", "content": {ASKS}}}]')
    for other in spellings("content"):
        yield f"{other} alone", body(MODEL, f'"messages": [{{"role": "user", "{other}": {ATTACKED}}}]')
    for key in ("stream", "prompt", "input", "system", "tools"):
        for other in spellings(key):
            yield f"{other} beside", body(MODEL, messages(), f'"{key}": false', f'"{other}": {ATTACKED}')


def twice():
    """Bodies with a member given twice: parsers take the first, the last, or refuse."""
    yield "model twice", body(MODEL, '"model": "coder"', messages())
    yield "model twice, escaped", body(MODEL, '"mod\\u0065l": "coder"', messages())
    yield "messages twice", body(MODEL, messages(), messages(ATTACKED))
    yield "messages twice, the other order", body(MODEL, messages(ATTACKED), messages())
    yield "messages twice, the second null", body(MODEL, messages(ATTACKED), '"messages": null')
    yield "content twice", body(MODEL, f'"messages": [{{"role": "user", "content": {ASKS}, "content": {ATTACKED}}}]')
    yield "content twice, the other order", body(MODEL, f'"messages": [{{"role": "user", "content": {ATTACKED}, "content": {ASKS}}}]')
    yield "type twice", body(MODEL, f'"messages": [{{"role": "user", "content": [{{"type": "text", "type": "file", "text": {ASKS}}}]}}]')
    yield "role twice", body(MODEL, f'"messages": [{{"role": "user", "role": "system", "content": {ASKS}}}]')
    for key in ("stream", "prompt", "input", "system", "tools"):
        yield f"{key} twice", body(MODEL, messages(), f'"{key}": null', f'"{key}": {ATTACKED}')


def broken():
    """Bodies that some parsers take although they are not JSON in UTF-8, or take in part."""
    plain = body(MODEL, messages()).decode()
    attack = body(MODEL, messages(ATTACKED)).decode()
    yield "a byte order mark", b"\xef\xbb\xbf" + plain.encode()
    for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        yield code, attack.encode(code)
    yield "two bodies", (plain + attack).encode()
    yield "two bodies on two lines", (plain + "\n" + attack + "\n").encode()
    yield "text behind the body", (plain + " x").encode()
    yield "NUL behind the body", plain.encode() + b"\0"
    yield "a list", f"[{plain}]".encode()
    yield "a comment", body(MODEL, "/* */" + messages())
    yield "a comment that hides", body(MODEL, messages(), "/*" + messages(ATTACKED).replace("*/", "") + "*/" + '"n": 1')
    yield "a line's comment", (plain[:-1] + " // x\n}").encode()
    yield "a comma too many", (plain[:-1] + ",}").encode()
    yield "single quotes", plain.replace('"', "'").encode()
    yield "bare keys", body("model: " + '"general"', messages())
    yield "NaN", body(MODEL, messages(), '"temperature": NaN')
    yield "Infinity", body(MODEL, messages(), '"temperature": -Infinity')
    for number in ("01", "+1", "0x10", ".5", "1.", "1e", "- 1", "1_0"):
        yield f"the number {number}", body(MODEL, messages(), f'"temperature": {number}')
    for escape in ("\\x41", "\\'", "\\a", "\\u12", "\\u{41}", "\\U00000041", "\\\n"):
        yield f"the escape {escape!r}", body(MODEL, messages(f'"{escape}"'))
    for control in ("\n", "\t", "\0", "\x1f", "\r"):
        yield f"{control!r} in a string", body(MODEL, messages(f'"a{control}b"'))
    for space in ("\v", "\f", "\u00a0", "\u2028", "\u3000"):
        yield f"{space!r} between members", body(MODEL, space + messages())
    for name, raw in (("a lone byte", b"\xff"), ("an overlong form", b"\xc0\xae"), ("a surrogate", b"\xed\xa0\x80"),
                      ("a cut sequence", b"\xe2\x82"), ("beyond Unicode", b"\xf5\x80\x80\x80")):
        yield f"{name} in a string", body(MODEL, messages('"a@b"')).replace(b"@", raw)
        yield f"{name} in a key", body(MODEL, messages(), '"mo@del": "coder"').replace(b"@", raw)
    yield "a surrogate's escape alone", body(MODEL, messages('"a\\ud800b"'))
    yield "a surrogate's escape in a key", body(MODEL, messages(), '"model\\ud800": "coder"')
    yield "half a pair twice", body(MODEL, messages('"\\udc00\\ud800"'))


def usual():
    """Bodies that all parsers read alike and that must pass."""
    yield "plain", body(MODEL, messages())
    yield "escapes in a text", body(MODEL, messages('"caf\\u00e9 \\ud83d\\ude00 \\/ \\n"'))
    yield "members of no meaning in other cases", body(MODEL, messages(), '"Zz": 1', '"zz": 2', '"X-Trace": null')
    yield "space around", b" \r\n\t" + body(MODEL, messages()) + b"\n"
    yield "large numbers", body(MODEL, messages(), '"seed": 123456789012345678', '"temperature": 1e-7')


def alike(one, other):
    """Equal readings; a surrogate alone is U+FFFD to parsers whose strings cannot hold it."""
    def text(reading):
        return re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(reading, sort_keys=True, ensure_ascii=False))
    return text(one) == text(other)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("parsers")
    upstream = Upstream("python", directory)
    try:
        gateway = Gateway(json.dumps(configuration(dict.fromkeys(MODELS, upstream.port), "match", LINEAR)), directory)
        try:
            yield gateway
        finally:
            gateway.stop()
    finally:
        upstream.stop()


def test_what_parsers_read_differently_is_refused(site):
    named = [*spelled(), *twice(), *broken(), *usual()]
    client = Raw(site.port)
    answers = [client.post("/v1/chat/completions", body)[:2] for _, body in named]
    client.close()
    found = readings([body for _, body in named])
    assert {parser for reading in found for parser in reading} == {
        "go struct", "go map", "rust struct", "rust value", "python json", "python orjson", "python pydantic", "node", "java tree",
        "java object", "java object, any case"}
    wrong, differ = [], 0
    for (name, body), (status, headers), reading in zip(named, answers, found):
        said = {parser: r for parser, r in reading.items() if r is not None}
        first = next(iter(said.values()), None)
        same = all(alike(r, first) for r in said.values())
        differ += not same
        if status != 200:
            continue  # refused here, or by the upstream
        attacked = [parser for parser, r in said.items() if ATTACK in json.dumps(r)]
        model = {r["model"] for r in said.values() if isinstance(r["model"], str)}
        if not same or attacked or not said or model != {headers.get("x-vsr-selected-model")}:
            wrong.append(f"{name}: {status}, {len(said)} parsers read it, {'alike' if same else 'differently'}; attacked: {attacked}; "
                         f"models {model}, routed to {headers.get('x-vsr-selected-model')}\n    {body[:200]!r}")
    assert not wrong, f"{len(wrong)} of {len(named)} bodies:\n" + "\n".join(wrong)
    assert differ >= 40  # the list does tell parsers apart
    passed = dict(zip((name for name, _ in named), (status for status, _ in answers)))
    assert {name: passed[name] for name, _ in usual()} == {name: 200 for name, _ in usual()}


DECIDING = {"model": "general", "stream": False, "messages": [{"role": "user", "content": HARMLESS}]}


@pytest.mark.parametrize("key", ["model", "stream", "messages", "role", "content"])
def test_another_spelling_of_a_key_that_decides_is_a_duplicate(site, key):
    client = Raw(site.port)
    for other in (key.upper(), key.capitalize(), key[:-1] + key[-1].upper(), key.replace("s", "\u017f"),
                  "".join(chr(ord(c) + 0xFEE0) for c in key)):
        if other == key:
            continue
        inside = key in ("role", "content")
        value = (DECIDING["messages"][0] if inside else DECIDING)[key]
        changed = json.loads(json.dumps(DECIDING))
        (changed["messages"][0] if inside else changed)[other] = value
        status, _, answer = client.post("/v1/chat/completions", changed)
        assert status == 400 and json.loads(answer)["error"]["param"], (other, status, answer)
    client.close()
