"""LiteLLM as a client: reads one question as JSON from standard input ({base, api, model, stream, tools}), asks it, and prints what
LiteLLM returns as JSON. Runs in tests/litellm/.venv; tests/integration/test_litellm.py starts it."""
import asyncio
import gc
import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched

import litellm  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}}}
CHAT_TOOLS = [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": PARAMETERS}}]


def completion(ask, provider, base):
    """Chat completions of LiteLLM, over OpenAI's API or over Anthropic's."""
    options = {"tools": CHAT_TOOLS} if ask["tools"] else {}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
    answer = litellm.completion(model=f"{provider}/{ask['model']}", api_base=base, api_key="client-key", messages=messages, max_tokens=2000,
                                stream=ask["stream"], num_retries=0, **options)
    if ask["stream"]:
        answer = litellm.stream_chunk_builder(list(answer), messages=messages)
    return answer.model_dump()


def responses(ask):
    options = {"tools": [{"type": "function", "name": "add", "description": "adds", "parameters": PARAMETERS, "strict": False}]} if ask["tools"] else {}
    answer = litellm.responses(model=f"openai/{ask['model']}", api_base=ask["base"] + "/v1", api_key="client-key", input="2+2?",
                               instructions="Be brief.", max_output_tokens=2000, stream=ask["stream"], **options)
    if ask["stream"]:
        answer = [event for event in answer if getattr(event, "type", "") == "response.completed"][-1].response
    return answer.model_dump()


async def messages(ask):
    """LiteLLM's own `/v1/messages`, whole."""
    options = {"tools": [{"name": "add", "description": "adds", "input_schema": PARAMETERS}]} if ask["tools"] else {}
    return dict(await litellm.anthropic.messages.acreate(
        model=f"anthropic/{ask['model']}", api_base=ask["base"], api_key="client-key", max_tokens=2000,
        messages=[{"role": "user", "content": "2+2?"}], system="Be brief.", **options))


def run(ask):
    if ask["api"] == "chat":
        return completion(ask, "openai", ask["base"] + "/v1")
    if ask["api"] == "chat over messages":
        return completion(ask, "anthropic", ask["base"])
    return responses(ask) if ask["api"] == "responses" else asyncio.run(messages(ask))


if __name__ == "__main__":
    gc.disable()  # httpcore waits for its own lock for ever when the collector ends a stream while it holds it
    for line in sys.stdin:
        try:
            told = {"answer": run(json.loads(line))}
        except Exception as error:  # told to the test, which asks for the next one
            told = {"error": f"{type(error).__name__}: {error}"}
        gc.collect()
        print("ANSWER " + json.dumps(told, default=str), flush=True)
