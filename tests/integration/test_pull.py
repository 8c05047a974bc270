"""semroute models pull: from a hub on loopback that has a real model folder of tests/golden; no hub of the world was
asked."""
import json
import os
import shutil

import pytest

from conftest import ROOT, semroute
from hub import COMMIT, Hub

SMALL = ROOT / "tests" / "golden" / "encoder" / "small" / "bert-embed"
TEXT = "the quick brown fox jumps over the lazy dog"


def folder_files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))
            if p.is_file() and not str(p.relative_to(folder)).startswith("adapter")}


@pytest.fixture
def hub():
    files = folder_files(SMALL)
    files |= {"README.md": b"# a card\n", "pytorch_model.bin": b"x" * 1000, "onnx/model.onnx": b"y" * 1000,
              "onnx/config.json": b"{}", "manifest.json": b"{}", "LICENSE": b"Apache-2.0\n"}
    hub = Hub(files)
    yield hub
    hub.close()


def pull(hub, *args, env=None, name="acme/tiny"):
    return semroute("models", "pull", name, "--hub", hub.url, *args, env=env)


def test_pulls_what_it_reads(hub, tmp_path):
    to = tmp_path / "deep" / "tiny"
    run = pull(hub, "--to", to, "--json")
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert said["revision"] == COMMIT and said["folder"] == str(to)
    wanted = {p for p in hub.files if p not in ("pytorch_model.bin", "onnx/model.onnx", "onnx/config.json", "manifest.json")
              and not p.endswith((".npz", ".py", ".bin"))}
    assert {f["path"] for f in said["files"]} == wanted
    for path in wanted:
        assert (to / path).read_bytes() == hub.files[path]
    assert not (to / "onnx").exists() and not (to / "pytorch_model.bin").exists()
    assert [p.name for p in to.parent.iterdir()] == ["tiny"]
    # It is the model: the same vector as that of the folder it came from.
    vectors = [json.loads(semroute("embed", "--model", m, "--json", TEXT).stdout)["embedding"] for m in (to, SMALL)]
    assert vectors[0] == vectors[1]
    assert semroute("models", "verify", to).returncode == 0
    # Files of one commit, whatever happens to the branch meanwhile.
    assert all(f"/resolve/{COMMIT}/" in path for name, path, _ in hub.asked if name == "hub" and "resolve" in path)


def test_into_the_models_folder_by_name(hub, tmp_path):
    env = {"SEMROUTE_MODELS": str(tmp_path / "models"), "HF_ENDPOINT": hub.url + "/"}
    run = semroute("models", "pull", "acme/tiny", "--revision", "refs/pr/1", env=env)
    assert run.returncode == 0, run.stderr
    assert str(tmp_path / "models" / "tiny") in run.stdout and COMMIT in run.stdout
    assert semroute("embed", "--model", "tiny", TEXT, env=env).returncode == 0


def test_goes_on_where_it_ended(hub, tmp_path):
    weights = len(hub.files["model.safetensors"])
    hub.cut["model.safetensors"] = weights // 2
    first = pull(hub, "--to", tmp_path / "tiny")
    assert first.returncode == 3 and "model.safetensors" in first.stderr
    assert not (tmp_path / "tiny").exists()
    asked = len(hub.asked)
    second = pull(hub, "--to", tmp_path / "tiny")
    assert second.returncode == 0, second.stderr
    again = [(path, headers) for name, path, headers in hub.asked[asked:] if name == "store"]
    assert [h.get("range") for p, h in again if p.startswith("/model.safetensors")] == [f"bytes={weights // 2}-"]
    assert (tmp_path / "tiny" / "model.safetensors").read_bytes() == hub.files["model.safetensors"]
    # A third time asks for the list alone.
    asked = len(hub.asked)
    third = pull(hub, "--to", tmp_path / "tiny")
    assert third.returncode == 0 and "there already" in third.stdout
    assert [path for _, path, _ in hub.asked[asked:]] == ["/api/models/acme/tiny/revision/main?blobs=true"]


