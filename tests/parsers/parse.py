"""Reads bodies as Python's servers do: json, orjson, and pydantic's own parser. See README.md."""
import base64
import json
import sys

import orjson
import pydantic_core

NAMES = ("model", "stream", "system", "prompt", "input", "tools")


def read(parse, raw):
    try:
        body = parse(raw)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    messages = body.get("messages")
    pairs = [[m.get("role"), m.get("content")] if isinstance(m, dict) else [None, None] for m in messages] \
        if isinstance(messages, list) else None
    return {**{name: body.get(name) for name in NAMES}, "messages": pairs}


for line in sys.stdin:
    raw = base64.b64decode(line)
    print(json.dumps({"python json": read(json.loads, raw), "python orjson": read(orjson.loads, raw),
                      "python pydantic": read(pydantic_core.from_json, raw)}))
