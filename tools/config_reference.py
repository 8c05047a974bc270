#!/usr/bin/env python3
"""Writes the tables of docs/configuration.md from docs/semroute.schema.json, between its two marks."""
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- reference: begin -->", "<!-- reference: end -->"


def kind(field):
    """A short name of what a key takes."""
    if "$ref" in field:
        return "mapping: " + link(field["$ref"])
    if "anyOf" in field:
        first = field["anyOf"][0]
        if "$ref" in first:
            return "mapping: " + link(first["$ref"])
        return " / ".join(f"`{word}`" for word in first["enum"])
    types = field["type"]
    main = types if isinstance(types, str) else types[0]
    pattern = field.get("pattern", "")
    if main == "array":
        items = field["items"]
        if "$ref" in items:
            return "list of " + link(items["$ref"])
        if "configuration" in items.get("anyOf", [{}])[0].get("properties", {}):
            return "list of `{type, configuration}`"
        return "list of lists of text" if items.get("type") == "array" else "list of text"
    if main == "object":
        values = field["additionalProperties"]
        return "mapping of names to " + link(values["$ref"]) if "$ref" in values else "mapping of text"
    if "ms|s|m|h" in pattern:
        return "duration (`30s`)"
    if "KMG" in pattern:
        return "size (`64KiB`)"
    if "KkMm" in pattern:
        return "tokens (`4K`)"
    name = {"string": "text", "boolean": "true / false", "integer": "whole number", "number": "number"}[main]
    low = field.get("minimum", field.get("exclusiveMinimum"))
    if low is None:
        return name
    return f"{name}, {'above ' if 'exclusiveMinimum' in field else ''}{low:,} to {field['maximum']:,}"


def link(reference):
    name = reference.rsplit("/", 1)[1]
    anchor = re.sub("[.']", "", name).lower()
    return f"[{name.replace('-', ' ')}](#{anchor})"


def acting(section):
    return [(key, field) for key, field in section["properties"].items() if not is_idle(field) and "x-older" not in field]


def is_idle(field):
    return "x-inert" in field or "x-refused" in field


def table(section):
    if not acting(section):
        return "No key of it acts."
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    required = section.get("then", {}).get("required", [])
    for key, field in acting(section):
        text, default = field["description"], field.get("default")
        note = ""
        if " (default: " in text:
            text, note = text[:-1].split(" (default: ")
        shown = f"`{json.dumps(default)}`" if isinstance(default, (bool, int, float)) else f"`{default}`"
        default = "required" if key in required else note or (shown if default is not None else "")
        rows.append(f"| `{key}` | {kind(field)} | {default} | {text} |")
    return "\n".join(rows)


def idle(schema):
    """A row for each section and reason: what acts of it, and what does not."""
    rows = ["| section | keys | | because |", "|---|---|---|---|"]
    for name, section in [("configuration", schema), *schema["$defs"].items()]:
        name = name.replace("-", " ")
        reasons = {}
        for key, field in section["properties"].items():
            if "x-older" in field:
                continue
            state = "inert" if "x-inert" in field else "refused" if "x-refused" in field else "acts"
            reasons.setdefault((state, field["description"] if is_idle(field) else ""), []).append(key)
        if all(state == "acts" for state, _ in reasons):
            continue
        for (state, because), keys in sorted(reasons.items(), key=lambda row: row[0][0]):
            rows.append(f"| {name} | {', '.join(f'`{key}`' for key in keys)} | {state} | {because} |")
    return "\n".join(rows)


def meanings():
    """The rows of src/config/bind/meaning.c as a table."""
    text = (ROOT / "src/config/bind/meaning.c").read_text()
    rows = ["| key or word | | because |", "|---|---|---|"]
    for state, names, because in re.findall(r'\{SR_MEANING_(\w+),((?:\s*"[^"]*")+),\s*"([^"]*)"\}', text):
        names = "".join(re.findall(r'"([^"]*)"', names)).split()
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {state.lower()} | {because} |")
    return "\n".join(rows)


def main():
    schema = json.loads((ROOT / "docs/semroute.schema.json").read_text())
    schema["$defs"] = {name: section for name, section in schema["$defs"].items() if "properties" in section}
    parts = ["### configuration\n", table(schema)]
    for name, section in schema["$defs"].items():
        parts += [f"\n### {name.replace('-', ' ')}\n", textwrap.fill(section["description"], 120) + "\n", table(section)]
    path = ROOT / "docs/configuration.md"
    text = path.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    parts += ["\n### Keys that do not act\n", textwrap.fill(
        "Every key acts but for those of the next two tables. An inert key is taken with any value and changes "
        "nothing; where a user may count on it, `check` warns. A refused key is an error with its reason, and with "
        "`--lenient` a warning; one whose value asks for nothing (empty, `false`, a mapping with `enabled: false`; for "
        "stores and mitigations also a mapping without `enabled: true`) is taken. The keys of sections that are not "
        "here all act.", 120) + "\n", idle(schema),
              "\n### Words and plugins that do not act\n", textwrap.fill(
        "The same by name, words and plugins included: inert ones are checked, refused ones are errors. A condition "
        "whose type is refused is neither true nor false with `--lenient`, also below a NOT: a decision that depends on "
        "it matches where that is safe (a guard that acts, a fixed answer, rules about attacks and private data), and "
        "else does not.", 120) + "\n", meanings()]
    path.write_text(head + BEGIN + "\n\n" + "\n".join(parts) + "\n\n" + END + tail)
    print(f"{path.relative_to(ROOT)}: {len(schema['$defs']) + 1} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
