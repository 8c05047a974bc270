"""The response cache filled with known answers: by a call, by the command, at the start. What is warmed is found as if a
client had asked: exact and by meaning, plain and streamed, by those who share it and by nobody else."""
import json
import socket
import subprocess
import time

import pytest

from conftest import BINARY, request
from test_cache import Site, events, plugin, site, variant  # noqa: F401 (fixture)

KNOWN = {"question": "How do I reset my password?", "answer": "Open the settings,\n then choose \"Reset\" 漢字."}


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def warm(site, *rows, text=None):
    """Warms by the API; the report."""
    data = (lines(*rows) if text is None else text).encode()
    answer = request(site.gateway.api_port, "POST", "/api/v1/response-cache/warm", data, timeout=120)
    assert answer.status == 200, answer
    return answer.json()


def warmed(site, *rows):
    report = warm(site, *rows)
    assert report["taken"] == len(rows), report
    return report


def content(answer):
    return answer.json()["choices"][0]["message"]["content"]


def joined(answer):
    return "".join(e["choices"][0]["delta"].get("content", "") for e in events(answer.body) if e["choices"])


# ---- who finds it ----

@pytest.mark.parametrize("asked", ["How do I reset my password?", "How can I reset my password?"])
def test_a_known_question_is_answered_without_the_upstream(site, asked):
    report = warmed(site, KNOWN)
    assert report["entries"] == 2 and report["exact_only"] == 0 and not report["problems"]
    plain, streamed = site.ask(asked), site.ask(asked, stream=True)
    assert content(plain) == joined(streamed) == KNOWN["answer"]
    for answer in (plain, streamed):
        assert answer.headers["x-vsr-cache-hit"] == "true"
        assert answer.headers["x-vsr-selected-decision"] == "other"
        assert answer.headers["x-vsr-selected-model"] == "small"
    assert plain.json()["model"] == "small"
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.body.endswith(b"data: [DONE]\n\n") and b"usage" not in streamed.body
    assert site.oracle.calls == 0


def test_the_decision_of_the_question_counts(site):
    warmed(site, {"question": "Write a program that sorts", "answer": "sort()"})
    answer = site.ask("Write a program that sorts")
    assert answer.headers["x-vsr-cache-hit"] == "true" and answer.headers["x-vsr-selected-decision"] == "coding"
    assert answer.json()["model"] == "large"


@pytest.mark.parametrize("scope, header", [("user", "x-user"), ("team", "x-team"), ("tenant", "x-tenant")])
def test_others_do_not_find_it(tmp_path, scope, header):
    with variant(tmp_path, cache=plugin(scope=scope)) as site:
        warmed(site, {**KNOWN, scope: "anna"})
        for stream in (False, True):
            assert site.is_hit(KNOWN["question"], {header: "anna"}, stream=stream)
            assert not site.is_hit(KNOWN["question"], {header: "bert"}, stream=stream)
            assert not site.is_hit("How can I reset my password?", {header: "carl"}, stream=stream)
            assert not site.is_hit(KNOWN["question"], stream=stream)


def test_other_requests_do_not_find_it(site):
    warmed(site, KNOWN)
    assert not site.is_hit(KNOWN["question"], temperature=0.7)
    assert not site.is_hit("How do I delete my password?")


def test_system_prompt_and_parameters(site):
    warmed(site, {**KNOWN, "system": "Be brief. Ä", "parameters": {"temperature": 0.70, "max_tokens": 5}})
    messages = [{"role": "system", "content": "Be brief. Ä"}, {"role": "user", "content": KNOWN["question"]}]
    for escaped in (True, False):
        body = {"model": "auto", "messages": messages, "max_tokens": 5, "temperature": 0.7}
        answer = site.gateway.post(json.dumps(body, ensure_ascii=escaped).encode())
        assert answer.headers.get("x-vsr-cache-hit") == "true", escaped
    assert not site.is_hit(KNOWN["question"])


