"""Records of requests that have ended: what they have, who may read them, what is never in them, and a restart."""
import contextlib
import json
import sqlite3
import stat
import time

import pytest
import yaml

import envoy as real
from conftest import BINARY, Gateway, Mock, Process, chat, free_ports, request, semroute, wait_http
from keys_site import decision, model, site, write

PATIENCE = 60
TOKEN = "admin-token-5f1c"
SECRETS = {  # planted where a client or an operator keeps something: none may come out anywhere
    "prompt": "the-parrot-is-called-Zebedee", "key": "sk-client-31337", "header": "x-private-9f2e",
    "upstream": "sk-upstream-777", "system": "my-system-says-Quibble", "tool": "tool-words-Fandango"}
PRICES = {"small": {"prompt_per_1m": 1, "completion_per_1m": 2}, "large": {"prompt_per_1m": 10, "completion_per_1m": 20}}


def replayed(**configuration):
    return {"type": "router_replay", "configuration": {"enabled": True, **configuration}}


def config(plugin=None, everything=None, own=None, **more):
    """`code` goes to `large` with the plugin, everything else to `small`."""
    decisions = [decision("code", model="large", rules={"keyword": "code"}, plugins=[plugin] if plugin else [])]
    data = site(model("small", {"endpoint": "@0", "api_key": SECRETS["upstream"]}, pricing=PRICES["small"]),
                model("large", "@1", pricing=PRICES["large"]), default="small", decisions=decisions,
                signals={"keywords": [{"name": "code", "operator": "OR", "keywords": ["python"]}]},
                allow_anonymous=True, **({"replay": own} if own else {}), **more)
    data["global"]["services"] = {"router_replay": everything or {}}
    return data


class Site:
    def __init__(self, stack, directory, data, mock=None, name="gateway"):
        self.mock = mock or Mock(directory / "mock.log", 2)
        if not mock:
            stack.callback(self.mock.stop)
        self.gateway = Gateway(write(data, directory / f"{name}.yaml", self.mock.port).read_text(), directory, name)
        stack.callback(self.gateway.stop)

    def ask(self, text, **more):
        return self.gateway.post(chat(text, **more), headers={
            "authorization": f"Bearer {SECRETS['key']}", "x-note": SECRETS["header"], "x-request-id": f"id-{text[:10].replace(' ', '-')}"})

    def get(self, target="", headers=None):
        return request(self.gateway.api_port, "GET", "/v1/router_replay" + target, headers=headers)

    def list(self, query="", at_least=0, headers=None):
        """The page, once it has so many records: they come when an exchange has ended, after the client's last byte."""
        return until(lambda: self.get(query, headers).json(), lambda page: page["count"] >= at_least)


def until(look, good):
    end = time.monotonic() + PATIENCE
    while not good(seen := look()):
        assert time.monotonic() < end, seen
        time.sleep(0.02)
    return seen


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


def test_it_is_off_by_default(stack, tmp_path):
    one = Site(stack, tmp_path, config())
    answer = one.ask("python please")
    assert answer.status == 200 and "x-vsr-replay-id" not in answer.headers
    assert one.get().status == 404 and one.get("/replay_1").status == 404
    assert "semroute_replay_records 0" in one.gateway.metrics()


