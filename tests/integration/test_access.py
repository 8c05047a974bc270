"""Who may use an operator's key, through both doors, and who may use the admin listeners."""
import json
import socket
import time

import pytest

import envoy as real
from conftest import Gateway, chat, free_ports, request, semroute
from test_paths import Doors

CREDENTIALS = {"authorization": "Bearer client-secret", "x-api-key": "client-secret", "X_Api_Key": "client-secret", "api-key": "client-secret",
               "cookie": "session=client-secret"}


class Keyed(Doors):
    """`general` has a key, `coder` another, `expert` one among its extra headers, `reasoner` none; all are one upstream."""

    def config(self, port):
        keys = {"general": {"api_key": "general-key"}, "coder": {"api_key": "coder-key", "auth_header": "X-Key", "auth_prefix": ""},
                "expert": {"extra_headers": {"X-API-Key": "expert-key"}}, "reasoner": {}}
        return json.dumps({
            "version": "v0.3",
            "providers": {"defaults": {"default_model": "general"}, "models": [
                {"name": m, "backend_refs": [{"name": m, "endpoint": f"127.0.0.1:{port}", **keys[m]}]} for m in real.MODELS]},
            "routing": {"decisions": []},
            "global": {"semroute": {"loops": 1, "workers": 1, **self.own}}})


DOORS = ["gateway", "FULL_DUPLEX", "BUFFERED"]
EXPECTED = {"general": ("authorization", "Bearer general-key"), "coder": ("x-key", "coder-key"), "expert": ("x-api-key", "expert-key")}


@pytest.fixture(scope="module", params=["closed", "open", "tenants"])
def keyed(request, tmp_path_factory):
    own = {"closed": {}, "open": {"allow_anonymous": True}, "tenants": {"guards": {"tenant_header": "x-tenant"}}}[request.param]
    doors = Keyed(tmp_path_factory.mktemp(request.param), **own)
    doors.kind = request.param
    yield doors
    doors.stop()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("model", [*EXPECTED, "auto"])
def test_a_key_is_for_known_clients(keyed, door, model):
    status, headers, seen = keyed.send(door, "/v1/chat/completions", chat("hi", model), headers=CREDENTIALS)
    known = keyed.send(door, "/v1/chat/completions", chat("hi", model), headers={**CREDENTIALS, "x-tenant": "acme"})
    if keyed.kind == "closed":
        assert (status, seen, known[0], known[2]) == (401, None, 401, None) and headers["www-authenticate"] == "Bearer"
        return
    if keyed.kind == "tenants":
        assert (status, seen) == (401, None)
        status, _, seen = known
    assert status == 200
    sent = seen[1]
    assert dict(sent)[EXPECTED["general" if model == "auto" else model][0]] == EXPECTED["general" if model == "auto" else model][1]
    assert not [h for h in sent if "client-secret" in h[1]], sent
    assert len([h for h in sent if "-key" in h[1]]) == 1, sent


@pytest.mark.parametrize("door", DOORS)
def test_a_client_may_bring_its_own(keyed, door):
    status, _, seen = keyed.send(door, "/v1/chat/completions", chat("hi", "reasoner"), headers=CREDENTIALS)
    assert status == 200 and dict(seen[1])["authorization"] == "Bearer client-secret" and dict(seen[1])["x-api-key"] == "client-secret"
    assert not [h for h in seen[1] if "general-key" in h[1] or "coder-key" in h[1] or "expert-key" in h[1]]


def test_check_says_that_no_client_can_be_known(tmp_path):
    for own, warns in (({}, True), ({"allow_anonymous": True}, False), ({"guards": {"tenant_header": "x-t"}}, False)):
        site = Keyed.__new__(Keyed)
        site.own = own
        file = tmp_path / "semroute.yaml"
        file.write_text(site.config(1))
        done = semroute("check", file)
        assert done.returncode == 0 and ("allow_anonymous" in done.stdout + done.stderr) is warns


# ---- the admin listeners ----

TEXT = {"text": "What is the derivative of x^2?"}
CLASSIFY = "/api/v1/classify/intent"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    gateway = Gateway(None, tmp_path_factory.mktemp("admin"))
    yield gateway
    gateway.stop()


@pytest.mark.parametrize("headers,status", [
    ({}, 200),
    ({"host": "localhost:1"}, 200),
    ({"host": "rebound.example"}, 403),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"content-type": "text/plain"}, 415),
    ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ({"authorization": "Bearer x", "origin": "https://evil.example"}, 403),
])
def test_web_pages_cannot_use_the_api(plain, headers, status):
    assert request(plain.api_port, "POST", CLASSIFY, TEXT, headers).status == status
    for path, port in (("/info/models", plain.api_port), ("/metrics", plain.metrics_port)):
        wanted = 200 if status == 415 else status
        assert request(port, "GET", path, headers={k: v for k, v in headers.items() if k != "content-type"}).status == wanted
    for path in ("/health", "/ready"):
        assert request(plain.api_port, "GET", path, headers=headers).status == 200


def test_the_token(tmp_path):
    config = json.dumps({"version": "v0.3", "global": {"semroute": {"admin": {"token": "${ADMIN_TOKEN}"}}},
                         "providers": {"models": [{"name": "m", "backend_refs": [{"endpoint": "127.0.0.1:1"}]}]}, "routing": {"decisions": []}})
    gateway = Gateway(config, tmp_path, env={"ADMIN_TOKEN": "s3cret"})
    try:
        good, bad = {"authorization": "Bearer s3cret"}, {"authorization": "Bearer s3cres"}
        for headers, status in ((None, 401), (bad, 401), ({"authorization": "Basic s3cret"}, 401), (good, 200),
                                ({**good, "host": "in.cluster.svc", "origin": "https://panel.example", "content-type": "text/plain"}, 200)):
            assert request(gateway.api_port, "POST", CLASSIFY, TEXT, headers).status == status
            assert request(gateway.metrics_port, "GET", "/metrics", headers=headers).status == status
            answer = request(gateway.port, "GET", "/metrics", headers=headers)
            assert answer.status == status and (status == 200 or answer.json()["error"]["code"] == "token_required")
        for port in (gateway.port, gateway.api_port, gateway.metrics_port):
            assert request(port, "GET", "/health").status == 200
        assert "s3cret" not in gateway.output()
    finally:
        gateway.stop()
    assert "`token`" in semroute("check", tmp_path / "gateway.yaml", env={"ADMIN_TOKEN": ""}).stdout


def test_other_machines_need_it(tmp_path):
    api, metrics = free_ports(), free_ports()
    gateway = Gateway(None, tmp_path, flags=["--api", f"0.0.0.0:{api}", "--metrics", f":{metrics}"])
    try:
        end = time.monotonic() + 60
        while gateway.output().count("admin_closed") < 2 and time.monotonic() < end:
            time.sleep(0.02)
        assert gateway.output().count("admin_closed") == 2
        for path, port in (("/info/models", api), ("/metrics", metrics)):
            answer = request(port, "GET", path)
            assert answer.status == 403 and "global.semroute.admin.token" in answer.json()["error"]["message"]
            assert request(port, "GET", "/ready").status == 200
    finally:
        gateway.stop()


def test_a_host_is_needed_where_it_could_be_a_page(plain):
    """An HTTP/1.0 client without Host is no browser."""
    with socket.create_connection(("127.0.0.1", plain.api_port), timeout=30) as connection:
        connection.sendall(b"GET /info/models HTTP/1.0\r\n\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.")
