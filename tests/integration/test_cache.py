"""The response cache as a client sees it: what is answered from it, what never is, and what is kept. The upstream
numbers its answers (oracle.py), so an answer that was given again is told from a new one."""
import concurrent.futures
import json
import re
import signal
import threading
import time

import pytest

from conftest import Gateway, chat, free_ports, request, semroute
from oracle import Oracle

SITE = """
version: v0.3
listeners: [{{name: main, address: 127.0.0.1, port: {listen}}}]
providers:
  models:
    - {{name: small, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
    - {{name: large, backend_refs: [{{endpoint: "127.0.0.1:{port}"}}]}}
  defaults: {{default_model: small}}
routing:
  signals:
    keywords:
      - {{name: codes, operator: OR, keywords: [code, program]}}
      - {{name: plain, operator: OR, keywords: [uncached]}}
    pii: [{{name: private, threshold: 0.7, pii_types_allowed: [GPE, PERSON, ORGANIZATION, DATE_TIME]}}]
  decisions:
{first}    - name: uncached
      priority: 300
      rules: {{type: keyword, name: plain}}
      modelRefs: [{{model: small}}]
    - name: private
      priority: 250
      rules: {{type: pii, name: private}}
      modelRefs: [{{model: small}}]
      plugins: [{{type: guard, configuration: {{action: flag}}}}, {cache}]
    - name: coding
      priority: 200
      rules: {{type: keyword, name: codes}}
      modelRefs: [{{model: large}}]
      plugins: [{cache}]
    - name: other
      priority: 100
      modelRefs: [{{model: small}}]
      plugins: [{cache}]
global:
  services: {{authz: {{identity: {{user_id_header: x-user}}{authz}}}}}
  stores: {{response_cache: {{max_entries: {entries}}}}}
  semroute:
    access_log: stdout
    signal_deadline_ms: 20000
    guards: {{tenant_header: x-tenant}}
    cache: {{team_header: x-team, wait_ms: {wait}{more}}}
"""


def plugin(**settings):
    return json.dumps({"type": "response_cache", "configuration": {"scope": "global", **settings}})


class Site:
    def __init__(self, directory, oracle, cache=None, entries=1000, wait=5000, more="", first="", authz="", name="gateway",
                 env=None):
        self.oracle = oracle
        config = SITE.format(port=oracle.port, listen=free_ports(), cache=cache or plugin(), entries=entries,
                             wait=wait, more=more, first=first, authz=authz)
        self.gateway = Gateway(config, directory, name=name, env=env)

    def ask(self, text, headers=None, **body):
        answer = self.gateway.post(chat(text, **body), headers=headers)
        assert answer.status == 200, answer
        return answer

    def is_hit(self, text, headers=None, **body):
        return self.ask(text, headers, **body).headers.get("x-vsr-cache-hit") == "true"

    def stored(self, text, headers=None, **body):
        """Asks until the answer is one that was kept: the entry is written when the exchange has ended."""
        first = self.ask(text, headers, **body)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            again = self.ask(text, headers, **body)
            if again.headers.get("x-vsr-cache-hit") == "true":
                return first, again
            first = again
        raise AssertionError(f"never kept: {text!r}")

    def api(self, call, body=None):
        port = self.gateway.api_port
        method = "GET" if body is None else "POST"
        data = None if body is None else json.dumps(body).encode()
        return request(port, method, f"/api/v1/response-cache/{call}", data, {"content-type": "application/json"})


@pytest.fixture
def site(tmp_path):
    with Oracle() as oracle:
        site = Site(tmp_path, oracle)
        yield site
        site.gateway.stop()


def variant(tmp_path, **more):
    """A site of its own, as a context."""
    class Context:
        def __enter__(self):
            self.oracle = Oracle().__enter__()
            self.site = Site(tmp_path, self.oracle, **more)
            return self.site

        def __exit__(self, *args):
            self.site.gateway.stop()
            self.oracle.__exit__()
    return Context()


# ---- hits ----

def test_the_same_request_is_answered_again(site):
    first, again = site.stored("What is the capital of France?")
    assert again.body == first.body
    assert again.headers["content-type"] == "application/json"
    assert again.headers["x-vsr-response-path"] == "cache"
    assert again.headers["x-vsr-selected-model"] == "small"
    assert again.headers["x-vsr-selected-decision"] == "other"
    assert "x-vsr-cache-similarity" not in again.headers
    assert "x-vsr-cache-hit" not in first.headers


