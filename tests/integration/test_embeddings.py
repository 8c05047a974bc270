"""The encoder as users see it: vectors by the API and the command line, and the behaviour without a model."""
import base64
import contextlib
import http.client
import json
import math
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

import openai
import pytest
from conftest import BINARY, ROOT, Gateway, Process, free_ports, request, semroute, wait_http

MODEL = "all-MiniLM-L6-v2"
GOLDEN = json.loads((ROOT / "tests" / "golden" / "embeddings" / "similarities.json").read_text())


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    server = Gateway(None, tmp_path_factory.mktemp("door"), env={"SEMROUTE_MODELS": str(ROOT / "models")})
    yield server
    server.stop()


def post(door, path, body):
    return request(door.api_port, "POST", path, body, timeout=120)


def fails(answer, status, code, says):
    assert answer.status == status, answer
    error = answer.json()["error"]
    assert error["code"] == code and says in error["message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", error["timestamp"])


@pytest.mark.parametrize("base", ["/v1", "/api/v1"])
def test_openai_client_ranks_as_sentence_transformers(door, base):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{door.api_port}{base}", api_key="none", max_retries=0)
    for group in GOLDEN:
        answer = client.embeddings.create(model=MODEL, input=[group["query"], *group["sentences"]])
        assert [d.index for d in answer.data] == list(range(len(group["sentences"]) + 1)) and answer.model == MODEL
        assert answer.usage.prompt_tokens == answer.usage.total_tokens > 0
        query, *others = [d.embedding for d in answer.data]
        ours = [cosine(query, v) for v in others]
        assert ours == pytest.approx(group["similarities"], abs=1e-4)
        rank = sorted(range(len(ours)), key=lambda i: -ours[i])
        assert rank == sorted(range(len(ours)), key=lambda i: -group["similarities"][i])


def test_openai_forms(door):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{door.api_port}/v1", api_key="none", max_retries=0)
    one = client.embeddings.create(model="auto", input="one text", encoding_format="float").data[0].embedding
    assert len(one) == 384 and sum(x * x for x in one) == pytest.approx(1, abs=1e-5)
    raw = post(door, "/v1/embeddings", {"model": "auto", "input": "one text", "encoding_format": "base64"}).json()
    decoded = struct.unpack("<384f", base64.b64decode(raw["data"][0]["embedding"], validate=True))
    assert list(decoded) == pytest.approx(one, abs=1e-7)
    short = client.embeddings.create(model="auto", input="one text", dimensions=61).data[0].embedding
    assert len(short) == 61 and cosine(short, one[:61]) == pytest.approx(1, abs=1e-6)
    with pytest.raises(openai.NotFoundError) as wrong:
        client.embeddings.create(model="text-embedding-3-small", input="x")
    assert wrong.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="auto", input=[[1, 2, 3]])
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="auto", input="x", dimensions=4096)
    with pytest.raises(openai.APIStatusError) as long:
        client.embeddings.create(model="auto", input="word " * 40000)
    assert long.value.status_code == 413


def test_embeddings_of_the_contract(door):
    texts = ["A cat.", "", "Ein Hund läuft – schnell 🐕", 'quotes " and \\ and \n lines']
    answer = post(door, "/api/v1/embeddings", {"texts": texts, "model": "auto", "quality_priority": 0.5}).json()
    assert answer["total_count"] == 4 and answer["total_processing_time_ms"] >= answer["avg_processing_time_ms"] > 0
    for text, e in zip(texts, answer["embeddings"]):
        assert e["text"] == text and e["modality"] == "text" and e["model_used"] == MODEL
        assert e["dimension"] == len(e["embedding"]) == 384 and e["windows"] == 1 and e["tokens"] == e["tokens_read"]
    models = request(door.api_port, "GET", "/api/v1/embeddings/models").json()["models"]
    assert models == [{"name": MODEL, "type": "bert", "loaded": True, "dimension": 384, "layers": 6,
                       "max_tokens": 512, "precision": "fp32"}]


def test_info_models(door):
    info = request(door.api_port, "GET", "/info/models").json()
    models = {m["name"]: m for m in info["models"]}
    assert models[MODEL]["loaded"] and models[MODEL]["type"] == "similarity"
    assert models[MODEL]["model_path"].endswith(MODEL) and models[MODEL]["metadata"]["tier"] == "neural"
    assert "math" in models["domain-linear"]["categories"] and models["domain-linear"]["loaded"]
    assert info["system"]["os"] == "linux" and info["system"]["gpu_available"] is False
    assert request(door.api_port, "POST", "/info/models", {}).status == 405


