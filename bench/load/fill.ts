/** A ledger with this many calls, spread over many sessions and the last month, some of them failures. */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import type { Clock } from '../../packages/quittance/src/base/deadlines.ts';
import { systemClock } from '../../packages/quittance/src/base/deadlines.ts';
import { createProgress } from '../progress.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const sessions = 1_000;
const lanes = 256;
const monthMs = 30 * 86_400_000;
const input = z.object({ city: z.string(), days: z.number() });

export async function fill(path: string, calls: number): Promise<void> {
  let made = 0;
  const endsAt = Date.now();
  // Time passes during the calls, so that there are as many hourly counts as in a real month.
  const clock: Clock = {
    ...systemClock,
    now: () => Math.floor(endsAt - monthMs + (made / Math.max(1, calls)) * monthMs),
  };
  const ledger = await openLedger(path, { synchronous: 'normal', clock });
  const tools = Array.from({ length: 20 }, (_, n) =>
    defineTool({
      name: `tool_${n}`,
      input,
      mode: 'read',
      loopLimit: 1e9,
      run: async ({ city, days }) => {
        if (days % 50 === 0) throw new Error('There is no such place.');
        return { city, days };
      },
    }),
  );
  const runtime = createRuntime({ tools, ledger });
  const progress = createProgress(`filling to ${calls}`, calls);
  const lane = async (_: unknown, n: number): Promise<void> => {
    for (let turns = 0; made < calls; turns++) {
      const turn = runtime.turn({
        sessionId: `session-${(n + turns * lanes) % sessions}`,
        principal: { userId: `user-${n}` },
      });
      for (let each = 0; each < 20 && made < calls; each++) {
        const id = `call_${made++}`;
        await turn.call({ id, name: `tool_${made % 20}`, arguments: { city: 'Lyon', days: made } });
        progress.step();
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  progress.done();
  await findCalls(ledger, { limit: 1 });
  await runtime.close();
  await ledger.close();
}