def test_a_record(stack, tmp_path):
    one = Site(stack, tmp_path, config(replayed()))
    answer = one.ask("python please")
    assert "x-vsr-replay-id" not in one.ask("nothing of that kind").headers
    page = one.list(at_least=1)
    assert {k: page[k] for k in ("object", "count", "total", "limit", "offset", "has_more")} == {
        "object": "router_replay.list", "count": 1, "total": 1, "limit": 20, "offset": 0, "has_more": False}
    record, = page["data"]
    assert record["id"] == answer.headers["x-vsr-replay-id"]
    assert record == one.get("/" + record["id"]).json()
    assert record["decision"] == "code" and record["selected_model"] == "large" and record["original_model"] == "auto"
    assert record["signals"] == {"keyword": ["code"]} and record["response_status"] == 200
    assert record["lifecycle_state"] == "completed" and record["request_id"] == "id-python-ple"
    assert record["total_tokens"] == record["prompt_tokens"] + record["completion_tokens"] > 0
    cost = (record["prompt_tokens"] * 10 + record["completion_tokens"] * 20) / 1e6
    assert record["actual_cost"] == pytest.approx(cost) and record["baseline_model"] == "large"
    assert record["candidates"] == [{"model": "large", "chosen": True}] and "model" in record["edits"]
    assert record["door"] == "gateway" and record["outcome"] == "routed" and record["total_ms"] > 0
    assert "request_body" not in record and "response_body" not in record
    assert one.get("/replay_none").status == 404 and one.get("/trajectory?session_id=a").status == 404 and one.get("/trajectory").status == 400
    assert request(one.gateway.api_port, "POST", "/v1/router_replay", b"{}", {"content-type": "application/json"}).status in (404, 405)


def test_everything_but_what_opts_out(stack, tmp_path):
    one = Site(stack, tmp_path, config({"type": "router_replay", "configuration": {"enabled": False}}, {"enabled": True}))
    assert "x-vsr-replay-id" not in one.ask("python please").headers
    assert one.ask("hello there").headers["x-vsr-replay-id"]
    assert one.ask("by name", model="large").headers["x-vsr-replay-id"]
    records = one.list(at_least=2)["data"]
    assert [(r["original_model"], r["selected_model"]) for r in records] == [("large", "large"), ("auto", "small")]
    assert records[1]["baseline_model"] == "large" and records[1]["cost_savings"] > 0
    one.gateway.get("/v1/models")
    assert one.gateway.post(b"{").status == 400
    failed = one.list(at_least=3)["data"][0]
    assert failed["outcome"] == "refused" and failed["response_status"] == 400


def test_a_recipe(stack, tmp_path):
    """Its decisions have plugins of their own, and a record says which recipe routed it."""
    data = config()
    data["recipes"] = [{"name": "careful", "routing": {"decisions": [decision("all", model="small", plugins=[replayed()])]}}]
    data["entrypoints"] = [{"model_names": ["vsr-careful"], "recipe": "careful"}]
    one = Site(stack, tmp_path, data)
    assert "x-vsr-replay-id" not in one.ask("python please").headers
    assert one.ask("python please", model="vsr-careful").headers["x-vsr-replay-id"]
    record, = one.list("?recipe=careful", at_least=1)["data"]
    assert record["recipe"] == "careful" and record["decision"] == "all" and record["selected_model"] == "small"
    assert one.get("/aggregate").json()["available_recipes"] == ["careful"]


def test_filters_pages_and_mistakes(stack, tmp_path):
    one = Site(stack, tmp_path, config(replayed(), {"enabled": True, "max_records": 50}))
    for number in range(6):
        assert one.ask(f"{number} {'python' if number % 2 else 'plain'}", stream=number == 4).status == 200
    one.list(at_least=6)
    assert one.list("?decision=code")["total"] == 3
    assert one.list("?model=small")["total"] == 3 and one.list("?model=auto")["total"] == 6
    assert one.list("?search=ID-3")["total"] == 1 and one.list("?cache_status=streamed")["total"] == 1
    assert one.list("?cache_status=cached")["total"] == 0 and one.list("?session_id=x")["total"] == 0
    assert one.list("?outcome=routed&tenant=nobody")["total"] == 0 and one.list("?min_ms=600000")["total"] == 0
    assert one.list("?max_ms=600000&decision=c%6fde")["total"] == 3
    page = one.list("?limit=2&offset=3")
    assert (page["count"], page["has_more"], page["next_offset"], page["total"]) == (2, True, 5, 6)
    assert one.list("?limit=100000")["limit"] == 100 and one.list("?offset=99")["count"] == 0
    times = [record["timestamp"] for record in one.list()["data"]]
    assert times == sorted(times, reverse=True)
    for bad in ("limit=0", "limit=x", "offset=-1", "cache_status=warm", "model=%zz", "min_ms=soon", "outcome=nonsense", "outcome=routed,failed",
                "showDetails=perhaps", "min_ms=9&max_ms=8"):
        assert one.get("?" + bad).status == 400, bad


