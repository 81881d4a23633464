// A budget is a hard limit, also for parallel calls, and a child turn gets its parent's remainder.
import assert from 'node:assert/strict';
import { createRuntime, defineTool } from 'quittance';
import type { ToolOutcome } from 'quittance';
import { z } from 'zod';

let searches = 0;
const searchWeb = defineTool({
  name: 'search_web',
  input: z.object({ query: z.string() }),
  costMicros: 250_000, // a quarter of a euro, in millionths
  run: async ({ query }, context) => {
    searches += 1;
    if (query.length < 10) context.charge(100_000); // the actual cost; the rest of the reservation is returned
    return { hits: [] };
  },
});

const runtime = createRuntime({
  tools: [searchWeb],
  budgets: [{ scope: 'user:ada', per: 'day', costMicros: 1_000_000 }], // shared by all her sessions
});
const search = (id: string, query: string) => ({ id, name: 'search_web', arguments: { query } });
const codes = (outcomes: readonly (ToolOutcome | { type: 'pending' })[]) =>
  outcomes.map((outcome) => ('code' in outcome ? outcome.code : outcome.type));

// Five at once under a limit of three: three run.
const turn = runtime.turn({ sessionId: 'research', budgets: [{ scope: 'turn', toolCalls: 3 }] });
const outcomes = await turn.callAll(
  ['bread', 'salt', 'rye', 'oven', 'yeast'].map((q, n) => search(`s${n}`, q)),
);
assert.deepEqual(codes(outcomes), [
  'ToolExecutionResult',
  'ToolExecutionResult',
  'ToolExecutionResult',
  'budget.tool_calls_exhausted',
  'budget.tool_calls_exhausted',
]);
assert.equal(searches, 3);

// A sub-agent works in its own session, on its parent's budget: none of the three calls remains.
const child = turn.child({ sessionId: 'research/sub-agent' });
assert.deepEqual(codes([await child.call(search('c1', 'flour'))]), ['budget.tool_calls_exhausted']);

// Ada's daily budget is 1.00; the three searches took 0.10 each. Two long ones (0.25) fit, a third does not.
const next = runtime.turn({ sessionId: 'research' });
const long = ['how to bake a rye bread', 'how to feed a sourdough', 'how to score a loaf'];
const spent = await next.callAll(long.map((q, n) => search(`l${n}`, q)));
assert.deepEqual(codes(spent), ['ToolExecutionResult', 'ToolExecutionResult', 'budget.cost_exhausted']);
const last = spent.at(-1);
assert(last?.type === 'ToolDenied');
console.log(last.details);