def test_long_texts_are_read_in_windows(door):
    long = "The committee met again on Tuesday. " * 120 + "At the end they spoke of whales. " * 40
    answer = post(door, "/api/v1/embeddings", {"texts": [long, "whales", long[:300]]}).json()
    whole, _, start = answer["embeddings"]
    assert whole["windows"] == 3 and whole["tokens"] == whole["tokens_read"] > 1000
    assert 0.3 < cosine(whole["embedding"], start["embedding"]) < 0.999


def test_similarity(door):
    for group in GOLDEN[:2]:
        for sentence, wanted in zip(group["sentences"], group["similarities"]):
            one = post(door, "/api/v1/similarity", {"text1": group["query"], "text2": sentence}).json()
            assert one["similarity"] == pytest.approx(wanted, abs=1e-4) and one["model_used"] == MODEL
        many = post(door, "/api/v1/similarity/batch",
                    {"query": group["query"], "candidates": group["sentences"], "top_k": 2}).json()
        assert many["total_candidates"] == 3 and len(many["matches"]) == 2
        best = max(range(3), key=lambda i: group["similarities"][i])
        assert many["matches"][0]["index"] == best and many["matches"][0]["text"] == group["sentences"][best]
        assert many["matches"][0]["similarity"] >= many["matches"][1]["similarity"]


@pytest.mark.parametrize("path, body, status, says", [
    ("/api/v1/embeddings", b"{", 400, "expected"),
    ("/api/v1/embeddings", b"[]", 400, "must be an object"),
    ("/api/v1/embeddings", {}, 400, "`texts` must be an array"),
    ("/api/v1/embeddings", {"texts": []}, 400, "not empty"),
    ("/api/v1/embeddings", {"texts": "one"}, 400, "must be an array"),
    ("/api/v1/embeddings", {"texts": ["a", 1]}, 400, "strings only"),
    ("/api/v1/embeddings", {"texts": ["a"], "images": ["x"]}, 400, "no images"),
    ("/api/v1/embeddings", {"texts": ["a"], "dimension": 768}, 400, "384 dimensions"),
    ("/api/v1/embeddings", {"texts": ["a"], "dimension": -1}, 400, "whole number"),
    ("/api/v1/embeddings", {"texts": ["a"], "target_layer": 7}, 400, "6 layers"),
    ("/api/v1/embeddings", {"texts": ["a"], "model": "qwen3"}, 400, "not available"),
    ("/api/v1/embeddings", {"texts": ["a"], "model": 3}, 400, "must be a string"),
    ("/api/v1/embeddings", {"texts": ["a"] * 2049}, 413, "more than 2048"),
    ("/api/v1/embeddings", {"texts": ["word " * 30000] * 6}, 413, "more tokens"),
    ("/api/v1/similarity", {"text1": "a"}, 400, "`text2` is missing"),
    ("/api/v1/similarity", {"text1": "", "text2": "a"}, 400, "`text1` must not be an empty string"),
    ("/api/v1/similarity", {"text1": None, "text2": "a"}, 400, "strings only"),
    ("/api/v1/similarity", {"text1": "a", "text2": "b", "dimension": 385}, 400, "384 dimensions"),
    ("/api/v1/similarity", {"text1": "a", "text2": "b", "model": "qwen3"}, 400, "not available"),
    ("/api/v1/similarity/batch", {"query": "", "candidates": ["b"]}, 400, "`query` must not be an empty string"),
    ("/api/v1/similarity/batch", {"query": "a", "candidates": "b"}, 400, "array of strings"),
    ("/api/v1/similarity/batch", {"query": "a", "candidates": []}, 400, "not empty"),
    ("/api/v1/similarity/batch", {"query": "a", "candidates": ["b"], "top_k": 1.5}, 400, "whole number"),
])
def test_wrong_requests(door, path, body, status, says):
    fails(post(door, path, body), status, "REQUEST_BODY_TOO_LARGE" if status == 413 else "INVALID_INPUT", says)