def test_sums(stack, tmp_path):
    one = Site(stack, tmp_path, config(None, {"enabled": True}))
    for text in ("python one", "python two", "hello"):
        assert one.ask(text).status == 200
    one.list(at_least=3)
    sums = one.get("/aggregate").json()
    assert sums["object"] == "router_replay.aggregate" and sums["record_count"] == 3
    assert sums["model_selection"] == [{"name": "large", "value": 2}, {"name": "small", "value": 1}]
    assert sums["decision_distribution"] == [{"name": "code", "value": 2}, {"name": "Unknown", "value": 1}]
    assert sums["signal_distribution"] == [{"name": "keyword", "value": 2}]
    assert sums["lifecycle"] == {"completed": 3, "failed": 0, "aborted": 0}
    assert sums["summary"]["cost_record_count"] == 3 and sums["summary"]["total_saved"] > 0
    assert sums["token_volume"]["total_tokens"] == sum(r["total_tokens"] for r in one.list()["data"])
    assert sums["available_models"] == ["auto", "large", "small"] and sums["available_decisions"] == ["code"]
    assert [n["name"] for n in sums["token_breakdown"]["by_selected_model"]] == ["large", "small"]
    assert sum(sum(p["counts"].values()) for p in sums["request_timeline"]["points"]) == 3
    assert one.get("/aggregate?decision=code").json()["record_count"] == 2


def test_records_are_limited(stack, tmp_path):
    one = Site(stack, tmp_path, config(None, {"enabled": True, "max_records": 3}))
    for number in range(7):
        assert one.ask(f"{number}").status == 200
    until(lambda: one.list("?search=id-6")["total"], lambda total: total == 1)
    assert [r["request_id"] for r in one.list()["data"]] == ["id-6", "id-5", "id-4"]
    assert "semroute_replay_records 3" in one.gateway.metrics()


