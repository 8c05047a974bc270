#!/usr/bin/env python3
"""`semroute bench dialect` beside LiteLLM, in one run: a chat request of 1 KB to Messages, and an event of Messages back.

Run it with a Python that has litellm (`pip install litellm`): PYTHON bench/dialect_peer.py [build/semroute]. Prints one JSON
document, and a sentence on standard error; the goal is 50 times LiteLLM's speed. For nightly runs: LiteLLM takes seconds to import."""
import json
import subprocess
import sys
import time

from litellm.llms.anthropic.chat.handler import ModelResponseIterator
from litellm.llms.anthropic.chat.transformation import AnthropicConfig

MODEL = "claude-3-5-sonnet-20241022"
TEXT = "The router reads what a request means, and decides which model should answer it. " * 9
MESSAGES = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": TEXT}]
TOOLS = [{"type": "function", "function": {"name": "f", "description": "looks something up", "parameters": {
    "type": "object", "properties": {"q": {"type": "string"}}}}}]
EVENT = json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " word"}})


def median_us(run, times, repeats=7):
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(times):
            run()
        samples.append((time.perf_counter() - start) / times * 1e6)
    return sorted(samples)[repeats // 2]


def main():
    config = AnthropicConfig()
    events = ModelResponseIterator(streaming_response=iter([]), sync_stream=True)

    def request():
        options = config.map_openai_params({"temperature": 0.7, "max_tokens": 512, "tools": TOOLS, "stream": True}, {}, MODEL, False)
        return json.dumps(config.transform_request(MODEL, [dict(m) for m in MESSAGES], options, {}, {}))

    def event():
        return events.chunk_parser(json.loads(EVENT)).model_dump_json()

    request()
    peer = {"request_us": median_us(request, 200), "event_us": median_us(event, 500)}
    program = sys.argv[1] if len(sys.argv) > 1 else "build/semroute"
    own = json.loads(subprocess.run([program, "bench", "dialect", "--json"], capture_output=True, check=True).stdout)
    rows = {(row["from"], row["to"]): row for row in own["rows"]}
    there, back = rows["chat", "messages"]["request_us"], rows["messages", "chat"]["event_us"]
    times = {"request": peer["request_us"] / there, "event": peer["event_us"] / back}
    print(json.dumps({"machine": own["machine"], "litellm": peer, "semroute": {"request_us": there, "event_us": back},
                      "times": times, "goal": 50}))
    print(f"{times['request']:.0f} times as fast as LiteLLM for a request, {times['event']:.0f} for an event; the goal is 50", file=sys.stderr)


if __name__ == "__main__":
    main()
