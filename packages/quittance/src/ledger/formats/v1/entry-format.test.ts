import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { thrownBy } from '../../../../../../test/thrown-by.ts';
import { anyEmitted, anyEntry, anyEvent } from '../../../../../../test/arbitrary-event.ts';
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import type { EmittedEvent } from '../../../call/emitted-event.ts';
import type { QuittanceEvent, ToolRequested, ToolResponded } from '../../../call/event.ts';
import type { Entry } from '../../journal.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import { isEmittedEvent } from '../../../call/emitted-event.ts';
import { isQuittanceError } from '../../../base/error.ts';
import { bodiesDigest } from '../../chain.ts';
import { encodeCommonEvent, writeEntry } from './write-entry.ts';
import { encodeEvent, isKnownEvent } from './event-table.ts';
import { readEntry } from './read-entry.ts';

const random = (): string => randomBytes(16).toString('base64url');

const requested: ToolRequested = {
  id: 'e1',
  type: 'tool.requested',
  sessionId: 's',
  turnId: 't',
  callId: 'c',
  at: 1,
  cause: undefined,
  toolName: 'lookup',
  displayName: 'lookup',
  mode: 'read',
  modeOrigin: 'declared',
  requestedInput: { name: 'jwyxqthlkmvz' },
  hidden: [],
  requestDigest: 'sha256:1',
  principal: { userId: 'u_ada' },
  provenance: undefined,
  attrs: undefined,
  submitted: false,
  schemaDigest: 'sha256:2',
  traceparent: undefined,
};

const responded = (output: JsonValue): ToolResponded => ({
  id: 'e2',
  type: 'tool.responded',
  sessionId: 's',
  turnId: 't',
  callId: 'c',
  at: 2,
  cause: 'e1',
  attempt: 1,
  final: true,
  outcome: {
    type: 'ToolExecutionResult',
    callId: 'c',
    toolName: 'lookup',
    output,
    elapsedMs: 3,
    wasCoerced: false,
  },
  content: JSON.stringify(output),
  toolSuccess: true,
  error: undefined,
  payloadExtras: undefined,
  costMicros: 0,
  reached: [],
  log: [],
  rules: [],
  unsettledEffect: false,
});

const entryOf = (
  ...events: readonly ReadEvent[]
): Omit<Entry, 'events'> & { events: readonly ReadEvent[] } => ({
  entryId: 'n1',
  sessionId: 's',
  callId: 'c',
  expectedVersion: 0,
  events,
});

/** The same data with the prototypes of literals: fast-check creates some records without any. */
const ordinary = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(ordinary)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, ordinary(inner)]))
      : value;

