"""The JSON Schema, as editors use it: it takes every file that `check` takes, and knows a misspelt key."""
import copy
import json
import re

import jsonschema
import pytest
import yaml
from conftest import ROOT, semroute
from test_config import DATA, GOOD

CORPUS = DATA / "corpus"
SCHEMA = json.loads((ROOT / "docs" / "semroute.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FILES = [*sorted(CORPUS.glob("*.yaml")), *sorted(ROOT.glob("examples/*.yaml")), *sorted(ROOT.glob("deploy/*/semroute.yaml")),
         ROOT / "src" / "config" / "builtin.yaml"]


class Editor(yaml.SafeLoader):
    """YAML as an editor may read it: by the core schema of YAML 1.2, with merge keys left in place."""


Editor.yaml_implicit_resolvers = {}
for tag, pattern, first in (("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]), ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
                            ("int", r"[-+]?[0-9]+", "-+0123456789"),
                            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789")):
    Editor.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))


def read(path, loader=yaml.SafeLoader):
    content, = [part for part in yaml.load_all(path.read_text(), loader) if part is not None]
    return content


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_takes_what_check_takes(path):
    done = semroute("check", path)
    assert done.returncode == 0, done.stdout
    for loader in (yaml.SafeLoader, Editor):
        assert [(list(error.absolute_path), error.message) for error in VALIDATOR.iter_errors(read(path, loader))] == []


@pytest.mark.parametrize("path", [path for path in FILES if path.is_relative_to(ROOT / "examples") or path.is_relative_to(ROOT / "deploy")],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_check_has_nothing_to_say_about_a_file_that_we_give(path):
    one, = json.loads(semroute("check", "--json", path).stdout)["files"]
    assert one["good"] and one["problems"] == []


def places(value, path=()):
    """Where something stands in the file, its mappings and lists included."""
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(below, dict | list):
            yield from places(below, (*path, key))


def changed(content, place, value):
    new = at = copy.deepcopy(content)
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value(at[place[-1]])
    return new


@pytest.mark.parametrize("name", ["backend_kinds", "hosted_providers", "management", "merged", "other_stores", "unchosen"])
def test_it_takes_whatever_check_takes_of_a_file_with_one_change(name, tmp_path):
    """Each value in turn is null or empty, or has a description; what `check` takes, the schema takes."""
    content = read(CORPUS / f"{name}.yaml")
    ways = [lambda _: None, lambda _: "", lambda old: {**old, "description": "of it"} if isinstance(old, dict) else [], lambda _: {}]
    files = [changed(content, place, way) for place in places(content) for way in ways]
    for i, new in enumerate(files):
        (tmp_path / f"{i}.yaml").write_text(json.dumps(new))
    done = semroute("check", "--json", *(tmp_path / f"{i}.yaml" for i in range(len(files))))
    taken = [one["good"] for one in json.loads(done.stdout)["files"]]
    assert len(taken) == len(files) and len(files) > 50 and 10 < sum(taken) < len(files)
    assert [new for new, good in zip(files, taken, strict=True) if good and not VALIDATOR.is_valid(new)] == []


def test_a_plugin_that_is_given_in_part_elsewhere():
    content = yaml.safe_load(GOOD)
    plugins = content["routing"]["decisions"][0]["plugins"]
    for plugin, good in (({"<<": {"type": "system_prompt"}, "configuration": {"system_prompt": "Hi."}}, True),
                         ({"type": "${PLUGIN}", "configuration": {}}, True), ({"type": "rag", "configuration": {"enabled": False}}, True),
                         ({"type": "rag", "configuration": {"enabled": True}}, False), ({"type": "rag"}, False), ({"configuration": {}}, False)):
        plugins[:] = [plugin]
        assert VALIDATOR.is_valid(content) is good, plugin


def test_it_knows_a_misspelt_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(semroute("check", "--schema").stdout) == SCHEMA
    good = yaml.safe_load(GOOD)
    assert VALIDATOR.is_valid(good) and VALIDATOR.is_valid(read(DATA / "full.yaml"))
    for place, key in (((), "globl"), (("routing", "decisions", 0), "priorty"), (("routing", "signals", "keywords", 0), "treshold"),
                       (("global", "semroute"), "loop"), (("providers", "models", 1, "backend_refs", 0), "adress"),
                       (("global", "semroute"), "description"), (("global", "semroute"), "x-mine")):
        bad = copy.deepcopy(good)
        at = bad
        for step in place:
            at = at[step]
        at[key] = 1
        error, = VALIDATOR.iter_errors(bad)
        assert key in error.message and tuple(error.absolute_path) == place
    bad = copy.deepcopy(good)
    bad["global"]["semroute"]["log_level"] = "loud"
    assert not VALIDATOR.is_valid(bad)
    for place, key in ((("routing", "decisions", 0), "name"), (("providers", "models", 0), "name")):
        bad = changed(good, place, lambda old, key=key: {name: value for name, value in old.items() if name != key})
        error, = VALIDATOR.iter_errors(bad)
        assert f"'{key}' is a required property" in error.message and tuple(error.absolute_path) == place
