import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, test, vi } from 'vitest';
import { createRedactor } from '../base/redaction.ts';
import type { Principal } from '../tool/tool-context.ts';
import { noFacts, readCallerFacts, toLastingFact } from './call-input.ts';
import { findCalls } from '../ledger/reads.ts';

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
    const { rows } = await findCalls(ledger, {});
    expect(rows.map(({ callId, userId }) => [callId, userId])).toEqual([['plain', 'ada']]);
  } finally {
    await runtime.close();
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('a fact that many calls share', () => {
  it('is read once for each redactor, and hidden by each in its own way', () => {
    const attrs = toLastingFact({ city: 'lyon', api_key: 'k-1' });
    const plain = createRedactor();
    const strict = createRedactor({ keyNames: ['city'] });
    const read = vi.spyOn(plain, 'input');
    for (let call = 0; call < 3; call++)
      expect(readCallerFacts({ attrs }, noFacts, plain).kept.attrs).toMatchObject({ city: 'lyon' });
    expect(read).toHaveBeenCalledTimes(1);
    expect(readCallerFacts({ attrs }, noFacts, plain).hidden).toEqual(['k-1']);
    expect(readCallerFacts({ attrs }, noFacts, strict).kept.attrs).not.toMatchObject({ city: 'lyon' });
  });

  it('is a copy that cannot change', () => {
    const given = { mcp: { server: 'a' } };
    const attrs = toLastingFact(given);
    given.mcp.server = 'b';
    const redactor = createRedactor();
    expect(readCallerFacts({ attrs }, noFacts, redactor).attrs).toEqual({ mcp: { server: 'a' } });
    expect(Object.isFrozen(attrs.mcp)).toBe(true);
  });

  it('is checked like any other', () => {
    const principal = toLastingFact({ userId: 7 as unknown as string });
    expect(() => readCallerFacts({ principal }, noFacts, createRedactor())).toThrow(
      'principal.userId must be a text',
    );
  });

  it('is read anew if the caller may change it', () => {
    const attrs = { city: 'lyon' };
    const redactor = createRedactor();
    readCallerFacts({ attrs }, noFacts, redactor);
    attrs.city = 'graz';
    expect(readCallerFacts({ attrs }, noFacts, redactor).attrs).toEqual({ city: 'graz' });
  });
});
