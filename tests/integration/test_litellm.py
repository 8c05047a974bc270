"""LiteLLM as a client of the gateway: chat, Responses and Messages, whole and streamed, with and without tools, with an upstream of the
same and of other APIs: it returns what it returns for a native upstream (tests/integration/tongues.py). Its own
`anthropic.messages` is asked for whole answers only: for a stream it imports all of its proxy; streams of Messages are read by
its chat over Messages."""
import json
import subprocess
import threading

import pytest

from conftest import ROOT
from test_translate import plain, translating
from tongues import TEXT

FOLDER = ROOT / "tests" / "litellm"
NATIVE = {"chat": "chat", "responses": "responses", "messages": "messages", "chat over messages": "messages"}


@pytest.fixture(scope="module")
def litellm(tmp_path_factory):
    """ask(base, ...): one process for all questions; LiteLLM takes seconds to import."""
    log = open(tmp_path_factory.mktemp("litellm") / "log", "wb")
    child = subprocess.Popen([FOLDER / ".venv" / "bin" / "python", FOLDER / "client.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                             text=True)

    def ask(**question):
        child.stdin.write(json.dumps(question) + "\n")
        child.stdin.flush()
        end = threading.Timer(300, child.kill)  # an answer that never comes ends the tests, not the run
        end.start()
        try:
            for line in child.stdout:
                if line.startswith("ANSWER "):
                    told = json.loads(line[7:])
                    assert "error" not in told, told
                    return told["answer"]
        finally:
            end.cancel()
        raise AssertionError("LiteLLM ended")

    yield ask
    child.stdin.close()
    child.wait(30)
    child.stdout.close()
    log.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with translating(tmp_path_factory.mktemp("site")) as site:
        yield site


def same(value):
    """Without what names the upstream: the model's name there, and what LiteLLM adds for itself."""
    value = plain(value)
    if isinstance(value, dict):
        return {k: same(v) for k, v in value.items() if k not in ("model", "_hidden_params", "system_fingerprint", "service_tier")}
    if isinstance(value, list):
        return [same(v) for v in value]
    return value


QUESTIONS = [(api, stream) for api in NATIVE for stream in (False, True) if api != "messages" or not stream]


@pytest.mark.parametrize("tools", [False, True], ids=["text", "tools"])
@pytest.mark.parametrize("upstream", ["chat", "responses", "messages"])
@pytest.mark.parametrize("api,stream", QUESTIONS, ids=[f"{api}-{'stream' if stream else 'whole'}" for api, stream in QUESTIONS])
def test_it_gets_what_a_native_upstream_gives(site, litellm, api, upstream, stream, tools):
    gateway, tongues = site
    question = {"api": api, "stream": stream, "tools": tools}
    own = litellm(base=f"http://127.0.0.1:{tongues.port}", model=NATIVE[api], **question)
    got = litellm(base=f"http://127.0.0.1:{gateway.port}", model=upstream, **question)
    assert TEXT in json.dumps(got, ensure_ascii=False) or '\\"4\\"' in json.dumps(got)
    assert same(got) == same(own)


@pytest.mark.parametrize("api,upstream", [(a, u) for a, own in NATIVE.items() for u in ("chat", "responses", "messages")
                                           if a != "messages" and u != own])
def test_it_skips_what_a_stream_says_of_losses(site, litellm, api, upstream):
    gateway, tongues = site
    question = {"api": api, "stream": True, "tools": False, "base": f"http://127.0.0.1:{gateway.port}", "model": upstream}
    wanted = litellm(**question)
    tongues.searching = True
    got = litellm(**question)
    tongues.searching = False
    assert same(got) == same(wanted)


@pytest.mark.parametrize("api", NATIVE)
def test_auto_is_routed_by_meaning(site, litellm, api):
    gateway, _ = site
    answer = litellm(base=f"http://127.0.0.1:{gateway.port}", model="auto", api=api, stream=False, tools=False)
    assert '4' in json.dumps(answer)
