"""`check`, `migrate` and the JSON Schema as users see them: positions, hints, exit codes, files that then route."""
import json

import pytest
from conftest import ROOT, chat, semroute
from keys_site import MATH

DATA = ROOT / "tests" / "data" / "config"
GOOD = """\
version: v0.3
providers:
  defaults:
    default_model: small
    reasoning_families: {qwen3: {type: chat_template_kwargs, parameter: enable_thinking}}
  models:
    - {name: small, reasoning_family: qwen3, backend_refs: [{name: s, endpoint: "127.0.0.1:8000"}]}
    - {name: large, backend_refs: [{name: l, endpoint: "127.0.0.1:8001", weight: 2}]}
routing:
  signals:
    keywords: [{name: code, keywords: [python], fuzzy_threshold: 2}]
    domains: [{name: math}]
  decisions:
    - name: hard
      rules: {type: domain, name: math}
      modelRefs: [{model: large, use_reasoning: false}]
      plugins: [{type: system_prompt, configuration: {system_prompt: Be brief.}}]
global:
  semroute: {log_level: warn}
"""


def check(path, text, *flags, env=None):
    path.write_text(text)
    return semroute("check", *flags, path, env=env)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "site.yaml"


def test_a_good_file(file):
    done = check(file, GOOD)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}: good: 2 models, 1 decisions\n", "")


@pytest.mark.parametrize("right, wrong, line, column, says", [
    ("fuzzy_threshold: 2", "fuzzy_treshold: 2", 11, 49, "unknown key `fuzzy_treshold`, did you mean `fuzzy_threshold`?"),
    ("fuzzy_threshold: 2", "fuzzy_threshold: many", 11, 66, "`fuzzy_threshold`: expected a whole number, found `many`"),
    ("fuzzy_threshold: 2", "fuzzy_threshold: 101", 11, 66, "`fuzzy_threshold` must be between 0 and 100, found 101"),
    ("fuzzy_threshold: 2", "method: regexp", 11, 57, "`method`: unknown value `regexp`, did you mean `regex`?"),
    ("default_model: small", "default_model: smal", 4, 20, "no model `smal` in providers.models, did you mean `small`?"),
    ("reasoning_family: qwen3", "reasoning_family: qwen", 7, 39,
     "no family `qwen` in providers.defaults.reasoning_families, did you mean `qwen3`?"),
    ('"127.0.0.1:8000"', "127.0.0.1:x", 7, 81, "`endpoint`: expected `host:port` (IPv6 as `[::1]:8000`), found `127.0.0.1:x`"),
    ("weight: 2", "weight: 0", 8, 82, "`weight` must be above 0 and at most 1000000, found 0"),
    ("{name: large", "{name: small", 8, 14, "model `small` is given twice; the first is on line 7"),
    ("rules: {type: domain, name: math}", "rules: {type: domain, name: maths}", 15, 35,
     "no rule `maths` in routing.signals.domains, did you mean `math`?"),
    ("rules: {type: domain, name: math}", "rules: {operator: XOR, conditions: []}", 15, 25,
     "`operator`: unknown value `XOR`, did you mean `OR`?"),
    ("use_reasoning: false", "use_reasoning: never", 16, 49, "`use_reasoning`: expected true or false, found `never`"),
    ("type: system_prompt", "type: system_promt", 17, 24, "unknown plugin `system_promt`, did you mean `system_prompt`?"),
    ("type: system_prompt", "type: rag", 17, 24,
     "plugin `rag` is not supported by this version of semroute: nothing is added to a request but a system prompt"),
    ("  semroute: {log", "  router: {model_selection: {method: kmeans}}\n  semroute: {log", 19, 38,
     "`method`: `kmeans` is not supported by this version of semroute: there is no such algorithm"),
    ("log_level: warn", "log_level: loud", 19, 25,
     "`log_level`: unknown value `loud`; it is one of `debug`, `info`, `warn`, `error`"),
    ("  semroute:", "\tsemroute:", 19, 1, "YAML is indented with spaces; this line has a tab"),
    ("version: v0.3", "version: v0.9", 1, 10, "`version`: unknown value `v0.9`; a file in today's shape says `version: v0.3`; one from before versions is flat, "
     "and `semroute migrate FILE` converts it"),
])
def test_a_mistake_has_its_place_and_a_hint(file, right, wrong, line, column, says):
    assert right in GOOD
    done = check(file, GOOD.replace(right, wrong, 1))
    assert done.returncode == 1 and not done.stderr
    assert done.stdout.splitlines()[0] == f"{file}:{line}:{column}: error: {says}"


