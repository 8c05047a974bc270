"""An upstream as Python's model servers are built: FastAPI over uvicorn, bodies read by pydantic. It records what it
would have executed: which endpoint ran, which model, and every string that its parser gave it.

    python -m uvicorn --app-dir tests/upstreams app:app --port PORT

GET /_seen answers with {"CASE": {"endpoint", "path", "model", "texts", "headers"}} by the request's header `x-case`, and
forgets it. A request without an endpoint is not executed: 404, and nothing is recorded.
"""
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict

ENDPOINTS = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens",
             "/v1/responses", "/v1/responses/input_tokens", "/v1/score", "/score", "/v1/rerank", "/v2/rerank", "/rerank", "/v1/classify",
             "/classify", "/v1/pooling", "/pooling", "/v1/moderations", "/v1/audio/speech",
             "/v1/audio/transcriptions", "/v1/images/generations", "/v1/images/edits", "/v1/images/variations",
             "/v1/tokenize", "/tokenize", "/v1/detokenize", "/detokenize", "/v1/load_lora_adapter",
             "/v1/unload_lora_adapter", "/v1/files", "/v1/batches", "/collective_rpc", "/sleep", "/invocations",
             "/v1/anything"]
HEADERS = ("content-type", "authorization", "x-api-key", "x-selected-model", "x-vsr-skip-processing", "x-vsr-selected-model", "x-vsr-category")


class Body(BaseModel):
    """What every endpoint needs; all other members stay as they came, as with `extra="allow"` of the real servers."""
    model_config = ConfigDict(extra="allow", protected_namespaces=())
    model: str | None = None


class Chat(Body):
    messages: list[dict[str, Any]]


def strings(value):
    """Every string, keys of objects and numbers too: a chat template prints all of it."""
    if isinstance(value, str):
        yield value.encode("utf-8", "replace").decode()  # surrogates alone cannot be written as JSON below
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


app = FastAPI(openapi_url=None)
seen: dict[str, dict] = {}


def executed(request: Request, endpoint: str, body: Body):
    seen[request.headers.get("x-case", "")] = {
        "endpoint": endpoint, "path": request.scope["raw_path"].decode("latin-1"), "model": body.model,
        "texts": list(strings(body.model_dump())),
        "headers": {name: value for name, value in request.headers.items() if name in HEADERS}}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "x",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}]}


def add(endpoint):
    if endpoint == "/v1/chat/completions":
        async def run(request: Request, body: Chat):
            return executed(request, endpoint, body)
    else:
        async def run(request: Request, body: Body):
            return executed(request, endpoint, body)
    app.add_api_route(endpoint, run, methods=["POST"])


for one in ENDPOINTS:
    add(one)


@app.get("/_seen")
async def told():
    answer = dict(seen)
    seen.clear()
    return answer
