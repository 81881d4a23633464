/**
 * A batch of orders, and its answers, in memory that the main thread and the writer thread share. Texts are bytes, and
 * everything else is numbers: nothing is cloned and nothing is collected as garbage.
 *
 * 1. Only one thread uses a buffer at a time: the main thread until it sends it, the writer thread until it answers.
 * 2. The exception is a published answer. Before it commits, the writer thread writes all answers of the batch and
 *    publishes them. If the file then has the last of these entries, the batch is committed. So the main thread may
 *    use the answers before it receives the message.
 */
import type { DraftEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { IndexSpan } from './own-index.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import type { AppendOrder, OrderExtras, StoredPlace, WriteOrder } from './write-order.ts';

/**
 * Orders in one batch. Measured: a flush to disk is then a small part of the batch, and the main thread handles its
 * answers within a millisecond or two.
 */
export const mostOrders = 64;

const orderInts = 9;
const headBytes = mostOrders * orderInts * 4;
const hashChars = 64;
const placeNumbers = 4;
/** The first eight bytes say whether the answers are published; then come the time of the commit, and `ownSpan`. */
const answerHead = 4;
const smallestBytes = 131_072;

/** Shared between both threads. */
export type OrderMemory = { readonly orders: SharedArrayBuffer; readonly answers: SharedArrayBuffer };

/** The state of an answer: not an entry (the message tells it), an appended one, or a conflict of versions. */
const [isOther, isAppended, isConflict] = [0, 1, 2];

/** An answer that fits into numbers; undefined for any other, which the message of the thread contains. */
export type PlainAnswer =
  | { readonly status: 'appended'; readonly version: number; readonly stored: StoredPlace }
  | { readonly status: 'conflict'; readonly version: number };

export class OrderBuffer {
  #memory: OrderMemory;
  #ints: Int32Array;
  #bytes: Buffer;
  readonly #flag: Int32Array;
  readonly #numbers: Float64Array;
  readonly #hashes: Buffer;
  #used = headBytes;
  #count = 0;

  constructor(memory: OrderMemory = allocate(smallestBytes)) {
    this.#memory = memory;
    this.#ints = new Int32Array(memory.orders, 0, mostOrders * orderInts);
    this.#bytes = Buffer.from(memory.orders);
    const numbers = answerHead + mostOrders * placeNumbers;
    this.#flag = new Int32Array(memory.answers, 0, 1);
    this.#numbers = new Float64Array(memory.answers, 0, numbers);
    this.#hashes = Buffer.from(memory.answers, numbers * 8);
  }

  get memory(): OrderMemory {
    return this.#memory;
  }

  get count(): number {
    return this.#count;
  }

  clear(): void {
    // A long text is rare: its memory is not kept.
    if (this.#bytes.length > smallestBytes) this.#allocate(smallestBytes);
    this.#used = headBytes;
    this.#count = 0;
    this.unpublish();
  }

  /** Adds an order. False if there is no room for it; a buffer without orders has room for any, and grows. */
  add(order: WriteOrder): boolean {
    if (this.#count === mostOrders) return false;
    const [session, call, head, events, bodies, salt, rest] = textsOf(order);
    // In UTF-8, no UTF-16 unit needs more than three bytes.
    const most =
      3 *
      (session.length +
        head.length +
        events.length +
        lengthOf(call) +
        lengthOf(bodies) +
        lengthOf(salt) +
        lengthOf(rest));
    if (this.#used + most > this.#bytes.length) {
      if (this.#count > 0) return false;
      this.#allocate(headBytes + most);
    }
    const at = this.#count * orderInts;
    this.#ints[at] = order.type === 'append' ? 1 : 0;
    this.#ints[at + 1] =
      order.type !== 'append' || order.expectedVersion === 'any' ? -1 : order.expectedVersion;
    this.#write(at + 2, session);
    this.#write(at + 3, call);
    this.#write(at + 4, head);
    this.#write(at + 5, events);
    this.#write(at + 6, bodies);
    this.#write(at + 7, salt);
    this.#write(at + 8, rest);
    this.#count++;
    return true;
  }

  #write(at: number, text: string | undefined): void {
    if (text === undefined) this.#ints[at] = -1;
    else this.#used += this.#ints[at] = this.#bytes.write(text, this.#used, 'utf8');
  }

  /** Reads the orders back, in the other thread. */
  read(count: number): WriteOrder[] {
    const orders: WriteOrder[] = [];
    let from = headBytes;
    for (let at = 0; at < count * orderInts; at += orderInts) {
      const texts: (string | undefined)[] = [];
      for (let index = 2; index < orderInts; index++) {
        const length = this.#ints[at + index] as number;
        texts.push(length < 0 ? undefined : this.#bytes.toString('utf8', from, from + length));
        if (length > 0) from += length;
      }
      orders.push(toOrder(this.#ints[at] === 1, this.#ints[at + 1] as number, texts));
    }
    this.#count = count;
    return orders;
  }

  /** Stores an answer. Returns false if only a message can tell it. */
  answer(index: number, answer: PlainAnswer | undefined): boolean {
    const at = answerHead + index * placeNumbers;
    if (answer === undefined) {
      this.#numbers[at] = isOther;
      return false;
    }
    this.#numbers[at] = answer.status === 'appended' ? isAppended : isConflict;
    this.#numbers[at + 1] = answer.version;
    if (answer.status === 'conflict') return true;
    this.#numbers[at + 2] = answer.stored.position;
    this.#numbers[at + 3] = answer.stored.sequence;
    this.#hashes.write(answer.stored.hash, index * hashChars, 'latin1');
    return true;
  }

  answerOf(index: number): PlainAnswer | undefined {
    const at = answerHead + index * placeNumbers;
    const version = this.versionAt(index);
    if (this.#numbers[at] === isConflict) return { status: 'conflict', version };
    if (!this.isAppended(index)) return undefined;
    const stored: StoredPlace = {
      position: this.positionAt(index),
      sequence: this.sequenceAt(index),
      hash: this.hashAt(index),
    };
    return { status: 'appended', version, stored };
  }

  /** Was the order appended? The four below are about such an answer. They make no object of it. */
  isAppended(index: number): boolean {
    return this.#numbers[answerHead + index * placeNumbers] === isAppended;
  }

  versionAt(index: number): number {
    return this.#numbers[answerHead + index * placeNumbers + 1] as number;
  }

  positionAt(index: number): number {
    return this.#numbers[answerHead + index * placeNumbers + 2] as number;
  }

  sequenceAt(index: number): number {
    return this.#numbers[answerHead + index * placeNumbers + 3] as number;
  }

  hashAt(index: number): string {
    return this.#hashes.toString('latin1', index * hashChars, (index + 1) * hashChars);
  }

  publish(): void {
    Atomics.store(this.#flag, 0, 1);
  }

  unpublish(): void {
    Atomics.store(this.#flag, 0, 0);
  }

  get isPublished(): boolean {
    return Atomics.load(this.#flag, 0) === 1;
  }

  /** Duration of the commit that contained the batch. */
  get commitMs(): number {
    return this.#numbers[1] as number;
  }

  set commitMs(value: number) {
    this.#numbers[1] = value;
  }

  /** What the thread has written of the index, with this batch or before. */
  get ownSpan(): IndexSpan {
    return { from: this.#numbers[2] as number, until: this.#numbers[3] as number };
  }

  set ownSpan({ from, until }: IndexSpan) {
    this.#numbers[2] = from;
    this.#numbers[3] = until;
  }

  #allocate(bytes: number): void {
    this.#memory = { ...this.#memory, orders: new SharedArrayBuffer(bytes) };
    this.#ints = new Int32Array(this.#memory.orders, 0, mostOrders * orderInts);
    this.#bytes = Buffer.from(this.#memory.orders);
  }
}

const allocate = (bytes: number): OrderMemory => ({
  orders: new SharedArrayBuffer(bytes),
  answers: new SharedArrayBuffer((answerHead + mostOrders * placeNumbers) * 8 + mostOrders * hashChars),
});

type OrderTexts = readonly [
  session: string,
  call: string | undefined,
  head: string,
  events: string,
  bodies: string | undefined,
  salt: string | undefined,
  rest: string | undefined,
];

const lengthOf = (text: string | undefined): number => text?.length ?? 0;

/** Everything that most appends do not have is one text of JSON. */
function textsOf(order: WriteOrder): OrderTexts {
  if (order.type !== 'append') return ['', undefined, '', '', undefined, undefined, JSON.stringify(order)];
  const { sessionId, callId, draft, extras } = order;
  return [
    toSqlText(sessionId),
    callId === undefined ? undefined : toSqlText(callId),
    draft.head,
    draft.events,
    draft.bodies,
    draft.salt,
    extras === undefined ? undefined : JSON.stringify(extras),
  ];
}

function toOrder(isAppend: boolean, version: number, texts: readonly (string | undefined)[]): WriteOrder {
  const [session, call, head, events, bodies, salt, rest] = texts;
  // Written by `textsOf`.
  if (!isAppend) return JSON.parse(rest as string) as WriteOrder;
  const draft: DraftEntry = { head: head as string, events: events as string, bodies, salt };
  const order: AppendOrder = {
    type: 'append',
    entryId: '', // only the main thread uses it
    sessionId: fromSqlText(session as string),
    callId: call === undefined ? undefined : fromSqlText(call),
    expectedVersion: version < 0 ? 'any' : version,
    draft,
    extras: rest === undefined ? undefined : (JSON.parse(rest) as OrderExtras),
  };
  return order;
}
