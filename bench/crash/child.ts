/**
 * The process that is killed, and its successor. Crash points need no hook in the product: the wrapped ledger
 * distinguishes an intent from an end by the appended entry.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createRuntime, defineTool } from 'quittance';
import type { AnyTool, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import type { CrashPoint, Errand } from './points.ts';
import { alterLedger } from '../../test/alter-ledger.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the parent process
let met = 0;

/** Kills the process if this is the chosen point and call. */
function meet(point: CrashPoint): void {
  if (errand.point === point && met++ === errand.nth) process.kill(process.pid, 'SIGKILL');
}

const effect = async (key: string, once: boolean): Promise<void> => {
  await fetch(`${errand.service}/?key=${encodeURIComponent(key)}${once ? '&once' : ''}`, { method: 'POST' });
};
const happened = async (key: string): Promise<boolean> =>
  (await (await fetch(`${errand.service}/?key=${encodeURIComponent(key)}`)).text()) !== '0';

async function body(key: string): Promise<{ done: string }> {
  meet('during the body');
  if (errand.tool !== 'read') await effect(key, errand.tool === 'idempotent');
  meet('after the effect');
  return { done: key };
}

const run = (_: unknown, { callId }: { readonly callId: string }): Promise<{ done: string }> =>
  body(`${errand.sessionId}/${callId}`);

const tool: AnyTool = {
  'non-idempotent': () => defineTool({ name: 'act', mode: 'external', run }),
  idempotent: () => defineTool({ name: 'act', mode: 'external', idempotent: true, run }),
  reconcilable: () =>
    defineTool({
      name: 'act',
      mode: 'external',
      run,
      reconcile: async ({ callId }) =>
        (await happened(`${errand.sessionId}/${callId}`))
          ? { status: 'succeeded', output: { done: callId } }
          : { status: 'failed' },
    }),
  read: () => defineTool({ name: 'act', mode: 'read', run }),
}[errand.tool]();

/** The same ledger, with crash points around each append. */
function mined(ledger: OpenLedger): OpenLedger {
  const append: OpenLedger['append'] = async (entry) => {
    const intent = entry.events.some(({ type }) => type === 'tool.started');
    const settles = entry.events.some(({ type }) => type === 'tool.responded');
    if (intent && !settles) meet('before intent');
    if (settles && errand.point === 'during the commit' && met++ === errand.nth) {
      // The parent process kills this one a moment later, during the write.
      process.send?.('committing');
    }
    const result = await ledger.append(entry);
    if (intent && !settles) meet('after intent');
    if (settles) meet('after settle');
    return result;
  };
  return alterLedger(ledger, { append });
}

const callIds = Array.from({ length: errand.calls }, (_, index) => `c${index}`);

async function governed(): Promise<Record<string, ToolOutcome>> {
  const ledger = mined(await openLedger(errand.ledger));
  const runtime = createRuntime({ tools: [tool], ledger });
  if (errand.point === undefined) await runtime.recover();
  const turn = runtime.turn({ sessionId: errand.sessionId });
  const outcomes = await Promise.all(callIds.map((id) => turn.call({ id, name: 'act', arguments: { id } })));
  await runtime.close();
  await ledger.close();
  return Object.fromEntries(outcomes.map((outcome) => [outcome.callId, outcome]));
}

/** The naive approach: record what is done, and after a restart repeat what is not recorded. */
async function naive(): Promise<Record<string, { type: string }>> {
  const done = new Set(existsSync(errand.ledger) ? readFileSync(errand.ledger, 'utf8').split('\n') : []);
  await Promise.all(
    callIds
      .filter((id) => !done.has(id))
      .map(async (id) => {
        meet('before intent');
        meet('after intent');
        await body(`${errand.sessionId}/${id}`);
        if (errand.point === 'during the commit' && met++ === errand.nth) process.send?.('committing');
        appendFileSync(errand.ledger, `${id}\n`);
        meet('after settle');
      }),
  );
  return Object.fromEntries(callIds.map((id) => [id, { type: 'ToolExecutionResult' }]));
}

process.send?.({ outcomes: errand.naive ? await naive() : await governed() });
process.disconnect();
