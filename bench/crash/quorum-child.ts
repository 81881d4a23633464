/**
 * A process of the quorum rounds: it holds calls, votes on them as one person, or is the successor. A rule needs two of
 * three people. Even calls are approved, odd ones denied.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import type { Runtime } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import type { DirectIdentity } from 'quittance/events';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import type { QuorumErrand, QuorumPoint } from './points.ts';
import { alterLedger } from '../../test/alter-ledger.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as QuorumErrand; // written by the parent process
const callIds = Array.from({ length: errand.calls }, (_, index) => `c${index}`);
const isWanted = (callId: string): boolean => Number(callId.slice(1)) % 2 === 0;
const met = new Map<QuorumPoint, number>();

const rules = `
apiVersion: quittance/v1
kind: Ruleset
metadata: { name: quorum }
defaults: { mode: enforce }
rules:
  - id: two-of-finance
    type: pre
    tool: delete_it
    then:
      action: ask
      message: Two of finance must approve.
      timeout: 86400
      approval: { groups: [finance], quorum: 2, exclude: [asker] }
`;

/** Kills the process if this is the chosen point and call. */
function meet(point: QuorumPoint): void {
  const times = met.get(point) ?? 0;
  met.set(point, times + 1);
  if (errand.point === point && times === errand.nth) process.kill(process.pid, 'SIGKILL');
}

const remove = defineTool({
  name: 'delete_it',
  rerun: 'deny',
  run: async (_, { callId }) => {
    await fetch(`${errand.service}/?key=${encodeURIComponent(`${errand.sessionId}/${callId}`)}`, {
      method: 'POST',
    });
    return { done: callId };
  },
});

/** The same ledger, with crash points around appends and reads. */
function mined(ledger: OpenLedger): OpenLedger {
  const { part } = errand;
  const append: OpenLedger['append'] = async (entry) => {
    const has = (type: string): boolean => entry.events.some((event) => event.type === type);
    if (part === 'voter' && has('confirmation.voted')) meet('voter: before vote');
    if (part === 'voter' && has('confirmation.decided')) meet('voter: before decision');
    if (part === 'holder' && has('tool.started')) meet('holder: before intent');
    const result = await ledger.append(entry);
    if (part === 'voter' && has('confirmation.voted')) {
      meet('voter: after vote');
      meet('all: after vote');
    }
    if (part === 'voter' && has('confirmation.decided')) meet('voter: after decision');
    if (part === 'holder' && has('tool.started')) meet('holder: after intent');
    return result;
  };
  const whenChanged: OpenLedger['whenChanged'] = async (awaited, signal) => {
    await ledger.whenChanged(awaited, signal);
    if (part !== 'holder' || signal?.aborted === true) return;
    meet('holder: after vote');
    meet('all: after vote');
  };
  return alterLedger(ledger, { append, whenChanged });
}

const ask = (runtime: Runtime, id: string): Promise<unknown> =>
  runtime
    .turn({ sessionId: errand.sessionId, principal: { userId: 'bob' } })
    .call({ id, name: 'delete_it', arguments: { id } });

const finance = (subject: string): DirectIdentity => ({
  kind: 'provider',
  issuer: 'https://id.example',
  subject,
  method: 'oidc',
  groups: ['finance'],
});

/** This person votes on every open question. Each is repeated, as an impatient person or a retrying client does. */
async function vote(runtime: Runtime, by: string): Promise<void> {
  const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
  const decide = async ({ confirmationId, callId, inputDigest }: (typeof rows)[number]): Promise<void> => {
    const decision = isWanted(callId) ? 'approve' : 'deny';
    try {
      await runtime.confirmations.decide(confirmationId, {
        decision,
        by,
        identity: finance(by),
        inputDigest,
      });
    } catch (error) {
      // They have voted already, or the question is decided.
      if (!isQuittanceError(error, 'confirmation.decided')) throw error;
    }
  };
  await Promise.all([...rows, ...rows].map(decide));
}

const ledger = mined(await openLedger(errand.ledger));
const contracts = contractsFromYamlString(rules);
// A voter is an inbox: it does not have the tool.
const runtime = createRuntime({ tools: errand.part === 'voter' ? [] : [remove], ledger, contracts });

switch (errand.part) {
  case 'holder': {
    const asked = callIds.map((id) => ask(runtime, id));
    for (let held = 0; held < errand.calls; await sleep(5)) {
      const calls = await runtime.calls.list({ sessionId: errand.sessionId });
      held = calls.filter(({ confirmation }) => confirmation !== undefined).length;
    }
    process.send?.('held');
    await Promise.all(asked);
    break;
  }
  case 'voter':
    for (const by of errand.by.split(',')) await vote(runtime, by);
    break;
  case 'after': {
    await runtime.recover();
    const asked = Promise.all(callIds.map((id) => ask(runtime, id)));
    let isOver = false;
    const outcomes = asked.finally(() => (isOver = true));
    // The votes that are stored count: one or two more people complete the quorum.
    for (; !isOver; await Promise.race([sleep(10), outcomes]))
      for (const by of ['dan', 'ada', 'eve']) await vote(runtime, by);
    const told = (await outcomes) as readonly { readonly callId: string }[];
    process.send?.({
      outcomes: Object.fromEntries(told.map((outcome) => [outcome.callId, outcome])),
      events: await runtime.events.list({ sessionId: errand.sessionId }),
    });
  }
}
await runtime.close();
await ledger.close();
process.disconnect();