def test_every_mistake_is_told_in_the_order_of_the_file(file):
    text = GOOD.replace("default_model: small", "default_model: smal").replace("weight: 2", "wieght: 2").replace("warn", "loud")
    places = [line.split(":")[1] for line in check(file, text).stdout.splitlines()]
    assert places == ["4", "8", "19"]


def test_lenient_turns_unknown_keys_into_warnings_and_nothing_else(file):
    text = GOOD.replace("weight: 2", "wieght: 2").replace("type: system_prompt", "type: hallucination")
    assert check(file, text).returncode == 1
    done = check(file, text, "--lenient")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"{file}:8:74: warning: unknown key `wieght`, did you mean `weight`?",
        f"{file}:17:24: warning: plugin `hallucination` is not supported by this version of semroute: "
        "answers are read for attacks alone",
        f"{file}: good: 2 models, 1 decisions"]
    done = check(file, text.replace("warn}", "loud}"), "--lenient")
    assert done.returncode == 1 and "19:25: error: `log_level`" in done.stdout


def test_exit_codes(file, tmp_path):
    assert check(file, GOOD).returncode == 0
    assert check(file, "version: v0.3\nprovider: {}\n").returncode == 1
    missing = semroute("check", tmp_path / "none.yaml")
    assert missing.returncode == 3 and f"{tmp_path / 'none.yaml'}: error: cannot be opened" in missing.stdout
    assert semroute("check").returncode == 2 and semroute("check", "--strict", file).returncode == 2
    assert check(file, "").returncode == 1
    assert check(file, "[1, 2").returncode == 1


def test_variables_that_are_not_set(file):
    text = GOOD.replace('"127.0.0.1:8000"', '"${SMALL_AT}"').replace("weight: 2", "api_key_env: LARGE_KEY")
    unset = [("7:81", "`${SMALL_AT}`: this environment variable is not set; ${NAME:-default} gives a default"),
             ("8:87", "`api_key_env`: the environment variable `LARGE_KEY` is not set")]
    done = check(file, text)
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == [f"{file}:{place}: warning: {says}" for place, says in unset]
    started = semroute("serve", "--lenient", "-c", file, "--gateway", "127.0.0.1:0", "--api", "off", "--metrics", "off",
                       "--extproc", "off")
    assert started.returncode != 0 and f"{file}:7:81: error: {unset[0][1]} (and 1 more)" in started.stderr, started.stderr
    assert check(file, text, env={"SMALL_AT": "127.0.0.1:8000", "LARGE_KEY": "k"}).returncode == 0
    wrong = check(file, text, env={"SMALL_AT": "no where", "LARGE_KEY": "k"})
    assert wrong.returncode == 1 and f"{file}:7:81: error: `endpoint`" in wrong.stdout
    loops = GOOD.replace("{log_level: warn}", "\n    loops: ${LOOPS:-3}")
    assert check(file, loops).returncode == 0
    assert "20:12: error: `loops`: expected a whole number, found `all`" in check(file, loops, env={"LOOPS": "all"}).stdout


def test_files_that_are_not_there(file, tmp_path):
    gone = tmp_path / "gone"
    text = GOOD.replace("weight: 2", f"tls_ca_file: {gone}").replace(
        "{log_level: warn}", f"{{gateway: {{tls: {{cert_file: {gone}, key_file: {gone}}}}}}}") + (
        f"  model_catalog: {{modules: {{classifier: {{domain: {{model_id: {gone}}}}}}}}}\n")
    done = check(file, text)
    assert done.returncode == 1
    assert [line.removeprefix(f"{file}:") for line in done.stdout.splitlines()] == [
        f"{place}: error: `{key}`: cannot open `{gone}`: No such file or directory" for place, key in (
            ("8:87", "tls_ca_file"), ("19:41", "cert_file"), (f"19:{53 + len(str(gone))}", "key_file"))] + [
        f"20:61: warning: `model_id`: there is no `{gone}`: the built-in model takes its place"]
    started = semroute("serve", "-c", file, "--gateway", "127.0.0.1:0", "--api", "off", "--metrics", "off",
                       "--extproc", "off")
    assert started.returncode != 0 and f"{file}:8:87: error: `tls_ca_file`: cannot open" in started.stderr


