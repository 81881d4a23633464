// A large output becomes an artifact. The model gets a reference, reads parts of it, or passes it on as a whole.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, outcomeToModelContent } from 'quittance';
import { z } from 'zod';

const getOrders = defineTool({
  name: 'get_orders',
  input: z.object({ year: z.number() }),
  run: ({ year }) => Array.from({ length: 2_000 }, (_, n) => ({ order: `${year}-${n}`, cents: 100 + n })),
});

let imported: { order: string; cents: number }[] = [];
const importOrders = defineTool({
  name: 'import_orders',
  mode: 'safe_write',
  input: z.object({ orders: z.array(z.object({ order: z.string(), cents: z.number() })) }),
  run: ({ orders }) => {
    imported = orders;
    return { imported: orders.length };
  },
});

const runtime = createRuntime({ tools: [getOrders, importOrders] });
const turn = runtime.turn({ sessionId: 'books' });

const outcome = await turn.call({ id: 'o1', name: 'get_orders', arguments: { year: 2026 } });
assert(outcome.type === 'ToolArtifactReference');
assert(outcome.sizeBytes > 60_000);
assert(outcome.summary.length <= 200);
assert(outcomeToModelContent(outcome).length < 1_000); // the prompt only needs to hold this

// Every runtime has `read_artifact`: it reads a part by offset and limit, or by a search.
const { artifactId } = outcome;
const found = await turn.call({
  id: 'o2',
  name: 'read_artifact',
  arguments: { artifactId, search: '"2026-1234"' },
});
assert.match(outcomeToModelContent(found), /1334/);

// An argument can refer to all of it: the tool receives the orders, the record keeps the reference.
const passed = await turn.call({
  id: 'o3',
  name: 'import_orders',
  arguments: { orders: { $artifact: artifactId } },
});
assert.equal(outcomeToModelContent(passed), '{"imported":2000}');
assert.equal(imported[1_234]?.cents, 1_334);
const [record] = await runtime.calls.audit({ sessionId: 'books', callId: 'o3' });
assert.deepEqual(record?.requestedInput, { orders: { $artifact: artifactId } });

// Code needs no reference: a typed run returns the whole output.
assert.equal((await turn.run.get_orders({ year: 2025 })).length, 2_000);
console.log(outcomeToModelContent(outcome));
