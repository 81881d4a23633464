import { expect, test } from 'vitest';
import type { Ledger, OpenLedger, StoreTrouble } from '../ledger/ledger.ts';
import { createLazyLedger } from './create-runtime.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';
import { findSessions } from '../ledger/reads.ts';

type Method = (...given: readonly unknown[]) => unknown;

const lazyOn = (ledger: Partial<OpenLedger>): OpenLedger =>
  createLazyLedger({
    open: () => Promise.resolve({ ...createMemoryLedger(), close: async () => undefined, ...ledger }),
    now: () => 0,
    sealKey: () => new Uint8Array(32),
    ownFiles: [],
  });

/** Every method of a ledger that waits until it is open. A new member that is missing here does not compile. */
const waiting: { readonly [Name in Exclude<keyof Ledger, 'ownerId' | 'now' | 'close'>]: true } = {
  append: true,
  readCall: true,
  readSession: true,
  readEntries: true,
  query: true,
  whenChanged: true,
  putArtifact: true,
  readArtifact: true,
  setCursor: true,
  forgetOwner: true,
  erase: true,
  dropSession: true,
  inspect: true,
};
/** More arguments than most methods have parameters. */
const many = ['one', 'two', 'three', 'four'];

test.each([...Object.keys(waiting), 'rebuild', 'spill.write', 'spill.read'])(
  'a ledger that opens with its first use passes every argument of %s on, before and after it is open',
  async (method) => {
    const [port, name] = method.includes('.') ? method.split('.') : [undefined, method];
    const asked: unknown[] = [];
    const noted = {
      [name ?? '']: (...given: readonly unknown[]) => {
        asked.push(given);
        return [];
      },
    };
    const lazy = lazyOn((port === undefined ? noted : { [port]: noted }) as Partial<OpenLedger>);
    const target = (port === undefined ? lazy : lazy.spill) as unknown as Readonly<Record<string, Method>>;
    const given = method === 'inspect' ? ['signal'] : many;
    for (const _ of ['before', 'after']) {
      const answer = await target[name ?? '']?.(...given);
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
  lazy.watchTrouble?.((one) => heard.push(one), signal);
  lazy.watchTrouble?.((one) => heard.push(one), left.signal);
  left.abort();
  expect(lazy.readSealKey?.()).toBeUndefined();
  await findSessions(lazy, {});
  expect(lazy.readSealKey?.()).toBe(key);
  for (const listener of listeners) listener(trouble);
  expect(heard).toEqual([trouble]);
  lazy.watchTrouble?.((one) => heard.push(one), signal);
  expect(listeners).toHaveLength(2);
});
