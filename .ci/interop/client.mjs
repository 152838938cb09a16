// A client of the TypeScript SDK, v1 or v2, that does what it is told.
//
//   node client.mjs v1|v2 URL [SESSION]
//
// It connects, or goes on in a session of another process, says so, and then
// answers one line of JSON with one:
//
//   {"call": "slow", "arguments": {…}, "timeout": ms}  →  {"text": …, "steps": […], "tokens": […], "error": …}
//
// With "resume" it asks for what comes behind that token instead of calling.
//
// An error is told by what kind it is: timeout, or the code of a JSON-RPC
// error with its reason, or the status of HTTP, or its message.
import { createInterface } from 'node:readline';

const [version, url, sessionId] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } =
  version === 'v1'
    ? {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      }
    : await import('@modelcontextprotocol/client');

const transport = new StreamableHTTPClientTransport(new URL(url), {
  sessionId,
  // The usual number of attempts, without the usual second before each.
  reconnectionOptions: {
    initialReconnectionDelay: 20,
    maxReconnectionDelay: 100,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 2,
  },
});
const client = new Client({ name: `typescript-${version}`, version: '1' });

const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');

function kind(error) {
  const text = String(error?.message ?? error);
  if (/timed out/i.test(text)) return 'timeout';
  const reason = error?.data?.reason ?? text.match(/"reason":"([a-z_]+)"/)?.[1];
  if (reason !== undefined) return `JSON-RPC error ${reason}`;
  const status = text.match(/\b(40[0-9]|42[0-9]|50[0-9])\b/) ?? [error?.code];
  if (status[0] >= 400 && status[0] < 600) return `HTTP ${status[0]}`;
  return text;
}

async function call({ call: name, arguments: args, timeout, resume }) {
  const steps = [];
  const tokens = [];
  const options = {
    timeout,
    onprogress: (p) => steps.push(p.message),
    onresumptiontoken: (token) => tokens.push(token),
    resumptionToken: resume || undefined,
  };
  const request = { name, arguments: args ?? {} };
  try {
    const result = version === 'v1'
      ? await client.callTool(request, undefined, options)
      : await client.callTool(request, options);
    return { text: result.content[0].text, steps, tokens, session: transport.sessionId };
  } catch (error) {
    return { error: kind(error), steps, tokens, session: transport.sessionId };
  }
}

try {
  await client.connect(transport);
  say({ text: 'connected' });
} catch (error) {
  say({ error: kind(error) });
  process.exit(1);
}
for await (const line of createInterface({ input: process.stdin })) {
  say(await call(JSON.parse(line)));
}
if (sessionId === undefined) await transport.terminateSession().catch(() => {});
await client.close().catch(() => {});
process.exit(0);
