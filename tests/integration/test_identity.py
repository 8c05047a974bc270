"""Who is asking: keys of clients, tenants with their models and guards, identity headers of trusted peers, files that rotate; through
the gateway and through Envoy."""
import datetime
import hashlib
import http.client
import json
import os
import time

import pytest

import envoy as real
from conftest import Gateway, chat, semroute
from test_paths import Doors

ALICE, BOB, OLD, NEW = "sk-sr-alice-0123456789", "sk-sr-bob-0123456789", "sk-sr-old-0123456789", "sk-sr-new-0123456789"
CLIENT = "the-clients-own-credential"
DOORS = ["gateway", "FULL_DUPLEX", "BUFFERED"]
MAIL = "Write to bob@example.com, please."


def sha(key):
    return hashlib.sha256(key.encode()).hexdigest()


def bearer(key):
    return {"authorization": f"Bearer {key}"}


class Keyed(Doors):
    """`general` has a backend's key, the others none. `alice` may use two models; `blue` has a guard that others do not have."""

    def config(self, port):
        backends = {m: {"name": m, "endpoint": f"127.0.0.1:{port}"} for m in real.MODELS}
        backends["general"]["api_key"] = "operators-key"
        guard = {"name": "mail", "rules": {"type": "pii", "name": "p"}, "plugins": [{"type": "guard", "configuration": {"action": "block"}}]}
        math = {"name": "math", "rules": {"type": "keyword", "name": "k"}, "modelRefs": [{"model": "expert"}, {"model": "coder"}]}
        keys = self.directory / "keys.yaml"
        keys.write_text(json.dumps({"keys": [{"name": "bob", "sha256": sha(BOB), "tenant": "blue"}]}))
        return json.dumps({
            "version": "v0.3",
            "providers": {"defaults": {"default_model": "general"},
                          "models": [{"name": m, "backend_refs": [backends[m]]} for m in real.MODELS]},
            "routing": {"signals": {"pii": [{"name": "p"}], "keywords": [{"name": "k", "operator": "OR", "keywords": ["integral"]}]},
                        "decisions": [guard, math]},
            "global": {"semroute": {"loops": 1, "workers": 1, "inference": {"ask_below": 0}, "signal_deadline_ms": 20000,
                                    "access_log": "stdout", "identity": {
                                        "keys": [{"name": "alice", "sha256": sha(ALICE), "tenant": "red", "models": ["general", "coder"]},
                                                 {"name": "old", "sha256": sha(OLD), "expires": "2020-01-31"}],
                                        "keys_file": str(keys),
                                        "tenants": [{"name": "blue", "guards": ["mail"]}, {"name": "red"}]}}}})


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    doors = Keyed(tmp_path_factory.mktemp("keyed"))
    yield doors
    log = doors.process.output()
    assert ALICE not in log and BOB not in log and OLD not in log and "sk-sr-" not in log and sha(ALICE) not in log
    doors.stop()


def code(answer):
    return json.loads(answer)["error"]


