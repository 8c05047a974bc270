"""A folder of model folders: which one serves which task, on the command line and in the server; folders of the user.

The models are the small ones of tests/golden/encoder with random weights: what they say means nothing, but it is
the same wherever the same folder answers.
"""
import json
import pathlib
import shutil

import pytest
import yaml

from conftest import ROOT, request, semroute
from keys_site import site

SMALL = ROOT / "tests" / "golden" / "encoder" / "small"
SUBJECTS = ["math", "law", "other"]
BIO = ["O", "B-PERSON", "I-PERSON", "B-GPE", "I-GPE", "B-AGE", "I-AGE"]
LORA, MERGED = "lora_intent_classifier_bert-base_model", "category_classifier_modernbert-base_model"
GUARD, PRIVATE = "jailbreak_classifier_roberta-base_model", "my-entities"
TEXT = "the quick brown fox jumps over the lazy dog"


def mapping(labels, forth="label_to_idx", back="idx_to_label"):
    return json.dumps({forth: {name: i for i, name in enumerate(labels)}, back: dict(enumerate(labels))})


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(SMALL / "bert-embed", folder / "base")
    shutil.copytree(SMALL / "bert-embed" / "adapter-domain", folder / LORA)
    (folder / LORA / "category_mapping.json").write_text(mapping(SUBJECTS, "category_to_idx", "idx_to_category"))
    shutil.copytree(SMALL / "modernbert-mean", folder / MERGED)
    shutil.copytree(SMALL / "roberta-sequence", folder / GUARD)
    shutil.copytree(SMALL / "bert-token", folder / PRIVATE)
    (folder / PRIVATE / "pii_type_mapping.json").write_text(mapping(BIO))
    return folder


def configuration(path, **inference):
    """Rules that no answer matches, so that all are asked; who answers is seen by the tier."""
    config = site(signals={"domains": [{"name": "math"}], "jailbreak": [{"name": "j", "threshold": 1.0}],
                           "pii": [{"name": "p", "threshold": 1.0}]}, domain={"threshold": 1.0}, signal_deadline_ms=60000,
                  inference=inference)
    config["routing"]["decisions"] = [
        {"name": "all", "rules": {"operator": "OR", "conditions": [
            {"type": "domain", "name": "math"}, {"type": "jailbreak", "name": "j"}, {"type": "pii", "name": "p"}]},
         "modelRefs": [{"model": "one"}]}]
    path.write_text(yaml.safe_dump(config).replace("@0", "127.0.0.1:9").replace("@1", "127.0.0.1:9"))
    return path


def test_list_says_who_serves_what(models, tmp_path):
    said = {t["task"]: t for t in json.loads(semroute("models", "list", models, "--json").stdout)}
    assert {t: pathlib.Path(x["folder"]).name for t, x in said.items() if x["folder"]} == {
        "domain": LORA, "jailbreak": GUARD, "pii": PRIVATE}
    first, second = said["domain"]["candidates"]
    assert first == {"name": LORA, "architecture": "bert", "lora": True, "adapter": True, "found_by": "name"}
    assert second == {"name": MERGED, "architecture": "modernbert", "lora": False, "adapter": False, "found_by": "name"}
    assert said["pii"]["candidates"][0]["found_by"] == "mapping" and said["embedding"]["candidates"] == []
    text = semroute("models", "list", models).stdout
    assert f"LoRA adapter, bert, by its name; before {MERGED}" in text and "no folder's name" in text
    none = semroute("models", "list", tmp_path)
    assert none.returncode == 1 and "no model folder for any task" in none.stderr
    assert semroute("models", "list", tmp_path / "gone").returncode == 3
    assert semroute("models", "info", models / LORA, "--json").returncode == 0


def test_classify_takes_a_models_folder(models):
    def ask(task, model, *more):
        done = semroute("classify", "--task", task, "--model", model, "--json", *more, TEXT)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        answer.pop("us")
        return answer

    domain = ask("domain", models)
    assert sorted(domain["probabilities"]) == sorted(SUBJECTS) and domain["tier"] == "neural"
    assert domain == ask("domain", models / LORA)
    assert ask("jailbreak", models) == ask("jailbreak", models / GUARD)
    entities = ask("pii", models)["entities"]
    assert entities == ask("pii", models / PRIVATE)["entities"]
    assert {e["type"] for e in entities} <= {"PERSON", "GPE", "AGE"}
    mail = json.loads(semroute("classify", "--task", "pii", "--model", models, "--json", "write to ann@example.com").stdout)
    assert "EMAIL_ADDRESS" in {e["type"] for e in mail["entities"]}  # the exact recognisers stay
    missing = semroute("classify", "--task", "fact_check", "--model", models, "x")
    assert missing.returncode == 3 and "has no model for `fact_check`" in missing.stderr
    wrong = semroute("classify", "--task", "pii", "--model", models / GUARD, "x")
    assert wrong.returncode == 3 and GUARD in wrong.stderr and "pii" in wrong.stderr


