import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Principal } from '../../tool/tool-context.ts';

test('principal and provenance have text names, and nothing else is stored', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-facts-'));
  const ledger = await openLedger(join(folder, 'ledger.db'));
  const runtime = createRuntime({ tools: [defineTool({ name: 'get_it', run: () => 1 })], ledger });
  try {
    // As untyped code would pass it, or code that forwards foreign JSON.
    const odd = (fields: object): Principal => fields as Principal;
    const turn = runtime.turn({ sessionId: 's' });
    const call = (id: string, more: object) => turn.call({ id, name: 'get_it', arguments: {} }, more);
    for (const [index, said] of [
      { principal: odd({ userId: 5 }) },
      { principal: odd({ userId: null }) },
      { principal: odd({ serviceId: ['a'] }) },
      { principal: odd({ role: { name: 'x' } }) },
      { provenance: { model: 4 } },
    ].entries())
      await expect(call(`odd${index}`, said)).rejects.toMatchObject({
        code: 'config.invalid',
        message: expect.stringContaining('must be a text'),
      });
    expect(() => runtime.turn({ sessionId: 's', principal: odd({ orgId: 7 }) })).toThrow(
      'principal.orgId must be a text, found 7. Leave it out if there is none.',
    );
    await call('plain', { principal: { userId: 'ada', claims: { level: 3 } } });
    const { rows } = await ledger.queries.findCalls({});
    expect(rows.map(({ callId, userId }) => [callId, userId])).toEqual([['plain', 'ada']]);
  } finally {
    await runtime.close();
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
