/** Adds large calls and an artifact to a ledger, for repeated requests of a hostile viewer. */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import type { LargeThings } from '../../test/http/hostile-requests.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

export async function fillLarge(path: string): Promise<LargeThings> {
  const ledger = await openLedger(path, { synchronous: 'normal' });
  const tool = defineTool({
    name: 'get_note',
    mode: 'read',
    loopLimit: 1e9,
    input: z.object({ text: z.string() }),
    run: ({ text }) => (text.startsWith('artifact') ? text : 1),
  });
  const drop = defineTool({
    name: 'drop_note',
    mode: 'destructive',
    input: z.object({ text: z.string() }),
    run: () => 1,
  });
  const runtime = createRuntime({ tools: [tool, drop], ledger });
  const turn = runtime.turn({ sessionId: 'large' });
  const make = (id: string, text: string): ReturnType<typeof turn.call> =>
    turn.call({ id, name: 'get_note', arguments: { text } });
  for (let n = 0; n < 40; n++) await make(`c${n}`, `${n}${'x'.repeat(250_000)}`);
  await make('big', 'x'.repeat(1_500_000));
  await make('huge', 'x'.repeat(20_000_000));
  void turn
    .call({ id: 'held', name: 'drop_note', arguments: { text: 'x'.repeat(3_000_000) } })
    .catch(() => undefined); // left open when the runtime closes
  while ((await runtime.confirmations.list()).rows.length === 0) await new Promise(setImmediate);
  const kept = await make('kept', `artifact${'y'.repeat(20_000_000)}`);
  const [question] = (await runtime.confirmations.list()).rows;
  await findCalls(ledger, { limit: 1 });
  await runtime.close();
  await ledger.close();
  return {
    sessionId: 'large',
    callId: 'big',
    hugeCallId: 'huge',
    artifactId: kept.type === 'ToolArtifactReference' ? kept.artifactId : undefined,
    confirmationId: question?.confirmationId ?? '',
  };
}