def test_secrets_that_are_not_there(file, tmp_path):
    gone = tmp_path / "gone"
    text = GOOD.replace("{log_level: warn}", f'{{admin: {{token: "${{file:{gone}}}"}}, identity: {{keys_file: {gone}}}}}')
    done = check(file, text)
    assert done.returncode == 0 and done.stdout.count(": warning: ") == 2 and str(gone) in done.stdout, done.stdout
    started = semroute("serve", "-c", file, "--gateway", "127.0.0.1:0", "--api", "off", "--metrics", "off", "--extproc", "off")
    assert started.returncode == 1 and "error: `${file:" in started.stderr, started.stderr


def test_what_only_compiling_shows(file, tmp_path):
    done = check(file, GOOD.replace("[python], fuzzy_threshold: 2", "['(open'], method: regex"))
    assert done.returncode == 1
    assert f"{file}:11:40: error: keyword rule `code`, keyword 1: bad pattern at byte 5: missing closing parenthesis" in done.stdout
    done = check(file, GOOD.replace("[python], fuzzy_threshold: 2", "['(open', fine, '[x'], method: regex")
                 .replace("    domains:", "    structure: [{name: s, feature: {type: count, source: {type: regex, pattern: '*'}}}]\n    domains:", 1))
    assert done.returncode == 1
    assert [line.split(":")[1] for line in done.stdout.splitlines() if "error: " in line] == ["11", "11", "12"]
    recipes = "recipes: [{name: r, routing: {decisions: [{name: d, modelRefs: [{model: small}]}]}}]\nentrypoints: [{model_names: [r], recipe: r}]\n"
    done = check(file, GOOD.replace("[python], fuzzy_threshold: 2", "['(open'], method: regex") + recipes)
    assert done.returncode == 1 and done.stdout.count("error: keyword rule `code`") == 1, done.stdout
    structure = "structure: [{name: s, feature: {type: count, source: {type: regex, pattern: '[a'}}}]\n    domains:"
    done = check(file, GOOD.replace("domains:", structure).replace("{type: domain, name: math}", "{type: structure, name: s}"))
    assert done.returncode == 1 and f"{file}:12:81: error: structure rule `s`: bad pattern" in done.stdout, done.stdout
    (tmp_path / "model").write_bytes(b"no model")
    done = check(file, GOOD + f"  model_catalog: {{modules: {{classifier: {{domain: {{model_id: {tmp_path / 'model'}}}}}}}}}\n")
    assert done.returncode == 1 and str(tmp_path / "model") in done.stdout


def test_a_severity_that_is_unknown_is_never_found(file):
    text = GOOD.replace("domains:", "events: [{name: alert, severities: [warning, High]}]\n    domains:").replace(
        "{type: domain, name: math}", "{type: event, name: alert}")
    done = check(file, text)
    assert done.returncode == 0 and "`warning` is never found" in done.stdout, done.stdout
    for asked, decision in (("warning: the disk is full", None), ("severity HIGH", "hard")):
        explained = json.loads(semroute("explain", "-c", file, "--json", asked).stdout)
        assert (explained["decision"] or {}).get("name") == decision, asked


def test_a_tokenizer_that_is_none_is_named_with_its_place(file, tmp_path):
    wrong = tmp_path / "tokenizer.json"
    wrong.write_text('{"model": {"type": "Oracle"}}')
    text = GOOD + f"  model_catalog:\n    modules:\n      prompt_compression: {{enabled: true, tokenizer: {wrong}}}\n"
    line = text[:text.index("prompt_compression")].count("\n") + 1
    done = check(file, text)
    assert done.returncode == 1 and f"{file}:{line}:54: error: `tokenizer`: {wrong}: " in done.stdout, done.stdout
    started = semroute("serve", "-c", file, "--gateway", "127.0.0.1:0", "--api", "off", "--metrics", "off", "--extproc", "off")
    assert started.returncode != 0 and f"{file}:{line}:54: error: `tokenizer`: {wrong}: " in started.stderr, started.stderr
    wrong.unlink()
    assert f"{file}:{line}:54: error: `tokenizer`: cannot open `{wrong}`" in check(file, text).stdout


