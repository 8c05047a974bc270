"""Nothing is open in silence: what a guard could not read, decisions in shadow and for a share of the requests, the
header that skips guards, and Envoy's modes without bodies. At the gateway and through the real Envoy."""
import base64
import contextlib
import json
import time
import uuid

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, chat, free_ports, request, wait_http
from keys_site import model, site, write

MAIL = "Write to bob@example.com, please."
LONG = "lorem ipsum dolor " * 100_000  # seconds, where a millisecond is allowed
SLOW = {"keywords": [{"name": "k", "keywords": [f"kubernetes{n}" for n in range(50)], "fuzzy_match": True}]}
HARD = {"keywords": [{"name": "k", "method": "regex", "operator": "OR", "keywords": ["(a+)+$"]}]}
ENDLESS = "a" * 60 + "!"
PIXEL = base64.b64encode(bytes(range(256)) * 4).decode()
IMAGE = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]
AUDIO = [{"type": "text", "text": "What is said?"}, {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}}]
DOORS = ["gateway", "BUFFERED", "FULL_DUPLEX"]


def guard(action, name="g", type="pii", rule="p", **more):
    on_error = more.pop("on_error", None)
    rules = {"type": type, "name": rule, **({"on_error": on_error} if on_error else {})}
    return {"name": name, "rules": rules, "plugins": [{"type": "guard", "configuration": {"action": action}}], **more}


def config(*decisions, signals=None, guards=None, **more):
    router = {"skip_processing": {"enabled": True}} if guards else None
    return site(model("one", "@0"), model("two", "@1"), decisions=decisions, router=router, access_log="stdout",
                signals=signals or {"pii": [{"name": "p"}], "jailbreak": [{"name": "j"}]}, inference={"ask_below": 0},
                guards=guards or {}, **more)


CONFIGS = {
    "block": config(guard("block")),
    "redact": config(guard("redact")),
    "flag": config(guard("flag")),
    "flag, then block": config(guard("flag", "a", "jailbreak", "j", priority=9), guard("block", priority=1)),
    "block, open": config(guard("block", on_error="no_match")),
    "late": config(guard("block", type="keyword", rule="k"), signals=SLOW, signal_deadline_ms=1, signal_deadline_ms_per_kib=0),
    "over": config(guard("block", type="jailbreak", rule="j"), signal_deadline_ms=1, signal_deadline_ms_per_kib=0,
                   signal_deadline_max_ms=1),
    "failed": config(guard("block", type="keyword", rule="k"), signals=HARD),
    "failed, open": config(guard("block", type="keyword", rule="k", on_error="no_match"), signals=HARD),
    "shadow": config(guard("block", mode="shadow")),
    "shadow, then block": config(guard("allow", "a", mode="shadow", priority=9), guard("block", priority=1)),
    "share": config(guard("block", share=0.5)),
    "skip": config(guard("block"), guards={"tenant_header": "x-tenant", "skip_tenants": ["ops"]}),
}


class Site:
    """A semroute with both doors on one configuration, and the Envoys that were asked for."""

    def __init__(self, directory, name, mock):
        self.directory, self.mock, self.stack, self.envoys = directory, mock, contextlib.ExitStack(), {}
        self.port, self.extproc, self.metrics_port = free_ports(), free_ports(), free_ports()
        file = write(CONFIGS[name], directory / f"{free_ports()}.yaml", mock.port)
        self.process = Process([BINARY, "serve", "-c", file, "--gateway", f"127.0.0.1:{self.port}", "--api", "off", "--metrics",
                                f"127.0.0.1:{self.metrics_port}", "--extproc", f"127.0.0.1:{self.extproc}"],
                               directory / f"{free_ports()}.log")
        self.stack.callback(self.process.stop)
        wait_http(self.port, "/ready", self.process)

    def door(self, door, change=None):
        if door == "gateway":
            return self.port
        if (door, change) not in self.envoys:
            envoy = real.Envoy(self.directory, door, self.extproc, self.mock.port, change=change)
            self.envoys[door, change] = envoy.port
            self.stack.callback(envoy.stop)
        return self.envoys[door, change]

    def ask(self, door, content, headers=None, change=None, name="one"):
        """The answer, and whether a worker got the request."""
        mark = str(uuid.uuid4())
        body = {**chat(content), "model": name, "metadata": {"mark": mark}}
        answer = request(self.door(door, change), "POST", "/v1/chat/completions", body, headers)
        return answer, any(mark.encode() in self.mock.last_body(worker) for worker in range(4))

    def lines(self, event, count=1):
        """The audit lines of an event, when there are so many of them."""
        end = time.monotonic() + 60
        while True:
            lines = [line for line in self.process.output().splitlines() if f'"event":"{event}"' in line]
            if len(lines) >= count or time.monotonic() > end:
                return [json.loads(line) for line in lines]
            time.sleep(0.02)


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    mock = Mock(tmp_path_factory.mktemp("closed") / "mock.log")
    yield mock
    mock.stop()


@pytest.fixture(scope="module")
def sites(tmp_path_factory, mock):
    """sites(name): started when it is first asked for."""
    directory, running = tmp_path_factory.mktemp("closed"), {}

    def start(name):
        if name not in running:
            running[name] = Site(directory, name, mock)
        return running[name]

    yield start
    with contextlib.ExitStack() as stack:
        for one in running.values():
            stack.callback(one.stack.close)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("content", [IMAGE, AUDIO], ids=["image", "audio"])
