"""The attack surface as it ships: the linear tier and the neural classifier as `make run` has them, and Envoy in each way of sending
bodies that a file of deploy/envoy has. A sample of what test_attack_surface.py and its siblings try on the linear tier."""
import contextlib
import itertools
import json

import pytest

import surface
from attack_site import MODELS, SHIPPED, Case, Site, fill, run
from test_attack_paths import spellings
from test_attack_text import HUNDRED_KB, beside, splits

DOORS = {"full duplex": "FULL_DUPLEX", "buffered": "BUFFERED", "streamed": "STREAMED", "streamed, no wait": "NO_WAIT"}
EVERY = 2  # positions that a test takes one of


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path_factory.mktemp("shipped"), stack, DOORS, SHIPPED)


def alternating(site):
    """Attacks and cards at the next door, upstream and value of `on_error`: each kind meets each of these."""
    turns = [(door, on_error, language) for language in MODELS for door, on_error in site.ports]
    for number in itertools.count():
        yield [(kind, text, needle, turns[(number + other) % len(turns)])
               for kind, text, needle, other in (("attack", surface.ATTACK, surface.ATTACK_SEEN, 0), ("card", surface.CARD, surface.CARD_SEEN, 7))]


def holes_of(site, cases):
    holes = run(site, cases)
    assert not holes, f"{len(holes)} of {len(cases)} requests passed unread:\n" + "\n".join(holes[:20])


def test_harmless_requests_pass_every_door(site):
    turns = [(door, on_error, language) for language in MODELS for door, on_error in site.ports]
    cases = [Case(path, path, fill(surface.BASES[dialect.name], MODELS[turn[2]]), surface.HARMLESS, *turn)
             for dialect in surface.tables() for path in dialect.paths[:1] for turn in turns]
    run(site, cases)
    wrong = [(case.path, case.door, case.status, case.coverage) for case in cases if (case.status, case.coverage) != (200, "1.0000")]
    assert wrong == []


def test_positions(site):
    turns, cases = alternating(site), []
    for dialect in surface.tables():
        for number, (name, build) in enumerate(surface.positions(dialect)):
            if number % EVERY:
                continue
            for kind, text, needle, (door, on_error, language) in next(turns):
                cases.append(Case(f"{dialect.name}: {kind} at {name}", dialect.paths[number % len(dialect.paths)],
                                  fill(build(text), MODELS[language]), needle, door, on_error, language))
    holes_of(site, cases)


def test_spellings(site):
    turns, cases = alternating(site), []
    for number, spelled in enumerate(spellings("/v1/chat/completions")):
        if number % 3 or not (spelled.startswith(("/", "http")) and spelled.isascii()):
            continue
        for kind, text, needle, (door, _, language) in next(turns):
            cases.append(Case(f"{kind} at {spelled!r}", spelled, {"model": MODELS[language], "messages": [{"role": "user", "content": text}]},
                              needle, door, "match", language))
    holes_of(site, cases)


def test_long_bodies(site):
    """More than Envoy sends at once: nothing is forwarded before all of it was read."""
    turns, cases = alternating(site), []
    for name, body in [*beside(surface.ATTACK, HUNDRED_KB), *splits(surface.ATTACK)]:
        (_, _, needle, (door, on_error, language)), _ = next(turns)
        cases.append(Case(name, "/v1/chat/completions", {"model": MODELS[language], **body}, needle, door, on_error, language))
    for door in ("gateway", *DOORS):
        body = {"model": "general", "messages": [{"role": "user", "content": HUNDRED_KB + surface.CARD}]}
        cases.append(Case("a card behind 100 KB", "/v1/chat/completions", body, surface.CARD_SEEN, door, "match", "python"))
    holes_of(site, cases)


BRAILLE = dict(zip("abcdefghijklmnopqrstuvwxyz", "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵"))
RAISED = dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"))
MARKS = ["·", "•", "~", "+", "🙂", ", ", " / ", "^", "=", ":", ";", "'", "—", "…", "`", "#", "<>", "\u2009", "\n", "\t"]
HIDDEN = ["\u3164", "\u115f", "\uffa0", "\u2800", "\u17b4", "\u2065", "\u0640", "\ufffc", "\U0001d173", "\u094d", "\u05b0", "\u064b"]


def disguised(text):
    words = text.split()
    for mark in MARKS:
        yield f"{mark!r} between letters", "  ".join(mark.join(word) for word in words)
    for hidden in HIDDEN:
        yield f"{hidden!r} between letters", "".join(c + hidden if c.isalpha() else c for c in text)
    yield "lines", "\n".join(text)
    yield "a list", json.dumps(list(text))
    for left, right in ("[]", "()", ("**", "**")):
        yield f"{left}letters{right}", " ".join("".join(left + c + right for c in word) for word in words)
    for name, letters in (("braille", BRAILLE), ("raised", RAISED)):
        yield name, "".join(letters.get(c.lower(), c) for c in text)


def test_disguised_letters(site):
    turns, cases = alternating(site), []
    for name, text in disguised(surface.ATTACK):
        (_, _, _, (door, _, language)), _ = next(turns)
        cases.append(Case(name, "/v1/chat/completions", {"model": MODELS[language], "messages": [{"role": "user", "content": text}]},
                          "no needle", door, "match", language))
    run(site, cases)
    assert [(case.name, case.status) for case in cases if case.status != 403] == []


def test_what_cannot_be_read_is_said(site):
    """At every door unread content blocks, or passes with a coverage below 1, as `on_error` says."""
    part = {"type": "image_url", "image_url": {"url": "https://files.example/a.png"}}
    bodies = [("an image", "/v1/chat/completions", {"messages": [{"role": "user", "content": [part]}]}),
              ("token ids", "/v1/completions", {"prompt": [1, 15339, 1917]})]
    cases = [Case(name, path, json.loads(json.dumps({"model": "general", **body})), "no needle", door, on_error, "python")
             for name, path, body in bodies for door, on_error in site.ports]
    run(site, cases)
    wrong = [f"{case.name} at {case.door}, {case.on_error}: {case.status}, {case.coverage}" for case in cases
             if not (case.status == 403 if case.on_error == "match" else case.status == 200 and 0 <= float(case.coverage or 1) < 1)]
    assert wrong == []
