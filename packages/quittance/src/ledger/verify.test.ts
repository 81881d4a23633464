import { describe, expect, test } from 'vitest';
import { makeEntries, rechain, stories, storeEntries } from '../../../../test/make-ledger.ts';
import type { Plan, Story } from '../../../../test/make-ledger.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Entry } from './journal.ts';
import { ledgerSessionId } from './ledger.ts';
import type { StoredEntry } from './stored-entry.ts';
import type { VerifierOptions, VerifyTotals, VerifyProblem } from './verify.ts';
import { createAnchor } from './anchor.ts';
import { createVerifier } from './verify.ts';

const plans = (session: string): Plan[] =>
  (Object.keys(stories) as Story[]).map((story) => ({ session, call: `${story}-${session}`, story }));

function verify(
  entries: readonly StoredEntry[],
  options?: VerifierOptions,
): { problems: VerifyProblem[]; totals: VerifyTotals } {
  const verifier = createVerifier(options);
  const problems = entries.flatMap((entry) => verifier.add(entry));
  return { problems: [...problems, ...verifier.end()], totals: verifier.totals };
}

const headsOf = (entries: readonly StoredEntry[]): StoredEntry[] => [
  ...new Map(entries.map((entry) => [entry.sessionId, entry])).values(),
];

const sound = storeEntries(makeEntries([...plans('a'), ...plans('b')]));
const bySession = sound.toSorted((one, other) =>
  one.sessionId < other.sessionId ? -1 : one.sessionId > other.sessionId ? 1 : one.sequence - other.sequence,
);
const anchor = createAnchor(headsOf(sound), 1_790_000_900_000);

const kinds = (entries: readonly StoredEntry[], options?: VerifierOptions): string[] =>
  verify(entries, options).problems.map(({ kind }) => kind);

const edit = (at: number, change: Partial<StoredEntry>): StoredEntry[] =>
  sound.with(at, { ...(sound[at] as StoredEntry), ...change });
const bodiless = sound.findIndex(({ bodies }) => bodies === undefined);
const placeOf = (callId: string): number =>
  sound.findIndex(({ text }) => text.includes(`"call":"${callId}"`));

describe('an intact ledger', () => {
  test('has no problems, in store order and session by session', () => {
    const { problems, totals } = verify(sound);
    expect(problems).toEqual([]);
    expect(totals).toEqual({
      sessions: 2,
      entries: sound.length,
      calls: 34,
      openCalls: 2,
      erased: 0,
      unknownEvents: 0,
      problems: 0,
    });
    expect(verify(bySession, { bySession: true })).toEqual({ problems, totals });
  });

  test('has none with its anchor, its heads, and an older anchor', () => {
    expect(kinds(sound, { anchor, heads: headsOf(sound) })).toEqual([]);
    const earlier = createAnchor(headsOf(sound.slice(0, 40)), 1_790_000_000_400);
    expect(kinds(sound, { anchor: earlier })).toEqual([]);
  });

  test('has none if bodies were erased and an entry records it', () => {
    const [first] = sound as [StoredEntry];
    const erasure: QuittanceEvent = {
      id: 'x',
      type: 'body.erased',
      sessionId: 'a',
      turnId: 't',
      at: 1_790_000_000_900,
      cause: undefined,
      entryIds: ['n0'],
      by: 'Ada',
      reason: 'She asked.',
    };
    const entry: Entry = {
      entryId: 'nx',
      sessionId: 'a',
      callId: undefined,
      expectedVersion: 0,
      events: [erasure],
    };
    const erased = storeEntries([...makeEntries([...plans('a'), ...plans('b')]), entry]).with(0, {
      ...first,
      bodies: undefined,
      salt: undefined,
    });
    expect(verify(erased)).toMatchObject({ problems: [], totals: { erased: 1 } });
    expect(kinds(erased.with(0, { ...first, bodies: undefined }))).toEqual(['bodies']);
  });
});

