"""The upstreams of the attack tests read requests as real servers of their language do: what a router must not rely on."""
import pytest

from recorders import Raw, Upstream

BODY = b'{"model": "a", "messages": [{"role": "user", "content": "first", "Content": "other case"}]}'
TWICE = b'{"model": "a", "messages": [{"role": "user", "content": "first", "content": "last"}]}'


@pytest.fixture(scope="module", params=["python", "go"])
def upstream(request, tmp_path_factory):
    upstream = Upstream(request.param, tmp_path_factory.mktemp("upstreams"))
    yield upstream
    upstream.stop()


def executed(upstream, path, body):
    client = Raw(upstream.port)
    status, _, _ = client.post(path, body, [("x-case", "one")])
    client.close()
    return status, upstream.seen().get("one")


def test_what_runs_is_recorded(upstream):
    status, record = executed(upstream, "/v1/chat/completions", BODY)
    assert status == 200 and record["endpoint"] == "/v1/chat/completions" and record["model"] == "a"
    assert upstream.seen() == {}
    assert executed(upstream, "/v1/nowhere", BODY) == (404, None)


def test_paths_are_decoded(upstream):
    assert executed(upstream, "/v1/chat/completion%73", BODY)[1]["endpoint"] == "/v1/chat/completions"
    assert executed(upstream, "/v1/chat%2fcompletions", BODY)[1]["endpoint"] == "/v1/chat/completions"


def test_keys_are_read_as_the_language_reads_them(upstream):
    other_case = executed(upstream, "/v1/chat/completions", BODY)[1]["texts"]
    assert ("first" in other_case) == (upstream.language == "python") and "other case" in other_case
    last = executed(upstream, "/v1/chat/completions", TWICE)[1]["texts"]
    assert "last" in last and "first" not in last
