"""No way round the guards: every place of a request where a string can stand, at every endpoint, through both doors, in front of
real upstreams in Python and Go that record what they would have executed.

The property is one: what a guard would stop alone reaches no upstream from anywhere else, unless the answer says that it was
not read (coverage below 1) and the rule's `on_error` lets such requests pass.
"""
import json

import pytest

import surface
from attack_site import MODELS, Case, fill, run, site  # noqa: F401 (a fixture)


def cases_of(dialect):
    """Each position of a dialect as an attack and as private data, at one door each. Doors, upstreams and both values of `on_error`
    alternate, so that each shape of a member meets all of them."""
    for number, (name, build) in enumerate(surface.positions(dialect)):
        for kind, text, needle, other in (("attack", surface.ATTACK, surface.ATTACK_SEEN, 0), ("card", surface.CARD, surface.CARD_SEEN, 1)):
            door = ("gateway", "envoy")[(number + other) % 2]
            language = ("python", "go")[number // 2 % 2]
            on_error = ("match", "no_match")[number // 4 % 2]
            path = dialect.paths[number % len(dialect.paths)]
            yield Case(f"{dialect.name}: {kind} at {name}", path, fill(build(text), MODELS[language]), needle, door, on_error, language)


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_every_member_has_a_class(dialect):
    assert {row.kind for row in dialect.rows} <= surface.CLASSES
    assert [row.path for row in dialect.rows if row.kind == "carried"] == ["model"]  # must be a configured name
    assert {row.path for row in dialect.rows if row.kind == "mark"} <= {"stop", "bad_words", "stop_sequences"}


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_harmless_requests_pass(site, dialect):  # noqa: F811
    """What the other tests find refused is refused for its attack: the same request without it runs, at each endpoint."""
    cases = [Case(path, path, fill(surface.BASES[dialect.name], MODELS[language]), surface.HARMLESS, door, on_error, language)
             for path in dialect.paths for door, on_error in site.ports for language in MODELS]
    ran = run(site, cases)
    passed = [(case.status, case.coverage) for case in cases]
    assert passed == [(200, "1.0000")] * len(cases)
    assert dialect.name == "other" or len(ran) >= len(cases) // 2  # `run` tells of each harmless text that a model read


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_every_position(site, dialect):
    cases = list(cases_of(dialect))
    holes = run(site, cases)
    assert not holes, f"{len(holes)} of {len(cases)} requests passed unread:\n" + "\n".join(holes[:20])


NUMBER = 4111111111111111
SPELLED = ["4111111111111111", "4111111111111111.0", "4.111111111111111e15", "-4111111111111111", "41111111111111110E-1"]


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_cards_written_as_numbers(site, dialect):  # noqa: F811
    """A card without quotes is private data, too, wherever a text would be judged, and however the number is written."""
    base = surface.BASES[dialect.name]
    places = [row.path for row in dialect.rows if row.kind == "judged"] + ["zz_unknown"]
    values = [NUMBER, [NUMBER], {"x": NUMBER}, [{"x": [1, NUMBER]}]]
    cases = []
    for number, path in enumerate(places):
        for value in values[number % 2::2]:
            spelled = SPELLED[number % len(SPELLED)]
            body = json.dumps(fill(surface.put(base, path, value), "general")).replace(str(NUMBER), spelled).encode()
            cases.append(Case(f"{path} = {value} as {spelled}", dialect.paths[0], body, str(NUMBER), ("gateway", "envoy")[number // 2 % 2], "match",
                              "python"))
    holes = run(site, cases)
    assert not holes, f"{len(holes)} of {len(cases)} requests passed unread:\n" + "\n".join(holes[:20])


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_requests_without_any_text(site, dialect):  # noqa: F811
    """Nothing to read is no reason to fail: `run` asks each router afterwards whether it still answers."""
    base = surface.BASES[dialect.name]
    empty = [None, "", [], {}, 0, [None], [""], [[]], [{}], {"x": None}]
    bodies = [{**base, member: value} for member in base if member != "model" for value in empty]
    bodies += [{"model": base["model"], "messages": value} for value in empty]
    cases = [Case(dialect.name, dialect.paths[0], fill(body, MODELS["python"]), "no needle", door, "match", "python")
             for body in bodies for door in ("gateway", "envoy")]
    assert run(site, cases) == []
    assert all(case.status in (200, 400, 403, 404, 422) for case in cases), {case.status for case in cases}


BYTES = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
UNREAD = {
    "tokens": [[1, 15339, 1917], [[1, 2], [3, 4]], BYTES],
    "image": ["https://files.example/a.png", {"url": f"data:image/png;base64,{BYTES}"}, f"data:image/png;base64,{BYTES}"],
    "audio": [{"data": BYTES, "format": "wav"}, {"url": f"data:audio/wav;base64,{BYTES}"}, BYTES],
    "file": [{"file_data": f"data:application/pdf;base64,{BYTES}"}, {"file_id": "file-BK7bzQj3FfZFXr7DbL6xJwfo"}, BYTES],
    "encrypted": [BYTES, BYTES * 40],
    "stored": ["conv_68e1f0a2", {"id": "pmpt_68e1f0a2"}],
}


PDF = {"type": "base64", "media_type": "application/pdf", "data": BYTES}
# Members beside bytes that speak of text without making them text.
BESIDE_BYTES = [{"source": {**PDF, "zz": "text"}}, {"title": "text", "source": PDF}, {"source": {"zz": "text", **PDF}},
                {"source": {**PDF, "media_type": "text/plain"}}, {"source": {**PDF, "type": "text/plain"}}]


def unread_cases(dialect):
    base = surface.BASES[dialect.name]
    for more in BESIDE_BYTES if dialect.name == "messages" else ():
        part = {"type": "document", **more}
        yield f"{part}", dialect.paths[0], {**base, "messages": [{"role": "user", "content": [part]}]}
    for number, row in enumerate(dialect.rows):
        for value in [PDF] if row.path.endswith(".source") else UNREAD.get(row.kind, []):
            yield f"{row.path} = {value!r:.60}", dialect.paths[number % len(dialect.paths)], surface.put(base, row.path, value)
    for member in ("prompt", "input", "content"):
        for value in UNREAD["tokens"][:2]:
            if member in base:
                yield f"{member} = {value}", dialect.paths[0], {**base, member: value}


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_what_cannot_be_read_is_said(site, dialect):  # noqa: F811
    """Tokens, sound, images, files and encrypted parts: blocked where `on_error` says so, else forwarded with a coverage below 1."""
    cases = [Case(name, path, fill(body, MODELS[language]), "no needle", door, on_error, language)
             for number, (name, path, body) in enumerate(unread_cases(dialect))
             for on_error in ("match", "no_match")
             for door, language in [(("gateway", "python"), ("envoy", "go"), ("gateway", "go"), ("envoy", "python"))[number % 4]]]
    run(site, cases)
    wrong = []
    for case in cases:
        said = case.coverage != "" and float(case.coverage) < 1
        blocked = case.status == 403 or case.status == 400
        if not (blocked if case.on_error == "match" else blocked or said):
            wrong.append(f"{case.name}: {case.door}, on_error {case.on_error}: {case.status}, coverage {case.coverage or 'absent'}")
    assert not wrong, f"{len(wrong)} of {len(cases)} requests:\n" + "\n".join(wrong[:20])