def explained(config, text=TEXT):
    done = semroute("explain", "-c", config, "--json", text)
    assert done.returncode == 0, done.stderr
    return {s["type"]: s for s in json.loads(done.stdout)["signals"]}


def test_rules_are_answered_by_the_found_models(models, tmp_path):
    config = configuration(tmp_path / "c.yaml", models_folder=str(models), neural_precision="fp32", ask_below=0)
    checked = semroute("check", config)
    assert checked.returncode == 0, checked.stderr
    signals = explained(config)
    assert signals["domain"]["tier"] == "neural" and signals["jailbreak"]["tier"] == "neural"
    assert signals["pii"]["tier"] == "exact+neural"
    score = json.loads(semroute("classify", "--task", "jailbreak", "--model", models / GUARD, "--json", TEXT).stdout)["score"]
    assert signals["jailbreak"]["rules"][0]["confidence"] == pytest.approx(score, abs=1e-4)


def test_a_model_id_wins_and_the_rest_is_shipped(models, tmp_path):
    some = tmp_path / "some"
    some.mkdir()
    shutil.copytree(models / GUARD, some / GUARD)
    config = yaml.safe_load(configuration(tmp_path / "c.yaml", models_folder=str(some), ask_below=0).read_text())
    modules = config["global"]["model_catalog"]["modules"]
    modules["classifier"]["pii"] = {"model_id": str(models / PRIVATE)}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    signals = explained(tmp_path / "c.yaml")
    assert signals["domain"]["tier"] == "linear" and signals["jailbreak"]["tier"] == "neural"
    assert signals["pii"]["tier"] == "exact+neural"
    modules["classifier"]["domain"]["model_id"] = str(models / LORA)
    modules["prompt_guard"] = {"model_id": str(models / GUARD)}
    del config["global"]["semroute"]["inference"]["models_folder"]
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    assert {t: s["tier"] for t, s in explained(tmp_path / "c.yaml").items()} == {
        "domain": "neural", "jailbreak": "neural", "pii": "exact+neural"}


def refusal(config, code, says):
    """`check` and `explain` say the same of a folder that does not open."""
    checked, asked = semroute("check", config), semroute("explain", "-c", config, "x")
    return checked.returncode == code and says in checked.stdout and asked.returncode != 0 and says in asked.stderr


def test_folders_that_do_not_fit(models, tmp_path):
    empty = tmp_path / "empty"
    (empty / "other").mkdir(parents=True)
    config = configuration(tmp_path / "c.yaml", models_folder=str(empty))
    checked = semroute("check", config)
    assert checked.returncode == 1 and "has no model for domain, jailbreak or pii" in checked.stdout
    assert "c.yaml:" in checked.stdout
    shutil.copytree(models / GUARD, empty / GUARD)
    (empty / GUARD / "model.safetensors").write_bytes(b"short")
    assert refusal(config, 1, f"{GUARD}/model.safetensors")
    shutil.rmtree(empty / GUARD)
    shutil.copytree(models / LORA, empty / LORA)
    assert refusal(config, 1, "its base model was not found")
    shutil.rmtree(empty / LORA)
    shutil.copytree(models / MERGED, empty / "pii-by-sequence")
    assert refusal(config, 1, "no head for `pii`")


def test_the_server_says_which_models_answer(models, start, tmp_path):
    config = yaml.safe_load(configuration(tmp_path / "c.yaml", models_folder=str(models)).read_text())
    gateway = start.gateway(yaml.safe_dump(config))
    infos = {m["name"]: m for m in request(gateway.api_port, "GET", "/info/models").json()["models"]}
    assert infos["domain-linear"]["model_path"] == f"{models}/{LORA}" and infos["domain-linear"]["categories"] == SUBJECTS
    assert infos["jailbreak"]["model_path"] == f"{models}/{GUARD}" and infos["pii"]["model_path"] == f"{models}/{PRIVATE}"
    said = request(gateway.api_port, "POST", "/api/v1/classify/intent", {"text": TEXT}).json()
    asked = json.loads(semroute("classify", "--task", "domain", "--model", models, "--json", TEXT).stdout)
    assert said["classification"]["confidence"] == pytest.approx(asked["confidence"], abs=1e-3)
    found = request(gateway.api_port, "POST", "/api/v1/classify/pii", {"text": TEXT, "options": {"confidence_threshold": 0.01}})
    assert found.status == 200
