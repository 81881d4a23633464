import { expect, test } from 'vitest';
import { openPrompt } from './prompt.ts';

const result = (terminal_reason: string) => ({ type: 'result', terminal_reason });
const early = result('tool_deferred_unavailable');

test.each([
  ['the result', [result('completed')], true],
  ['the result of a call that is deferred again', [early, result('tool_deferred')], true],
  ['a tool that is still missing when it was asked for again', [early, early], true],
  ['a result without a reason', [{ type: 'result' }], true],
  ['the result that came before the server was connected', [early], false],
  ['anything else', [{ type: 'assistant' }, { type: 'system', subtype: 'init' }], false],
])('after %s the input is closed or not', async (_, heard, closes) => {
  const prompt = openPrompt('Go on.');
  const input = prompt[Symbol.asyncIterator]();
  expect((await input.next()).value).toMatchObject({ message: { role: 'user', content: 'Go on.' } });
  const end = input.next().then(({ done }) => done);
  for (const message of heard) prompt.hear(message);
  expect(await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 5, false))])).toBe(closes);
});
