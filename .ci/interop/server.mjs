// A server of the TypeScript SDK v1 with two telling tools and the event store
// of the SDK's own examples. It prints its address when it can be used.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';

let counted = 0;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function newServer() {
  const server = new Server({ name: 'typescript', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object' };
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [{ name: 'slow', inputSchema }, { name: 'counter', inputSchema }],
  }));
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { name, arguments: args = {}, _meta } = request.params;
    const answer = (text) => ({ content: [{ type: 'text', text }] });
    if (name === 'counter') return answer(String(++counted));
    for (let step = 1; step <= args.steps; step++) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: _meta.progressToken, progress: step, message: `step ${step}` },
      });
      await sleep(args.pause_ms);
    }
    return answer(`told ${args.steps}`);
  });
  return server;
}

const sessions = new Map();
const http = createServer(async (request, response) => {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (id !== undefined && transport === undefined) {
    response.writeHead(404).end();
    return;
  }
  if (transport === undefined) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new InMemoryEventStore(),
      retryInterval: 50,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await newServer().connect(transport);
  }
  await transport.handleRequest(request, response);
});
http.listen(0, '127.0.0.1', () => console.log(`serving MCP at http://127.0.0.1:${http.address().port}/mcp`));
