"""Pages of other origins: what a browser asks before a request and looks for in its answer."""
import pytest

from conftest import chat, request
from keys_site import model, site, write

PAGE = {"origin": "https://app.example"}
ASKS = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type,x-stainless-os"}


@pytest.fixture
def gateway(start, tmp_path):
    def open_with(*origins):
        mock = start.mock(workers=1)
        return start.gateway(write(site(model("m", "@0"), default="m", gateway={"cors_origins": list(origins)}),
                                   tmp_path / "site.yaml", mock.port).read_text())
    return open_with


def test_a_page_of_an_allowed_origin_may_call(gateway):
    at = gateway("https://other.example", "https://app.example")
    asked = request(at.port, "OPTIONS", "/v1/chat/completions", headers=PAGE | ASKS)
    assert asked.status == 204 and asked.headers["access-control-allow-origin"] == "https://app.example"
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert asked.headers["access-control-allow-headers"] == ASKS["access-control-request-headers"]
    answers = [at.post(chat("hello"), headers=PAGE), at.post(chat("hello", stream=True), headers=PAGE),
               at.post(chat("hello", "nothing"), headers=PAGE), at.get("/v1/models", PAGE), at.get("/health", PAGE),
               at.post(b"{", headers=PAGE), request(at.port, "OPTIONS", "/v1/models", headers=PAGE)]
    assert [a.status for a in answers] == [200, 200, 404, 200, 200, 400, 204]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert "origin" in answer.headers["vary"] and answer.headers["access-control-expose-headers"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_other_pages_and_programs_get_nothing_of_it(gateway):
    at = gateway("https://app.example")
    for headers in ({}, {"origin": "https://evil.example"}, {"origin": "https://app.example.evil.example"}, {"origin": "null"}):
        for answer in (at.post(chat("hello"), headers=headers), request(at.port, "OPTIONS", "/v1/models", headers=headers | ASKS)):
            assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_every_origin_may_be_allowed(gateway):
    at = gateway("*")
    assert at.get("/v1/models", {"origin": "https://any.example"}).headers["access-control-allow-origin"] == "https://any.example"