function nest(depth: number): JsonValue {
  let value: JsonValue = 'core';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

describe('a written entry', () => {
  test('is read back unchanged, whatever its content', () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const written = writeEntry(entry, 'owner', random);
        const { events, erased, bodiesDigest: digest, format, ownerId, ...rest } = readEntry(written);
        expect(isDeepStrictEqual(events, ordinary(entry.events))).toBe(true);
        expect(rest).toEqual({ claim: undefined, depth: 0, ...entry, events: undefined });
        expect({ erased, format, ownerId }).toEqual({ erased: false, format: 1, ownerId: 'owner' });
        expect(digest).toBe(written.salt && bodiesDigest(written.salt, written.bodies as string));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is well-formed text, so that no store can change it', () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const { text, bodies = '' } = writeEntry(entry, 'owner', random);
        expect(text.isWellFormed() && bodies.isWellFormed()).toBe(true);
        expect(`${text}${bodies}`).not.toMatch(/\n/);
      }),
    );
  });

  test.each<[string, JsonValue]>([
    ['a lone surrogate', '\ud800 \udfff'],
    ['__proto__ as data', JSON.parse('{"__proto__":{"a":1},"constructor":2}') as JsonValue],
    ['large and small numbers', [1e21, 1e-7, 5e-324, Number.MAX_VALUE, 123456789012345680000]],
    ['NUL and friends', '\u0000\u2028\u2029"\\\u007f'],
    ['nesting 500 deep', nest(500)],
    ['a big text', 'é😀'.repeat(1_000_000)],
    ['keys that look like numbers', { b: 1, 2: 2, 1: 3, '-1': 4, '4294967295': 5, '': 6 }],
    ['null', null],
    ['nothing much', {}],
  ])('keeps the model content byte for byte: %s', (_, output) => {
    const event = responded(output);
    const written = writeEntry(entryOf(event), 'owner', random);
    expect(readEntry(written).events).toStrictEqual([event]);
    expect((readEntry(written).events[0] as ToolResponded).content).toBe(event.content);
    expect(written.bodies).toBe(`[{"outcome":{"output":${event.content}}}]`);
  });

  test('stores a content that differs from its output separately', () => {
    const event = { ...responded({ a: 1 }), content: '{"a": 1}' };
    expect(readEntry(writeEntry(entryOf(event), 'owner', random)).events).toStrictEqual([event]);
  });

  test('has the same bytes from the fast encoder and from the table', () => {
    fc.assert(
      fc.property(
        anyEvent,
        fc.constantFrom(
          { sessionId: 's', callId: 'c' },
          { sessionId: 's', callId: 'd' },
          { sessionId: 'x', callId: undefined },
        ),
        fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
        (event, holder, [sameTurn, sameTime, isCause]) => {
          const previous = {
            id: (isCause && event.cause) || 'id',
            turnId: sameTurn ? event.turnId : 'turn',
            at: sameTime ? event.at : 1,
          };
          const common = encodeCommonEvent(event, holder, previous);
          const byTable = encodeEvent(event, holder, previous);
          expect(JSON.stringify(common.text)).toBe(JSON.stringify(byTable.text));
          expect(common.body).toBe(byTable.body);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('the chained text', () => {
  test('contains nothing that a person may have erased', () => {
    const secret = 'PERSONAL';
    const mark = (value: unknown, path: string, type: string): unknown => {
      if (typeof value === 'string')
        return plainFields.has(path) || plainFields.has(`${path}@${type}`) ? value : secret;
      if (typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return value.map((item) => mark(item, path, type));
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          key === 'type' ? item : mark(item, path === '' ? key : `${path}.${key}`, type),
        ]),
      );
    };
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: anyEvent }, anyEmitted), (event) => {
        const marked = mark(event, '', event.type) as QuittanceEvent | EmittedEvent;
        const entry = { ...entryOf(marked), sessionId: 's' };
        expect(writeEntry(entry, 'owner', random).text).not.toContain(secret);
      }),
      { numRuns: 1_000 },
    );
  });

  test('contains a digest of the bodies from which they cannot be guessed', () => {
    const [one, two] = [1, 2].map(() => writeEntry(entryOf(requested), 'owner', random));
    expect(one?.bodies).toBe(two?.bodies);
    expect(readEntry(one as never).bodiesDigest).not.toBe(readEntry(two as never).bodiesDigest);
  });

  test('has neither bodies nor salt if no event has any', () => {
    const ended: QuittanceEvent = {
      id: 'e',
      type: 'turn.ended',
      sessionId: 's',
      turnId: 't',
      at: 1,
      cause: undefined,
      why: 'asked',
    };
    const written = writeEntry({ ...entryOf(ended), callId: undefined }, 'owner', random);
    expect(written).toMatchObject({ bodies: undefined, salt: undefined });
    expect(readEntry(written)).toMatchObject({ bodiesDigest: undefined, erased: false });
  });
});

describe('erased bodies', () => {
  test('leave texts that say so and payloads that are null', () => {
    const { text } = writeEntry(entryOf(requested, responded({ name: 'jwyxqthlkmvz' })), 'owner', random);
    const { events, erased } = readEntry({ text, bodies: undefined });
    expect(erased).toBe(true);
    expect(events).toStrictEqual([
      { ...requested, requestedInput: null, principal: undefined },
      {
        ...responded(null),
        content: '[ERASED]',
      },
    ]);
  });

  test('never make an entry unreadable, nor change its text', () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const { text, bodies } = writeEntry(entry, 'owner', random);
        const read = readEntry({ text, bodies: undefined });
        expect(read.erased).toBe(bodies !== undefined);
        expect(read.events.map(({ id, type, at }) => [id, type, at])).toEqual(
          entry.events.map(({ id, type, at }) => [id, type, at]),
        );
      }),
    );
  });
});