def migrated(name, tmp_path, places):
    """The new file, with the addresses of the old one's endpoints replaced, after `check` had nothing to say."""
    new = tmp_path / f"{name}.yaml"
    done = semroute("migrate", DATA / f"{name}.yaml", "-o", new)
    assert done.returncode == 0, done.stderr
    *values, good = semroute("check", new).stdout.splitlines()
    assert good == f"{new}: good: {places.pop('good')}"
    assert all(line.endswith(" has on_error: match") or "nothing is cached here" in line for line in values), values
    text = new.read_text()
    for old, now in places.items():
        assert old in text
        text = text.replace(old, now)
    own = "\n  semroute:\n"
    assert text.count(own) == 1
    return text.replace(own, own + "    signal_deadline_ms: 20000\n"), done.stderr  # these machines are slow


def test_a_file_of_the_first_release_routes(start, tmp_path):
    mock = start.mock(2)
    text, warnings = migrated("release_l0", tmp_path, {
        "good": "2 models, 5 decisions", "192.0.2.11:8000": f"127.0.0.1:{mock.port}",
        "192.0.2.12:8000": f"127.0.0.1:{mock.port + 1}"})
    path = DATA / "release_l0.yaml"
    assert f"{path}:8:3: warning: `semantic_cache` gave answers of one client to all others" in warnings
    gateway = start.gateway(text)
    answer = gateway.post(chat(MATH, model="MoM"))
    assert answer.headers["x-vsr-selected-decision"] == "math" and answer.headers["x-vsr-selected-model"] == "reason-large"
    body = json.loads(mock.last_body(1))
    assert body["model"] == "reason-large" and body["chat_template_kwargs"] == {"enable_thinking": True}
    assert body["messages"][0] == {"role": "system", "content": "You are a mathematician. Show every step."}
    law = gateway.post(chat("Is a verbal contract binding when the landlord breaches the lease under common law?", model="MoM"))
    assert law.headers["x-vsr-selected-model"] == "chat-small" and law.headers["x-vsr-selected-decision"] == "law"


def test_a_file_of_the_second_release_routes(start, tmp_path):
    mock = start.mock(1)
    text, warnings = migrated("release_l1", tmp_path, {
        "good": "1 models, 4 decisions", "vllm.models.internal:8000": f"127.0.0.1:{mock.port}"})
    path = DATA / "release_l1.yaml"
    assert "clear_route_cache" not in warnings and "    clear_route_cache: true\n" in text
    gateway = start.gateway(text)
    assert gateway.post(chat(MATH)).headers["x-vsr-selected-decision"] == "math_decision"
    body = json.loads(mock.last_body())
    assert body["model"] == "math-expert" and body["chat_template_kwargs"] == {"enable_thinking": True}
    assert "x-team: numbers" in mock.last_head().lower()
    assert gateway.post(chat("Why does my Python loop end early?")).headers["x-vsr-selected-decision"] == "code_decision"
    body = json.loads(mock.last_body())
    assert body["model"] == "code-expert" and body["messages"][0]["content"] == "You write short programs."
    urgent = gateway.post(chat("Urgent: why does my Python loop end early?")).headers
    assert urgent.get("x-vsr-selected-decision") != "code_decision"
    assert "base-model" in [m["id"] for m in gateway.get("/v1/models").json()["data"]]


def test_migrate_refuses_what_it_cannot_read(file, tmp_path):
    file.write_text(GOOD)
    done = semroute("migrate", file)
    assert (done.returncode, done.stdout) == (0, GOOD) and f"{file}: warning: already current" in done.stderr
    file.write_text(GOOD.replace("v0.3", "v0.2"))
    done = semroute("migrate", file)
    assert done.returncode == 1 and "only flat files, which have no `version`" in done.stderr and not done.stdout
    existing = tmp_path / "new.yaml"
    existing.write_text("mine")
    done = semroute("migrate", DATA / "release_l0.yaml", "-o", existing)
    assert done.returncode != 0 and existing.read_text() == "mine"
    flat = check(file, (DATA / "release_l0.yaml").read_text())
    assert flat.returncode == 1 and "`semroute migrate FILE`" in flat.stdout


def test_the_example_of_the_readme_is_good(tmp_path):
    text = (ROOT / "README.md").read_text()
    (tmp_path / "semroute.yaml").write_text(text.split("```yaml\n", 1)[1].split("```", 1)[0])
    done = semroute("check", tmp_path / "semroute.yaml")
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout
