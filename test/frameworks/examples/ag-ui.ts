/** A refund that a person approves in the user interface, over AG-UI: a server and its client, on a local port. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpAgent } from '@ag-ui/client';
import type { BaseEvent, Interrupt, RunAgentInput } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';
import { createRuntime, defineTool } from 'quittance';
import { createAgUi } from '@quittance/ag-ui';
import { z } from 'zod';

const refunded: number[] = [];
const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  mode: 'destructive',
  input: z.object({ order: z.string(), cents: z.number() }),
  run: ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
});
const runtime = createRuntime({ tools: [refund] });
const ui = createAgUi({ runtime });

// The model's request. A real agent stores its conversation here, on the server.
const wanted = { id: 'call_1', name: 'refund', arguments: { order: 'A7', cents: 500 } };

const server = createServer((request, response) => {
  void (async () => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const input = JSON.parse(body) as RunAgentInput;
    const user = request.headers.authorization === 'Bearer token-of-grace' ? 'grace' : undefined;
    if (user === undefined) return response.writeHead(401).end();
    const encoder = new EventEncoder();
    response.writeHead(200, { 'content-type': encoder.getContentType() });
    const sessionId = `${user}/${input.threadId}`;
    const run = await ui.openRun<BaseEvent>({
      sessionId,
      threadId: input.threadId,
      runId: input.runId,
      messages: input.messages,
      write: (event) => response.write(encoder.encode(event)),
    });
    await ui.takeResume(input.resume, { by: user, sessionId });
    await runtime.turn({ sessionId }).call(wanted, { ifHeld: 'return' });
    await run.finish();
    return response.end();
  })();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

const agent = new HttpAgent({
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  threadId: 'ticket-42',
  headers: { authorization: 'Bearer token-of-grace' },
});
let open: Interrupt[] = [];
await agent.runAgent(
  {},
  {
    onRunFinishedEvent: ({ event }) => {
      if (event.outcome?.type === 'interrupt') open = event.outcome.interrupts;
    },
  },
);
assert.deepEqual(refunded, []); // nothing ran yet
console.log(open[0]?.message);

await agent.runAgent({
  resume: open.map(({ id }) => ({
    interruptId: id,
    status: 'resolved' as const,
    payload: { approved: true },
  })),
});
assert.deepEqual(refunded, [500]);
assert.equal(agent.messages.at(-1)?.role, 'tool');

for (const { toolName, outcome } of await runtime.calls.audit({ sessionId: 'grace/ticket-42' }))
  console.log(toolName, outcome.kind);
server.close();
server.closeAllConnections();
