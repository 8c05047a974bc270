"""The prompt compressor as users reach it: the command, the HTTP call, and what signals read of a routed request."""
import json
import socket
import threading
import time

from conftest import builtin_on, chat, request, semroute
from test_pools import until

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


def test_long_texts_are_for_the_workers(default_site):
    gateway, _ = default_site
    text = "\n".join(f"{i}. {TEXT}" for i in range(150))
    answers = {}

    def ask(i):
        answers[i] = request(gateway.api_port, "POST", "/api/v1/compress", {"text": text, "budget": 80 + i}, timeout=60)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):  # somebody who does not wait for the answer
        with socket.create_connection(("127.0.0.1", gateway.api_port)) as gone:
            body = json.dumps({"text": text[:200000]}).encode()
            gone.sendall(b"POST /api/v1/compress HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        assert request(gateway.api_port, "GET", "/health").status == 200
    for thread in threads:
        thread.join()
    for i, answer in answers.items():
        assert answer.status == 200, answer
        check_kept(answer.json(), text, 80 + i)
    assert request(gateway.api_port, "POST", "/api/v1/compress", {"text": TEXT * 4, "budget": "many"}).status == 400
    assert request(gateway.api_port, "POST", "/api/v1/compress", {"text": "x" * (5 << 20)}).status == 413


def test_the_upstream_gets_the_original(start):
    mock = start.mock()
    config = builtin_on(mock.port).replace("    modules:\n", "    modules:\n      prompt_compression: {enabled: true, max_tokens: 100}\n")
    gateway = start.gateway(config)
    assert gateway.post(chat(TEXT)).status == 200
    bodies = [mock.last_body(worker) for worker in range(4)]
    assert any(body and json.loads(body)["messages"][-1]["content"] == TEXT for body in bodies)
    until(lambda: "semroute_compression_ratio_count 1" in gateway.metrics())


def test_a_prompt_is_compressed_while_it_arrives(start):
    """What is decided does not depend on how the body comes, and nothing else changes."""
    mock = start.mock()
    config = builtin_on(mock.port).replace("    modules:\n", "    modules:\n      prompt_compression: {enabled: true, max_tokens: 100}\n")
    gateway = start.gateway(config.replace("global:\n", "global:\n  semroute: {signal_deadline_ms: 20000}\n"))
    text = TEXT + " \u00e9t\u00e9 \U0001F600 " + TEXT
    body = json.dumps({"messages": [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "Yes."},
                                    {"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": "Which year?"}]}],
                       "model": "auto"}).encode()
    whole = gateway.post(body)
    assert whole.status == 200, whole
    with socket.create_connection(("127.0.0.1", gateway.port)) as slow:
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                     b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body))
        for at in range(0, len(body), 5000):
            slow.sendall(body[at:at + 5000])
            time.sleep(0.01)
        answer = b"".join(iter(lambda: slow.recv(65536), b""))
    head = answer.split(b"\r\n\r\n")[0].decode().lower()
    assert head.startswith("http/1.1 200"), head
    for name in ("x-vsr-selected-model", "x-vsr-selected-decision"):
        value = whole.headers.get(name)
        assert value is None or f"{name}: {value.lower()}" in head
    bodies = [mock.last_body(worker) for worker in range(4)]
    assert any(got and json.loads(got)["messages"][-1]["content"][0]["text"] == text for got in bodies)
    until(lambda: "semroute_compression_ratio_count 2" in gateway.metrics())


def test_the_table_of_the_paper(tmp_path):
    """The bench runs on any folder of this shape; real texts are the user's to bring."""
    domains = ["math", "physics", "chemistry", "biology", "law", "economics", "computer science", "history"]
    files = {
        "longdocs-opensourceguide/docs.jsonl": [{"lang": "en", "text": TEXT}],
        "chat-rag-bills/requests.jsonl": [{"request": {"messages": [{"role": "system", "content": "Answer. Document 1: " + TEXT}]}}],
        "domain-mmlu/dev.jsonl": [{"label": d, "text": f"Question {i} of {d}: what follows from the principle of its field?"}
                                  for d in domains for i in range(60)],
        "domain-mmlu-pro/dev.jsonl": [], "domain-longfact/dev.jsonl": [],
    }
    for name, rows in files.items():
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = semroute("bench", "paper", "--table", "XI", "--data", tmp_path, "--every", 101, "--json", timeout=600)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["domain"]["guides"]["n"] > 0 and 0 <= answer["attack_kept"] <= 1
    assert answer["signals"]["pii"]["found"]["original"] == 1 and answer["signals"]["domain"]["same"] <= 1
    assert semroute("bench", "paper", "--table", "XI", "--data", tmp_path / "nowhere").returncode == 3
    assert semroute("bench", "paper", "--table", "XIII", "--data", tmp_path).returncode == 2
