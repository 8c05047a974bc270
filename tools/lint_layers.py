#!/usr/bin/env python3
"""Fails on what goes against the structure of src/: an #include or a call up the layers, a third-party header outside
its seam file, an unknown layer or room, rooms that include each other in a circle, a name that no header declares, and
files of a layer that call each other in a circle."""
import re
import sys

import callgraph
from callgraph import ROOT

# What each layer may include, besides itself.
ALLOWED = {"base": set()}
ALLOWED["observe"] = {"base"}
ALLOWED["trace"] = {"base"}
for sibling in ("net", "text", "json", "model"):
    ALLOWED[sibling] = {"base", "observe"}
ALLOWED["kernel"] = {"base"}
ALLOWED["infer"] = {"base", "observe", "model", "kernel"}
ALLOWED["config"] = {"base", "observe", "text", "json"}
ALLOWED["probe"] = ALLOWED["config"] | {"config", "infer"}
ALLOWED["signal"] = ALLOWED["config"] | {"config", "infer", "model", "kernel"}
ALLOWED["decide"] = ALLOWED["signal"] | {"signal"}
ALLOWED["cache"] = {"base", "observe", "text", "kernel", "json"}
ALLOWED["limit"] = {"base"}
ALLOWED["history"] = {"base"}
ALLOWED["store"] = ALLOWED["cache"] | {"cache", "limit", "history", "net"}
ALLOWED["pool"] = {"base", "observe", "kernel"}
ALLOWED["select"] = ALLOWED["config"] | {"config", "pool", "kernel"}
ALLOWED["dialect"] = {"base", "observe", "json", "text"}
ALLOWED["translate"] = {"base", "json"}
ALLOWED["router"] = ALLOWED["decide"] | {"decide", "dialect", "translate", "probe", "cache", "limit", "pool", "select", "history",
                                         "trace"}
ALLOWED["serve"] = ALLOWED["router"] | {"router", "net", "store"}
ALLOWED["mock"] = {"base", "observe", "json", "net"}
ALLOWED["cli"] = ALLOWED["serve"] | {"serve", "mock", "bench"}
# The rooms of a layer that has them: its folders.
ROOMS = {
    "net": {"client", "grpc", "http1", "http2", "loop", "msgpack", "server", "tls", "zmq"},
    "cache": {"gate", "index"},
    "pool": {"policy", "warm"},
    "store": {"milvus", "redis", "sqlite"},
    "text": {"compress", "disguise", "entity", "segment", "terms"},
    "model": {"linear", "tokenizer"},
    "infer": {"classifier", "encoder", "engine"},
    "config": {"bind", "link", "migrate", "part", "section"},
    "signal": {"consult", "derived", "guard", "keyword", "neural", "request", "topic"},
    "router": {"cache", "edit", "embed", "exchange", "identity", "limit", "pick", "prompt", "reply", "report", "request", "response", "route", "state", "toolbox", "tools"},
    "select": {"fit", "model", "state"},
    "serve": {"admin", "consult", "discover", "extproc", "gateway", "kv", "otlp", "process", "warm"},
    "mock": {"engine"},
    "cli": {"admin", "cache", "classify", "doctor", "eval", "models", "select"},
}

