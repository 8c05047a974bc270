"""The commands are a contract: names, exit codes, where output goes, and the fields of --json."""
import json
import os
import re
import socket
import subprocess
import sys

import pytest
from conftest import BINARY, ROOT, free_ports, request, semroute, wait_http

BUILTIN = ROOT / "src" / "config" / "builtin.yaml"
COMMANDS = ["serve", "check", "explain", "classify", "embed", "compress", "eval", "bench", "cache", "models", "migrate", "mock", "version"]
TEXT = "Solve x^2 - 5x + 6 = 0 and show why both roots are right."


def test_help_of_everything():
    overview = semroute("help")
    assert overview.returncode == 0
    for command in COMMANDS:
        assert f"semroute {command}" in overview.stdout
        for asked in (semroute("help", command), semroute(command, "--help")):
            assert asked.returncode == 0 and asked.stdout.startswith(f"semroute {command}") and not asked.stderr
    bare = semroute()
    assert bare.returncode == 2 and not bare.stdout and "semroute help" in bare.stderr


@pytest.mark.parametrize("args, says", [
    (["clasify"], "did you mean `classify`?"),
    (["help", "nothing"], "unknown command `nothing`"),
    (["check"], "a file is missing"),
    (["check", "--lenent", "x"], "did you mean `--lenient`?"),
    (["migrate", "a", "b"], "too many arguments"),
    (["classify", "hello"], "--task domain"),
    (["classify", "--task", "mood", "hello"], "task `mood` is not supported: it is domain, jailbreak or pii"),
    (["eval", "--task", "mood", "README.md"], "task `mood` is not supported: it is domain, jailbreak, pii or selection"),
    (["classify", "--task", "domain", "--tier", "neural", "--model", "README.md", "hello"], "needs a folder"),
    (["classify", "--task", "domain", "--tier", "linear", "--model", "models/neural", "hello"], "is a folder"),
    (["embed", "--jsonl", "x", "hello"], "not both"),
    (["classify", "--task", "domain", "--jsonl", "x", "hello"], "not both"),
    (["eval", "--task", "domain"], "a file is missing"),
    (["explain", "--request", "x", "hello"], "not both"),
    (["models"], "list, info, verify"),
    (["bench", "nothing"], "there is no measurement `nothing`"),
    (["mock", "--port", "many"], "wants a number"),
    (["mock", "--port", "65535", "--workers", "2"], "ports up to 65535"),
])
def test_wrong_usage_is_2_and_says_what_to_do(args, says):
    done = semroute(*args)
    assert done.returncode == 2 and not done.stdout
    assert says in done.stderr


def test_each_measurement_says_what_its_options_are():
    names = re.findall(r"^  ([a-z]+) ", semroute("bench", "--help").stdout.split("Names\n")[1], re.M)
    assert len(names) > 15
    for name in names:
        done = semroute("bench", name, "--help")
        assert done.returncode == 0 and not done.stderr and done.stdout.startswith(f"semroute bench {name} ")
        wrong = semroute("bench", name, "--no-such-option")
        assert wrong.returncode == 2 and not wrong.stdout and f"semroute bench {name}" in wrong.stderr


def test_version():
    done = semroute("version")
    assert done.returncode == 0 and done.stdout.startswith("semroute ") and len(done.stdout.split()) == 2
    assert semroute("--version").stdout == done.stdout


def test_check_names_places(tmp_path):
    good = semroute("check", BUILTIN)
    assert good.returncode == 0 and "good" in good.stdout
    path = tmp_path / "bad.yaml"
    path.write_text("version: v0.3\nlisteners: [{name: a, adress: 1, port: 80}]\n")
    bad = semroute("check", path)
    assert bad.returncode == 1
    assert f"{path}:2:23: error: unknown key `adress`, did you mean `address`?" in bad.stdout
    assert "\033" not in bad.stdout
    assert "warning: unknown key `adress`" in semroute("check", "--lenient", path).stdout
    assert semroute("check", tmp_path / "none.yaml").returncode == 3
    schema = json.loads(semroute("check", "--schema").stdout)
    assert schema["type"] == "object" and "routing" in schema["properties"]


def test_compress():
    text = "".join(f"Sentence {i} tells of the {w} and of its price. " for i in range(60) for w in ("mill", "wheel", "river"))
    done = semroute("compress", "--budget", "100", "--json", input=text)
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["compressed_tokens"] <= 100 < result["original_tokens"]
    kept = [text.encode()[k["start"]:k["end"]].decode() for k in result["kept"]]
    assert result["text"] == " ".join(kept) and kept[0] == "Sentence 0 tells of the mill and of its price."
    assert {"score", "textrank", "position", "tfidf", "novelty"} <= result["kept"][0].keys() and result["us"] > 0
    assert semroute("compress", "--budget=100", input=text).stdout == result["text"] + "\n"
    tokenizer = ROOT / "tests" / "golden" / "tokenizers" / "bert-uncased.json"
    exact = json.loads(semroute("compress", "--budget=100", "--json", "--tokenizer", tokenizer, input=text).stdout)
    assert exact["estimated"] is False and 50 < exact["compressed_tokens"] <= 100
    assert semroute("compress", "--tokenizer", "/nothing", input="x").returncode == 3
    assert semroute("compress", input="Short. It stays.\n").stdout == "Short. It stays.\n"
    assert semroute("compress", "--profile", "none", input="x").returncode == 2
    assert semroute("compress", "--budget", "0", input="x").returncode == 2