def test_similarity_is_shown_to_those_who_debug(site):
    site.stored("What is the capital of France?")
    again = site.ask("What is the capital of France?", {"x-vsr-debug": "true"})
    assert again.headers["x-vsr-cache-similarity"] == "1.0000"


def test_white_space_and_order_of_members_do_not_matter(site):
    site.stored("Who wrote Faust?", temperature=0.5)
    body = json.dumps({"temperature": 0.5, "messages": [{"role": "user", "content": "Who wrote Faust?"}],
                       "model": "auto"}, indent=3)
    answer = site.gateway.post(body.encode())
    assert answer.headers.get("x-vsr-cache-hit") == "true"


@pytest.mark.parametrize("stored, asked", [
    ("How do I reset my password?", "How can I reset my password?"),
    ("What is the capital of France?", "What's the capital city of France?"),
])
def test_a_paraphrase_is_answered(site, stored, asked):
    first, _ = site.stored(stored)
    again = site.ask(asked)
    assert again.headers.get("x-vsr-cache-hit") == "true", again.headers
    assert again.body == first.body


@pytest.mark.parametrize("stored, asked", [
    ("Convert 15 miles to kilometres", "Convert 50 miles to kilometres"),
    ("How do I enable two-factor login?", "How do I disable two-factor login?"),
    ("Is aspirin safe during pregnancy?", "Is aspirin not safe during pregnancy?"),
    ("What is the capital of Austria?", "What is the capital of Australia?"),
    ("Did Google acquire YouTube?", "Did YouTube acquire Google?"),
])
def test_a_contradiction_is_not(site, stored, asked):
    site.stored(stored)
    assert not site.is_hit(asked)


# ---- streams ----