# One third-party library, one seam: header pattern -> files that may include it.
SEAMS = {
    r"uv\.h": {"src/net/loop/loop.c", "src/net/loop/sock.c", "src/net/loop/loop_uv.h"},
    r"http_parser\.h": {"src/net/http1/http1.c"},
    r"openssl/evp\.h": {"src/base/hash.c"},
    r"openssl/.*": {"src/net/tls/tls.c", "src/net/tls/certificate.c"},
    r"xxhash\.h": {"src/base/hash.c"},
    r"jansson\.h": {"src/json/doc.c"},
    r"yaml\.h": {"src/config/bind/yaml.c"},
    r"pcre2\.h": {"src/signal/keyword/regex.c"},
    r"libpsl\.h": {"src/text/entity/public_suffix.c"},
    r"utf8proc\.h": {"src/base/unicode.c"},
    r"nghttp2/.*": {"src/net/http2/http2.c", "src/net/http2/private.h"},
    r"zlib\.h": {"src/base/gzip.c"},
    r"zmq\.h": {"src/net/zmq/publisher.c", "src/net/zmq/subscriber.c"},
    r"hiredis/.*": {"src/store/redis/resp.c"},
    r"protobuf-c/.*": {"src/net/grpc/protobuf_arena.h"},
    r"ext_proc\.pb-c\.h": {"src/serve/extproc/message.c"},
    r"health\.pb-c\.h": {"src/net/grpc/health.c"},
    r"milvus\.pb-c\.h": {"src/store/milvus/message.c"},
    r"sqlcipher/.*": {"src/store/sqlite/handle.h"},
    r"cld2/.*": {"src/text/language_cld2.cc"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def check_file(path):
    """The #include lines of one file, and where it lies."""
    rel = path.relative_to(ROOT).as_posix()
    _, layer, *rooms = rel.split("/")[:-1]
    if layer not in ALLOWED:
        yield 1, f"unknown layer `{layer}`"
        return
    if len(rooms) > 1 or not set(rooms) <= ROOMS.get(layer, set()):
        yield 1, f"unknown room `{'/'.join(rooms)}` of layer `{layer}` (ROOMS in tools/lint_layers.py)"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        own, system = match.groups()
        if own:
            target = own.split("/")[0]
            if "/" not in own:
                yield number, f'"{own}": write the path from src/, as in "base/err.h"'
            elif target not in ("semroute",) and target != layer and target not in ALLOWED[layer]:
                yield number, f'layer `{layer}` may not include "{own}"'
            continue
        for pattern, files in SEAMS.items():
            if re.fullmatch(pattern, system):
                if rel not in files:
                    yield number, f"<{system}> belongs in its seam file only ({', '.join(sorted(files))})"
                break


def check_calls(graph):
    """A name of a layer that the #include lines may not reach, declared by hand."""
    for (user, owner), names in sorted(graph.symbols.items()):
        a, b = user.split("/")[0], owner.split("/")[0]
        if a != b and b not in ALLOWED.get(a, ()):
            yield f"src/{user}: layer `{a}` may not use {', '.join(sorted(names))} of {owner}"


def check_headers(graph):
    """A name that other files may use stands in the header of its file's name, of its room or of its layer."""
    for unit in graph.units.values():
        for name, headers in sorted(graph.declared(unit).items()):
            if not headers:
                yield f"src/{unit.name}: {name} is declared in no header of its name, its room or its layer"


def check_rooms(graph):
    """Rooms that include each other in a circle; a file beside the rooms stands for itself."""
    def node(unit):
        return unit.room if unit.room != unit.layer else unit.name
    edges = {node(unit): set() for unit in graph.units.values()}
    for unit in graph.units.values():
        for other in map(graph.units.get, graph.includes[unit.name]):
            if other.layer == unit.layer and node(other) != node(unit):
                edges[node(unit)].add(node(other))
    rooms = {unit.room for unit in graph.units.values() if unit.room != unit.layer}
    for group in callgraph.components(edges):
        if rooms & set(group):
            yield f"src/{group[0].split('/')[0]}: rooms include each other in a circle: {', '.join(group)}"


def check_cycles(graph):
    """Files of one layer that call each other in a circle: a design that has not been found yet."""
    for group in graph.cycles(keep=lambda a, b: a.split("/")[0] == b.split("/")[0]):
        yield f"src/{min(group)}: files call each other in a circle: {', '.join(sorted(group))}"
        for a in sorted(group):
            for b in sorted(group):
                if (a, b) in graph.symbols:
                    yield f"    {a} uses {', '.join(sorted(graph.symbols[a, b]))} of {b}"


def main():
    bad = []
    graph = callgraph.Graph()
    files = sorted(p for ext in ("c", "h", "cc") for p in (ROOT / "src").rglob(f"*.{ext}"))
    for path in files:
        bad += [f"{path.relative_to(ROOT)}:{number}: {message}" for number, message in check_file(path)]
    bad += [*check_calls(graph), *check_headers(graph), *check_rooms(graph), *check_cycles(graph)]
    print("\n".join(bad + [f"{len(files)} files checked, {len(bad)} against the structure"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