def test_one_form_only(site):
    report = warmed(site, {**KNOWN, "stream": True})
    assert report["entries"] == 1
    assert site.is_hit(KNOWN["question"], stream=True)
    assert not site.is_hit(KNOWN["question"])


def test_a_model_by_name(tmp_path):
    with variant(tmp_path, more=", default: {scope: global}") as site:
        warmed(site, {**KNOWN, "model": "large"})
        assert site.is_hit(KNOWN["question"], model="large")
        assert site.ask(KNOWN["question"], model="large").json()["model"] == "large"
        assert not site.is_hit(KNOWN["question"], model="small")


def test_a_warmed_answer_ends(site):
    warmed(site, {**KNOWN, "ttl_seconds": 1}, {"question": "Who wrote Faust?", "answer": "Goethe", "ttl_seconds": 0})
    until = time.monotonic() + 20
    while site.is_hit(KNOWN["question"]) and site.oracle.calls == 0 and time.monotonic() < until:
        time.sleep(0.05)
    assert site.oracle.calls == 1
    assert site.is_hit("Who wrote Faust?")


def test_the_newest_answer_counts(site):
    warmed(site, KNOWN)
    warmed(site, {**KNOWN, "answer": "another one"})
    assert content(site.ask(KNOWN["question"])) == "another one"
    assert site.api("stats").json()["total_entries"] == 2


# ---- whole responses, and logs ----