def test_classify_one_text():
    one = json.loads(semroute("classify", "--task", "domain", "--tier", "linear", "--json", TEXT).stdout)
    assert one["label"] == "math" and one["tier"] == "linear" and one["us"] > 0
    assert one["confidence"] == max(one["probabilities"].values()) and len(one["probabilities"]) == 14
    assert abs(sum(one["probabilities"].values()) - 1) < 1e-4
    piped = json.loads(semroute("classify", "--task=domain", "--tier=linear", "--json", input=TEXT + "\n").stdout)
    assert piped["probabilities"] == one["probabilities"]
    assert semroute("classify", "--task", "domain", TEXT).stdout.startswith("math ")


def test_classify_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"id": {"a": [1]}, "text": TEXT}) + "\n\n" + json.dumps({"text": "\u5149\u5408"}))
    done = semroute("classify", "--task", "domain", "--jsonl", path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and not done.stderr and len(rows) == 2
    assert rows[0]["id"] == {"a": [1]} and rows[0]["label"] == "math" and "id" not in rows[1]
    path.write_text('{"text": "a"}\n{"text": 7}\n')
    done = semroute("classify", "--task", "domain", "--jsonl", path)
    assert done.returncode == 1 and f"{path}:2: no string `text`" in done.stderr


def test_eval_counts_right(tmp_path):
    path = tmp_path / "rows.jsonl"
    labels = ["math", "law", "math"]
    path.write_text("".join(json.dumps({"text": TEXT, "label": label}) + "\n" for label in labels))
    done = semroute("eval", "--task", "domain", "--json", path)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["rows"] == 3 and figures["accuracy"] == pytest.approx(2 / 3, abs=1e-5)
    assert figures["labels"]["math"] == {"precision": pytest.approx(2 / 3, abs=1e-5), "recall": 1.0, "f1": pytest.approx(0.8, abs=1e-5),
                                         "rows": 2, "precision_interval": [0.2077, 0.9385], "recall_interval": [0.3424, 1]}
    assert figures["macro_f1"] == pytest.approx(0.4, abs=1e-5)
    assert figures["confusion"]["law"] == {"math": 1}
    assert "accuracy           66.67 %" in semroute("eval", "--task", "domain", path).stdout
    path.write_text(json.dumps({"text": TEXT, "label": "cooking"}))
    done = semroute("eval", "--task", "domain", path)
    assert done.returncode == 1 and f"{path}:1: the model does not know the label `cooking`" in done.stderr
    assert semroute("eval", "--task", "domain", tmp_path / "none").returncode == 3


def test_explain_shows_what_the_router_answers_itself(tmp_path):
    """The message of an error and its code, and the content of a completion, as they are."""
    said = 'Say "hi"\n C:\\new <it>: ' + "long " * 60 + "end"
    path = tmp_path / "semroute.yaml"
    path.write_text(json.dumps({
        "version": "v0.3", "providers": {"defaults": {"default_model": "m"}, "models": [{"name": "m", "backend_refs": [{"endpoint": "127.0.0.1:1"}]}]},
        "routing": {"signals": {"keywords": [{"name": "k", "operator": "OR", "keywords": ["hello"]}]},
                    "decisions": [{"name": "d", "rules": {"type": "keyword", "name": "k"},
                                   "plugins": [{"type": "fast_response", "configuration": {"message": said}}]}]}}))
    refused = semroute("explain", "-c", path, "--model", 'a"b', "hello")
    assert refused.returncode == 1 and 'model "a"b" is not available (model_not_found)' in refused.stdout, refused.stdout
    text = [{"role": "user", "content": "hello"}]
    for endpoint, body in (("chat/completions", {"messages": text}), ("completions", {"prompt": "hello"}),
                           ("messages", {"messages": text, "max_tokens": 9}), ("responses", {"input": "hello"})):
        shown = semroute("explain", "-c", path, "--path", f"/v1/{endpoint}", "--request", "-", input=json.dumps({"model": "auto", **body}))
        assert shown.returncode == 0 and said.replace("\n", "\\n") in shown.stdout, (endpoint, shown.stdout)


def test_explain_takes_text_pipe_and_request(tmp_path):
    by_text = semroute("explain", "-c", BUILTIN, "--json", TEXT)
    assert by_text.returncode == 0, by_text.stderr
    json.loads(by_text.stdout)
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "auto", "messages": [{"role": "user", "content": TEXT}]}))
    for done in (semroute("explain", "-c", BUILTIN, input=TEXT), semroute("explain", "-c", BUILTIN, "--request", path)):
        assert done.returncode == 0 and "reasoner" in done.stdout and "science" in done.stdout
    path.write_text("{broken")
    assert semroute("explain", "-c", BUILTIN, "--request", path).returncode == 1
    for asked in (("explain", TEXT), ("serve",)):
        gone = semroute(*asked, "-c", tmp_path / "none.yaml")
        assert gone.returncode == 3 and gone.stderr.endswith(f"{tmp_path / 'none.yaml'}: No such file or directory\n")
    gone = semroute("doctor", "-c", tmp_path / "none.yaml")
    assert gone.returncode == 1 and "none.yaml: cannot be opened" in gone.stdout
    gone = semroute("classify", "--task", "domain", "--model", tmp_path / "none", TEXT)
    assert gone.returncode == 3 and gone.stderr.count(str(tmp_path)) == 1


