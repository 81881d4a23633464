// `turn.tools()` returns {name, description, schema, execute}: pass it to any agent loop.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, outcomeToModelContent } from 'quittance';
import { z } from 'zod';

// Not ours: a loop with its own kind of tools. Its model is a script.
type LoopTool = { name: string; description: string; execute(args: string): Promise<string> };
type Step = { tool: string; args: string } | { say: string };
async function runLoop(script: readonly Step[], tools: readonly LoopTool[]): Promise<string[]> {
  const transcript: string[] = [];
  for (const step of script) {
    if ('say' in step) return [...transcript, step.say];
    const tool = tools.find(({ name }) => name === step.tool);
    transcript.push(tool === undefined ? 'no such tool' : await tool.execute(step.args));
  }
  return transcript;
}

const getWeather = defineTool({
  name: 'get_weather',
  description: 'Today’s weather in a city.',
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, celsius: 21 }),
});

const runtime = createRuntime({ tools: [getWeather] });
const turn = runtime.turn({ sessionId: 'chat-1', timeoutMs: 30_000, provenance: { model: 'scripted' } });
assert.deepEqual(turn.tools()[0]?.schema?.['required'], ['city']); // JSON Schema, for the model to read

const transcript = await runLoop(
  [
    { tool: 'get_weather', args: '{"town":"Lyon"}' },
    { tool: 'get_weather', args: '{"city":"Lyon"}' },
    { say: 'It is 21 °C in Lyon.' },
  ],
  turn.tools(),
);
await turn.end();
console.log(transcript.join('\n'));
assert.match(transcript[0] ?? '', /argument_validation_failed/); // in words that a model can act on
assert.equal(transcript[1], '{"city":"Lyon","celsius":21}');

// In your own loop, pass the model's call to the turn: it uses the id, and it also answers a wrong name.
const other = runtime.turn({ sessionId: 'chat-1' });
const outcome = await other.call({ id: 'toolu_1', name: 'get_wether', arguments: { city: 'Lyon' } });
console.log(outcomeToModelContent(outcome));
assert(outcome.type === 'ToolFailure');
assert.equal(outcome.code, 'tool.unknown');
