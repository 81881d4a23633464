/** Durable calls of a tool with an effect, through the whole runtime: intent, body, end. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { burstOf, serveLane } from './lane.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

/** Nothing in these calls is hidden. */
const benchKey = Buffer.alloc(32);
const callsPerTurn = 1_000;

await serveLane(async ({ url, name }) => {
  const ledger = await openLedger(url, {
    spillFolder: join(tmpdir(), 'quittance-bench-spill', name),
    sealKey: benchKey,
  });
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({
        name: 'send_mail',
        input: z.object({ city: z.string(), days: z.number() }),
        mode: 'external',
        loopLimit: 1e9,
        run: async ({ city }: { city: string }) => ({ city, ok: true }),
      }),
    ],
  });
  let made = 0;
  const turns: { left: number; turn: ReturnType<typeof runtime.turn> }[] = [];
  const turnOf = (worker: number): ReturnType<typeof runtime.turn> => {
    const known = turns[worker];
    if (known !== undefined && known.left-- > 0) return known.turn;
    const turn = runtime.turn({ sessionId: `session-${name}-${worker}` });
    turns[worker] = { left: callsPerTurn, turn };
    return turn;
  };
  return {
    burst: burstOf(async (worker) => {
      const days = made++;
      const { type } = await turnOf(worker).call({
        id: `call_${days}`,
        name: 'send_mail',
        arguments: { city: 'Lyon', days },
      });
      if (type !== 'ToolExecutionResult') throw new Error(`A call ended as ${type}.`);
    }),
    settle: () => findCalls(ledger, { limit: 1 }), // fills the read tables
    async close() {
      await runtime.close();
      await ledger.close();
    },
  };
});
