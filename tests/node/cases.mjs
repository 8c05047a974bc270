// What official clients for Node do with one server: `node cases.mjs PORT MODEL` prints what they return, as JSON.
// tests/integration/test_clients.py compares servers.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [port, model] = process.argv.slice(2);
const shared = { apiKey: "test-key", maxRetries: 0, timeout: 60000 };
const openai = new OpenAI({ ...shared, baseURL: `http://127.0.0.1:${port}/v1` });
const anthropic = new Anthropic({ ...shared, baseURL: `http://127.0.0.1:${port}` });

const question = "Let f be continuous on [0,1]. Prove that the integral of f squared is at least the square of its integral.";
const everything = { headers: { "x-mock-tools": "2", "x-mock-reasoning": "1", "x-mock-cached": "3" } };
const parameters = { type: "object", properties: { query: { type: "string" }, limit: { type: "integer" } } };
const messages = [{ role: "user", content: question }];
const about = { name: "find", description: "Finds books" };
const chatTools = [{ type: "function", function: { ...about, parameters } }];
const responseTools = [{ type: "function", ...about, parameters, strict: false }];
const messageTools = [{ ...about, input_schema: parameters }];
const thinking = { type: "enabled", budget_tokens: 1024 };

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function raised(promise) {
  try {
    await promise;
  } catch (error) {
    return [error.constructor.name, error.status, error.error];
  }
  throw new Error("no error");
}

async function responseStream() {
  const stream = openai.responses.stream({ model, input: question, tools: responseTools, store: false }, everything);
  return [await all(stream), await stream.finalResponse()];
}

async function chatStream() {
  const body = { model, messages, tools: chatTools, stream: true, stream_options: { include_usage: true } };
  const stream = openai.chat.completions.stream(body, everything);
  return [await all(stream), await stream.finalChatCompletion()];
}

async function messageStream() {
  const stream = anthropic.messages.stream({ model, max_tokens: 4000, thinking, tools: messageTools, messages }, everything);
  return [await all(stream), await stream.finalMessage()];
}

const failing = (status) => ({ headers: { "x-mock-status": `${status}` } });
const cases = {
  chat: () => openai.chat.completions.create({ model, messages, tools: chatTools }, everything),
  chatStream,
  chatError: () => raised(openai.chat.completions.create({ model, messages }, failing(429))),
  response: () => openai.responses.create({ model, input: question, instructions: "Be brief.", tools: responseTools, store: false }, everything),
  responseStream,
  responseError: () => raised(openai.responses.create({ model, input: question, store: false }, failing(500))),
  message: () => anthropic.messages.create({ model, max_tokens: 4000, thinking, tools: messageTools, messages }, everything),
  messageStream,
  messageError: () => raised(anthropic.messages.create({ model, max_tokens: 100, messages }, failing(529))),
  count: () => anthropic.messages.countTokens({ model, messages }),
};

const told = {};
for (const [name, run] of Object.entries(cases)) told[name] = await run();
console.log(JSON.stringify(told));