@pytest.mark.parametrize("body, status, says", [
    (b"{", 400, "expected"),
    (b"", 400, "unexpected"),
    (b"[]", 400, "must be an object"),
    (b'{"input": "a", "dimensions": NaN}', 400, "invalid token"),
    (b'{"input": "\xff"}', 400, "decode"),
    (b'{"input": "\\ud800"}', 400, "Unicode"),
    (b'{"input": ' + b"[" * 100000 + b"]" * 100000 + b"}", 400, "depth"),
    ({}, 400, "`input` is missing"),
    ({"texts": ["a"]}, 400, "`input` is missing"),
    ({"input": None}, 400, "a string or an array"),
    ({"input": 3}, 400, "a string or an array"),
    ({"input": {"a": "b"}}, 400, "a string or an array"),
    ({"input": []}, 400, "not empty"),
    ({"input": ""}, 400, "empty string"),
    ({"input": ["a", ""]}, 400, "empty string"),
    ({"input": [1, 2, 3]}, 400, "another tokenizer"),
    ({"input": [[1, 2], [3]]}, 400, "another tokenizer"),
    ({"input": ["a", None]}, 400, "strings only"),
    ({"input": ["a"] * 2049}, 413, "more than 2048"),
    ({"input": "a", "model": 3}, 400, "must be a string"),
    ({"input": "a", "model": "text-embedding-3-small"}, 404, "not available"),
    ({"input": "a", "dimensions": 0}, 400, "from 1 to"),
    ({"input": "a", "dimensions": 1.5}, 400, "whole number"),
    ({"input": "a", "dimensions": "8"}, 400, "whole number"),
    ({"input": "a", "dimensions": 385}, 400, "384 dimensions"),
    ({"input": "a", "dimensions": 10 ** 30}, 400, ""),
    ({"input": "a", "encoding_format": "int8"}, 400, "float or base64"),
    ({"input": "a", "encoding_format": 3}, 400, "float or base64"),
])
def test_wrong_requests_of_openai(door, body, status, says):
    """Whatever is wrong, its clients read the error in their own shape."""
    answer = post(door, "/v1/embeddings", body)
    error = answer.json()["error"]
    assert answer.status == status and says in error["message"] and error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}


def test_openai_answers(door):
    many = post(door, "/v1/embeddings", {"input": [f"text {i}" for i in range(100)], "model": MODEL, "user": "u"}).json()
    assert [d["index"] for d in many["data"]] == list(range(100)) and many["object"] == "list" and many["model"] == MODEL
    assert {d["object"] for d in many["data"]} == {"embedding"} and len(many["data"][99]["embedding"]) == 384
    assert many["usage"] == {"prompt_tokens": 400, "total_tokens": 400}  # two words and the template's two
    short = post(door, "/v1/embeddings", {"input": "one text", "dimensions": 1, "encoding_format": None}).json()
    assert abs(short["data"][0]["embedding"][0]) == pytest.approx(1)
    blank = post(door, "/v1/embeddings", {"input": "   ", "dimensions": 3})
    assert blank.status == 200 and blank.json()["usage"]["prompt_tokens"] == 2
    get = request(door.api_port, "GET", "/v1/embeddings")
    assert get.status == 405 and get.json()["error"]["type"] == "invalid_request_error"


def test_other_methods_and_sizes(door):
    assert request(door.api_port, "GET", "/api/v1/similarity").status == 405
    assert post(door, "/api/v1/embeddings", b"x" * ((4 << 20) + 1)).status == 413


def test_clients_that_leave(door):
    body = json.dumps({"texts": ["a text of a few words that takes a while " * 40] * 30}).encode()
    head = f"POST /api/v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", door.api_port)) as s:
            s.sendall(head + body)
            time.sleep(0.01)
    answer = post(door, "/api/v1/embeddings", {"texts": ["still there"]})
    assert answer.status == 200 and answer.json()["total_count"] == 1


def lonely(tmp_path):
    """A copy of the program where no models lie around it, and how to run it."""
    binary = tmp_path / "bin" / "semroute"
    binary.parent.mkdir()
    shutil.copy2(BINARY, binary)
    env = {k: v for k, v in os.environ.items() if k != "SEMROUTE_MODELS"}
    return binary, {"cwd": tmp_path, "env": env}


def test_without_a_model(tmp_path):
    binary, how = lonely(tmp_path)
    ports = [free_ports(1) for _ in range(3)]
    log = open(tmp_path / "log", "wb")
    child = subprocess.Popen([binary, "serve", "--gateway", str(ports[0]), "--api", str(ports[1]), "--metrics",
                              str(ports[2]), "--extproc", "off"], stdout=log, stderr=subprocess.STDOUT, **how)
    try:
        for _ in range(3000):
            with contextlib.suppress(OSError, http.client.HTTPException):
                if request(ports[1], "GET", "/ready").status == 200:
                    break
            time.sleep(0.02)
        for _ in range(3000):
            said = (tmp_path / "log").read_text()
            if "neural_tier_off" in said:
                break
            time.sleep(0.02)
        assert "neural_tier_off" in said and "the linear tier answers" in said
        fails(request(ports[1], "POST", "/api/v1/embeddings", {"texts": ["a"]}), 503, "EMBEDDING_UNAVAILABLE",
              "linear tier")
        assert request(ports[1], "GET", "/api/v1/embeddings/models").json() == {"models": []}
        models = {m["name"]: m["loaded"] for m in request(ports[1], "GET", "/info/models").json()["models"]}
        assert models[MODEL] is False and models["domain-linear"] is True
        explained = request(ports[1], "POST", "/api/v1/explain", {"text": "Solve x^2 = 4."})
        assert explained.status == 200
    finally:
        child.terminate()
        child.wait(60)
        log.close()
    done = subprocess.run([binary, "embed", "hello"], capture_output=True, text=True, **how)
    assert done.returncode == 3 and "make setup" in done.stderr and not done.stdout
    listed = subprocess.run([binary, "models", "list"], capture_output=True, text=True, **how)
    assert listed.returncode == 0 and "not found" in listed.stdout
    assert subprocess.run([binary, "models", "verify"], capture_output=True, text=True, **how).returncode == 0