describe('a change is found at its place', () => {
  test.each<[string, StoredEntry[], string]>([
    ['a text', edit(3, { text: (sound[3] as StoredEntry).text.replace('send_mail', 'send_male') }), 'chain'],
    ['a hash', edit(sound.length - 1, { hash: '00'.repeat(32) }), 'chain'],
    [
      'a body',
      edit(3, { bodies: (sound[3] as StoredEntry).bodies?.replace('Requested', 'Demanded') }),
      'bodies',
    ],
    ['a salt', edit(3, { salt: 'pepper' }), 'bodies'],
    ['bodies taken away', edit(3, { bodies: undefined, salt: undefined }), 'bodies'],
    ['bodies put in', edit(bodiless, { bodies: '[{}]', salt: 'x' }), 'bodies'],
  ])('%s', (_, entries, kind) => {
    const { problems } = verify(entries);
    expect(problems.map((problem) => problem.kind)).toEqual([kind]);
    const at = entries.findIndex((entry, index) => entry !== sound[index]);
    expect(problems[0]).toMatchObject({
      position: at + 1,
      sequence: sound[at]?.sequence,
      sessionId: sound[at]?.sessionId,
    });
  });

  test('entries removed, repeated, swapped or moved to another session', () => {
    expect(verify(sound.toSpliced(3, 1)).problems[0]).toMatchObject({
      kind: 'sequence',
      sequence: 5,
      sessionId: 'a',
      message: 'Expected entry 4, found 5: 1 missing.',
    });
    expect(kinds(sound.toSpliced(3, 0, sound[3] as StoredEntry))).toContain('sequence');
    expect(kinds(sound.with(3, sound[4] as StoredEntry).with(4, sound[3] as StoredEntry))).toContain(
      'sequence',
    );
    expect(kinds(edit(0, { sessionId: 'b' }))).toContain('session');
  });

  test('an invalid text, a newer one, and one where only a lone surrogate differs', () => {
    expect(kinds(edit(3, { text: 'nonsense' }))).toEqual(['chain', 'text']);
    const newer = edit(3, { text: (sound[3] as StoredEntry).text.replace('"v":1', '"v":9') });
    expect(kinds(rechain(newer))).toEqual(['newer']);
    // The message names the problem.
    expect(verify(edit(3, { text: 'nonsense' })).problems.at(-1)?.message).toMatch(/JSON/);
    expect(verify(rechain(newer)).problems[0]?.message).toMatch(/newer version/);
    const marked = rechain(edit(3, { text: (sound[3] as StoredEntry).text.replace('send_mail', '\ufffd') }));
    expect(kinds(marked)).toEqual([]);
    expect(
      kinds(
        marked.with(3, {
          ...(marked[3] as StoredEntry),
          text: (marked[3] as StoredEntry).text.replace('\ufffd', '\ud800'),
        }),
      ),
    ).toEqual(['chain']);
  });
});

