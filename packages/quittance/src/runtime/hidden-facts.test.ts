/** What the caller said about itself reaches the body and the rules of another process exactly, and the store only sealed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { expect, it } from 'vitest';
import { createMortalLedger } from '../../../../test/mortal-ledger.ts';
import { question, yes } from '../../../../test/people/question.ts';
import { findProblems } from '../../../../test/postgres/verify.ts';
import { envelope, quiet } from '../../../../test/stage.ts';
import { readSealed } from '../ledger/reads.ts';

const apiKey = 'wuxqyzjkvhwl-ada';
const facts = {
  principal: { userId: 'ada', claims: { api_key: apiKey, tier: 'gold' } },
  attrs: { password: `${apiKey}-attrs`, ticket: 'T-1' },
};

/** Blocks a call whose caller has another key. */
const contracts = contractsFromYamlString(`
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: keys }
defaults: { mode: enforce }
rules:
  - id: known-key
    type: pre
    tool: pay
    when: { principal.claims.api_key: { not_equals: ${apiKey} } }
    then: { action: block, message: Unknown key. }
  - id: known-password
    type: pre
    tool: pay
    when: { metadata.password: { not_equals: ${apiKey}-attrs } }
    then: { action: block, message: Unknown password. }
`);

function stage() {
  const clock = createManualClock();
  const file = createMortalLedger(clock);
  const seen: unknown[] = [];
  const start = (ledger: OpenLedger, mode: 'external' | 'destructive', body: () => unknown = () => 'done') =>
    createRuntime({
      clock,
      ledger,
      contracts,
      tools: [
        defineTool({
          name: 'pay',
          mode,
          idempotent: true,
          run: (args, { principal }) => {
            seen.push({ args, principal });
            return body();
          },
        }),
      ],
    });
  return { file, seen, start };
}

it('[secrets-stay-out] an attempt that another process makes again has the exact values', async () => {
  const { file, seen, start } = stage();
  const owner = file.open();
  const never = (): Promise<never> => new Promise(() => undefined);
  void start(owner.ledger, 'external', never)
    .turn({ sessionId: 's', ...facts })
    .call(envelope('a', 'pay', { cents: 5 }));
  await quiet();
  owner.kill();
  const next = file.open();
  expect(await start(next.ledger, 'external').recover()).toMatchObject([{ callId: 'a', how: 'rerun' }]);
  expect(seen).toEqual([
    { args: { cents: 5 }, principal: facts.principal },
    { args: { cents: 5 }, principal: facts.principal },
  ]);
  expect(JSON.stringify(await next.ledger.readSession('s'))).not.toContain(apiKey);
  expect(await readSealed(next.ledger, 's', 'a')).toBeUndefined();
  expect(await findProblems(next.ledger)).toEqual([]);
});

it.each([
  ['approved', undefined],
  ['edited', { cents: 7 }],
  ['edited to have a hidden argument', { cents: 7, password: 'other' }],
])('a held call that is %s runs in another process with the exact values', async (_, edited) => {
  const { file, seen, start } = stage();
  const owner = file.open();
  void start(owner.ledger, 'destructive')
    .turn({ sessionId: 's', ...facts })
    .call(envelope('a', 'pay', { cents: 5 }));
  await quiet();
  owner.kill();
  const { ledger } = file.open();
  expect(await findProblems(ledger)).toEqual([]);
  const runtime = start(ledger, 'destructive');
  const reply = runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay', { cents: 5 }));
  const open = await question(runtime, 'a');
  await runtime.confirmations.decide(
    open.confirmationId,
    edited === undefined ? yes(open) : { ...yes(open), decision: 'edit', arguments: edited },
  );
  expect(await reply).toMatchObject({ type: 'ToolExecutionResult', output: 'done' });
  expect(seen).toEqual([{ args: edited ?? { cents: 5 }, principal: facts.principal }]);
  expect(JSON.stringify(await ledger.readSession('s'))).not.toContain(apiKey);
  expect(await findProblems(ledger)).toEqual([]);
});

it('the sealed values of an open call survive a rebuild of the tables', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-facts-'));
  const ledger = await openLedger(join(folder, 'ledger.db'));
  const runtime = stage().start(ledger, 'destructive');
  void runtime
    .turn({ sessionId: 's', ...facts })
    .call(envelope('a', 'pay', { cents: 5 }))
    .catch(() => undefined);
  await question(runtime, 'a');
  await ledger.rebuild();
  expect(await readSealed(ledger, 's', 'a')).toEqual(expect.any(String));
  expect(await findProblems(ledger)).toEqual([]);
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});
