import { expect, it } from 'vitest';
import { progressOf, type ClientRequest } from './client-request.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';

it.each([
  ['rises as the tool says', [0, 0.5, 1, 2], [0, 0.5, 1, 2]],
  ['does not stand still', [0, 0, 0], [0, 0.000001, 0.000002]],
  ['does not go back after another attempt', [1, 2, 1, 3], [1, 2, 2.000001, 3]],
  ['rises from negative numbers', [-5, -5, -1], [-5, -4.999999, -1]],
  ['rises where a small step is lost', [2 ** 60, 2 ** 60], [2 ** 60, 2 ** 60 + 512]],
  ['is left alone if it is no number', [1, 'half', 2], [1, 'half', 2]],
])('progress of a request %s', (_, given, heard) => {
  const sent: unknown[] = [];
  const client = requestWith({ progressToken: 'p' }, ({ params }) => sent.push(params));
  for (const progress of given) progressOf(client)?.({ progress, message: 'm' });
  expect(sent).toEqual(heard.map((progress) => ({ progress, message: 'm', progressToken: 'p' })));
});

it('sends no progress to a client that gave no token', () => {
  expect(progressOf(requestWith({}, () => undefined))).toBeUndefined();
});

const requestWith = (meta: Fields, notify: (notice: RelayedRequest) => void): ClientRequest => ({
  era: 'legacy',
  caller: { id: 'ada', principal: {}, askedBy: undefined, readsOnly: false },
  client: {},
  capabilities: {},
  sessionId: undefined,
  requestId: 1,
  meta,
  envelope: undefined,
  headers: undefined,
  inputResponses: undefined,
  requestState: undefined,
  signal: AbortSignal.timeout(60_000),
  notify,
  ask: () => Promise.resolve({}),
});
