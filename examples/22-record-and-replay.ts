/** Record once, replay many times: the real tool runs once, failures replay as failures, and a change is detected. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolOutcome } from 'quittance';
import { defineTool, isQuittanceError, ToolError } from 'quittance';
import { injectFaults, withCassette } from 'quittance/testing';

const folder = mkdtempSync(join(tmpdir(), 'quittance-example-'));
const path = join(folder, 'weather.json');
let asked = 0;

const weather = defineTool({
  name: 'weather',
  mode: 'read',
  run: ({ city }) => {
    asked++;
    if (city === 'Atlantis') throw new ToolError('tool.reported_error', 'It sank.');
    return { city, sky: 'grey' };
  },
});

/** The test: the calls of an agent, with a first city that may change. */
const test = (city: string): Promise<readonly ToolOutcome[]> =>
  withCassette(
    path,
    { tools: [weather], record: 'once', environment: {} },
    async ({ runtime, sessionId }) => {
      const turn = runtime.turn({ sessionId });
      return [
        await turn.call({ id: 'call-1', name: 'weather', arguments: { city } }),
        await turn.call({ id: 'call-2', name: 'weather', arguments: { city: 'Atlantis' } }),
      ];
    },
  );

const [first, failed] = await test('Oslo');
assert.equal(asked, 2);

const [again, failedAgain] = await test('Oslo');
assert.equal(asked, 2);
assert.deepEqual([again?.type, failedAgain?.type], [first?.type, failed?.type]);
console.log('Played:', again?.type, 'and', failedAgain?.type);

const miss: unknown = await test('Rome').catch((error: unknown) => error);
assert(isQuittanceError(miss, 'cassette.unused'));
assert.equal(asked, 2);
console.log(miss.message);

// A tool that fails on purpose, to see the outcome of the call.
const flaky = injectFaults(weather, [{ on: 1, fault: 'network_error' }]);
const outcome = await withCassette(
  join(folder, 'flaky.json'),
  { tools: [flaky], record: true, environment: {} },
  ({ runtime, sessionId }) =>
    runtime.turn({ sessionId }).call({ id: 'call-1', name: 'weather', arguments: { city: 'Oslo' } }),
);
assert.equal(outcome.type === 'ToolFailure' && outcome.code, 'tool.network_error');
console.log('Broken on purpose:', outcome.type);

rmSync(folder, { recursive: true });