describe('an attacker who recomputes the chains', () => {
  const forge = (callId: string, from: string, to: string): StoredEntry[] => {
    const at = placeOf(callId);
    const { text, bodies } = sound[at] as StoredEntry;
    expect(text + bodies).toContain(from);
    return rechain(edit(at, { text: text.replace(from, to), bodies }));
  };

  test.each<[string, StoredEntry[], string]>([
    [
      'an attempt that was not started',
      forge('read-a', '"attempt":1,"final"', '"attempt":2,"final"'),
      'order',
    ],
    ['a call that skips a version', forge('write-a', '"version":0', '"version":1'), 'version'],
    ['a start that was not allowed', forge('write-a', '"decision":"allow"', '"decision":"deny"'), 'order'],
    [
      'an outcome that differs from the content for the model',
      forge('unknown-a', '"retryable":false', '"retryable":true'),
      'content',
    ],
    [
      'an event of another session',
      forge('read-a', '"type":"tool.decided"', '"type":"tool.decided","session":"z"'),
      'session',
    ],
    [
      'an event of another call',
      forge('read-a', '"type":"tool.decided"', '"type":"tool.decided","call":"z"'),
      'session',
    ],
  ])('must still write possible events: %s', (_, entries, kind) => {
    expect(kinds(entries)[0] ?? '').toBe(kind);
  });

  test('cannot end a call twice, nor before it began', () => {
    const entries = makeEntries([{ session: 's', call: 'c', story: 'write' }]);
    const [intent, settle] = entries as [Entry, Entry];
    const again = { ...settle, entryId: 'n9', expectedVersion: 2 };
    expect(kinds(storeEntries([...entries, again]))).toEqual(['order']);
    expect(kinds(storeEntries([{ ...settle, expectedVersion: 0 }]))).toEqual(['order', 'order']);
    expect(kinds(storeEntries([intent, { ...settle, expectedVersion: 'any' }]))).toEqual([]);
    expect(kinds(storeEntries([{ ...intent, expectedVersion: 'any' }]))).toEqual(['version']);
  });

  test('is detected by an anchor, and so are a cut tail, a dropped session and an added one', () => {
    const [first] = sound as [StoredEntry];
    const forged = rechain(edit(0, { text: first.text.replace('send_mail', 'send_male') }));
    expect(kinds(forged)).toEqual([]);
    expect(verify(forged, { anchor }).problems).toMatchObject([
      { kind: 'anchor', sessionId: 'a', message: expect.stringContaining('recomputed') as string },
    ]);
    const cut = sound.slice(0, -1);
    expect(kinds(cut)).toEqual([]);
    expect(verify(cut, { anchor }).problems).toMatchObject([
      { kind: 'anchor', sessionId: 'b', message: expect.stringContaining('was cut') as string },
    ]);
    const dropped = sound.filter(({ sessionId }) => sessionId === 'a');
    expect(kinds(dropped)).toEqual([]);
    expect(verify(dropped, { anchor }).problems).toMatchObject([
      { kind: 'anchor', sessionId: 'b', message: expect.stringContaining('is missing') as string },
    ]);
    const smaller = createAnchor(headsOf(dropped), anchor.at);
    expect(verify(sound, { anchor: smaller }).problems).toMatchObject([
      { kind: 'anchor', sessionId: 'b', message: expect.stringContaining('does not list it') as string },
    ]);
  });

  test('is not reported if the ledger records the removal of a session', () => {
    const [, head] = headsOf(sound) as [StoredEntry, StoredEntry];
    const ofB = sound.filter(({ sessionId }) => sessionId === 'b');
    const removal = (sequence: number, hash: string): StoredEntry[] => [
      ...sound.filter(({ sessionId }) => sessionId === 'a'),
      ...storeEntries([
        {
          entryId: 'nx',
          sessionId: ledgerSessionId,
          callId: undefined,
          expectedVersion: 0,
          events: [
            {
              id: 'x',
              type: 'session.dropped',
              sessionId: ledgerSessionId,
              turnId: '',
              at: 1_790_000_950_000,
              cause: undefined,
              droppedSessionId: 'b',
              sequence,
              hash,
              by: 'Ada',
              reason: 'Old.',
            },
          ],
        },
      ]),
    ];
    expect(kinds(removal(head.sequence, head.hash), { anchor })).toEqual([]);
    expect(kinds(removal(head.sequence + 1, 'later'), { anchor })).toEqual([]);
    expect(kinds(removal(head.sequence, 'other'), { anchor })).toEqual(['anchor']);
    expect(kinds(removal(head.sequence - 1, head.hash), { anchor })).toEqual(['anchor']);
    // As in a backup from before the removal.
    expect(kinds([...removal(head.sequence, head.hash), ...ofB], { anchor })).toEqual(['head']);
    const anew = storeEntries(
      makeEntries([{ session: 'b', call: 'c', story: 'read' }]).map((entry) => ({
        ...entry,
        events: entry.events.map((event) => ({ ...event, at: event.at + 1_000_000 })),
      })),
    );
    expect(kinds([...removal(head.sequence, head.hash), ...anew], { anchor })).toEqual([]);
  });

  test('is detected by the heads if only the tail was cut', () => {
    expect(kinds(sound.slice(0, -1), { heads: headsOf(sound) })).toEqual(['head']);
    expect(kinds(sound, { heads: headsOf(sound).slice(1) })).toEqual(['head']);
  });
});