def test_models(tmp_path):
    listed = json.loads(semroute("models", "list", "--json").stdout)
    assert listed[0]["name"] == "domain-linear"
    described = json.loads(semroute("models", "info", "--json").stdout)
    assert described["sha256"] == listed[0]["sha256"] and len(described["labels"]) == 14
    assert semroute("models", "verify").returncode == 0
    good = semroute("models", "verify", ROOT / "models" / "domain-linear")
    assert good.returncode == 0 and "model.safetensors: good" in good.stdout
    good = semroute("models", "verify", "--json", ROOT / "models" / "domain-linear")
    assert good.returncode == 0 and json.loads(good.stdout) == {
        "name": str(ROOT / "models" / "domain-linear"), "files": [{"path": "model.safetensors", "good": True}]}
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "manifest.json").write_text(json.dumps({"files": [
        {"path": "model.safetensors", "bytes": 1, "sha256": "0" * 64}]}))
    for flags in ([], ["--json"]):
        bad = semroute("models", "verify", *flags, tmp_path)
        assert bad.returncode == 1 and "should be 000" in bad.stderr
    assert json.loads(bad.stdout)["files"] == [{"path": "model.safetensors", "good": False}]
    (tmp_path / "manifest.json").write_text(json.dumps({"files": [{"path": "../x", "bytes": 1, "sha256": "0" * 64}]}))
    assert semroute("models", "verify", tmp_path).returncode == 1
    broken = semroute("models", "info", tmp_path / "model.safetensors")
    assert broken.returncode == 1 and "model.safetensors" in broken.stderr


def test_migrate(tmp_path):
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text("default_model: small\nvllm_endpoints: [{name: a, address: 127.0.0.1, port: 9001, weight: 1}]\n"
                   "model_config: {small: {preferred_endpoints: [a]}}\nsemantic_cache: {enabled: true}\n")
    done = semroute("migrate", old)
    assert done.returncode == 0 and done.stdout.count("version: v0.3") == 1
    assert f"{old}:4:17: warning: " in done.stderr
    assert semroute("migrate", "-o", new, old).returncode == 0 and new.read_text() == done.stdout
    assert semroute("migrate", "-o", new, old).returncode == 3  # it does not overwrite
    assert semroute("check", new).returncode == 0
    again = semroute("migrate", new)
    assert (again.returncode, again.stdout) == (0, done.stdout) and "already current" in again.stderr


def test_mock_says_when_its_port_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = semroute("mock", "--port", taken.getsockname()[1])
    assert done.returncode == 3 and "--port" in done.stderr


def test_mock_workers_answer_by_their_number(start):
    mock = start.mock(workers=3)
    for worker in range(3):
        answer = request(mock.port + worker, "POST", "/v1/chat/completions", {"model": "m", "messages": []}).json()
        assert answer["choices"][0]["message"]["content"].startswith(f"This is the answer of worker {worker} ")


def test_a_full_disk_is_not_success():
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(BINARY), "check", str(BUILTIN)], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=20)
    assert done.returncode == 3 and "standard output" in done.stderr


def test_serve_takes_the_peers_flag_names(start, tmp_path):
    port, metrics, api, extproc = free_ports(), free_ports(), free_ports(), free_ports()
    child = start.process([BINARY, "serve", "-config", BUILTIN, "-gateway", f"127.0.0.1:{port}", "-metrics-port",
                           str(metrics), "-api-port", str(api), "-port", str(extproc)])
    wait_http(port, "/health", child)
    wait_http(metrics, "/metrics", child)
    socket.create_connection(("127.0.0.1", extproc), timeout=5).close()


def test_the_demo_ends_well_without_a_terminal():
    done = subprocess.run([sys.executable, ROOT / "tools" / "demo.py"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "SEMROUTE": str(BINARY)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 of 12 requests answered" in done.stdout and "reasoner" in done.stdout
    assert "Ctrl-C" not in done.stdout and "\033" not in done.stdout
