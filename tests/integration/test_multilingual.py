"""The encoder of many languages: its numbers, its tokens, and rules and caches that compare meanings across languages."""
import json
import math

import pytest
import yaml
from conftest import ROOT, semroute
from tokenizers import Tokenizer

MODEL = "multilingual-e5-small"
GOLDEN = json.loads((ROOT / "tests" / "golden" / "embeddings" / "multilingual.json").read_text())
MODELS = {"SEMROUTE_MODELS": str(ROOT / "models")}
PASSWORD, OTHERS = GOLDEN[0], [g for g in GOLDEN if g["text"].startswith(("Il tempo", "東京", "for ("))]
SAME = GOLDEN[1:15]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def vectors(tmp_path, precision, texts):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    done = semroute("embed", "--model", "multilingual", "--precision", precision, "--jsonl", rows, env=MODELS, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["model"] for line in lines} == {MODEL}
    return [line["embedding"] for line in lines]


@pytest.mark.parametrize("precision,least", [("fp32", 0.999999), ("bf16", 0.9999), ("int8", 0.997)])
def test_vectors_are_those_of_the_published_file(tmp_path, precision, least):
    rows = [g for g in GOLDEN if g["text"]]
    for row, vector in zip(rows, vectors(tmp_path, precision, [g["text"] for g in rows])):
        assert cosine(row["vector"], vector) >= least, row["text"]
        if precision == "fp32":
            assert vector == pytest.approx(row["vector"], abs=1e-4)


def test_ids_are_the_reference_librarys():
    tokenizer = Tokenizer.from_file(str(ROOT / "models" / MODEL / "tokenizer.json"))
    for row in GOLDEN:
        assert tokenizer.encode(row["text"]).ids == row["ids"]
    # The prompt is a part of the template: the same as a text that begins with it, without one.
    bare = json.loads((ROOT / "models" / MODEL / "tokenizer.json").read_text())
    bare["post_processor"]["single"] = [p for p in bare["post_processor"]["single"]
                                        if p.get("SpecialToken", {}).get("id") != "query: "]
    assert Tokenizer.from_str(json.dumps(bare)).encode("query: 你好 world").ids == tokenizer.encode("你好 world").ids


def test_a_question_finds_itself_in_other_languages():
    near = [cosine(PASSWORD["vector"], g["vector"]) for g in SAME]
    far = [cosine(PASSWORD["vector"], g["vector"]) for g in OTHERS]
    assert min(near) > max(far)


def config(tmp_path, inference):
    path = tmp_path / "semroute.yaml"
    path.write_text(yaml.safe_dump({
        "version": "v0.3", "listeners": [{"name": "http", "address": "127.0.0.1", "port": 8080}],
        "providers": {"models": [{"name": "m", "backend_refs": [
            {"name": "a", "endpoint": "127.0.0.1:9", "protocol": "http", "weight": 1}]}]},
        "routing": {
            "signals": {"embeddings": [{"name": "reset", "threshold": 0.82, "candidates": [PASSWORD["text"]]}]},
            "decisions": [{"name": "d", "priority": 1, "modelRefs": [{"model": "m"}],
                           "rules": {"operator": "AND", "conditions": [{"type": "embedding", "name": "reset"}]}}]},
        "global": {"router": {"auto_model_name": "auto"}, "semroute": {"inference": inference}}}))
    return path


def matched(path, text):
    done = semroute("explain", "--config", path, "--json", text, env=MODELS, timeout=120)
    signal, = json.loads(done.stdout)["signals"]
    return signal["rules"][0]["matched"]


def test_a_rule_matches_across_languages(tmp_path):
    path = config(tmp_path, {"embedding_model": "multilingual"})
    assert [matched(path, g["text"]) for g in (SAME[0], SAME[3], SAME[6], OTHERS[0])] == [True, True, True, False]
    # The default encoder does not read Chinese.
    assert not matched(config(tmp_path, {}), SAME[3]["text"])


def test_a_model_that_is_not_there_is_told(tmp_path):
    done = semroute("explain", "--config", config(tmp_path, {"embedding_model": "/nowhere/e5"}), "hello", env=MODELS)
    assert done.returncode != 0 and "/nowhere/e5" in done.stderr and "embeddings" in done.stderr