def test_what_nothing_can_read_is_closed(sites, door, content):
    for name in ("block", "redact"):
        answer, arrived = sites(name).ask(door, content)
        assert (answer.status, answer.json()["error"]["code"], arrived) == (403, "unread_content", False)
        assert float(answer.headers["x-vsr-scan-coverage"]) < 1
        assert answer.headers["x-vsr-guard-reason"] == "unread_content"
    answer, arrived = sites("flag").ask(door, content)
    assert (answer.status, arrived, answer.headers["x-vsr-guard-action"]) == (200, True, "flag")
    answer, arrived = sites("block, open").ask(door, content)
    assert (answer.status, arrived) == (200, True)
    assert float(answer.headers["x-vsr-scan-coverage"]) < 1, "it passes, and it does not count as read"


@pytest.mark.parametrize("door", DOORS)
def test_an_attachment_hides_no_finding(sites, door):
    """A flag for what cannot be read does not take the place of a block of lower priority."""
    found = [{"type": "text", "text": MAIL}, IMAGE[1]]
    for content, code in ((MAIL, "pii_blocked"), (found, "pii_blocked"), (IMAGE, "unread_content")):
        answer, arrived = sites("flag, then block").ask(door, content)
        assert (answer.status, answer.json()["error"]["code"], arrived) == (403, code, False)


@pytest.mark.parametrize("door", DOORS)
def test_a_signal_that_is_late_or_fails_is_closed(sites, door):
    answer, arrived = sites("late").ask(door, LONG)
    assert (answer.status, answer.json()["error"]["code"], arrived) == (503, "overloaded", False)
    assert int(answer.headers["retry-after"]) > 0
    answer, arrived = sites("failed").ask(door, ENDLESS)
    assert (answer.status, answer.json()["error"]["code"], arrived) == (403, "classification_error", False)
    answer, arrived = sites("failed, open").ask(door, ENDLESS)
    assert (answer.status, arrived) == (200, True)


@pytest.mark.parametrize("door", DOORS)
def test_what_never_fits_is_too_large(sites, door):
    """Before a reading was measured the client may come back; then it is told that this has no use."""
    end = time.monotonic() + 120
    answer, arrived = sites("over").ask(door, LONG)
    while answer.status == 503 and time.monotonic() < end:
        assert not arrived
        answer, arrived = sites("over").ask(door, LONG)
    assert (answer.status, answer.json()["error"]["code"], arrived) == (413, "request_too_large", False)
    assert "global.semroute.signal_deadline_max_ms" in answer.json()["error"]["message"]
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("door", DOORS)
def test_shadow(sites, door):
    site = sites("shadow")
    before = len(site.lines("security_shadow", 0))
    answer, arrived = site.ask(door, MAIL)
    assert (answer.status, arrived) == (200, True)
    assert "x-vsr-guard-action" not in answer.headers
    line = site.lines("security_shadow", before + 1)[-1]
    assert line["shadow"] == [{"decision": "g", "action": "block", "confidence": 1.0}]
    assert [f["action"] for f in line["findings"]] == ["shadow"] and "bob" not in json.dumps(line)
    metrics = request(site.metrics_port, "GET", "/metrics").body.decode()
    assert 'semroute_shadow_matches_total{decision="g",action="block"}' in metrics
    answer, arrived = sites("shadow, then block").ask(door, MAIL)
    assert (answer.status, arrived) == (403, False)


@pytest.mark.parametrize("door", DOORS)
def test_share(sites, door):
    """About half of the requests, and each of them again the same way."""
    site, blocked = sites("share"), 0
    for number in range(40):
        headers = {"x-request-id": f"request-{number}"} if door == "gateway" else {}
        first, again = (site.ask(door, f"{number}: {MAIL}", headers)[0].status for _ in range(2))
        if door == "gateway":  # Envoy gives each request an id of its own
            assert first == again
        blocked += first == 403
    assert 5 <= blocked <= 35


@pytest.mark.parametrize("door", DOORS)
def test_only_trusted_tenants_skip_guards(sites, door):
    site, skip = sites("skip"), {"x-vsr-skip-processing": "true"}
    for headers in ({}, skip, {**skip, "x-tenant": "other"}, {"x-tenant": "ops"}):
        answer, arrived = site.ask(door, MAIL, headers)
        assert (answer.status, arrived) == (403, False), headers
    before = len(site.lines("security_skip", 0))
    for name in ("one", "auto"):
        answer, arrived = site.ask(door, MAIL, {**skip, "x-tenant": "ops"}, name=name)
        assert (answer.status, arrived) == (200, True)
    assert len(site.lines("security_skip", before + 2)) == before + 2, "the audit log has who went past the guards"


def without_bodies(text):
    assert "request_body_mode: BUFFERED" in text
    return text.replace("request_body_mode: BUFFERED", "request_body_mode: NONE")


def test_envoy_that_sends_no_bodies_passes_no_guard(sites):
    answer, arrived = sites("block").ask("BUFFERED", MAIL, change=without_bodies)
    assert (answer.status, arrived) == (500, False)
    assert "request_body_mode" in answer.json()["error"]["message"]
