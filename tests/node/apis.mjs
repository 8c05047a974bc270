// The official clients for Node against one model, by every API: `node apis.mjs PORT MODEL` prints what they return, as JSON.
// tests/integration/test_translate_clients.py compares servers.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [port, model] = process.argv.slice(2);
const shared = { apiKey: "test-key", maxRetries: 0, timeout: 60000 };
const openai = new OpenAI({ ...shared, baseURL: `http://127.0.0.1:${port}/v1` });
const anthropic = new Anthropic({ ...shared, baseURL: `http://127.0.0.1:${port}` });

const parameters = { type: "object", properties: { a: { type: "integer" } } };
const messages = [{ role: "user", content: "2+2?" }];
const about = { name: "add", description: "adds" };
const chatTools = [{ type: "function", function: { ...about, parameters } }];
const responseTools = [{ type: "function", ...about, parameters, strict: false }];
const messageTools = [{ ...about, input_schema: parameters }];
const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false };

const chat = { model, messages, tools: chatTools, reasoning_effort: "low" };
const response = { model, input: "2+2?", tools: responseTools, reasoning: { effort: "low" }, store: false };
const message = { model, max_tokens: 4000, messages, tools: messageTools, thinking: { type: "enabled", budget_tokens: 1024 } };

async function streamed(stream, last) {
  const events = [];
  for await (const event of stream) events.push(event);
  return { events: events.filter((event) => event.type !== "ping"), last: await stream[last]() };
}

const usage = { stream: true, stream_options: { include_usage: true } };
const text = { type: "json_schema", name: "answer", schema, strict: true };
const cases = {
  chat: () => openai.chat.completions.create(chat),
  chatText: () => openai.chat.completions.create({ model, messages }),
  chatStream: () => streamed(openai.chat.completions.stream({ ...chat, ...usage }), "finalChatCompletion"),
  chatParsed: () => openai.chat.completions.parse({ model, messages, response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } }),
  response: () => openai.responses.create(response),
  responseText: () => openai.responses.create({ model, input: "2+2?", store: false }),
  responseStream: () => streamed(openai.responses.stream(response), "finalResponse"),
  responseParsed: () => openai.responses.parse({ model, input: "2+2?", text: { format: text }, store: false }),
  message: () => anthropic.messages.create(message),
  messageText: () => anthropic.messages.create({ model, max_tokens: 4000, messages }),
  messageStream: () => streamed(anthropic.messages.stream(message), "finalMessage"),
  messageParsed: () => anthropic.messages.create({ model, max_tokens: 4000, messages, output_config: { format: { type: "json_schema", schema } } }),
};

const told = {};
for (const [name, run] of Object.entries(cases)) told[name] = await run();
console.log(JSON.stringify(told));