def post(doors, door, headers, model="auto", text="hello", path="/v1/chat/completions"):
    body = json.dumps({**chat(text, model), **({"max_tokens": 5} if "messages" in path.split("/") else {})})
    connection = http.client.HTTPConnection("127.0.0.1", doors.port(door), timeout=60)
    connection.request("POST", path, body, {"content-type": "application/json", **headers})
    answer = connection.getresponse()
    result = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return result


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("header", ["authorization", "x-api-key", "api-key"])
def test_a_key_opens_and_goes_nowhere(keyed, door, header):
    value = f"Bearer {ALICE}" if header == "authorization" else ALICE
    status, _, seen = keyed.send(door, "/v1/chat/completions", chat("hi", "general"), headers={header: value})
    assert status == 200 and dict(seen[1])["authorization"] == "Bearer operators-key"
    assert not [h for h in seen[1] if "sk-sr-" in h[1]], seen
    status, _, seen = keyed.send(door, "/v1/chat/completions", chat("hi", "coder"), headers={header: value, "cookie": CLIENT})
    assert status == 200 and not [h for h in seen[1] if "sk-sr-" in h[1]]
    assert [h for h in seen[1] if CLIENT in h[1]], "the client's own goes with it where the backend has no key"
    copies = {header: value, "cookie": f"theme=dark; key={ALICE}", "x-copy": f"was {ALICE}", "x-note": "kept"}
    status, _, seen = keyed.send(door, "/v1/chat/completions", chat("hi", "coder"), headers=copies)
    assert status == 200 and not [h for h in seen[1] if "sk-sr-" in h[1]]
    assert dict(seen[1])["x-note"] == "kept"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("headers,reason", [
    ({}, "missing_api_key"),
    (bearer(CLIENT), "invalid_api_key"),
    (bearer("sk-foo"), "invalid_api_key"),
    (bearer("sk-sr-guessed-0123456789"), "invalid_api_key"),
    (bearer(ALICE + "x"), "invalid_api_key"),
    (bearer(OLD), "expired_api_key"),
    ({**bearer(ALICE), "x-api-key": BOB}, "invalid_api_key"),
])
def test_without_one_it_is_401(keyed, door, headers, reason):
    for path in ("/v1/chat/completions", "/v1/messages"):
        status, head, body = post(keyed, door, headers, "reasoner", path=path)
        assert status == 401 and head["www-authenticate"] == "Bearer"
        error = code(body)
        assert "global.semroute.identity.keys" in error["message"] and "alice" not in body.decode()
        if path == "/v1/messages":
            assert error["type"] == "authentication_error"
        else:
            assert error["code"] == reason


@pytest.mark.parametrize("door", DOORS)
def test_models_of_a_key(keyed, door):
    assert post(keyed, door, bearer(ALICE), "coder")[0] == 200
    status, _, body = post(keyed, door, bearer(ALICE), "reasoner")
    assert status == 403 and code(body)["code"] == "model_not_allowed" and "operators" not in body.decode()
    assert post(keyed, door, bearer(BOB), "reasoner")[0] == 200
    status, head, _ = post(keyed, door, bearer(ALICE), text="what is this integral?")
    assert status == 200 and head["x-vsr-selected-model"] == "coder", "the decision's first model is not hers"
    assert post(keyed, door, bearer(BOB), text="what is this integral?")[1]["x-vsr-selected-model"] == "expert"


@pytest.mark.parametrize("door", DOORS)
def test_guards_of_a_tenant(keyed, door):
    assert post(keyed, door, bearer(BOB), text=MAIL)[0] == 403
    assert post(keyed, door, bearer(ALICE), text=MAIL)[0] == 200


def test_the_list_of_models(keyed):
    def get(path, headers):
        connection = http.client.HTTPConnection("127.0.0.1", keyed.gateway, timeout=60)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        result = answer.status, json.loads(answer.read())
        connection.close()
        return result
    assert get("/v1/models", {})[0] == 401
    status, models = get("/v1/models", bearer(ALICE))
    assert status == 200 and {m["id"] for m in models["data"]} >= {"auto", "general", "coder"}
    assert not {m["id"] for m in models["data"]} & {"reasoner", "expert"}
    assert get("/v1/models/coder", bearer(ALICE))[0] == 200 and get("/v1/models/reasoner", bearer(ALICE))[0] == 404


