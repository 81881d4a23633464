import { expect, test } from 'vitest';
import type { Exchange, SessionHooks } from './connection.ts';
import { LegacyConnection } from './connection.ts';
import type { Wire, WireHooks } from './wire.ts';

const hooks: SessionHooks = {
  onNotice: () => undefined,
  ask: () => Promise.reject(new Error('this test asks no client')),
  onClose: () => undefined,
};

/** A connection with two requests in flight, and the log lines that each of them got. */
async function openWithTwo(isShared: boolean): Promise<{ log: (line: string) => void; lines: string[][] }> {
  let wired: Pick<WireHooks, 'onNotice'> | undefined;
  const wire = {
    isOpen: true,
    request: ({ method }: { method: string }) =>
      method === 'initialize' ? Promise.resolve({}) : new Promise(() => undefined),
    notify: () => Promise.resolve(),
    useVersion: () => undefined,
  } as unknown as Wire; // the parts that a connection uses
  const connection = await LegacyConnection.open(
    (_, made) => {
      wired = made;
      return Promise.resolve(wire);
    },
    { info: {}, capabilities: {}, isShared },
    hooks,
  );
  const lines: string[][] = [[], []];
  for (const own of lines) {
    const exchange: Exchange = {
      signal: undefined,
      capabilities: {},
      envelope: undefined,
      headers: undefined,
      onProgress: undefined,
      onNotice: ({ params }) => void own.push(String(params?.['data'])),
      ask: hooks.ask,
    };
    void connection.send({ method: 'tools/call' }, exchange);
  }
  return {
    log: (data) => wired?.onNotice({ method: 'notifications/message', params: { data } }),
    lines,
  };
}

test('a log line without an id reaches no client if it may belong to another one', async () => {
  const { log, lines } = await openWithTwo(true);
  log('private');
  expect(lines).toEqual([[], []]);
});

test('a log line on the connection of one client belongs to its latest request', async () => {
  const { log, lines } = await openWithTwo(false);
  log('own');
  expect(lines).toEqual([[], ['own']]);
});
