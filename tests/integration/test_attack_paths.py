"""No way round the guards by the spelling of a path: whatever endpoint an upstream executes, its request has passed the guards, and
no header that only the router may set comes from the client. Management endpoints are never executed."""
import json

import pytest

import surface
from attack_site import MODELS, Case, fill, run, site  # noqa: F401 (a fixture)
from recorders import Raw

INFERENCE = {"/v1/chat/completions": "chat", "/v1/completions": "completions", "/v1/embeddings": "embeddings",
             "/v1/messages": "messages", "/v1/responses": "responses", "/v1/responses/input_tokens": "input_tokens",
             "/v1/score": "score", "/v1/rerank": "rerank"}
MANAGEMENT = ["/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/collective_rpc", "/sleep", "/v1/files", "/v1/batches",
              "/invocations"]
FORGED = {"x-selected-model": "forged", "x-vsr-selected-model": "forged", "x-vsr-category": "forged", "x-vsr-skip-processing": "true",
          "X-Vsr-Skip-Processing": "true", "x_selected_model": "forged"}


def spellings(path):
    """Ways to write a path that some server takes for the path itself."""
    first = path.strip("/").split("/")[0]
    head = path[:-1]
    end = path[-1]
    yield path
    yield f"{head}%{ord(end):02x}"
    yield f"{head}%{ord(end):02X}"
    yield f"{head}%25{ord(end):02x}"
    yield "/" + "".join(f"%{ord(c):02x}" for c in path[1:])
    yield path[0] + f"%{ord(path[1]):02x}" + path[2:]
    for slash in ("%2f", "%2F", "%252f", "%5c", "\\", "//", "///", "/./", "/%2e/", "/x/../", "/x/%2e%2e/", "/x/..%2f", "/;/", ";x=1/",
                  "%c0%af", "%ef%bc%8f", "/%20/", "/%00/"):
        yield path[0] + path[1:].replace("/", slash)
        yield path[0] + path[1:].replace("/", slash, 1)
    for before in ("/", "//", "/.", "/./", "/x/..", "/x/%2e%2e", "/%2f", "/%2e", "\\", "/;x", "/v1/..", "/v1/models/.."):
        yield before + path
    for after in ("/", "//", "/.", "/..", "/x/..", "/%2e", ";", ";x=1", "%3bx", "?", "?x=1", "??", "%3f", "%3fx", "#x", "%23x", "%00", "%20",
                  "%09", "%0a", "%0d%0a", "/%20", ".", "%2e", ".json", "\\", "%5c", "%", "%7", "%zz", "*", "&x", "~", "%e2%80%8b",
                  "\u00a0".encode().decode("latin-1")):
        yield path + after
    yield path.upper()
    yield path.title()
    yield path.replace(first, first.upper(), 1)
    yield head + end.upper()
    yield path.replace("s", "%c5%bf").replace("k", "%e2%84%aa")
    yield path[1:]
    yield f"http://semroute{path}"
    yield f"http://semroute/{path}"
    yield f"https://127.0.0.1:1{head}%{ord(end):02x}"


def sends(path, body):
    """(spelling, door, language, body): all spellings of chats, and of the other endpoints every third, another third each."""
    step = 1 if path == "/v1/chat/completions" else 3
    for number, spelled in enumerate(spellings(path)):
        if (number + len(path)) % step:
            continue
        for door in ("gateway", "envoy"):
            # Envoy keeps a connection whose request line it cannot read for a second.
            if door == "envoy" and not (spelled.startswith(("/", "http")) and spelled.isascii()):
                continue
            language = ("python", "go")[(number + (door == "envoy")) % 2]
            yield spelled, door, language, fill(body, MODELS[language])


@pytest.mark.parametrize("path", INFERENCE)
def test_no_spelling_of_an_endpoint_passes_the_guards(site, path):  # noqa: F811
    cases = []
    for text, needle in ((surface.ATTACK, surface.ATTACK_SEEN), (surface.CARD, surface.CARD_SEEN)):
        body = json.loads(json.dumps(surface.BASES[INFERENCE[path]]).replace(json.dumps(surface.HARMLESS), json.dumps(text)))
        cases += [Case(f"{spelled!r}", spelled, filled, needle, door, "match", language)
                  for spelled, door, language, filled in sends(path, body)]
    holes = run(site, cases)
    assert not holes, f"{len(holes)} of {len(cases)} requests passed unread:\n" + "\n".join(holes[:10])


@pytest.mark.parametrize("path", [*INFERENCE, *MANAGEMENT])
def test_what_executes_is_allowed_and_has_no_forged_header(site, path):  # noqa: F811
    body = surface.BASES[INFERENCE.get(path, "other")]
    plain = list(sends(path, body))
    for upstream in site.upstreams.values():
        upstream.seen()
    clients, wrong = {}, []
    for number, (spelled, door, language, filled) in enumerate(plain):
        client = clients.setdefault(door, Raw(site.ports[door, "match"]))
        client.post(spelled, filled, [("x-case", str(number)), *FORGED.items()])
    for client in clients.values():
        client.close()
    for language, upstream in site.upstreams.items():
        for number, record in upstream.seen().items():
            spelled, door, _, _ = plain[int(number)]
            forged = {name: value for name, value in record["headers"].items() if value == "forged" or name == "x-vsr-skip-processing"}
            if forged or record["endpoint"] in MANAGEMENT:
                wrong.append(f"{spelled!r} at the {door}: {language} ran {record['endpoint']} (path {record['path']!r}) with {forged}")
    assert not wrong, f"{len(wrong)} of {len(plain)} requests:\n" + "\n".join(wrong[:10])
