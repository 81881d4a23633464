// For code: typed tools return a value or throw a ToolError whose `reason` is one of a fixed list of codes.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, isToolError, reasonOf, ToolError, unwrap } from 'quittance';
import { z } from 'zod';

const getRate = defineTool({
  name: 'get_rate',
  input: z.object({ currency: z.enum(['EUR', 'CHF', 'SEK']) }),
  output: z.object({ currency: z.string(), perDollar: z.number(), at: z.date() }),
  timeoutMs: 1_000,
  run: ({ currency }) => {
    if (currency === 'SEK')
      throw new ToolError('tool.network_error', 'The bank does not answer.', { extras: { bank: 'north' } });
    return { currency, perDollar: 0.9, at: new Date(0) };
  },
});

const runtime = createRuntime({ tools: [getRate] });
const turn = runtime.turn({ sessionId: 'rates' });

const rate = await turn.run.get_rate({ currency: 'EUR' });
const perDollar: number = rate.perDollar; // typed by the output schema
const at: string = rate.at; // a date is a string in JSON
assert.deepEqual([perDollar, at], [0.9, '1970-01-01T00:00:00.000Z']);

// @ts-expect-error A wrong tool or a wrong input does not compile.
await assert.rejects(turn.run.get_rate({ currency: 'USD' }), (error) => {
  assert(isToolError(error));
  assert.equal(error.reason, 'tool.invalid_input'); // it does not run either
  return true;
});

try {
  await turn.run.get_rate({ currency: 'SEK' });
  assert.fail('This throws.');
} catch (error) {
  if (!isToolError(error)) throw error;
  assert.equal(error.reason, 'tool.network_error');
  assert.equal(error.retryable, true);
  assert.deepEqual(error.payloadExtras, { bank: 'north', input: { currency: 'SEK' } });
  console.log(`${error.message} ${reasonOf(error.reason).whatToDo}`);
}

// The same for an existing outcome.
const outcome = await turn.call({ id: 'r1', name: 'get_rate', arguments: { currency: 'SEK' } });
assert.throws(() => unwrap(outcome), { name: 'ToolError', reason: 'tool.network_error' });
