import { expect, test } from 'vitest';
import type { Claims } from '../ledger/claims.ts';
import type { Entry, Journal } from '../ledger/journal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoreTrouble } from '../ledger/store-trouble.ts';
import { createLazyLedger } from './lazy-ledger.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';

type Method = (...given: readonly unknown[]) => unknown;

const ports = [
  'journal',
  'claims',
  'artifacts',
  'owners',
  'spill',
  'queries',
  'entries',
  'cursors',
  'integrity',
  'retention',
] as const;

const sampleEntry: Entry = {
  entryId: 'e',
  sessionId: 's',
  callId: 'c',
  expectedVersion: 0,
  events: [],
};

/** The arguments of methods that name their parameters. One that gets another parameter does not compile here. */
const named: Readonly<Record<string, readonly unknown[]>> = {
  'journal.append': [sampleEntry] satisfies Parameters<Journal['append']>,
  'journal.readCall': ['s', 'c', 'before_append'] satisfies Required<Parameters<Journal['readCall']>>,
  'claims.findUnsettledEffects': ['s', 'tool', 'digest', 'before_append'] satisfies Required<
    Parameters<Claims['findUnsettledEffects']>
  >,
};
/** More arguments than any other method has parameters. */
const many = ['one', 'two', 'three', 'four', 'five', 'six'];

const lazyOn = (ledger: Partial<Ledger>): ReturnType<typeof createLazyLedger> =>
  createLazyLedger({
    open: () => Promise.resolve({ ...createMemoryLedger(), ...ledger }),
    now: () => 0,
    sealKey: () => new Uint8Array(32),
    ownFiles: [],
  });

/** The names of the methods of a port. */
const methodsOf = (port: (typeof ports)[number]): readonly string[] =>
  Object.entries(lazyOn({})[port])
    .filter(([, member]) => typeof member === 'function')
    .map(([name]) => name);

const cases = ports.flatMap((port) =>
  methodsOf(port).map((name) => ({ port, name, method: `${port}.${name}` })),
);

test.each(cases)(
  'passes every argument of $method on, before and after it is open',
  async ({ port, name, method }) => {
    const asked: unknown[] = [];
    const noted = {
      [name](...given: readonly unknown[]) {
        asked.push(given);
        return [];
      },
    };
    const lazy = lazyOn({ [port]: noted });
    const given = named[method] ?? many;
    for (const _ of ['before', 'after']) {
      const answer = await (lazy[port] as unknown as Readonly<Record<string, Method>>)[name]?.(...given);
      // A list is read when it is asked for its first item.
      for await (const item of answer as AsyncIterable<unknown>) expect(item).toBeUndefined();
    }
    expect(asked).toEqual([given, given]);
  },
);

test('a rotated key and problems of the store are known to a runtime on its URL', async () => {
  const key = new Uint8Array(32).fill(7);
  const trouble = { type: 'ledger.writer_stopped', message: 'it stopped', error: undefined } as const;
  const listeners: ((trouble: StoreTrouble) => void)[] = [];
  const lazy = lazyOn({ readSealKey: () => key, watchTrouble: (listener) => listeners.push(listener) });
  const heard: StoreTrouble[] = [];
  const { signal } = new AbortController();
  const left = new AbortController();
  lazy.watchTrouble((one) => heard.push(one), signal);
  lazy.watchTrouble((one) => heard.push(one), left.signal);
  left.abort();
  expect(lazy.readSealKey?.()).toBeUndefined();
  await lazy.queries.findSessions({});
  expect(lazy.readSealKey?.()).toBe(key);
  for (const listener of listeners) listener(trouble);
  expect(heard).toEqual([trouble]);
  lazy.watchTrouble((one) => heard.push(one), signal);
  expect(listeners).toHaveLength(2);
});
