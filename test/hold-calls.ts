/**
 * A process that makes calls and holds those that need an approval, in the given ledger. Prints how each call
 * ends, one line each. Run by tests of the command line.
 */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { nasty } from './fill-ledger.ts';

const anything = { type: 'object' } as const;

const tools = [
  defineTool({ name: 'delete_order', mode: 'destructive', input: anything, run: () => ({ deleted: true }) }),
  defineTool({
    name: 'refund',
    mode: 'external',
    input: {
      type: 'object',
      properties: { order: { type: 'string' }, cents: { type: 'integer' }, password: { type: 'string' } },
      required: ['order', 'cents'],
    },
    run: ({ cents, password }) => ({ refunded: cents, knew: password === 'correct horse' }),
  }),
  defineTool({
    name: 'write_file',
    mode: 'safe_write',
    input: anything,
    preview: () => ({
      kind: 'diff',
      path: 'notes.md',
      diff: '--- notes.md\n+++ notes.md\n@@ -1 +1 @@\n-old\n+new',
      snapshot: { sha: 'abc' },
    }),
    run: (_, { approved }) => ({ wrote: approved?.snapshot }),
  }),
] as const;

const [path = '', ...callIds] = process.argv.slice(2);
const ledger = await openLedger(path);
const runtime = createRuntime({ tools, ledger, treatments: { external: 'ask', safe_write: 'ask' } });
const turn = runtime.turn({
  sessionId: 'ticket-42',
  principal: { userId: 'bob' },
  provenance: { provider: 'acme', model: 'm-1' },
});
const inputs: Readonly<
  Record<string, { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }>
> = {
  call_delete: { name: 'delete_order', arguments: { order: 'A7' } },
  call_nasty: { name: 'delete_order', arguments: { note: nasty } },
  call_long: { name: 'delete_order', arguments: { note: `${'a line\n'.repeat(1_000)}the last line` } },
  call_refund: { name: 'refund', arguments: { order: 'A7', cents: 500, password: 'correct horse' } },
  call_write: { name: 'write_file', arguments: { file: 'notes.md' } },
};
await Promise.all(
  callIds.map(async (id) => {
    const { name, arguments: args } = inputs[id] ?? { name: '', arguments: {} };
    const outcome = await turn.call({ id, name, arguments: args });
    console.log(JSON.stringify({ id, outcome }));
  }),
);
await runtime.close();
await ledger.close();