def events(body):
    return [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: {")]


def test_a_stream_is_replayed_byte_for_byte(site):
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    first, again = site.stored("Stream it", stream=True, tools=tools)
    assert again.body == first.body
    assert again.headers["content-type"].startswith("text/event-stream")
    deltas = [e["choices"][0]["delta"] for e in events(again.body)]
    assert deltas[0]["role"] == "assistant"
    assert any("reasoning_content" in d for d in deltas) and any("tool_calls" in d for d in deltas)
    assert events(again.body)[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert again.body.endswith(b"data: [DONE]\n\n")


def test_usage_is_in_the_stream_only_if_asked(site):
    first, again = site.stored("Usage please", stream=True)
    assert b"usage" not in again.body and again.body == first.body
    with_usage = site.ask("Usage please", stream=True, stream_options={"include_usage": True})
    assert with_usage.headers.get("x-vsr-cache-hit") == "true"
    assert events(with_usage.body)[-1]["usage"]["total_tokens"] == 12


def test_plain_and_streamed_answers_are_apart(site):
    site.stored("Both ways")
    assert not site.is_hit("Both ways", stream=True)


# ---- what is never shared ----

@pytest.mark.parametrize("change", [
    {"temperature": 0.9}, {"max_tokens": 5}, {"seed": 7}, {"response_format": {"type": "json_object"}},
    {"tools": [{"type": "function", "function": {"name": "f"}}]}, {"stop": ["x"]}, {"n": 2}, {"model": "large"},
    {"logit_bias": {"5": 1}}, {"unknown_member": 1},
], ids=lambda c: next(iter(c)))
def test_parameters_are_part_of_the_partition(site, change):
    site.stored("The same question")
    assert not site.is_hit("The same question", **change)


@pytest.mark.parametrize("messages", [
    [{"role": "system", "content": "Answer in French."}, {"role": "user", "content": "The same question"}],
    [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
     {"role": "user", "content": "The same question"}],
    [{"role": "user", "content": [{"type": "text", "text": "The same question"},
                                  {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}],
    [{"role": "user", "content": "The same question"}, {"role": "assistant", "content": "half an ans"}],
    [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "The same question"}],
], ids=["system", "history", "image", "prefill", "developer"])
def test_the_conversation_is_part_of_the_partition(site, messages):
    site.stored("The same question")
    body = json.dumps({"model": "auto", "messages": messages}).encode()
    answer = site.gateway.post(body)
    assert answer.status == 200 and "x-vsr-cache-hit" not in answer.headers


def test_an_image_is_part_of_the_partition(site):
    def picture(name):
        return {"model": "auto", "messages": [{"role": "user", "content": [
            {"type": "text", "text": "What is on this picture?"},
            {"type": "image_url", "image_url": {"url": f"https://example.org/{name}.png"}}]}]}
    for name in ("a", "b"):
        assert "x-vsr-cache-hit" not in site.gateway.post(json.dumps(picture(name)).encode()).headers


@pytest.mark.parametrize("scope, header", [("user", "x-user"), ("team", "x-team"), ("tenant", "x-tenant")])
def test_scopes(tmp_path, scope, header):
    with variant(tmp_path, cache=plugin(scope=scope)) as site:
        site.stored("Whose answer?", {header: "anna"})
        assert site.is_hit("Whose answer?", {header: "anna"})
        assert not site.is_hit("Whose answer?", {header: "bert"})
        assert not site.is_hit("Whose answer?"), "nobody has no entries"
        assert not site.is_hit("Whose answer?"), "nor are any made"


def test_a_tenants_users_are_apart(tmp_path):
    with variant(tmp_path, cache=plugin(scope="user")) as site:
        site.stored("Whose answer?", {"x-user": "anna", "x-tenant": "a"})
        assert not site.is_hit("Whose answer?", {"x-user": "anna", "x-tenant": "b"})


# ---- what else decisions read ----

NO_BATCH = """    - name: no-batch
      priority: 400
      rules: {type: workload, name: batch}
      modelRefs: [{model: small}]
      plugins: [{type: guard, configuration: {action: block}}]
"""


def test_a_workload_in_a_header_is_guarded_as_without_the_cache(tmp_path):
    with variant(tmp_path, first=NO_BATCH, more="}\n    workloads: {header: x-workload") as site:
        def batch():
            return site.gateway.post(chat("May it wait?"), headers={"x-workload": "batch"})
        assert batch().status == 403
        site.stored("May it wait?")
        assert batch().status == 403
        site.stored("May it wait?", {"x-workload": "agent"})
        assert batch().status == 403
        assert site.is_hit("May it wait?", {"x-workload": "Agent"})


@pytest.mark.parametrize("name", ["anthropic-beta", "anthropic-version", "openai-beta", "openai-project"])
def test_a_version_or_feature_of_the_api_is_part_of_the_partition(site, name):
    site.stored("How is it read?")
    site.stored("How is it read?", {name: "of-2031"})
    assert not site.is_hit("How is it read?", {name: "of-2032"})
    assert site.is_hit("How is it read?", {name: "of-2031"})
    assert site.is_hit("How is it read?", {"anthropic-version": "2023-06-01"}), "it is this one without a header"


def sent(name):
    return {"authorization": f"Bearer sk-client-key-number-{name}"}


def test_a_key_of_few_models_is_not_answered_for_one_of_all(tmp_path):
    decision = f"""    - name: either
      priority: 400
      modelRefs: [{{model: large}}, {{model: small}}]
      plugins: [{plugin(scope="tenant")}]
"""
    keys = [{"name": name, "key": f"sk-client-key-number-{name}", "user": "u", "tenant": "acme", "models": models}
            for name, models in (("few", ["small"]), ("also", ["small"]), ("all", []))]
    identity = json.dumps({"trusted_peers": ["192.0.2.0/24"], "keys": keys})
    with variant(tmp_path, first=decision, more="}\n    identity: " + identity[:-1]) as site:
        site.stored("Which model?", sent("few"))
        assert site.is_hit("Which model?", sent("also"))
        answer = site.ask("Which model?", sent("all"))
        assert "x-vsr-cache-hit" not in answer.headers
        assert answer.headers["x-vsr-selected-model"] == "large"


def test_without_a_key_for_the_upstream_nothing_comes_from_the_cache(tmp_path):
    with variant(tmp_path, cache=plugin(scope="tenant"), authz=", providers: [{type: header-injection}]") as site:
        who = {"x-tenant": "acme"}
        refused = site.gateway.post(chat("Whose key?"), headers=who)
        assert refused.status == 401
        site.stored("Whose key?", {**who, "x-user-openai-key": "sk-own"})
        assert site.gateway.post(chat("Whose key?"), headers=who).status == 401
        assert site.is_hit("Whose key?", {**who, "x-user-openai-key": "sk-own"})


def reloads(gateway):
    return int(re.search(r'semroute_config_reloads_total{result="success"} (\d+)', gateway.metrics()).group(1))


def test_a_prompt_in_a_file_is_read_again(tmp_path):
    """The text of the configuration stays; what it stands for does not."""
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Be kind.")
    decision = f"""    - name: prompted
      priority: 400
      modelRefs: [{{model: small}}]
      plugins: [{{type: system_prompt, configuration: {{system_prompt: "${{file:{prompt}}}"}}}}, {plugin()}]
"""
    with variant(tmp_path, first=decision) as site:
        site.stored("How are you?")
        before = reloads(site.gateway)
        prompt.write_text("Be brief.")
        site.gateway.signal(signal.SIGHUP)
        until = time.monotonic() + 60
        while reloads(site.gateway) == before:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert not site.is_hit("How are you?")
        assert site.oracle.asked[-1]["messages"][0]["content"] == "Be brief."


def test_a_stream_that_a_header_asks_for_is_another_answer(site):
    site.stored("How does it come?")
    assert not site.is_hit("How does it come?", {"accept": "text/event-stream"})
    assert site.is_hit("How does it come?", {"accept": "application/json"})


def test_decisions_without_the_plugin_are_not_cached(site):
    for _ in range(3):
        assert not site.is_hit("uncached, please")


def test_requests_that_name_a_model_are_not_cached_by_default(site):
    for _ in range(3):
        assert not site.is_hit("By name", model="large")


def test_requests_that_name_a_model_with_a_default_policy(tmp_path):
    with variant(tmp_path, more=", default: {scope: global}") as site:
        first, again = site.stored("By name", model="large")
        assert again.body == first.body and again.headers["x-vsr-selected-model"] == "large"
        assert not site.is_hit("By name", model="small")


# ---- what is not kept ----

@pytest.mark.parametrize("how, status", [
    ({"status": 500}, 500), ({"status": 404}, 404), ({"error": "overloaded"}, 200),
    ({"headers": {"cache-control": "no-store"}}, 200),
], ids=["500", "404", "error", "no-store"])
def test_what_is_no_answer_is_not_kept(site, how, status):
    site.oracle.behaviour = how
    assert site.gateway.post(chat("Fails")).status == status
    site.oracle.behaviour = {}
    assert not site.is_hit("Fails")


@pytest.mark.parametrize("how", [{"cut": 4}, {"no_done": True}, {"error": "overloaded"}],
                         ids=["cut", "no end", "error"])
def test_a_stream_that_is_not_whole_is_not_kept(site, how):
    site.oracle.behaviour = how
    site.gateway.post(chat("Half", stream=True))
    site.oracle.behaviour = {}
    assert not site.is_hit("Half", stream=True)


def test_private_data_is_not_kept(site):
    text = "My card is 4111 1111 1111 1111, which plan fits me?"
    for _ in range(3):
        assert not site.is_hit(text)
    until = time.monotonic() + 60
    while 'llm_cache_write_skipped_total{reason="pii_detected"}' not in site.gateway.metrics():
        assert time.monotonic() < until, site.gateway.metrics()
        time.sleep(0.05)


def test_a_large_answer_is_not_kept(tmp_path):
    with variant(tmp_path, more=", max_entry_bytes: 1024") as site:
        for _ in range(3):
            assert not site.is_hit("long " * 300)


# ---- control ----

def controlled(tmp_path, **controls):
    return variant(tmp_path, cache=plugin(request_controls={"enabled": True, **controls}))


def test_clients_cannot_control_it_by_default(site):
    site.stored("Controls?")
    assert site.is_hit("Controls?", {"x-vsr-cache-control": "no-cache"})


def test_no_cache_asks_the_model_and_refreshes(tmp_path):
    with controlled(tmp_path) as site:
        first, _ = site.stored("Controls?")
        fresh = site.ask("Controls?", {"x-vsr-cache-control": "no-cache"})
        assert "x-vsr-cache-hit" not in fresh.headers and fresh.body != first.body
        until = time.monotonic() + 60
        while site.ask("Controls?").body != fresh.body:
            assert time.monotonic() < until, "the new answer is kept"


@pytest.mark.parametrize("word", ["no-store", "bypass"])
def test_no_store(tmp_path, word):
    with controlled(tmp_path) as site:
        for _ in range(3):
            assert not site.is_hit("Do not keep", {"x-vsr-cache-control": word})


def test_ttl_and_max_age(tmp_path):
    with controlled(tmp_path, allowed=["max-age", "ttl"]) as site:
        header = {"x-vsr-cache-control": "ttl=1"}
        site.ask("Soon gone", header)
        until = time.monotonic() + 20
        time.sleep(1.2)
        while site.is_hit("Soon gone", {"x-vsr-cache-control": "max-age=100000"}) and time.monotonic() < until:
            time.sleep(0.2)
        site.stored("Old?")
        time.sleep(1.1)
        assert not site.is_hit("Old?", {"x-vsr-cache-control": "max-age=1"})


def test_a_revision_is_another_cache(tmp_path):
    with variant(tmp_path, cache=plugin(revision={"model_revision": "1"})) as site:
        site.stored("Which revision?")
        path = site.gateway.config_path
        path.write_text(path.read_text().replace('"model_revision": "1"', '"model_revision": "2"'))
        until = time.monotonic() + 60
        while site.is_hit("Which revision?"):
            assert time.monotonic() < until
            time.sleep(0.05)


# ---- many at once ----

def test_identical_requests_share_one_call(tmp_path):
    with variant(tmp_path, wait=60000) as site:
        site.oracle.behaviour = {"delay": 1.0}
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: site.ask("All at once").body, range(16)))
        assert len(set(answers)) == 1 and site.oracle.calls == 1


def test_those_who_wait_ask_themselves_when_the_first_one_fails(site):
    site.oracle.behaviour = {"delay": 0.5, "status": 500}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: site.gateway.post(chat("All fail")).status, range(4)))
    assert answers == [500] * 4


