import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contractsFromYamlString } from '../contracts/from-yaml.ts';
import { contractsFromMultiple } from '../contracts/from-multiple.ts';
import type { LoadedContracts } from '../contracts/loaded-contracts.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import { createRuntime } from '../store/create-runtime.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { defineTool } from '../tool/define-tool.ts';
import { backtest } from './backtest.ts';

const anything = { type: 'object' } as const;
const tools = ['Read', 'Bash', 'send'].map((name) =>
  defineTool({
    name,
    mode: name === 'Read' ? 'read' : 'external',
    loopLimit: 1e9,
    input: anything,
    run: (args) => ({ said: args['text'] ?? null }),
  }),
);

const pool = [
  '{id: no-eve, type: pre, tool: "*", when: {args.text: {equals: eve}}, then: {action: block, message: No.}}',
  '{id: ask-send, type: pre, tool: send, when: {args.text: {exists: true}}, then: {action: ask, message: May it?}}',
  '{id: two-sends, type: session, limits: {max_calls_per_tool: {send: 2}}, then: {action: block, message: Enough.}}',
  '{id: six, type: session, limits: {max_attempts: 6}, then: {action: block, message: Enough.}}',
  '{id: four, type: session, limits: {max_tool_calls: 4}, then: {action: block, message: Enough.}}',
  '{id: keys, type: post, tool: "*", when: {output.text: {contains: key}}, then: {action: redact, message: A key.}}',
  '{id: bad, type: post, tool: Bash, when: {result.said: {equals: ls}}, then: {action: block, message: Bad.}}',
  '{id: seen, type: post, tool: Read, when: {output.text: {exists: true}}, then: {action: warn, message: Seen.}}',
  '{id: watch, type: pre, tool: "*", mode: observe, when: {tool.name: {exists: true}}, then: {action: block, message: Seen.}}',
];
const flow = `apiVersion: quittance/v1
kind: Workflow
metadata: {name: order}
stages:
  - {id: look, tools: [Read], exit: [{condition: 'file_read("a.md")', message: Read a.md first.}]}
  - {id: try, tools: [Bash, Read], approval: {message: Ready?}}
  - {id: send, tools: [send, Read]}
`;

function contractsOf(rules: readonly string[], hasFlow: boolean): LoadedContracts {
  const none =
    '{id: none, type: pre, tool: nothing, when: {tool.name: {exists: true}}, then: {action: block, message: No.}}';
  const text = `apiVersion: quittance/v1\nkind: Ruleset\nmetadata: {name: r}\ndefaults: {mode: enforce}\nrules:\n${[none, ...rules].map((rule) => `  - ${rule}\n`).join('')}`;
  const ruleset = contractsFromYamlString(text);
  return hasFlow ? contractsFromMultiple([ruleset, contractsFromYamlString(flow)]) : ruleset;
}

type Made = { readonly name: string; readonly args: { readonly text: string; readonly path: string } };

async function record(calls: readonly Made[], contracts: LoadedContracts | undefined): Promise<OpenLedger> {
  const ledger = createMemoryLedger();
  const runtime = createRuntime({
    tools,
    ledger,
    ...(contracts !== undefined && { contracts }),
    onConfirm: () => ({ decision: 'approve', by: 'Ada' }),
  });
  const turn = runtime.turn({ sessionId: 's' });
  for (const [index, { name, args }] of calls.entries())
    await turn.call({ id: `c${index}`, name, arguments: args });
  await runtime.close();
  return ledger;
}

/** The recorded decision for each call. */
async function wordsOf(ledger: OpenLedger): Promise<string[]> {
  const words = new Map<string, Set<string>>();
  for (const event of await ledger.readSession('s'))
    if (event.type === 'tool.decided' || event.type === 'tool.responded') {
      const known = words.get(event.callId) ?? new Set();
      words.set(event.callId, known);
      const about = event.type === 'tool.decided' ? 'call' : 'output';
      for (const { action, observed } of event.rules) if (observed !== true) known.add(`${about} ${action}`);
    }
  return [...words].flatMap(([callId, said]) =>
    strongest(said, 'call', ['block', 'ask'])
      .concat(strongest(said, 'output', ['block', 'redact', 'warn']))
      .map((word) => `${callId} ${word}`),
  );
}

const strongest = (said: ReadonlySet<string>, about: string, order: readonly string[]): string[] =>
  order
    .map((word) => `${about} ${word}`)
    .filter((word) => said.has(word))
    .slice(0, 1);

const made = fc.record({
  name: fc.constantFrom('Read', 'Bash', 'send'),
  args: fc.record({ text: fc.constantFrom('eve', 'key', 'ls', 'x'), path: fc.constantFrom('a.md', 'b.md') }),
});

test('the backtest of rules gives the decisions that the runtime makes under them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(made, { maxLength: 12 }),
      fc.subarray(pool),
      fc.boolean(),
      async (calls, rules, hasFlow) => {
        const free = await record(calls, undefined);
        const report = await backtest(free, { contracts: contractsOf(rules, hasFlow), samples: 1_000 });
        const expected = await wordsOf(await record(calls, contractsOf(rules, hasFlow)));
        const found = report.changes.flatMap(({ about, after, samples }) =>
          samples.map(({ callId }) => `${callId} ${about} ${after}`),
        );
        expect(found.toSorted()).toEqual(expected.toSorted());
        // A backtest under the recorded rules changes nothing.
        const again = await backtest(await record(calls, contractsOf(rules, hasFlow)), {
          contracts: contractsOf(rules, hasFlow),
        });
        expect(again.changes).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});
