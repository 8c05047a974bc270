"""What the tests of configuration keys share: small configurations as data, and the positions of keys in them.

A configuration is a dict; `place` changes one key of a copy, so two of them differ in nothing else.
"""
import copy
import json
import re
import subprocess

from conftest import BINARY

ABSENT = object()
MATH = "Prove by induction that the sum of the first n odd numbers is n squared, then compute the integral of x^2 from 0 to 3."
THINKER = {"fam": {"type": "chat_template_kwargs", "parameter": "enable_thinking"}}


def model(name, *backends, **more):
    """A model whose backends are `@N` (worker N of the mock) or whole mappings."""
    refs = [{"endpoint": b} if isinstance(b, str) else b for b in backends or ("@0",)]
    for number, ref in enumerate(refs):
        ref.setdefault("name", f"{name}-{number}")
    return {"name": name, "backend_refs": refs, **more}


def site(*models, decisions=(), signals=None, cards=None, strategy=None, families=None, default="one", effort=None,
         router=None, domain=None, gateway=None, upstream=None, **own):
    """A configuration; without models there are `one` and `two`, on the mock's workers 0 and 1. Its signals have more
    time than usual: these machines are slow."""
    config = {"version": "v0.3",
              "providers": {"defaults": {"default_model": default},
                            "models": list(models) or [model("one", "@0"), model("two", "@1")]},
              "routing": {"signals": signals or {}, "decisions": list(decisions)}}
    if families:
        config["providers"]["defaults"]["reasoning_families"] = families
    if effort:
        config["providers"]["defaults"]["default_reasoning_effort"] = effort
    if cards:
        config["routing"]["modelCards"] = cards
    if strategy:
        config["routing"]["strategy"] = strategy
    if upstream is not None:
        gateway = {**(gateway or {}), "upstream": upstream}
    if gateway is not None:
        own["gateway"] = gateway
    semroute = {"loops": 1, "workers": 1, "signal_deadline_ms": 20000, **own}
    config["global"] = {"semroute": semroute}
    if router is not None:
        config["global"]["router"] = router
    if domain is not None:
        config["global"]["model_catalog"] = {"modules": {"classifier": {"domain": domain}}}
    return config


def decision(name="d", model="two", rules=None, **more):
    """A decision for one model; `rules` may be short: {"keyword": "x"} asks for the keyword rule `x`."""
    result = {"name": name, "modelRefs": [{"model": model}], **more}
    if rules is not None:
        result["rules"] = leaf(rules)
    return result


def leaf(rule):
    (key, name), *others = rule.items()
    return rule if key in ("type", "operator") else {"type": key, "name": name, **dict(others)}


def place(config, path, value):
    """A copy in which the key at the schema's `path` has `value`: of a list the first item, of a map the first key.
    `[x]` names an item by number or, of plugins, by kind (which the item must have)."""
    changed = copy.deepcopy(config)
    at, steps = changed, []
    for word in path.split("."):
        name, *brackets = re.findall(r"[^\[\]]+|\[[^\]]*\]", word)
        steps += [name, *(int(b[1:-1]) if b[1:-1].isdigit() else 0 for b in brackets)]
    for number, step in enumerate(steps):
        step = next(iter(at)) if step == "*" else step
        if number == len(steps) - 1:
            if value is ABSENT:
                at.pop(step, None)
            else:
                at[step] = value
        elif isinstance(step, str):
            following = steps[number + 1]
            at = at.setdefault(step, [None] if following == 0 else {})
        else:
            at[step] = {} if at[step] is None else at[step]
            at = at[step]
    return changed


def leaves(schema):
    """The paths of all keys of a JSON Schema that hold a value of their own."""
    found = []

    def plugins_of(node):  # without what is taken because it is off, merged or a variable
        return [part for part in node["items"].get("anyOf", []) if "description" in part and "type" in part["properties"]]

    def walk(node, path, inside):
        if "x-inert" in node or "x-refused" in node or "x-older" in node:
            return  # nothing happens, or what the key's newer name does
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            if name in inside:
                found.append(path)
            else:
                walk(schema["$defs"][name], path, (*inside, name))
            return
        kinds = node.get("type", [])
        if "properties" in node:
            for key, value in node["properties"].items():
                walk(value, f"{path}.{key}" if path else key, inside)
        elif isinstance(node.get("additionalProperties"), dict):
            walk(node["additionalProperties"], path + ".*", inside)
        elif "array" in kinds and plugins_of(node):
            for plugin in plugins_of(node):
                kind = plugin["properties"]["type"]
                walk(plugin, f"{path}[{kind.get('const') or kind['enum'][0]}]", inside)
        elif "array" in kinds:
            walk(node["items"], path + "[]", inside)
        else:
            parts = [part for part in node.get("anyOf", []) if "$ref" in part or "properties" in part]
            for part in parts:
                walk(part, path, inside)
            if len(parts) < len([p for p in node.get("anyOf", [{}]) if p.get("type") != "null"]):
                found.append(path)

    walk(schema, "", ())
    return found


def write(config, file, port=9001, words=None):
    """Writes a configuration: `@N` becomes the address of the mock's worker N, `@w` that of another peer, `%/` a folder."""
    text = re.sub(r"@(\d)", lambda m: f"127.0.0.1:{port + int(m[1])}", json.dumps(config))
    for word, peer in (words or {}).items():
        text = text.replace(f"@{word}", f"127.0.0.1:{peer}")
    file.write_text(text.replace("%/", f"{file.parent}/"))
    return file


class Explained:
    """`semroute explain --json` of a configuration."""

    def __init__(self, config, directory, text="hello", body=None, path="/v1/chat/completions"):
        file = write(config, directory / "explain.yaml")
        request = body or {"model": "auto", "messages": [{"role": "user", "content": text}]}
        (directory / "request.json").write_text(json.dumps(request))
        done = subprocess.run([BINARY, "explain", "-c", file, "--json", "--request", directory / "request.json", "--path", path],
                              capture_output=True, text=True)
        assert done.returncode in (0, 1) and done.stdout, done.stderr
        self.all = json.loads(done.stdout)

    @property
    def model(self):
        return self.all.get("model")

    @property
    def decision(self):
        return (self.all["decision"] or {}).get("name")

    def rule(self, number=0):
        return self.all["signals"][0]["rules"][number]

    @property
    def edits(self):
        return "".join(e["inserted"] for e in self.all["edits"])


def check(config, directory, env=None):
    """What `semroute check` says: `good`, or its first message without the file's name and place."""
    file = write(config, directory / "check.yaml")
    done = subprocess.run([BINARY, "check", file], capture_output=True, text=True, env=env)
    if done.returncode == 0 and "warning" not in done.stdout:
        return "good"
    assert done.returncode in (0, 1), done.stderr
    return re.sub(r"^[^ ]+ ", "", done.stdout.splitlines()[0])