def test_no_longer_than_wait_ms(tmp_path):
    with variant(tmp_path, wait=100) as site:
        site.oracle.behaviour = {"hold": threading.Event()}
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            answers = pool.map(lambda _: site.ask("Impatient"), range(3))
            until = time.monotonic() + 60
            while site.oracle.calls < 2 and time.monotonic() < until:
                time.sleep(0.02)
            site.oracle.behaviour["hold"].set()
            list(answers)
        assert site.oracle.calls >= 2


# ---- the API ----

def test_stats_and_invalidation(tmp_path):
    with variant(tmp_path, cache=plugin(scope="user")) as site:
        site.stored("First", {"x-user": "anna"})
        site.stored("Second", {"x-user": "bert"})
        stats = site.api("stats").json()
        assert stats["total_entries"] == 2 and stats["hit_count"] >= 2 and stats["store"]["backend"] == "memory"
        dry = site.api("invalidate", {"user": "anna"}).json()
        assert dry == {"dry_run": True, "would_remove": 1, "total_entries": 2}
        assert site.is_hit("First", {"x-user": "anna"})
        gone = site.api("invalidate", {"user": "anna", "dry_run": False}).json()
        assert gone == {"dry_run": False, "removed": 1, "total_entries": 1}
        assert not site.is_hit("First", {"x-user": "anna"}) and site.is_hit("Second", {"x-user": "bert"})