CALLS = [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"a\": 1}"}}]
RESPONSE = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m", "x_unknown": 2.50,
            "choices": [{"index": 0, "finish_reason": "tool_calls",
                         "message": {"role": "assistant", "content": "Zeile\neins", "reasoning_content": "hm",
                                     "tool_calls": CALLS}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}


def test_a_whole_response_is_given_as_it_is(site):
    warmed(site, {"question": "Call it", "response": RESPONSE})
    assert site.ask("Call it").json() == RESPONSE
    streamed = events(site.ask("Call it", stream=True, stream_options={"include_usage": True}).body)
    deltas = [e["choices"][0]["delta"] for e in streamed if e["choices"]]
    assert deltas[0]["role"] == "assistant"
    assert deltas[1]["content"] == "Zeile\neins" and deltas[1]["reasoning_content"] == "hm"
    assert deltas[1]["tool_calls"] == [{"index": 0, **CALLS[0]}]
    assert streamed[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert streamed[-1]["usage"] == RESPONSE["usage"]
    assert all(e["object"] == "chat.completion.chunk" and e["id"] == "chatcmpl-1" for e in streamed)


def test_a_log_of_what_clients_asked(site, tmp_path):
    """What one router's clients asked and got, as a log has it, is found in another router."""
    asked, log = [], []
    bodies = [{"messages": [{"role": "system", "content": "Brief"}, {"role": "user", "content": "Who wrote Faust?"}]},
              {"messages": [{"role": "user", "content": "Stream it"}], "stream": True},
              {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
                            {"role": "user", "content": "And then?"}], "temperature": 0.1}]
    for number, body in enumerate(bodies):
        data = json.dumps({"model": "auto", **body})
        answer = site.gateway.post(data.encode())
        asked.append((data, answer.body))
        text = answer.body.decode()
        log.append([{"request": json.loads(data), "response": text}, {"request_body": data, "response_body": text, "ts": 5},
                    {"request": data, "response": json.loads(text) if number != 1 else text}][number])
    log.append({"request": json.loads(asked[0][0]), "response": {"error": {"message": "no"}}, "status": 500})
    (tmp_path / "other").mkdir()
    with variant(tmp_path / "other") as other:
        report = warm(other, *log)
        assert (report["taken"], report["skipped"], report["invalid"]) == (3, 1, 0), report
        assert report["problems"][0]["line"] == 4 and report["problems"][0]["code"] == "upstream_non_2xx"
        for number, (data, body) in enumerate(asked):
            again = other.gateway.post(data.encode())
            assert again.headers.get("x-vsr-cache-hit") == "true", data
            assert again.json() == json.loads(body) if number == 2 else again.body == body
        assert other.oracle.calls == 0


# ---- what is not taken ----

@pytest.mark.parametrize("row, code, message", [
    ("{", "invalid", ""),
    ("[]", "invalid", "a line is a JSON object"),
    ({"answer": "a"}, "invalid", "there is no `question` and no `request`"),
    ({"question": "q"}, "invalid", "there is no `answer` or `response`"),
    ({"question": "q", "answer": "a", "response": RESPONSE}, "invalid", "`answer` and `response`: give one"),
    ({"question": "q", "answer": "a", "tennant": "t"}, "invalid", "`tennant` is no member"),
    ({"question": "q", "answer": ""}, "invalid", "`answer` must be a text that is not empty"),
    ({"question": 5, "answer": "a"}, "invalid", "`question` must be a text"),
    ({**KNOWN, "ttl_seconds": -1}, "invalid", "`ttl_seconds` must be a whole number"),
    ({**KNOWN, "ttl_seconds": 1.5}, "invalid", "`ttl_seconds` must be a whole number"),
    ({**KNOWN, "parameters": {"stream": True}}, "invalid", "`parameters` may not have `stream`"),
    ({**KNOWN, "tenant": "a\r\nx-user: b"}, "invalid", "`tenant` must be a name without line ends"),
    ({"request": 5, "answer": "a"}, "invalid", "`request` must be a JSON object"),
    ({"request": {"model": "auto", "messages": []}, "response": "data: x\n\n"}, "invalid", "asked for no stream"),
    ({"request": {"model": "auto"}, "answer": "a"}, "refused", "status 400"),
    ({**KNOWN, "model": "nobody"}, "refused", "nobody"),
    ({"question": "uncached, please", "answer": "a"}, "no_policy", "response_cache"),
    ({"question": "My card number is 4111 1111 1111 1111", "answer": "a"}, "pii_detected", "private data"),
    ({"question": "q", "response": {"choices": []}}, "incomplete", "not a whole answer"),
    ({"question": "q", "stream": False, "response": {"error": {"message": "m"}}}, "incomplete", "not a whole answer"),
    ({"question": "q", "stream": False, "answer": "x" * 1_500_000}, "too_large", "max_entry_bytes"),
    ({**KNOWN, "parameters": {"x": "x" * 1_500_000}}, "request_too_large", "max_request_bytes"),
    ({"question": "q", "answer": "a" * 3_000_000}, "invalid", "longer than 2 MiB"),
], ids=lambda v: None if not isinstance(v, str) else v[:24] or "-")
def test_a_line_that_is_not_taken(site, row, code, message):
    text = "\n\n" + (row if isinstance(row, str) else json.dumps(row)) + "\n" + lines(KNOWN)
    report = warm(site, text=text)
    assert report["taken"] == 1 and report["lines"] == 2, report
    problem = report["problems"][0]
    assert (problem["line"], problem["code"]) == (3, code), problem
    assert message in problem["message"]
    assert report["invalid" if code == "invalid" else "skipped"] == 1


def test_nobody_shares_a_line_without_its_identity(tmp_path):
    with variant(tmp_path, cache=plugin(scope="tenant")) as site:
        report = warm(site, KNOWN)
        assert report["problems"][0]["code"] == "no_identity"
        assert site.api("stats").json()["total_entries"] == 0


def test_a_policy_that_stores_nothing(tmp_path):
    with variant(tmp_path, cache=plugin(ttl_seconds=0)) as site:
        assert warm(site, KNOWN)["problems"][0]["code"] == "ttl"


def test_limits_hold(tmp_path):
    with variant(tmp_path, entries=10) as site:
        report = warm(site, *({"question": f"Question number {n} of many?", "answer": "a"} for n in range(20)))
        assert report["taken"] == 20 and report["total_entries"] == 10 and report["evicted"] == 30


def test_the_first_hundred_problems_are_told(site):
    report = warm(site, text="{\n" * 150)
    assert report["invalid"] == 150 and len(report["problems"]) == 100


def test_warming_counts_as_no_request(site):
    before = site.gateway.metrics()
    warmed(site, KNOWN)
    after = site.gateway.metrics()
    for name in ("llm_model_requests_total", "semroute_requests_total", "llm_cache_plugin_misses_total"):
        assert [x for x in before.split("\n") if x.startswith(name)] == [x for x in after.split("\n") if x.startswith(name)]


# ---- the command and the start ----

def command(site, *args, stdin=None):
    return subprocess.run([BINARY, "cache", "warm", *map(str, args), "--api", str(site.gateway.api_port)],
                          input=stdin, capture_output=True, text=True, timeout=120)


def test_the_command_names_lines(site, tmp_path):
    path = tmp_path / "known.jsonl"
    rows = [{"question": f"What is the {n}th letter of the alphabet?", "answer": str(n)} for n in range(60)]
    path.write_text(lines(*rows[:55]) + "{\"question\"\n" + lines(*rows[55:]))
    run = command(site, path)
    assert run.returncode == 1, run
    assert run.stdout.startswith("60 of 61 lines taken as 120 entries; 0 skipped, 1 invalid\n")
    assert f"{path}:56: " in run.stderr
    assert site.is_hit(rows[0]["question"]) and site.is_hit(rows[59]["question"])
    assert site.oracle.calls == 0


def test_the_command_in_json_from_standard_input(site):
    run = command(site, "-", "--json", stdin=lines(KNOWN, {"question": "uncached", "answer": "a"}))
    assert run.returncode == 0, run
    report = json.loads(run.stdout)
    assert (report["taken"], report["skipped"], report["problems"][0]["line"]) == (1, 1, 2)


def test_the_command_without_a_file_or_router(site, tmp_path):
    assert command(site).returncode == 2
    assert command(site, tmp_path / "none.jsonl").returncode == 3
    assert command(site, "-", stdin="").returncode == 1


def eventually(check):
    until = time.monotonic() + 60
    while not check() and time.monotonic() < until:
        time.sleep(0.05)
    assert check()


def test_a_file_at_the_start(tmp_path):
    path = tmp_path / "known.jsonl"
    path.write_text(lines(KNOWN) + "nonsense\n")
    with variant(tmp_path, more=f", warm_file: {path}") as site:
        eventually(lambda: site.api("stats").json()["total_entries"] == 2)
        assert content(site.ask(KNOWN["question"])) == KNOWN["answer"]
        eventually(lambda: "1 of 2 lines taken, 0 skipped, 1 invalid" in site.gateway.output())
        assert f"{path}:2: " in site.gateway.output()


def test_the_commands_of_the_cache(site):
    """stats and purge, as an operator calls them."""
    def run(*args):
        return subprocess.run([BINARY, "cache", *args, "--api", str(site.gateway.api_port)], capture_output=True,
                              text=True, timeout=60)
    warmed(site, KNOWN)
    assert "entries     2 in 2 partitions" in run("stats").stdout
    assert json.loads(run("stats", "--json").stdout)["total_entries"] == 2
    assert run("purge", "--of-model", "small", "--dry-run").stdout == "2 entries would go, of 2\n"
    assert run("purge", "--all").stdout == "2 entries removed, 0 are left\n"
    assert not site.is_hit(KNOWN["question"])
    site.gateway.stop()
    gone = run("stats")
    assert gone.returncode == 3 and "is `semroute serve` running" in gone.stderr


def test_a_stop_ends_warming(site):
    """A client that leaves, and a router that ends, leave nothing behind."""
    data = lines(*({"question": f"Question number {n} of very many?", "answer": "a"} for n in range(2000))).encode()
    with socket.create_connection(("127.0.0.1", site.gateway.api_port)) as client:
        client.sendall(b"POST /api/v1/response-cache/warm HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                       b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
        eventually(lambda: site.api("stats").json()["total_entries"] > 0)
    site.gateway.stop()
