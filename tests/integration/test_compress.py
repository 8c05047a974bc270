"""The prompt compressor as users reach it: the command, the HTTP call, and what signals read of a routed request."""
import json

from conftest import builtin_on, chat, request, semroute

TEXT = " ".join(f"Sentence {i} tells of {topic} and what follows from it in the year {1900 + i}."
                for i in range(60) for topic in ("rivers", "bonds", "enzymes", "treaties"))


def check_kept(answer, text, budget):
    kept = answer["kept"]
    assert kept and answer["compressed_tokens"] <= budget < answer["original_tokens"]
    raw = text.encode()
    starts = [piece["start"] for piece in kept]
    assert starts == sorted(starts)
    for piece in kept:
        assert raw[piece["start"]:piece["end"]].decode() in answer["text"]


def test_command():
    done = semroute("compress", "--budget", 100, "--json", input=TEXT)
    assert done.returncode == 0, done.stderr
    check_kept(json.loads(done.stdout), TEXT, 100)
    plain = semroute("compress", "--budget", 100, input=TEXT)
    assert plain.returncode == 0 and plain.stdout.startswith("Sentence 0 tells of rivers")
    assert semroute("compress", "--profile", "nobody", input=TEXT).returncode == 2


def test_http_call(default_site):
    gateway, _ = default_site
    answer = request(gateway.api_port, "POST", "/api/v1/compress", {"text": TEXT, "budget": 80})
    assert answer.status == 200, answer
    check_kept(answer.json(), TEXT, 80)
    by_command = json.loads(semroute("compress", "--budget", 80, "--json", input=TEXT).stdout)
    assert [k["start"] for k in answer.json()["kept"]] == [k["start"] for k in by_command["kept"]]
    for bad in ({"budget": 80}, {"text": 7}, {"text": "x", "budget": "many"}, b"{"):
        assert request(gateway.api_port, "POST", "/api/v1/compress", bad).status == 400


def test_the_upstream_gets_the_original(start):
    mock = start.mock()
    config = builtin_on(mock.port).replace("    modules:\n", "    modules:\n      prompt_compression: {enabled: true, max_tokens: 100}\n")
    gateway = start.gateway(config)
    assert gateway.post(chat(TEXT)).status == 200
    bodies = [mock.last_body(worker) for worker in range(4)]
    assert any(body and json.loads(body)["messages"][-1]["content"] == TEXT for body in bodies)
    assert "semroute_compression_ratio_count 1" in gateway.metrics()