def test_a_folder_that_does_not_fit(tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(ROOT / "models" / MODEL, folder)
    (folder / "config.json").write_text((folder / "config.json").read_text().replace("384", "385"))
    config = tmp_path / "c.yaml"
    config.write_text(f"version: v0.3\nglobal: {{model_catalog: {{embeddings: {{semantic: "
                      f"{{mmbert_model_path: {folder}}}}}}}}}\n")
    done = semroute("serve", "-c", config, "--gateway", str(free_ports(1)), "--api", str(free_ports(1)),
                    "--metrics", str(free_ports(1)), "--extproc", "off")
    assert done.returncode == 1 and str(folder) in done.stderr
    assert semroute("embed", "--model", folder, "hello").returncode == 3
    info = semroute("models", "info", folder)
    assert info.returncode == 1 and str(folder) in info.stderr


def test_embed_command(tmp_path):
    env = {**os.environ, "SEMROUTE_MODELS": str(ROOT / "models")}

    def run(*args, **how):
        return subprocess.run([BINARY, "embed", *args], capture_output=True, text=True, env=env, **how)

    group = GOLDEN[0]
    rows = tmp_path / "rows.jsonl"
    texts = [group["query"], *group["sentences"], "long " * 2000]
    rows.write_text("".join(json.dumps({"text": t, "id": i}) + "\n" for i, t in enumerate(texts)))
    done = run("--jsonl", rows)
    assert done.returncode == 0 and not done.stderr
    out = [json.loads(line) for line in done.stdout.splitlines()]
    assert [o["id"] for o in out] == list(range(len(texts))) and out[-1]["windows"] > 1
    assert all(o["us"] > 0 and o["model"] == MODEL and o["dimensions"] == len(o["embedding"]) == 384 for o in out)
    query, *others = [o["embedding"] for o in out]
    assert [cosine(query, v) for v in others[:3]] == pytest.approx(group["similarities"], abs=1e-4)
    alone = json.loads(run("--json", group["query"]).stdout)
    assert alone["embedding"] == pytest.approx(query, abs=1e-6) and alone["tokens"] == alone["tokens_read"]
    piped = json.loads(run("--json", input=group["query"] + "\n").stdout)
    assert piped["embedding"] == pytest.approx(query, abs=1e-6)
    for precision, least in (("bf16", 0.999), ("int8", 0.97)):
        lower = json.loads(run("--json", "--precision", precision, group["query"]).stdout)
        assert cosine(lower["embedding"], query) > least
    assert "384 numbers" in run("hello").stdout
    assert run("--dimensions", "400", "x").returncode == 2
    assert run("--jsonl", rows, "x").returncode == 2
    assert run("--model", tmp_path, "x").returncode == 3
    rows.write_text('{"text": "fine"}\n{"nothing": 1}\n')
    bad = run("--jsonl", rows)
    assert bad.returncode == 1 and ":2:" in bad.stderr
    assert [json.loads(line)["tokens"] for line in bad.stdout.splitlines()] == [1]  # what stood before it
    odd = json.loads(run("--json", input="").stdout)
    assert odd["tokens"] == 0 and all(x == x for x in odd["embedding"])
    assert run("--layers", "7", "x").returncode == 2 and run("--dimensions", "-1", "x").returncode == 2
    assert run("--model", "no-such-model", "x").returncode == 3


def test_classify_and_eval_by_a_folder_of_ones_own(tmp_path):
    folder = ROOT / "tests" / "golden" / "encoder" / "small" / "bert-sequence"
    labels = list(json.loads((folder / "category_mapping.json").read_text())["category_to_idx"])
    ask = ["--task", "mood", "--model", folder]
    one = json.loads(semroute("classify", *ask, "--json", "the quick brown fox").stdout)
    assert one["tier"] == "neural" and one["task"] == "mood" and sorted(one["probabilities"]) == sorted(labels)
    assert sum(one["probabilities"].values()) == pytest.approx(1, abs=1e-4) and one["label"] in labels
    assert one["confidence"] == max(one["probabilities"].values())
    rows = tmp_path / "rows.jsonl"
    texts = ["the quick brown fox", "a b c", "", "long " * 1000]
    rows.write_text("".join(json.dumps({"text": t, "label": labels[0], "id": i}) + "\n" for i, t in enumerate(texts)))
    out = [json.loads(line) for line in semroute("classify", *ask, "--jsonl", rows).stdout.splitlines()]
    assert [o["id"] for o in out] == [0, 1, 2, 3] and out[0]["label"] == one["label"]
    measured = json.loads(semroute("eval", *ask, "--json", rows).stdout)
    assert measured["rows"] == 4 and measured["tier"] == "neural"
    assert measured["accuracy"] == pytest.approx(sum(o["label"] == labels[0] for o in out) / 4)
    wrong = semroute("classify", "--task", "domain", "--model", ROOT / "models" / MODEL, "x")
    assert wrong.returncode == 3 and "no head" in wrong.stderr


def test_models_commands(tmp_path):
    env = {**os.environ, "SEMROUTE_MODELS": str(ROOT / "models")}

    def run(*args):
        return subprocess.run([BINARY, "models", *args], capture_output=True, text=True, env=env)

    listed = {m["name"]: m for m in json.loads(run("list", "--json").stdout)}
    assert listed[MODEL]["tier"] == "neural" and listed[MODEL]["where"].endswith(MODEL)
    info = json.loads(run("info", MODEL, "--json").stdout)
    assert info["architecture"] == "bert" and info["layers"] == 6 and info["max_tokens"] == 512
    assert [h["kind"] for h in info["heads"]] == ["embedding"]
    assert run("info", "nope").stderr.count("nope") == 1 and run("info", "nope").returncode == 3
    folder = run("info", str(tmp_path))
    assert folder.returncode == 1 and f"semroute models list {tmp_path}" in folder.stderr
    few = tmp_path / "few.txt"
    few.write_text("How do I reset it?\nWie geht das?\n\n一二三\nThe weather is nice today\n")
    done = run("verify", MODEL, "--text", few, "--json")
    assert done.returncode == 0, done.stderr
    verified = json.loads(done.stdout)
    assert verified["texts"] == 4 and [r["precision"] for r in verified["rows"]] == ["fp32", "bf16", "int8"]
    fp32, bf16, int8 = verified["rows"]
    assert fp32["agreement"] == 1 and fp32["largest_difference"] == 0 and fp32["weight_bytes"] > bf16["weight_bytes"]
    assert bf16["lowest_cosine"] > 0.999 and int8["lowest_cosine"] > 0.95


def test_tokens_are_those_of_hugging_face(tmp_path):
    shutil.copy(ROOT / "tests" / "golden" / "tokenizers" / "mmbert.json", tmp_path)
    shutil.copy(ROOT / "models" / MODEL / "tokenizer.json", tmp_path / "minilm.json")
    done = subprocess.run([BINARY, "bench", "tokenizer", "--each", tmp_path, "--seconds", "0.01", "--python",
                           sys.executable, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(r["tokenizer"], r["bytes"], r["same_tokens"]) for r in rows] == [("minilm", 65536, True),
                                                                              ("mmbert", 65536, True)]


def test_many_clients_are_measured():
    """1, 8, 32 and 128 clients with batches and without, on a tiny model: everything is classified."""
    model = ROOT / "tests" / "golden" / "encoder" / "small" / "bert-sequence"
    done = semroute("bench", "concurrency", "--model", model, "--seconds", "0.03", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["heads"] == 1 and [r["clients"] for r in measured["rows"]] == [1, 8, 32, 128]
    assert all(r["unclassified"] == 0 and r[mode]["per_s"] > 0 and r[mode]["p99_ms"] >= r[mode]["p50_ms"] > 0
               for r in measured["rows"] for mode in ("batched", "alone"))
    assert semroute("bench", "concurrency", "--heads", "/nowhere/heads").returncode == 3


def test_start_is_measured():
    done = subprocess.run([BINARY, "bench", "start", "--repeats", "1", "--json"], capture_output=True, text=True,
                          env={**os.environ, "SEMROUTE_MODELS": str(ROOT / "models")})
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 4 and all(r["ready_ms"] > 0 and r["resident_mb"] < 200 for r in rows)