def test_flush_wants_a_confirmation(site):
    site.stored("Flush me")
    assert site.api("flush", {}).status == 400
    assert site.api("invalidate", {}).status == 400
    assert site.api("invalidate", {"user": 5}).status == 400
    assert site.api("flush", {"confirm": "flush response cache"}).json()["total_entries"] == 0
    assert not site.is_hit("Flush me")


def test_health_and_capabilities(site):
    assert site.api("health").json()["status"] == "healthy"
    assert "semantic" in site.api("capabilities").json()["modes"]


def test_entries_are_limited(tmp_path):
    with variant(tmp_path, entries=10) as site:
        for number in range(30):
            site.ask(f"Question number {number}")
        assert site.api("stats").json()["total_entries"] <= 10


def test_metrics_and_log(site):
    site.stored("Count me")
    until = time.monotonic() + 60
    while 'outcome="cached"' not in (text := site.gateway.metrics()) and time.monotonic() < until:
        time.sleep(0.05)
    assert 'llm_cache_plugin_hits_total{decision_name="other",plugin_type="response_cache"}' in text
    assert 'llm_cache_plugin_misses_total{decision_name="other",plugin_type="response_cache"}' in text
    assert 'llm_cache_entries_total{backend="memory"} 1' in text
    assert 'semroute_requests_total{door="gateway",outcome="cached"}' in text
    until = time.monotonic() + 60
    while not all(part in site.gateway.output() for part in ('"cache":"exact"', '"cache_stored":true')):
        assert time.monotonic() < until, site.gateway.output()
        time.sleep(0.05)
    assert "Count me" not in site.gateway.output()