def test_the_openai_client(keyed):
    import openai
    with openai.OpenAI(base_url=f"http://127.0.0.1:{keyed.gateway}/v1", api_key=ALICE, max_retries=0) as client:
        answer = client.chat.completions.create(model="auto", messages=[{"role": "user", "content": "hi"}])
        assert answer.choices[0].message.content == "ok"
        with pytest.raises(openai.PermissionDeniedError):
            client.chat.completions.create(model="reasoner", messages=[{"role": "user", "content": "hi"}])
    with openai.OpenAI(base_url=f"http://127.0.0.1:{keyed.gateway}/v1", api_key=OLD, max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(model="auto", messages=[{"role": "user", "content": "hi"}])


# ---- trusted peers ----

@pytest.mark.parametrize("peers,status", [(["127.0.0.0/8"], 200), (["10.0.0.0/8"], 401)])
def test_identity_headers_of_trusted_peers(tmp_path, peers, status):
    class Trusting(Keyed):
        def config(self, port):
            config = json.loads(super().config(port))
            own = config["global"]["semroute"]
            own["guards"] = {"tenant_header": "x-tenant"}
            own["identity"]["trusted_peers"] = peers
            return json.dumps(config)
    doors = Trusting(tmp_path)
    try:
        got, _, seen = doors.send("gateway", "/v1/chat/completions", chat("hi", "coder"), headers={"x-tenant": "green"})
        assert got == status
        got, _, seen = doors.send("gateway", "/v1/chat/completions", chat("hi", "coder"), headers={"x-tenant": "green", **bearer(ALICE)})
        assert got == 200 and ("x-tenant" in dict(seen[1])) is (status == 200)
    finally:
        doors.stop()


# ---- whose key goes to an upstream ----

@pytest.mark.parametrize("door", DOORS)
def test_providers_of_authz(tmp_path, door):
    """The client's own key comes before the operator's; a backend without either is 401."""
    class Injecting(Keyed):
        def config(self, port):
            config = json.loads(super().config(port))
            config["global"]["services"] = {"authz": {"fail_open": False, "providers": [
                {"type": "header-injection", "headers": {"openai": "x-user-openai-key", "anthropic": "x-user-anthropic-key"}},
                {"type": "static-config"}]}}
            return json.dumps(config)
    doors = Injecting(tmp_path)
    own = {"x-user-openai-key": "users-own-key", **bearer(ALICE)}
    try:
        status, _, seen = doors.send(door, "/v1/chat/completions", chat("hi", "general"), headers=own)
        assert status == 200 and dict(seen[1])["authorization"] == "Bearer users-own-key"
        assert not [h for h in seen[1] if h[0] == "x-user-openai-key" or "operators" in h[1] or "sk-sr-" in h[1]]
        status, _, seen = doors.send(door, "/v1/chat/completions", chat("hi", "general"), headers=bearer(ALICE))
        assert status == 200 and dict(seen[1])["authorization"] == "Bearer operators-key"
        status, _, seen = doors.send(door, "/v1/chat/completions", chat("hi", "coder"), headers=own)
        assert status == 200 and dict(seen[1])["authorization"] == "Bearer users-own-key"
        assert doors.send(door, "/v1/chat/completions", chat("hi", "coder"), headers=bearer(ALICE))[0] == 401
    finally:
        doors.stop()


def test_the_key_of_a_pools_own_workers(tmp_path, start):
    """A pool that has some of a model's backends: the client's key goes into the header of the backend that is asked."""
    mock = start.mock(workers=2)
    refs = [{"name": "first", "endpoint": f"127.0.0.1:{mock.port}"},
            {"name": "second", "endpoint": f"127.0.0.1:{mock.port + 1}", "auth_header": "X-Api-Key", "auth_prefix": ""}]
    gateway = start.gateway(json.dumps({
        "version": "v0.3", "routing": {},
        "providers": {"models": [{"name": "m", "backend_refs": refs}], "defaults": {"default_model": "m"}},
        "global": {"semroute": {"pools": [{"model": "m", "backends": ["second"]}]},
                   "services": {"authz": {"fail_open": True, "providers": [
                       {"type": "header-injection", "headers": {"openai": "x-user-openai-key"}}]}}}}))
    assert gateway.post(chat("hi", "m"), headers={"x-user-openai-key": "users-own-key"}).status == 200
    head = mock.last_head(1).lower()
    assert "x-api-key: users-own-key" in head and "authorization" not in head


# ---- files that rotate ----

def until(look):
    end = time.monotonic() + 60
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def replace(file, text):
    fresh = file.with_name(file.name + ".new")
    fresh.write_text(text)
    os.replace(fresh, file)


def test_files_are_read_again(tmp_path, start):
    mock = start.mock(workers=1)
    keys, secret = tmp_path / "keys.yaml", tmp_path / "secret"
    keys.write_text(json.dumps({"keys": [{"name": "alice", "sha256": sha(ALICE)}]}))
    secret.write_text("first-secret\n")
    config = {"version": "v0.3", "providers": {"defaults": {"default_model": "m"}, "models": [
        {"name": "m", "backend_refs": [{"endpoint": f"127.0.0.1:{mock.port}", "api_key": f"${{file:{secret}}}"}]}]},
        "routing": {"decisions": []},
        "global": {"semroute": {"loops": 1, "workers": 1, "identity": {"keys_file": str(keys)}}}}
    gateway = start.gateway(json.dumps(config))
    assert gateway.post(chat("hi"), headers=bearer(ALICE)).status == 200
    assert "authorization: Bearer first-secret" in mock.last_head()
    assert gateway.post(chat("hi"), headers=bearer(NEW)).status == 401
    replace(keys, json.dumps({"keys": [{"name": "new", "sha256": sha(NEW)}]}))
    assert until(lambda: gateway.post(chat("hi"), headers=bearer(NEW)).status == 200)
    assert gateway.post(chat("hi"), headers=bearer(ALICE)).status == 401
    replace(keys, "keys: [{name: broken}]")
    assert until(lambda: "keys_file" in gateway.output()), "a file with a mistake changes nothing"
    assert gateway.post(chat("hi"), headers=bearer(NEW)).status == 200
    replace(keys, json.dumps({"keys": [{"name": "new", "sha256": sha(NEW)}]}))
    replace(secret, "second-secret")
    assert until(lambda: gateway.post(chat("hi"), headers=bearer(NEW)).status == 200
                 and "authorization: Bearer second-secret" in mock.last_head())
    assert "secret" not in gateway.output().replace(str(secret), "")


def test_it_says_so_without_keys(tmp_path):
    gateway = Gateway(None, tmp_path)
    try:
        assert until(lambda: "no_keys" in gateway.output())
    finally:
        gateway.stop()


# ---- the command ----

def test_keys_are_made(tmp_path):
    made = semroute("keys", "--name", "carol", "--tenant", "red", "--models", "a, b", "--expires", "2030-01-31", "--json")
    assert made.returncode == 0
    made = json.loads(made.stdout)
    assert made["key"].startswith("sk-sr-") and made["entry"] == {
        "name": "carol", "sha256": sha(made["key"]), "tenant": "red", "models": ["a", "b"], "expires": "2030-01-31"}
    plain = semroute("keys", "--name", "carol").stdout.splitlines()
    assert plain[1] == '- {"name":"carol","sha256":"%s"}' % sha(plain[0])
    assert plain[0] != made["key"]
    hashed = semroute("keys", "--hash", input=ALICE + "\n")
    assert hashed.stdout == '- {"name":"client","sha256":"%s"}\n' % sha(ALICE)
    assert semroute("keys", "--hash", input="short").returncode == 1
    assert semroute("keys", "--expires", "soon").returncode == 2
    passed = semroute("keys", "--expires", "2020-01-01")
    assert passed.returncode == 2 and "2020-01-01 has passed" in passed.stderr and not passed.stdout


def test_ends_of_keys_are_told(tmp_path):
    """In `check` and `doctor`: of keys that have ended, and of those that do within 21 days."""
    soon = datetime.date.today() + datetime.timedelta(days=5)
    far = tmp_path / "keys.yaml"
    far.write_text(json.dumps({"keys": [{"name": "older", "sha256": sha(BOB), "expires": "2020-01-31"}]}))
    path = tmp_path / "semroute.yaml"
    path.write_text(json.dumps({
        "version": "v0.3", "providers": {"defaults": {"default_model": "m"}, "models": [{"name": "m", "backend_refs": [{"endpoint": "127.0.0.1:1"}]}]},
        "global": {"semroute": {"identity": {"keys_file": str(far), "keys": [
            {"name": "alice", "sha256": sha(ALICE), "expires": "2999-01-31"}, {"name": "new", "sha256": sha(NEW), "expires": str(soon)},
            {"name": "old", "sha256": sha(OLD), "expires": "2020-01-31"}]}}}}))
    checked = semroute("check", path)
    assert checked.returncode == 0, checked.stdout
    for words in ("warning: key `old` has expired: requests with it are refused (2020-01-31), and 1 more",
                  f"warning: key `new` expires within 21 days ({soon})"):
        assert words in checked.stdout, checked.stdout
    assert "`alice`" not in checked.stdout
    assert "key `old` has expired" in semroute("doctor", "-c", path).stdout