def secret_body(**more):
    return json.dumps({"model": "auto", "messages": [
        {"role": "system", "content": SECRETS["system"]}, {"role": "user", "content": f"python, {SECRETS['prompt']}"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": SECRETS["tool"]}}], **more}).encode()


def searched(one, directory):
    """Everything that is written or shown, but for the mock's own log."""
    ids = [record["id"] for record in one.list()["data"]]
    shown = [one.get(target).body for target in ["", "?showDetails=true", "/aggregate", *("/" + i for i in ids)]]
    files = [p.read_bytes() for p in directory.rglob("*") if p.is_file() and p.suffix not in (".yaml",) and "mock" not in p.name]
    return b"\n".join([*shown, *files, one.gateway.metrics().encode()])


SESSIONS = [({"x-session-id": "s-1"}, {}, "s-1"), ({"x-claude-code-session-id": "s-2"}, {}, "s-2"),
            ({}, {"metadata": {"session_id": "s-3"}}, "s-3"),
            ({"x-session-id": "s-4", "x-claude-code-session-id": "no"}, {"metadata": {"session_id": "no"}}, "s-4"),
            ({"x-session-id": "x" * 129}, {}, None), ({"x-session-id": "two words"}, {}, None), ({}, {"user": "someone"}, None)]


@pytest.mark.parametrize("headers,body,session", SESSIONS)
def test_the_session_of_a_request(stack, tmp_path, headers, body, session):
    one = Site(stack, tmp_path, config(replayed(), {"enabled": True}))
    assert one.gateway.post({**chat("python"), **body}, headers=headers).status == 200
    record, = one.list(at_least=1)["data"]
    assert record.get("session_id") == session
    if session:
        assert one.list(f"?session_id={session}")["total"] == 1 and one.list("?session_id=s")["total"] == 0


def say(one, number, *messages, session="s-1"):
    answer = one.gateway.post({**chat("x"), "messages": list(messages)}, headers={"x-session-id": session, "x-request-id": f"r{number}"})
    assert answer.status == 200
    one.list(f"?session_id={session}", at_least=number)
    return answer.json()["choices"][0]["message"]


def test_the_trajectory_of_a_session(stack, tmp_path):
    one = Site(stack, tmp_path, config(None, {"enabled": True, "capture_request_body": True, "capture_response_body": True}))
    user = [{"role": "user", "content": text} for text in ("hello", "python please", "thanks")]
    talk = [user[0]]
    for number in range(1, 4):
        talk.append(say(one, number, *talk))
        talk += user[number:number + 1]
    say(one, 1, user[0], session="another")
    seen = one.get("/trajectory?session_id=s-1").json()
    assert {k: seen[k] for k in ("object", "session_id", "record_count", "has_more")} == {
        "object": "router_replay.trajectory", "session_id": "s-1", "record_count": 3, "has_more": False}
    assert seen["messages"] == talk and seen["models"] == ["small", "large", "small"]
    assert [r["request_id"] for r in seen["data"]] == ["r1", "r2", "r3"]  # the oldest first
    assert not any("request_body" in r for r in seen["data"])
    page = one.get("/trajectory?session_id=s-1&limit=2").json()
    assert [r["request_id"] for r in page["data"]] == ["r1", "r2"] and page["has_more"] and page["next_offset"] == 2
    assert [r["request_id"] for r in one.get("/trajectory?session_id=s-1&offset=2").json()["data"]] == ["r3"]
    assert one.get("/trajectory?session_id=s-2").status == 404


def test_a_trajectory_without_bodies_has_no_messages(stack, tmp_path):
    one = Site(stack, tmp_path, config(None, {"enabled": True}))
    say(one, 1, {"role": "user", "content": "hello"})
    seen = one.get("/trajectory?session_id=s-1").json()
    assert seen["messages"] == [] and seen["models"] == ["small"] and len(seen["data"]) == 1


def outcomes(one, body, path="/v1/router/outcomes", headers=None):
    return request(one.gateway.api_port, "POST", path, body, headers)


def test_outcomes_are_linked_to_records(stack, tmp_path):
    path = tmp_path / "replay.db"
    data = config(None, {"enabled": True, "store_backend": "sqlite"}, {"path": str(path)})
    one = Site(stack, tmp_path, data)
    answers = [one.ask(f"{number} python") for number in range(2)]
    one.list(at_least=2)
    ids = [answer.headers["x-vsr-replay-id"] for answer in answers]
    said = {"source": "agent", "target": "model", "target_ref": "large", "verdict": "underpowered", "reason": "wrong", "score": 0.25}
    taken = outcomes(one, {"replay_id": ids[0], **said})
    assert taken.status == 200 and taken.json() == {"object": "router.outcome", "replay_id": ids[0], "recorded": True, "learned": False}
    assert outcomes(one, {"request_id": "id-0-python", "source": "user", "verdict": "good_fit"}).json()["replay_id"] == ids[0]
    assert outcomes(one, {"replay_id": ids[0], **said, "verdict": "failed"}).status == 200  # the same source and target: instead
    assert outcomes(one, {"request_id": "id-0-python", "score": True}, "/api/v1/feedback").json() == {"taken": True}
    kept = one.get("/" + ids[0]).json()["outcomes"]
    times = [o.pop("timestamp") for o in kept]
    assert times == sorted(times)
    assert kept == [{"source": "user", "verdict": "good_fit"}, {**said, "verdict": "failed"},
                    {"source": "feedback", "target": "model", "score": 1}]
    assert "outcomes" not in one.get("/" + ids[1]).json() and one.list()["total"] == 2
    one.gateway.stop()
    two = Site(stack, tmp_path, data, one.mock, "second")
    assert [len(two.get("/" + i).json().get("outcomes", [])) for i in ids] == [3, 0]


@pytest.mark.parametrize("body,status", [
    ({"replay_id": "replay_none", "verdict": "good_fit"}, 404), ({"verdict": "good_fit"}, 400), ({"replay_id": "replay_1"}, 400),
    ({"replay_id": "replay_1", "verdict": 1}, 400), ({"replay_id": "replay_1", "verdict": "v" * 257}, 400),
    ({"replay_id": "replay_1", "verdict": "v", "score": 1.1}, 400), ({"replay_id": "replay_1", "verdict": "v", "score": "1"}, 400),
    ([], 400)])
def test_outcomes_that_are_none(stack, tmp_path, body, status):
    one = Site(stack, tmp_path, config(None, {"enabled": True}))
    assert one.ask("python").status == 200
    answer = outcomes(one, body)
    assert answer.status == status and answer.json()["error"]["message"]


def test_an_outcome_teaches_the_model_that_answered(stack, tmp_path):
    data = config(None, {"enabled": True})
    data["routing"]["decisions"][0] |= {"modelRefs": [{"model": "small"}, {"model": "large"}], "algorithm": {
        "type": "bandit", "bandit": {"exploration": 0, "cost_weight": 0, "latency_weight": 0}}}
    one = Site(stack, tmp_path, data)
    answer = one.ask("1 python")
    assert answer.headers["x-vsr-selected-model"] == "small"
    one.list(at_least=1)
    replay = answer.headers["x-vsr-replay-id"]
    assert not outcomes(one, {"replay_id": replay, "target": "model", "target_ref": "large", "verdict": "failed"}).json()["learned"]
    assert not outcomes(one, {"replay_id": replay, "target": "route", "verdict": "failed"}).json()["learned"]
    assert not outcomes(one, {"replay_id": replay, "target": "model", "verdict": "curious"}).json()["learned"]
    assert outcomes(one, {"replay_id": replay, "target": "model", "target_ref": "small", "verdict": "failed"}).json()["learned"]
    assert not outcomes(one, {"replay_id": replay, "target": "model", "target_ref": "small", "verdict": "failed"}).json()["learned"]
    assert one.ask("2 python").headers["x-vsr-selected-model"] == "large"


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_no_text_unless_asked_for_and_no_key_ever(stack, tmp_path, store):
    everything = {"enabled": True, "store_backend": store}
    own = {"path": str(tmp_path / "replay.db")} if store == "sqlite" else None
    one = Site(stack, tmp_path, config(replayed(), everything, own, admin={"token": TOKEN}))
    admin = {"authorization": f"Bearer {TOKEN}"}
    headers = {"authorization": f"Bearer {SECRETS['key']}", "x-note": SECRETS["header"]}
    assert one.gateway.post(secret_body(), headers=headers).status == 200
    assert one.gateway.post(secret_body(stream=True), headers=headers).status == 200
    one.get, get = lambda target="", headers=None: get(target, admin), one.get
    one.list(at_least=2)
    one.gateway.metrics = lambda: request(one.gateway.metrics_port, "GET", "/metrics", headers=admin).body.decode()
    if store == "sqlite":
        until(lambda: rows(tmp_path / "replay.db-wal") + rows(tmp_path / "replay.db"), lambda text: text.count(b"replay_") >= 2)
    everything = searched(one, tmp_path)
    for name, secret in {**SECRETS, "token": TOKEN}.items():
        assert secret.encode() not in everything, name


def rows(path):
    return path.read_bytes() if path.exists() else b""


def test_only_the_token_reads(stack, tmp_path):
    one = Site(stack, tmp_path, config(replayed(), {"enabled": True}, admin={"token": TOKEN}))
    assert outcomes(one, {"replay_id": "replay_1", "verdict": "good_fit"}).status == 401
    for target in ("", "/aggregate", "/trajectory?session_id=a", "/replay_1"):
        assert one.get(target).status == 401
        assert one.get(target, {"authorization": "Bearer wrong"}).status == 401
    assert one.get("", {"authorization": f"Bearer {TOKEN}"}).status == 200
    assert one.gateway.get("/v1/router_replay").status == 404  # not at the door of the clients


def test_bodies_where_they_are_asked_for(stack, tmp_path):
    plugin = replayed(capture_request_body=True, capture_response_body=True, max_body_bytes=200)
    one = Site(stack, tmp_path, config(plugin))
    answer = one.ask("python please, " + "ä" * 300, stream=True)
    record, = one.list(at_least=1)["data"]
    assert "request_body" not in record
    record = one.get("/" + record["id"]).json()
    assert '"model":"large"' in record["request_body"].replace(" ", "") and "python please" in record["request_body"]
    assert record["request_body_truncated"] and len(record["request_body"].encode()) <= 200 and "\ufffd" not in record["request_body"]
    assert len(record["response_body"]) == 200 and record["response_body_truncated"]
    assert record["response_body"][:100] == answer.body[:100].decode()  # what the upstream sent
    assert one.list("?showDetails=true")["data"] == [record]


def test_private_data_that_a_guard_replaces_is_in_no_body(stack, tmp_path):
    guard = decision("redactor", model="large", rules={"pii": "mail"}, plugins=[
        {"type": "guard", "configuration": {"action": "redact", "restore": True}}])
    data = config(None, {"enabled": True, "capture_request_body": True, "capture_response_body": True})
    data["routing"]["decisions"].insert(0, guard)
    data["routing"]["signals"]["pii"] = [{"name": "mail", "pii_types_allowed": []}]
    one = Site(stack, tmp_path, data)
    answer = one.ask("python: write to jane.doe@example.com today")
    assert answer.status == 200
    one.mock.stop()
    assert one.ask("python: and to jane.doe@example.com tomorrow").status == 502
    first, second = (one.get("/" + r["id"]).json() for r in reversed(one.list(at_least=2)["data"]))
    assert first["pii_entities"] == ["EMAIL_ADDRESS"] and first["guard_action"] == "redact" and first["redacted"] == 1
    assert "write to" in first["request_body"] and second["lifecycle_state"] == "failed"
    assert "jane.doe" not in json.dumps([first, second])


def test_a_restart_keeps_the_file(stack, tmp_path):
    path = tmp_path / "replay.db"
    data = config(replayed(max_records=5), {"store_backend": "sqlite"}, {"path": str(path)})
    one = Site(stack, tmp_path, data)
    for number in range(8):
        assert one.ask(f"{number} python").status == 200
    until(lambda: one.list("?search=id-7")["total"], lambda total: total == 1)
    before = one.list()["data"]
    one.gateway.stop()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM history").fetchone() == (5,)
    two = Site(stack, tmp_path, data, one.mock, "second")
    assert two.list()["data"] == before and len(before) == 5
    assert two.ask("9 python").status == 200
    assert until(lambda: two.list()["data"][0]["request_id"], lambda found: found == "id-9-python")


def test_a_file_of_another_process_and_a_broken_one(stack, tmp_path):
    data = config(replayed(), {"store_backend": "sqlite"}, {"path": str(tmp_path / "replay.db")})
    one = Site(stack, tmp_path, data)
    two = Site(stack, tmp_path, data, one.mock, "second")
    until(two.gateway.output, lambda text: "kept in memory only" in text and "replay.db" in text)
    assert two.ask("python").headers["x-vsr-replay-id"]
    assert two.list(at_least=1)["total"] == 1
    (tmp_path / "broken.db").write_bytes(b"this is no database" * 500)
    three = Site(stack, tmp_path, config(replayed(), {"store_backend": "sqlite"}, {"path": str(tmp_path / "broken.db")}),
                 one.mock, "third")
    until(three.gateway.output, lambda text: "kept in memory only" in text)
    assert three.ask("python").status == 200 and (tmp_path / "broken.db").read_bytes().startswith(b"this is no database")


def test_a_reload_switches_it(stack, tmp_path):
    data = config()
    one = Site(stack, tmp_path, data)
    file = one.gateway.config_path
    assert one.get().status == 404
    write(config(replayed()), file, one.mock.port)
    until(lambda: one.get().status, lambda status: status == 200)

    def recorded():  # there is room for records a moment after they are asked for
        assert one.ask("python").headers["x-vsr-replay-id"]
        return one.get().json()["count"]
    until(recorded, bool)
    write(data, file, one.mock.port)
    until(lambda: one.get().status, lambda status: status == 404)
    until(one.gateway.metrics, lambda text: "semroute_replay_records 0" in text)


@pytest.mark.parametrize("store", ["postgres", "redis", "milvus", "qdrant"])
def test_other_stores_are_refused_by_name_where_they_count(tmp_path, store):
    file = tmp_path / "site.yaml"
    everything = {"store_backend": store, store: {"host": "db"}}
    file.write_text(yaml.safe_dump(config(None, everything)).replace("@0", "127.0.0.1:1").replace("@1", "127.0.0.1:2"))
    assert semroute("check", str(file)).returncode == 0
    file.write_text(yaml.safe_dump(config(replayed(), everything)).replace("@0", "127.0.0.1:1").replace("@1", "127.0.0.1:2"))
    done = semroute("check", str(file))
    assert done.returncode == 1 and f"store_backend: {store}" in done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["BUFFERED", "FULL_DUPLEX"])
def test_behind_envoy(stack, tmp_path, mode):
    plugin = replayed(capture_request_body=True, capture_response_body=True)
    data = config(plugin)
    for entry, name in zip(data["providers"]["models"], ("general", "coder")):
        entry["provider_model_id"] = name  # where the shipped routes of Envoy lead
    mock = Mock(tmp_path / "mock.log", 4)
    stack.callback(mock.stop)
    data["providers"]["models"][0]["name"], data["providers"]["models"][1]["name"] = "general", "coder"
    data["providers"]["defaults"]["default_model"] = "general"
    data["routing"]["decisions"][0]["modelRefs"] = [{"model": "coder"}]
    port, api, metrics = free_ports(), free_ports(), free_ports()
    file = write(data, tmp_path / "semroute.yaml", mock.port)
    process = Process([BINARY, "serve", "-c", file, "--gateway", "off", "--api", f"127.0.0.1:{api}", "--metrics",
                       f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{port}"], tmp_path / "semroute.log")
    stack.callback(process.stop)
    wait_http(metrics, "/metrics", process)
    envoy = real.Envoy(tmp_path, mode, port, mock.port)
    stack.callback(envoy.stop)
    answers = [request(envoy.port, "POST", "/v1/chat/completions", chat("python please", stream=stream),
                       {"content-type": "application/json"}) for stream in (False, True)]
    assert [a.status for a in answers] == [200, 200]
    page = until(lambda: request(api, "GET", "/v1/router_replay?showDetails=true").json(), lambda page: page["count"] == 2)
    for record, answer in zip(reversed(page["data"]), answers):
        assert record["id"] == answer.headers["x-vsr-replay-id"] and record["door"] == "extproc"
        assert record["decision"] == "code" and record["selected_model"] == "coder" and record["total_tokens"] > 0
        assert record["lifecycle_state"] == "completed" and "python please" in record["request_body"]
        assert answer.body.decode().startswith(record["response_body"][:40]) and record["response_body"]