describe('data of a newer version', () => {
  const newer = {
    text: JSON.stringify({
      v: 1,
      entry: 'n',
      session: 's',
      call: 'c',
      version: 1,
      owner: 'o',
      bodies: 'sha256:0',
      lane: 7,
      events: [
        { id: 'a', type: 'tool.teleported', turn: 't', at: 1, revision: 2 },
        {
          id: 'b',
          type: 'tool.responded',
          turn: 't',
          at: 2,
          attempt: 1,
          final: true,
          outcome: {
            type: 'ToolFailure',
            tool_name: 'x',
            code: 'tool.new',
            retryable: false,
            elapsed_ms: 1,
            hue: 1,
          },
          color: 'red',
        },
        {
          id: 'd',
          type: 'tool.held',
          turn: 't',
          at: 3,
          confirmation_id: 'k',
          asks: [{ by: { type: 'gate', name: 'g' }, rank: 1 }],
          input_digest: 'i',
        },
      ],
    }),
    bodies: JSON.stringify([
      { snapshot: { a: 1 } },
      { outcome: { error: 'no', trace: 'long' }, content: '{}', mood: 'sad' },
      { description: 'd', asks: [{ description: 'e', note: 'n' }] },
    ]),
    salt: 'x',
  };

  test('is kept, for known types and unknown ones', () => {
    const { events, unknownFields } = readEntry(newer);
    expect(unknownFields).toEqual({ lane: 7 });
    expect(events.map(isKnownEvent)).toEqual([false, true, true]);
    expect(events[0]).toEqual({
      id: 'a',
      type: 'tool.teleported',
      sessionId: 's',
      turnId: 't',
      callId: 'c',
      at: 1,
      cause: undefined,
      unknownFields: { text: { revision: 2 }, body: { snapshot: { a: 1 } } },
    });
    expect(events[1]?.unknownFields).toEqual({
      text: { color: 'red', outcome: { hue: 1 } },
      body: { mood: 'sad', outcome: { trace: 'long' } },
    });
    expect(events[2]?.unknownFields).toEqual({
      text: { asks: [{ rank: 1 }] },
      body: { asks: [{ note: 'n' }] },
    });
  });

  test('is written again unchanged', () => {
    const read = readEntry(newer);
    const again = writeEntry(read, read.ownerId, () => 'x');
    expect(readEntry(again).events).toEqual(read.events);
    expect(JSON.parse(again.bodies as string)).toEqual(JSON.parse(newer.bodies));
  });

  test('data of a newer version in a newer format is rejected, with advice', () => {
    const text = newer.text.replace('"v":1', '"v":2');
    const run = (): unknown => readEntry({ text, bodies: undefined });
    expect(run).toThrow(/newer version wrote this ledger.*format 2.*Update the package/);
    expect(run).toThrow(expect.toSatisfy((error) => isQuittanceError(error, 'ledger.newer')) as Error);
  });
});

describe('an event that a behavior emitted', () => {
  const flagged: EmittedEvent = {
    id: 'e9',
    type: 'order.flagged',
    sessionId: 's',
    turnId: 't',
    callId: 'c',
    at: 5,
    cause: 'e2',
    by: 'watch',
    data: { name: 'jwyxqthlkmvz' },
  };
  const parts = (type: string, more: JsonObject, body: JsonValue): ReadEvent | undefined => {
    const event = { id: 'a', type, turn: 't', at: 1, ...more };
    const head = { v: 1, entry: 'n', session: 's', call: null, version: 0, owner: 'o', bodies: 'sha256:0' };
    const text = JSON.stringify({ ...head, events: [event] });
    return readEntry({ text, bodies: JSON.stringify([body]) }).events[0];
  };

  test('has its type and its behavior in the text, and its data in the body', () => {
    const written = writeEntry({ ...entryOf(flagged), depth: 3 }, 'owner', random);
    expect(written.text).toContain('"version":0,"owner":"owner","depth":3,"bodies":"sha256:');
    expect(JSON.parse(written.text)).toMatchObject({
      events: [{ id: 'e9', type: 'order.flagged', turn: 't', at: 5, cause: 'e2', by: 'watch' }],
    });
    expect(written.text).not.toContain('jwyxqthlkmvz');
    expect(written.bodies).toBe('[{"data":{"name":"jwyxqthlkmvz"}}]');
    const [read] = readEntry(written).events;
    expect(read).toStrictEqual(flagged);
    expect([isEmittedEvent(read as object), isKnownEvent(read as ReadEvent)]).toEqual([true, false]);
    expect(readEntry({ ...written, bodies: undefined }).events).toStrictEqual([{ ...flagged, data: {} }]);
  });

  test('keeps fields of a newer version, and is written again unchanged', () => {
    const read = parts('order.flagged', { by: 'b', hue: 1 }, { data: { a: 1 }, mood: 2 });
    expect(read).toMatchObject({ by: 'b', data: { a: 1 } });
    expect(read?.unknownFields).toEqual({ text: { hue: 1 }, body: { mood: 2 } });
    const { bodies } = writeEntry(entryOf(read as ReadEvent), 'owner', random);
    expect(JSON.parse(bodies as string)).toEqual([{ data: { a: 1 }, mood: 2 }]);
  });

  test.each<[string, string, JsonObject, JsonValue]>([
    ['of a type that is ours', 'tool.flagged', { by: 'b' }, { data: {} }],
    ['of one word', 'flagged', { by: 'b' }, { data: {} }],
    ['without an emitter', 'order.flagged', {}, { data: {} }],
    ['by an emitter that is not a name', 'order.flagged', { by: 7 }, { data: {} }],
    ['that says nothing', 'order.flagged', { by: 'b' }, null],
    ['that says something else than an object', 'order.flagged', { by: 'b' }, { data: [1] }],
  ])('an event %s is kept as unknown', (_, type, more, body) => {
    const read = parts(type, more, body) as ReadEvent;
    expect([isEmittedEvent(read), isKnownEvent(read), 'unknownFields' in read]).toEqual([false, false, true]);
  });
});