def test_the_disk_needs_room_for_the_rest_alone(hub, tmp_path):
    """The hub says a size beyond what is free; the file that is there has it but for some bytes, and takes no room."""
    disk = os.statvfs(tmp_path)
    size = disk.f_bavail * disk.f_frsize + (1 << 30)
    hub.lie["model.safetensors"] = {"lfs": {"sha256": "ab" * 32, "size": size, "pointerSize": 134}}
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 3 and "are free" in run.stderr
    with open(next(tmp_path.glob("tiny.partial-*")) / "model.safetensors", "wb") as file:
        file.truncate(size - 10)
    asked = len(hub.asked)
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 3 and "are free" not in run.stderr
    assert any(headers.get("range") == f"bytes={size - 10}-" for _, _, headers in hub.asked[asked:])


def test_a_damaged_file_is_not_kept(hub, tmp_path):
    good = hub.files["model.safetensors"]
    hub.lie["model.safetensors"] = {"lfs": {"sha256": "ab" * 32, "size": len(good), "pointerSize": 134}}
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 3 and "SHA-256" in run.stderr and "model.safetensors" in run.stderr
    assert not (tmp_path / "tiny").exists()
    assert not list(tmp_path.rglob("model.safetensors"))
    hub.lie["model.safetensors"] = {"lfs": {"sha256": "ab" * 32, "size": len(good) - 10, "pointerSize": 134}}
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 3 and "longer than" in run.stderr


def test_the_token_goes_to_the_hub_alone(hub, tmp_path):
    hub.token = "secret-of-the-hub"
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 1 and "HF_TOKEN" in run.stderr
    run = pull(hub, "--to", tmp_path / "tiny", env={"HF_TOKEN": hub.token})
    assert run.returncode == 0, run.stderr
    assert "secret-of-the-hub" not in run.stdout + run.stderr
    stored = [headers for name, _, headers in hub.asked if name == "store"]
    assert stored and not any("authorization" in {k.lower() for k in headers} for headers in stored)


def test_what_is_there_stays(hub, tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text("mine")
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 1 and "--to" in run.stderr
    assert (tmp_path / "tiny" / "config.json").read_text() == "mine"
    shutil.rmtree(tmp_path / "tiny")
    assert pull(hub, "--to", tmp_path / "tiny").returncode == 0
    hub.commit = "f" * 40  # the branch moves on: the folder is of another commit
    assert pull(hub, "--to", tmp_path / "tiny").returncode == 1


@pytest.mark.parametrize("path", ["../out.json", "/etc/out.json", "a/../../out.json", "a//b.json", "x\n.json"])
def test_a_path_that_leaves_the_folder_is_refused(hub, tmp_path, path):
    hub.files[path] = b"{}"
    run = pull(hub, "--to", tmp_path / "tiny")
    assert run.returncode == 3 and "leaves the repository" in run.stderr
    assert not any(tmp_path.iterdir())


def test_what_a_hub_can_say(hub, tmp_path):
    to = ("--to", tmp_path / "tiny")
    assert pull(hub, *to, name="acme/none").returncode == 1
    assert pull(hub, *to, "--revision", "v9").returncode == 1
    hub.status = 500
    run = pull(hub, *to)
    assert run.returncode == 3 and "500" in run.stderr
    hub.status = None
    weights = hub.files.pop("model.safetensors")
    run = pull(hub, *to)
    assert run.returncode == 1 and "safetensors" in run.stderr
    hub.files["model.safetensors"] = weights
    del hub.files["config.json"]
    assert "config.json" in pull(hub, *to).stderr
    assert not any(tmp_path.iterdir())


def test_how_it_is_called(hub, tmp_path):
    without = semroute("models", "pull", "acme/tiny", env={"HF_ENDPOINT": ""})
    assert without.returncode == 2 and "--hub" in without.stderr and "HF_ENDPOINT" in without.stderr
    assert semroute("models", "pull", "--hub", hub.url).returncode == 2
    for name in ("../up", "a/b/c", "/etc", "a b", "acme/../x"):
        assert pull(hub, name=name).returncode == 2, name
    gone = semroute("models", "pull", "acme/tiny", "--hub", "http://127.0.0.1:1", "--to", tmp_path / "tiny")
    assert gone.returncode == 3 and "127.0.0.1" in gone.stderr
    assert semroute("models", "pull", "acme/tiny", "--hub", "ftp://x", "--to", tmp_path / "tiny").returncode == 3
