/** The runtime of a server under test: a slow effect, and a tool that asks. */
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import type { OpenLedger } from 'quittance/store';

const input = { type: 'object' } as const;

export default (ledger: OpenLedger): Runtime =>
  createRuntime({
    ledger,
    tools: [
      defineTool({
        name: 'slow',
        mode: 'external',
        input,
        timeoutMs: 3_600_000,
        run: ({ ms }: { ms?: number }) =>
          new Promise((resolve) => {
            setTimeout(() => resolve({ ok: true }), ms);
          }),
      }),
      defineTool({ name: 'delete_all', mode: 'destructive', input, run: () => 1 }),
    ],
  });
