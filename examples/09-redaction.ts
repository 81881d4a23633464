// The tool receives the secret; the record, the model and all others see [REDACTED].
import assert from 'node:assert/strict';
import { createRuntime, defineTool } from 'quittance';
import { z } from 'zod';

const received: string[] = [];
const signIn = defineTool({
  name: 'sign_in',
  input: z.object({ user: z.string(), password: z.string(), memo: z.string() }),
  redact: { output: ['$.session.id'] }, // in addition to detected secrets
  run: ({ user, password }) => {
    received.push(password);
    return {
      session: { id: '7f3a', user },
      next_page_token: 'page-2', // a position in a list, not a secret: it is kept
      debug: `password ${password} accepted`, // a tool that reveals too much
    };
  },
});

const runtime = createRuntime({
  tools: [signIn],
  redaction: { patterns: [{ name: 'bakery badge', pattern: /BADGE-\d{4}/ }] },
});
const turn = runtime.turn({ sessionId: 'login' });
const outcome = await turn.call({
  id: 'l1',
  name: 'sign_in',
  arguments: { user: 'ada', password: 'rye-and-salt', memo: 'BADGE-1234 lost' },
});

assert.deepEqual(received, ['rye-and-salt']);
assert(outcome.type === 'ToolExecutionResult');
assert.deepEqual(outcome.output, {
  session: { id: '[REDACTED]', user: 'ada' },
  next_page_token: 'page-2',
  debug: 'password [REDACTED] accepted',
});

const [record] = await runtime.calls.audit({ sessionId: 'login' });
assert.deepEqual(record?.requestedInput, { user: 'ada', password: '[REDACTED]', memo: '[REDACTED] lost' });

// The secrets appear nowhere in the stored data.
const kept = JSON.stringify(await runtime.events.list({ sessionId: 'login' }));
for (const secret of ['rye-and-salt', 'BADGE-1234', '7f3a']) assert(!kept.includes(secret));
console.log(record.requestedInput, outcome.output);
