/**
 * Every public function that takes an object refuses anything else: untyped programs pass null, or a text.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as agUi from '@quittance/ag-ui';
import * as aiSdk from '@quittance/ai-sdk';
import * as anthropic from '@quittance/anthropic';
import * as claudeAgent from '@quittance/claude-agent';
import * as contracts from 'quittance/contracts';
import * as googleAdk from '@quittance/google-adk';
import * as googleGenai from '@quittance/google-genai';
import * as http from '@quittance/server';
import * as langchain from '@quittance/langchain';
import * as ledgers from 'quittance/ledger';
import * as mastra from '@quittance/mastra';
import * as openai from '@quittance/openai';
import * as openaiAgents from '@quittance/openai-agents';
import * as testing from 'quittance/testing';
import type { Runtime, Turn } from 'quittance';
import { createRuntime, defineTool, govern, isQuittanceError, retry } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { eventually } from './eventually.ts';

let ledger: OpenLedger;
let runtime: Runtime;
let turn: Turn;
/** The token of a call that waits for the report of a worker. */
let claimed: string;
beforeAll(async () => {
  ledger = ledgers.createMemoryLedger();
  runtime = createRuntime({ tools: [note, label], ledger });
  turn = runtime.turn({ sessionId: 's1' });
  const printed = turn.submit({ id: 'c2', name: 'print_label', arguments: {} });
  await printed.accepted;
  const ref = { sessionId: 's1', callId: 'c2' };
  claimed = await eventually(async () => (await runtime.handoffs.claim(ref, { worker: 'w' })).token);
});
afterAll(async () => {
  await runtime.handoffs.report(claimed, { output: 1 });
  await runtime.close();
});

const note = defineTool({
  name: 'read_note',
  mode: 'read',
  input: z.object({ id: z.string() }),
  run: ({ id }) => id,
});
const label = defineTool({ name: 'print_label', mode: 'external', handoff: true, input: z.object({}) });
const call = { id: 'c1', name: 'read_note', arguments: { id: '1' } };
const ref = { sessionId: 's1', callId: 'c1' };
const rules =
  'apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: r }\ndefaults: { mode: enforce }\nrules: []\n';

const notObjects = [null, 'text', 7, true, [], () => 1] as const;
/** The types forbid it; programs without types do it. */
type Bad = never;

