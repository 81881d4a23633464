import { expect, it } from 'vitest';
import type { ClientRequest } from './client-request.ts';
import { OpenCall } from './open-call.ts';

const client: ClientRequest = {
  era: 'modern',
  caller: { id: 'ada', principal: {}, askedBy: undefined, readsOnly: false },
  client: {},
  capabilities: {},
  sessionId: undefined,
  requestId: 1,
  meta: {},
  envelope: undefined,
  headers: undefined,
  inputResponses: undefined,
  requestState: undefined,
  signal: new AbortController().signal,
  notify: () => undefined,
  ask: () => Promise.reject(new Error('A modern client is not asked by a request.')),
};

it('a question that is withdrawn is shown no more, and others stay', async () => {
  const call = new OpenCall({ callId: 'c', sessionId: 's', makeDigest: () => 'd' }, client, () =>
    Promise.resolve({}),
  );
  call.tellTask({ taskId: 't' });
  const ending = new AbortController();
  const one = call.askAll({ one: {} }, ending.signal);
  const two = call.askAll({ two: {} });
  expect(call.questions).toEqual({ one: {}, two: {} });
  ending.abort(new Error('The task has ended.'));
  await expect(one).rejects.toThrow('The task has ended.');
  expect(call.questions).toEqual({ two: {} });
  call.answer({ one: { a: 1 }, two: { a: 2 } });
  expect(await two).toEqual({ two: { a: 2 } });
  call.giveUp('The test is over.');
});
