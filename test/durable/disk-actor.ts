/**
 * A process on a ledger whose disk has little room. It makes calls one after another until the ledger fails,
 * and a few more, and reports every outcome. The test's own process counts the effects of its tools.
 */
import type { ToolOutcome } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

/** The instructions from the test. */
export type Errand = {
  readonly ledger: string;
  readonly world: string;
  readonly tool: 'pay' | 'get_it' | 'make_film';
  /** Made in this order. Without them: new ones until the ledger fails. */
  readonly calls?: readonly string[];
};

export type Said =
  | { readonly type: 'told'; readonly callId: string; readonly outcome: ToolOutcome }
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'done' };

const errand = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the test that started this process
const say = (said: Said): Promise<void> =>
  new Promise((resolve) => void process.send?.(said, () => resolve()));

const happen = async (callId: string): Promise<void> => {
  await fetch(`${errand.world}/?key=${callId}`, { method: 'POST' });
};
const tools = [
  defineTool({
    name: 'pay',
    mode: 'external',
    loopLimit: 1_000_000,
    rerun: 'allow',
    run: async (_, { callId }) => {
      await happen(callId);
      return { paid: callId, receipt: 'x'.repeat(3_000) };
    },
  }),
  defineTool({
    name: 'get_it',
    mode: 'read',
    loopLimit: 1_000_000,
    run: async (_, { callId }) => {
      await happen(callId);
      return { got: callId, page: 'x'.repeat(3_000) };
    },
  }),
  // Too long for inline output: an artifact, which is a separate file, larger than the free space.
  defineTool({
    name: 'make_film',
    mode: 'external',
    loopLimit: 1_000_000,
    rerun: 'allow',
    run: async (_, { callId }) => {
      await happen(callId);
      return { film: callId.repeat(500_000) };
    },
  }),
];

/** Could its end, or its start, not be stored at all? A spilled one counts as stored. */
const isTrouble = (outcome: ToolOutcome): boolean => 'code' in outcome && outcome.code !== undefined;

async function play(): Promise<void> {
  const ledger = await openLedger(errand.ledger, { spillBytes: 65_536 });
  const runtime = createRuntime({ ledger, tools });
  const turn = runtime.turn({ sessionId: 's' });
  const make = async (callId: string): Promise<ToolOutcome> => {
    const outcome = await turn.call({ id: callId, name: errand.tool, arguments: { callId } });
    await say({ type: 'told', callId, outcome });
    return outcome;
  };
  if (errand.calls === undefined)
    for (let number = 0, left = 3; left > 0; number++) if (isTrouble(await make(`call${number}`))) left--;
  for (const callId of errand.calls ?? []) await make(callId);
  await runtime.close();
  await ledger.close();
}

await play().catch((error: unknown) => say({ type: 'refused', message: String(error) }));
await say({ type: 'done' });
process.disconnect();