const takers: Readonly<Record<string, (bad: Bad) => unknown>> = {
  'turn.call': (bad) => turn.call(call, bad),
  'turn.ask': (bad) => turn.ask(call, bad),
  'turn.callAll': (bad) => turn.callAll([call], bad),
  'turn.submit': (bad) => turn.submit(call, bad),
  'turn.child': (bad) => turn.child(bad),
  'turn.end': (bad) => runtime.turn({ sessionId: 's2' }).end(bad),
  'turn.run': (bad) => turn.run['read_note']?.({ id: '1' } as never, bad),
  'turn.tools().execute': (bad) => turn.tools()[0]?.execute({ id: '1' }, bad),
  createRuntime: (bad) => createRuntime(bad),
  'runtime.turn': (bad) => runtime.turn(bad),
  'runtime.recover': (bad) => runtime.recover(bad),
  'runtime.workflow': (bad) => runtime.workflow(bad),
  'runtime.protectFiles': (bad) => runtime.protectFiles(bad),
  'runtime.calls.list': (bad) => runtime.calls.list(bad),
  'runtime.calls.audit': (bad) => runtime.calls.audit(bad),
  'runtime.calls.errors': (bad) => runtime.calls.errors(bad),
  'runtime.calls.unresolved': (bad) => runtime.calls.unresolved(bad),
  'runtime.calls.reconcile, call': (bad) => runtime.calls.reconcile(bad, { by: 'ada' } as never),
  'runtime.calls.reconcile, found': (bad) => runtime.calls.reconcile(ref, bad),
  'runtime.calls.undo, call': (bad) => runtime.calls.undo(bad, { by: 'ada' }),
  'runtime.calls.undo, request': (bad) => runtime.calls.undo(ref, bad),
  'runtime.confirmations.list': (bad) => runtime.confirmations.list(bad),
  'runtime.confirmations.decide': (bad) => runtime.confirmations.decide('none', bad),
  'runtime.confirmations.link': (bad) => runtime.confirmations.link('none', bad),
  'runtime.confirmations.decideByLink': (bad) => runtime.confirmations.decideByLink('none', bad),
  'runtime.grants.give': (bad) => runtime.grants.give(bad),
  'runtime.grants.list': (bad) => runtime.grants.list(bad),
  'runtime.grants.revoke': (bad) => runtime.grants.revoke(bad),
  'runtime.handoffs.list': (bad) => runtime.handoffs.list(bad),
  'runtime.handoffs.claim, choice': (bad) => runtime.handoffs.claim(bad, { worker: 'w' } as never),
  'runtime.handoffs.claim, terms': (bad) => runtime.handoffs.claim(ref, bad),
  'runtime.handoffs.report': (bad) => runtime.handoffs.report(claimed, bad),
  'runtime.handoffs.report, notes': (bad) => runtime.handoffs.report(claimed, { output: 1 }, bad),
  'runtime.events.list': (bad) => runtime.events.list(bad),
  'runtime.events.tail': (bad) => runtime.events.tail(bad)[Symbol.asyncIterator]().next(),
  'runtime.events.on': (bad) => runtime.events.on(bad, () => undefined),
  defineTool: (bad) => defineTool(bad),
  retry: (bad) => retry(bad),
  'govern, overrides': (bad) => govern([], bad),
  createMemoryLedger: (bad) => ledgers.createMemoryLedger(bad),
  openLedger: (bad) => ledgers.openLedger(':memory:', bad),
  summarizeErrors: (bad) => ledgers.summarizeErrors(ledger, bad),
  contractsFromYamlString: (bad) => contracts.contractsFromYamlString(rules, bad),
  contractsFromYaml: (bad) => contracts.contractsFromYaml('none.yaml', bad),
  contractsFromTemplate: (bad) => contracts.contractsFromTemplate('coding-agent', bad),
  contractsFromMultiple: (bad) => contracts.contractsFromMultiple([], bad),
  'contracts.contracts': (bad) => contracts.contracts(bad),
  'contracts.contracts, options': (bad) => contracts.contracts({ rules: [] }, bad),
  backtest: (bad) => contracts.backtest(ledger, bad),
  createHttpServer: (bad) => http.createHttpServer(bad),
  forkSession: (bad) => testing.forkSession(ledger, bad),
  recordCassette: (bad) => testing.recordCassette(ledger, bad),
  'recordCassette, options': (bad) => testing.recordCassette(ledger, { sessionId: 's1' }, bad),
  recordedTools: (bad) => testing.recordedTools({} as never, [], bad),
  withCassette: (bad) => testing.withCassette('none.json', bad, () => Promise.resolve()),
  diffSessions: (bad) => testing.diffSessions([], [], bad),
  '@quittance/ag-ui createAgUi': (bad) => agUi.createAgUi(bad),
  '@quittance/ai-sdk governTools': (bad) => aiSdk.governTools({}, bad),
  '@quittance/anthropic governTools': (bad) => anthropic.governTools([], bad),
  '@quittance/claude-agent governTools': (bad) => claudeAgent.governTools([], bad),
  '@quittance/google-adk governTools': (bad) => googleAdk.governTools([], bad),
  '@quittance/google-genai governTools': (bad) => googleGenai.governTools([], bad),
  '@quittance/langchain governTools': (bad) => langchain.governTools([], bad),
  '@quittance/mastra governTools': (bad) => mastra.governTools({}, bad),
  '@quittance/openai governTools': (bad) => openai.governTools([], bad),
  '@quittance/openai-agents governTools': (bad) => openaiAgents.governTools([], bad),
};

describe.each(Object.entries(takers))('%s', (_, take) => {
  test.each(notObjects.map((bad) => [typeof bad === 'function' ? 'a function' : JSON.stringify(bad), bad]))(
    'refuses %s',
    async (_name, bad) => {
      let thrown: unknown = 'nothing was thrown';
      try {
        await take(bad as Bad);
      } catch (error) {
        thrown = error;
      }
      expect(isQuittanceError(thrown) ? thrown.code : thrown).toBe('config.invalid');
    },
  );
});
