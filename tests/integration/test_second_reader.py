"""The second reader of uncertain texts at every entrance: with a mixture of the test's that makes an attack of every text
which it reads, so that it is seen who was asked."""
import json
import shutil
import time

import pytest

from conftest import ROOT, semroute
from echo import Echo

PLAIN = "What is the capital of France, and how many people live there?"
SURE = {"first": 0.1, "neural": 0.1, "shift": 30, "band": 100, "tokens": 64}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The bundled models, whose multilingual heads are second readers of attacks and of the domain."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("neural", "all-MiniLM-L6-v2", "multilingual-e5-small"):
        (folder / name).symlink_to(ROOT / "models" / name)
    heads = folder / "neural-multilingual"
    shutil.copytree(ROOT / "models" / heads.name, heads)
    config = json.loads((heads / "config.json").read_text())
    config["fusion"] |= {"jailbreak_second": SURE, "domain_second": {"first": 0.2, "neural": 0.8, "certain": 1}}
    (heads / "config.json").write_text(json.dumps(config))
    return {"SEMROUTE_MODELS": str(folder)}


def configuration(port, **inference):
    """Requests with an attack are refused; an answer to one that says `answer` is read, and refused likewise."""
    return json.dumps({
        "version": "v0.3",
        "providers": {"defaults": {"default_model": "m"},
                      "models": [{"name": "m", "backend_refs": [{"name": "m", "endpoint": f"127.0.0.1:{port}"}]}]},
        "routing": {
            "signals": {"jailbreak": [{"name": "attack", "threshold": 0.7}], "domains": [{"name": "math"}],
                        "keywords": [{"name": "answer", "operator": "OR", "keywords": ["answer"]}]},
            "decisions": [
                {"name": "answer", "priority": 9, "rules": {"type": "keyword", "name": "answer"}, "modelRefs": [{"model": "m"}],
                 "plugins": [{"type": "response_jailbreak", "configuration": {"action": "block"}}]},
                {"name": "stop", "priority": 5, "rules": {"type": "jailbreak", "name": "attack"}, "modelRefs": [{"model": "m"}],
                 "plugins": [{"type": "fast_response", "configuration": {"message": "No."}}]},
                {"name": "math", "priority": 1, "rules": {"type": "domain", "name": "math"}, "modelRefs": [{"model": "m"}]}]},
        "global": {"semroute": {"inference": {"ask_below": 1, **inference}, "loops": 1, "signal_deadline_ms": 60000}}})


@pytest.fixture(scope="module")
def echo():
    echo = Echo()
    yield echo
    echo.stop()


def body(text, **more):
    return {"model": "auto", "messages": [{"role": "user", "content": text}], **more}


def encoders(gateway):
    line, = [line for line in gateway.metrics().splitlines() if line.startswith("semroute_encoders_open ")]
    return float(line.split()[1])


def test_requests_and_streamed_answers(start, models, echo):
    gateway = start.gateway(configuration(echo.port), env=models)
    end = time.monotonic() + 120
    while encoders(gateway) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    assert encoders(gateway) == 2  # before any request
    opened = [json.loads(line)["msg"] for line in gateway.output().splitlines() if '"event":"encoder_ready"' in line]
    assert len(opened) == 2 and "multilingual-e5-small" in " ".join(opened), opened
    assert gateway.post(body(PLAIN)).json()["choices"][0]["message"]["content"] == "No."
    assert f'semroute_multilingual_bytes_total{{signal="jailbreak"}} {len(PLAIN)}' in gateway.metrics()
    assert 'semroute_second_reads_total{signal="jailbreak",outcome="read"} 1' in gateway.metrics()
    answered = gateway.post(body(f"answer {PLAIN}"))
    assert (answered.status, answered.json()["error"]["code"]) == (403, "response_jailbreak_blocked")
    raw = gateway.post(body(f"answer {PLAIN}", stream=True)).body.decode()
    assert "content_filter" in raw and "France" not in raw


def test_off(start, models, echo):
    gateway = start.gateway(configuration(echo.port, multilingual="off"), env=models)
    assert gateway.post(body(PLAIN)).json()["choices"][0]["message"]["content"] == PLAIN
    assert gateway.post(body(f"answer {PLAIN}")).status == 200
    assert encoders(gateway) == 1 and "semroute_multilingual_bytes_total{" not in gateway.metrics()


def explained(tmp_path, env, signal, **changes):
    """What `explain` says of one signal, with the other decisions left out."""
    config = json.loads(configuration(9))
    config["routing"]["decisions"] = [d for d in config["routing"]["decisions"] if d["rules"]["type"] == signal]
    path = tmp_path / f"{signal}.yaml"
    path.write_text(json.dumps(config))
    done = semroute("explain", "--config", path, "--json", PLAIN, env=env)
    assert done.returncode == 0, done.stderr
    found, = json.loads(done.stdout)["signals"]
    return found


def test_explain(tmp_path, models):
    attack = explained(tmp_path, models, "jailbreak")
    assert attack["multilingual_bytes"] == len(PLAIN) and attack["rules"][0]["matched"]
    assert attack["read_twice"] == 1 and attack["tier"] == "linear+neural" and attack["neural_bytes"] == len(PLAIN)
    domain = explained(tmp_path, models, "domain")
    assert domain["multilingual_bytes"] == len(PLAIN)
    told = classify("domain", models, "--tier", "both")[0]
    assert told["label"] == domain["label"] and told["confidence"] == pytest.approx(domain["confidence"], abs=1e-3)


def classify(task, env, *more):
    rows = "".join(json.dumps({"text": t}) + "\n" for t in (PLAIN, "Wie heißt die Hauptstadt?", "word " * 100))
    done = semroute("classify", "--task", task, *more, "--jsonl", "-", input=rows, env=env)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_classify(models):
    shown = semroute("classify", "--task", "domain", "Wie berechnet man die Fläche eines Dreiecks?", env=models)
    assert (shown.returncode, shown.stderr) == (0, ""), shown.stderr
    short, german, long = classify("jailbreak", models)
    assert short["label"] == "jailbreak" and short["multilingual_bytes"] == len(PLAIN) and short["read_twice"] == 1
    assert german["multilingual_bytes"] == len("Wie heißt die Hauptstadt?".encode()) and german["score"] < 0.99
    assert "read_twice" not in german and "multilingual_bytes" not in long
    assert classify("jailbreak", models, "--tier", "linear")[0]["label"] == "benign"