test('an entry without a depth was caused by no behavior, and no depth is written', () => {
  for (const depth of [undefined, 0]) {
    const written = writeEntry({ ...entryOf(requested), depth }, 'owner', random);
    expect(written.text).not.toContain('"depth"');
    expect(readEntry(written).depth).toBe(0);
  }
});

test('a text that is not an entry is rejected as damaged, and is not quoted', () => {
  const read = (text: string, bodies?: string): unknown => thrownBy(() => readEntry({ text, bodies }));
  const isRefusal = (thrown: unknown): boolean =>
    isQuittanceError(thrown, 'ledger.damaged') && !thrown.message.includes('hunter2');
  for (const text of ['', '{', 'null', '[]', '"hunter2"', '{"v":0}', '{"v":1,"entry":"hunter2"}', 'hunter2'])
    expect(isRefusal(read(text))).toBe(true);
  fc.assert(
    fc.property(anyEntry, fc.nat(), fc.string(), (entry, at, put) => {
      const { text, bodies } = writeEntry(entry, 'owner', random);
      const place = at % text.length;
      for (const thrown of [
        read(text.slice(0, place) + put + text.slice(place + 1), bodies),
        read(text, bodies && bodies.slice(0, at % bodies.length) + put),
      ])
        // Most changes leave an invalid entry; a few leave a different entry.
        expect(thrown === undefined || isQuittanceError(thrown)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

/** The fields of a person's identity at this path of an event: ids and names, stored in plain text like the name. */
const identityFields = (at: string): readonly string[] =>
  [at, `${at}.maker.identity`, `${at}.holder.identity`]
    .flatMap((place) =>
      [
        'kind',
        'id',
        'name',
        'via',
        'person',
        'user',
        'issuer',
        'subject',
        'method',
        'aliases',
        'groups',
        'roles',
      ].map((field) => `${place}.${field}`),
    )
    .concat(['maker.kind', 'maker.name', 'holder.kind', 'holder.name'].map((field) => `${at}.${field}`));

/** Fields that may be read forever: identifiers, digests, names of tools and rules, words of closed sets. */
const plainFields: ReadonlySet<string> = new Set([
  ...[
    'identity',
    'by.identity',
    'by.behalf.identity',
    'decidedBy.identity',
    'decidedBy.behalf.identity',
    'asks.by.identity',
    'asks.by.behalf.identity',
    'askedBy',
    'fallen.by.identity',
    'fallen.by.behalf.identity',
  ].flatMap(identityFields),
  ...`budgets.scope budgets.counter budgets.metric fallen.decision fallen.by.name fallen.by.owner fallen.by.asker fallen.by.link.by fallen.by.link.typed fallen.by.behalf.name fallen.by.behalf.delegation owner by.owner decidedBy.owner asks.by.owner by.behalf.name by.behalf.delegation decidedBy.behalf.name decidedBy.behalf.delegation asks.by.behalf.name asks.by.behalf.delegation missing kind@confirmation.reminded to@delegation.given delegationId
  asks.approval.seats.roles asks.approval.seats.groups asks.approval.seats.people asks.approval.seats.escalate.roles asks.approval.seats.escalate.groups asks.approval.seats.escalate.people asks.approval.exclude asks.approval.delegation asker by.asker decidedBy.asker asks.by.asker id type sessionId turnId callId cause toolName displayName mode modeOrigin hidden hiddenIds requestDigest traceparent provenance.provider
  provenance.model how fromCallId decision gates.gate decidedBy.name decidedBy.link.by decidedBy.link.typed policyVersion inputDigest changes.path changes.rule
  confirmationId asks.by.name asks.by.link.by asks.by.link.typed asks.code by by.name by.link.by by.link.typed idempotencyKey reserved.counter reserved.metric resolution outcome.callId outcome.toolName
  outcome.code outcome.reason outcome.artifactId error.reason boundary keptIn scope metric why parentSessionId droppedSessionId hash
  fromSessionId atCallId after entryIds timeoutEffect risk schemaDigest effect operationId previousOwner worker what.tokenDigest what.requestId what.replaces what.digest undoCallId refusedCallId stages.workflow stages.stageId grantId editedDigest editedHidden editedForm inputForm artifacts.artifactId editedArtifacts.artifactId asks.digest supersedes.sessionId supersedes.callId rules.ruleId rules.action rules.tags sideEffect behavior reason@behavior.failed forEvent forCallId triggeringEventId triggeringCallId workflow workflowVersion stageId toStageId documents.name documents.stamp workingDirectory@contracts.loaded`.split(
    /\s+/,
  ),
]);