test('events that behaviors emit about a call are not events of a newer version, and hide no problem of the call', () => {
  const entries = makeEntries([{ session: 'a', call: 'c', story: 'write' }]);
  const [begin, end] = entries as unknown as [Entry, Entry];
  const emitted: Entry = {
    entryId: 'nx',
    sessionId: 'a',
    callId: 'c',
    expectedVersion: 'any',
    depth: 1,
    events: [
      {
        id: 'x',
        type: 'order.flagged',
        sessionId: 'a',
        turnId: 't-a',
        callId: 'c',
        at: 1_790_000_000_900,
        cause: begin.events[0]?.id,
        by: 'watch',
        data: { why: 'large' },
      },
    ],
  };
  expect(verify(storeEntries([begin, emitted, end, { ...emitted, entryId: 'ny' }]))).toMatchObject({
    problems: [],
    totals: { unknownEvents: 0, openCalls: 0 },
  });
  const twice = { ...end, entryId: 'nz', expectedVersion: 2 };
  expect(kinds(storeEntries([begin, emitted, end, twice]))).toContain('order');
  expect(kinds(storeEntries([begin, { ...emitted, callId: undefined }]))).toEqual(['session']);
});

test('an undone call is valid if it had succeeded, or was found to have, and was undone once', () => {
  const undoing = (story: Story, more: readonly Entry[] = []): Entry[] => {
    const entries: Entry[] = [...makeEntries([{ session: 'a', call: 'c', story }]), ...more];
    const version = entries.filter(({ expectedVersion }) => expectedVersion !== 'any').length;
    const undone: QuittanceEvent = {
      id: `x${version}`,
      type: 'tool.undone',
      sessionId: 'a',
      turnId: 't-a',
      callId: 'c',
      at: 1_790_000_000_900,
      cause: undefined,
      undoCallId: 'undo:c',
      by: { type: 'person', name: 'Ada' },
      reason: undefined,
    };
    const entryId = `n${undone.id}`;
    return [...entries, { entryId, sessionId: 'a', callId: 'c', expectedVersion: version, events: [undone] }];
  };
  for (const story of ['read', 'write', 'artifact', 'timeout'] as const)
    expect([story, kinds(storeEntries(undoing(story)))]).toEqual([story, []]);
  // It stays a completed call: its result may be reported again.
  const replayed: QuittanceEvent = {
    id: 'r1',
    type: 'tool.recalled',
    sessionId: 'a',
    turnId: 't-a',
    callId: 'c',
    at: 1_790_000_000_950,
    cause: undefined,
    how: 'replayed',
    fromCallId: 'c',
    details: 'It was reported again.',
  };
  const again: Entry = {
    entryId: 'nr1',
    sessionId: 'a',
    callId: 'c',
    expectedVersion: 'any',
    events: [replayed],
  };
  expect(kinds(storeEntries([...undoing('write'), again]))).toEqual([]);
  for (const story of ['failure', 'denied', 'open'] as const)
    expect([story, kinds(storeEntries(undoing(story)))]).toEqual([story, ['order']]);
  expect(kinds(storeEntries(undoing('write', undoing('write').slice(-1))))).toEqual(['order']);
});

test('events and outcomes of a newer version are counted but not judged', () => {
  const at = placeOf('read-a');
  const { text } = sound[at] as StoredEntry;
  const carried = rechain(edit(at, { text: text.replace('"tool.started"', '"tool.warmed"') }));
  expect(verify(carried)).toMatchObject({ problems: [], totals: { unknownEvents: 1 } });
  const outcome = rechain(edit(at, { text: text.replace('"ToolExecutionResult"', '"ToolDream"') }));
  expect(kinds(outcome)).toEqual([]);
});
