#!/usr/bin/env python3
"""Fails on an #include against the layer order, and on a third-party header outside its seam file."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What each layer may include, besides itself.
ALLOWED = {"base": set()}
ALLOWED["observe"] = {"base"}
for sibling in ("net", "text", "json", "model"):
    ALLOWED[sibling] = {"base", "observe"}
ALLOWED["kernel"] = {"base"}
ALLOWED["infer"] = {"base", "observe", "model", "kernel"}
ALLOWED["config"] = {"base", "observe", "text", "json", "model", "kernel", "infer"}
ALLOWED["signal"] = ALLOWED["config"] | {"config"}
ALLOWED["decide"] = ALLOWED["signal"] | {"signal"}
for state in ("cache", "pool"):
    ALLOWED[state] = {"base", "observe", "net"}
ALLOWED["router"] = (ALLOWED["decide"] | {"decide", "cache", "pool"}) - {"net"}
ALLOWED["serve"] = ALLOWED["router"] | {"router", "net"}
ALLOWED["mock"] = {"base", "observe", "json", "net"}
ALLOWED["cli"] = ALLOWED["serve"] | {"serve", "mock", "bench"}

# One third-party library, one seam: header pattern -> files that may include it.
SEAMS = {
    r"uv\.h": {"src/net/loop/loop.c", "src/net/loop/sock.c", "src/net/loop/loop_uv.h"},
    r"http_parser\.h": {"src/net/http1/http1.c"},
    r"openssl/evp\.h": {"src/base/hash.c"},
    r"openssl/.*": {"src/net/tls/tls.c"},
    r"xxhash\.h": {"src/base/hash.c"},
    r"jansson\.h": {"src/json/doc.c"},
    r"yaml\.h": {"src/config/bind/yaml.c"},
    r"pcre2\.h": {"src/signal/keyword/regex.c"},
    r"libpsl\.h": {"src/text/entity/public_suffix.c"},
    r"utf8proc\.h": {"src/base/unicode.c"},
    r"nghttp2/.*": {"src/net/http2/http2.c", "src/net/http2/private.h"},
    r"protobuf-c/.*": {"src/net/grpc/protobuf_arena.h"},
    r"ext_proc\.pb-c\.h": {"src/serve/extproc/message.c"},
    r"health\.pb-c\.h": {"src/net/grpc/health.c"},
    r"cld2/.*": {"src/text/language_cld2.cc"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def check(path):
    rel = path.relative_to(ROOT).as_posix()
    layer = rel.split("/")[1]
    if layer not in ALLOWED:
        yield 1, f"unknown layer `{layer}`"
        return
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


def main():
    bad = 0
    files = sorted(p for ext in ("c", "h", "cc") for p in (ROOT / "src").rglob(f"*.{ext}"))
    for path in files:
        for number, message in check(path):
            print(f"{path.relative_to(ROOT)}:{number}: {message}")
            bad += 1
    print(f"{len(files)} files checked, {bad} against the layer order")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
