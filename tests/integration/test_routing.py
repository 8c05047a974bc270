"""The meaning of a request chooses the model: the committed natural requests through the built-in configuration."""
import json

from conftest import ROOT, chat, semroute

REQUESTS = [json.loads(line) for line in (ROOT / "tests/data/natural_requests.jsonl").read_text().splitlines()]
MODEL_OF = {"code": "coder", "science": "reasoner", "professional": "expert", "general": "general"}


def test_natural_requests(default_site, capsys):
    gateway, _ = default_site
    assert len(REQUESTS) >= 60
    right, misses, domains = 0, [], 0
    for case in REQUESTS:
        answer = gateway.post(chat(case["text"]), headers={"x-vsr-debug": "true"})
        assert answer.status == 200, answer
        model = answer.headers["x-vsr-selected-model"]
        domains += answer.headers.get("x-vsr-selected-category") == case["domain"]
        if model == MODEL_OF[case["decision"]]:
            right += 1
        else:
            misses.append((case["id"], case["decision"], model, case["text"]))
    with capsys.disabled():
        print(f"\nnatural requests: {right} of {len(REQUESTS)} reached the right model "
              f"({100 * right / len(REQUESTS):.1f} %), {domains} the right domain")
        for name, wanted, got, text in misses:
            print(f"  miss {name}: wanted {MODEL_OF[wanted]}, got {got}: {text[:90]!r}")
    assert right >= 0.75 * len(REQUESTS)


def test_explain_says_why(default_site):
    gateway, _ = default_site
    case = next(c for c in REQUESTS if c["id"] == "law-1")
    done = semroute("explain", "-c", gateway.config_path, "--json", case["text"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    through = gateway.post(chat(case["text"]))
    assert document["model"] == through.headers["x-vsr-selected-model"]
    domain = next(s for s in document["signals"] if s["type"] == "domain")
    assert 0 < domain["confidence"] <= 1 and len(domain["probabilities"]) == 14
    assert [rule for rule in domain["rules"] if rule["matched"]]
    picture = semroute("explain", "-c", gateway.config_path, case["text"])
    assert picture.returncode == 0 and document["decision"]["name"] in picture.stdout and document["model"] in picture.stdout


def test_explicit_models_pass_untouched(default_site):
    gateway, mock = default_site
    for number, case in enumerate(REQUESTS):
        worker = number % 4
        model = ("general", "coder", "reasoner", "expert")[worker]
        body = json.dumps(chat(case["text"], model=model), ensure_ascii=number % 2 == 0).encode()
        answer = gateway.post(body)
        assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == model
        assert mock.last_body(worker) == body
