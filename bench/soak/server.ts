/** The server of the soak run, in a separate process: reports its live memory after a collection. */
import { createRuntime, defineTool, retry } from 'quittance';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { answerOrders } from '../answer-orders.ts';

export type Held = { readonly heapMb: number; readonly rssMb: number };

const [path = ''] = process.argv.slice(2);
const ledger = await openLedger(path);
const input = z.object({ n: z.number() });
const tools = [
  defineTool({ name: 'look_up', mode: 'read', loopLimit: 1e9, input, run: ({ n }) => ({ n }) }),
  defineTool({
    name: 'ask_the_bank',
    mode: 'read',
    loopLimit: 1e9,
    input,
    run: ({ n }) => {
      throw new Error(`The bank did not answer ${n}.`);
    },
  }),
  defineTool({ name: 'delete_order', mode: 'destructive', input, run: ({ n }) => ({ deleted: n }) }),
  defineTool({ name: 'print_label', mode: 'read', loopLimit: 1e9, handoff: true, timeoutMs: 300, input }),
  defineTool({ name: 'bake', mode: 'read', handoff: true, timeoutMs: 24 * 3_600_000, input }),
];
const runtime = createRuntime({ tools, ledger, behaviors: [retry({ attempts: 2, initialMs: 1 })] });
const server = await createHttpServer({
  ledger,
  runtime,
  tools,
  ...(path.startsWith('memory:') ? {} : { ledgerUrl: path }),
  port: 0,
  localName: 'soak',
  limits: { rate: { perSecond: 10_000, burst: 10_000 } },
  onError: (error) => console.error(error),
});

answerOrders({ server, runtime, ledger }, (): Held => {
  for (let round = 0; round < 4; round++) globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapMb: heapUsed / 1_048_576, rssMb: rss / 1_048_576 };
});