# ---- explanations ----

def explained(site, text, **body):
    data = json.dumps({"request": chat(text, **body)}).encode()
    return request(site.gateway.api_port, "POST", "/api/v1/explain", data).json()["cache"]


def test_an_explanation_shows_the_cache(site):
    question = "How do I reset my password?"
    cold = explained(site, question)
    assert cold["used"] and cold["scope"] == "global" and cold["by_meaning"] and cold["hit"] == "none"
    assert cold["similarity_threshold"] == 0.85 and cold["ttl_seconds"] == 7200 and len(cold["partition"]) == 64
    site.stored(question)
    before = site.api("stats").json()
    exact, near = explained(site, question), explained(site, "How can I reset my password?")
    far = explained(site, "How do I reset my 5 passwords?")
    assert exact["hit"] == "exact" and exact["partition"] == cold["partition"]
    assert near["hit"] == "semantic" and near["partition"] == cold["partition"] and 0.85 <= near["similarity"] < 1
    assert far["hit"] == "none"
    after = site.api("stats").json()
    for count in ("hit_count", "miss_count", "total_entries", "singleflight_joined"):
        assert before[count] == after[count], "an explanation counts as no lookup"
    assert explained(site, question, stream=True)["partition"] != cold["partition"]


@pytest.mark.parametrize("text, body, code", [
    ("uncached, please", {}, "no_policy"),
    ("By name", {"model": "large"}, "no_policy"),
    ("long", {"x_padding": 1_200_000}, "request_too_large"),
])
def test_an_explanation_says_why_not(site, text, body, code):
    padding = {name: "x" * size if name == "x_padding" else size for name, size in body.items()}
    cache = explained(site, text, **padding)
    assert not cache["used"] and cache["not_used"]["code"] == code and len(cache["not_used"]["message"]) > 20


def test_an_explanation_of_private_data(site):
    cache = explained(site, "My card number is 4111 1111 1111 1111")
    assert cache["not_asked"]["code"] == cache["not_kept"]["code"] == "pii_detected"


def test_headers_for_those_who_debug(site):
    debug = {"x-vsr-debug": "true"}
    first = site.ask("Who wrote Faust?", debug)
    assert first.headers["x-vsr-cache-status"] == "miss" and len(first.headers["x-vsr-cache-partition"]) == 16
    site.stored("Who wrote Faust?")
    again = site.ask("Who wrote Faust?", debug, metadata={"a": "b"})
    assert again.headers["x-vsr-cache-status"] == "hit"
    assert again.headers["x-vsr-cache-partition"] == first.headers["x-vsr-cache-partition"]
    assert site.ask("Who wrote Faust?", debug).headers["x-vsr-cache-status"] == "hit"
    off = site.ask("uncached, please", debug)
    assert off.headers["x-vsr-cache-status"] == "off" and off.headers["x-vsr-cache-reason"] == "no_policy"
    plain = site.ask("Who wrote Hamlet?")
    assert not [name for name in plain.headers if name.startswith("x-vsr-cache")]


def test_the_command_explains_it(tmp_path):
    with variant(tmp_path, cache=plugin(scope="user")) as site:
        path = site.gateway.config_path
    nobody = semroute("explain", "-c", path, "Hello there")
    assert "not used: the request has not the identity that the policy's `scope` asks for (user)" in nobody.stdout
    anna = semroute("explain", "-c", path, "--user", "anna", "Hello there")
    assert "shared by: user" in anna.stdout and "kept for 7200 s" in anna.stdout
    assert semroute("explain", "-c", path, "--user", "bert", "--json", "Hello").returncode == 0
