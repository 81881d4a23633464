import { describe, expect, test } from 'vitest';
import { mostOrders, OrderBuffer } from './order-buffer.ts';
import type { AppendOrder, WriteOrder } from './write-order.ts';

const plain: AppendOrder = {
  type: 'append',
  entryId: '',
  sessionId: 'session',
  callId: 'call',
  expectedVersion: 3,
  draft: { head: '{"v":1', events: '}', bodies: '["body"]', salt: 'salt' },
  extras: undefined,
};

/** The orders as the other thread reads them. */
function pass(orders: readonly WriteOrder[]): readonly WriteOrder[] {
  const buffer = new OrderBuffer();
  for (const order of orders) expect(buffer.add(order)).toBe(true);
  return new OrderBuffer(buffer.memory).read(orders.length);
}

describe('orders pass unchanged', () => {
  test.each<[string, WriteOrder]>([
    ['a step of a call', plain],
    ['a remark', { ...plain, expectedVersion: 'any' }],
    ['an entry without a call', { ...plain, callId: undefined, expectedVersion: 0 }],
    [
      'an entry without bodies',
      { ...plain, draft: { head: '{', events: '}', bodies: undefined, salt: undefined } },
    ],
    [
      'empty texts',
      { ...plain, sessionId: '', callId: '', draft: { head: '', events: '', bodies: '', salt: '' } },
    ],
    ['ids that UTF-8 cannot represent', { ...plain, sessionId: '\ud800', callId: '\udfff\u0001' }],
    ['other scripts', { ...plain, draft: { ...plain.draft, events: '{"text":"Zürich 東京 🦊"}' } }],
    [
      'a text that is longer than the buffer',
      { ...plain, draft: { ...plain.draft, events: 'ü'.repeat(900_000) } },
    ],
    [
      'conditions and side effects',
      {
        ...plain,
        extras: {
          claim: { key: 'k', inputDigest: 'd', supersedes: { sessionId: 's', callId: '\ud800' } },
          reserve: [{ counter: 'c', amount: 2, limit: Number.MAX_VALUE }],
          settle: [{ counter: 'c', reserved: 1, used: 1, reset: true }],
          moves: [{ subject: 'grants', expectedVersion: 1, state: '{}' }],
          effects: [{ type: 'resolved', callId: 'x' }],
          cursor: { name: 'n', holder: 'h', from: 1, to: 2 },
          sealed: 'secret',
          dropSealed: true,
          marks: 2,
        },
      },
    ],
    ['a move of a cursor', { type: 'cursor', move: { name: 'n', holder: 'h', from: 1, to: 2 } }],
    [
      'a named artifact',
      {
        type: 'artifact',
        sessionId: '\ud800',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        encoding: 'utf8',
        bytes: 3,
        hash: 'f'.repeat(64),
      },
    ],
  ])('%s', (_, order) => {
    expect(pass([order])).toEqual([order]);
  });

  test('several in one buffer', () => {
    const orders = Array.from({ length: mostOrders }, (_, index) => ({ ...plain, callId: `call-${index}` }));
    expect(pass(orders)).toEqual(orders);
  });
});

describe('a buffer', () => {
  test('refuses one order too many, and takes it when it is empty again', () => {
    const buffer = new OrderBuffer();
    for (let index = 0; index < mostOrders; index++) expect(buffer.add(plain)).toBe(true);
    expect(buffer.add(plain)).toBe(false);
    buffer.clear();
    expect(buffer.add(plain)).toBe(true);
  });

  test('with orders refuses a text that does not fit', () => {
    const buffer = new OrderBuffer();
    buffer.add(plain);
    expect(buffer.add({ ...plain, draft: { ...plain.draft, events: 'x'.repeat(200_000) } })).toBe(false);
    expect(new OrderBuffer(buffer.memory).read(1)).toEqual([plain]);
  });

  test('does not keep the memory of a long text', () => {
    const buffer = new OrderBuffer();
    const bytes = buffer.memory.orders.byteLength;
    buffer.add({ ...plain, draft: { ...plain.draft, events: 'x'.repeat(500_000) } });
    expect(buffer.memory.orders.byteLength).toBeGreaterThan(bytes);
    buffer.clear();
    expect(buffer.memory.orders.byteLength).toBe(bytes);
    buffer.add(plain);
    expect(new OrderBuffer(buffer.memory).read(1)).toEqual([plain]);
  });

  test('passes answers back, and forgets that they were published when it is cleared', () => {
    const buffer = new OrderBuffer();
    const there = new OrderBuffer(buffer.memory);
    const stored = { position: 2 ** 40, sequence: 7, hash: 'ab'.repeat(32) };
    there.answer(0, { status: 'appended', version: 4, stored });
    there.answer(1, { status: 'conflict', version: 9 });
    there.answer(2, undefined);
    there.publish();
    expect(buffer.isPublished).toBe(true);
    expect([0, 1, 2].map((index) => buffer.answerOf(index))).toEqual([
      { status: 'appended', version: 4, stored },
      { status: 'conflict', version: 9 },
      undefined,
    ]);
    buffer.clear();
    expect(there.isPublished).toBe(false);
  });
});
