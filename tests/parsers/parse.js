// Reads bodies as Node's servers do: JSON.parse of the decoded text. See README.md.
'use strict';

const names = ['model', 'stream', 'system', 'prompt', 'input', 'tools'];

function read(raw) {
  let body;
  try {
    body = JSON.parse(raw.toString('utf8'));
  } catch {
    return null;
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return null;
  const own = (object, name) => (object && Object.hasOwn(Object(object), name) ? object[name] : null);
  const out = Object.fromEntries(names.map((name) => [name, own(body, name)]));
  const messages = own(body, 'messages');
  out.messages = Array.isArray(messages) ? messages.map((m) => [own(m, 'role'), own(m, 'content')]) : null;
  return out;
}

const lines = require('fs').readFileSync(0, 'latin1').split('\n').filter(Boolean);
process.stdout.write(lines.map((line) => JSON.stringify({ node: read(Buffer.from(line, 'base64')) }) + '\n').join(''));
