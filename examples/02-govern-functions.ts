// Functions you already have become tools: `govern` takes them unchanged, with missing properties added separately.
import assert from 'node:assert/strict';
import { createRuntime, govern, outcomeToModelContent } from 'quittance';
import { z } from 'zod';

const stock = new Map([['croissant', 12]]);

// Yours, unchanged.
const listStock = (): Record<string, number> => Object.fromEntries(stock);
const setStock = ({ item, count }: { item: string; count: number }): { item: string; count: number } => {
  stock.set(item, count);
  return { item, count };
};
// In the format of another library: govern knows where such objects keep their schema and function.
const getPrice = {
  description: 'The price of one item, in cents.',
  inputSchema: z.object({ item: z.string() }),
  execute: async ({ item }: { item: string }) => ({ item, cents: item.length * 20 }),
};

const tools = govern(
  { list_stock: listStock, set_stock: setStock, get_price: getPrice },
  {
    set_stock: {
      description: 'Sets how many of an item are on the shelf.',
      input: z.object({ item: z.string(), count: z.number().int().min(0) }),
      idempotent: true,
      timeoutMs: 2_000,
    },
  },
);
assert.deepEqual(
  tools.map(({ name, mode }) => `${name}: ${mode}`), // without a declaration, the mode comes from the name
  ['list_stock: read', 'set_stock: safe_write', 'get_price: read'],
);

const turn = createRuntime({ tools }).turn({ sessionId: 'bakery' });
assert.deepEqual(await turn.run.get_price({ item: 'croissant' }), { item: 'croissant', cents: 180 });

const refused = await turn.call({ id: 'c1', name: 'set_stock', arguments: { item: 'croissant', count: -1 } });
assert.equal(refused.type, 'ToolDenied');
assert.equal(stock.get('croissant'), 12); // the function never ran
console.log(outcomeToModelContent(refused));
