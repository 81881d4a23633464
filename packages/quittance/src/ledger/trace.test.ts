import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../../../test/make-ledger.ts';
import { makeEntries, stories } from '../../../../test/make-ledger.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { TraceNode } from './trace.ts';
import { buildTrace } from './trace.ts';
import type { ReadEvent } from './unknown-event.ts';

/** Each node on a line, indented by its depth. */
function draw(roots: readonly TraceNode[]): string[] {
  const lines: string[] = [];
  const stack = roots.toReversed().map((node) => ({ node, depth: 0 }));
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, depth } = next;
    lines.push(`${'  '.repeat(depth)}${describeNode(node)}`);
    for (const child of node.children.toReversed()) stack.push({ node: child, depth: depth + 1 });
  }
  return lines;
}

function describeNode(node: TraceNode): string {
  switch (node.kind) {
    case 'session':
      return `session ${node.sessionId}`;
    case 'turn':
      return `turn ${node.turnId}${node.why === undefined ? '' : ` ${node.why}`}`;
    case 'call':
      return `call ${node.callId} ${node.outcome ?? 'open'}${node.cause?.known === false ? ' cause missing' : ''}`;
    case 'attempt':
      return `attempt ${node.attempt} ${node.outcome ?? 'open'}`;
    case 'event':
      return `${node.type}${node.note === '' ? '' : `: ${node.note}`}`;
  }
}

const eventsOf = (story: Story): QuittanceEvent[] =>
  makeEntries([{ session: 's', call: 'c', story }]).flatMap(({ events }) => events);

describe('a call', () => {
  test('is shown in its turn with its decisions, questions and attempts', () => {
    expect(draw(buildTrace(eventsOf('approved')))).toEqual([
      'session s',
      '  turn t-s',
      '    call c ToolExecutionResult',
      '      tool.decided: ask, by gate policy',
      '      tool.held: May it?',
      '      confirmation.decided: approve, by Ada (identity not recorded)',
      '      tool.decided: allow, by gate policy',
      '      attempt 1 ToolExecutionResult',
    ]);
  });

  test('a call that was retried is shown with every attempt', () => {
    expect(draw(buildTrace(eventsOf('retried'))).slice(-3)).toEqual([
      '      attempt 1 ToolFailure',
      '      retry.requested: attempt 2, as retry asked',
      '      attempt 2 ToolExecutionResult',
    ]);
  });

  test('is open until it has an outcome, and later events come after it', () => {
    expect(draw(buildTrace(eventsOf('open')))).toContain('    call c open');
    expect(draw(buildTrace(eventsOf('timeout'))).slice(-2)).toEqual([
      '      tool.late: attempt 1 returned after its deadline',
      '      tool.resolved: succeeded, by Ada (identity not recorded)',
    ]);
  });

  test.each(Object.keys(stories) as Story[])(
    'a call of the story "%s" is one node, with its start and end',
    (story) => {
      const [session] = buildTrace(eventsOf(story));
      const call = session?.children[0]?.children[0];
      expect(call).toMatchObject({ kind: 'call', callId: 'c', at: 1_790_000_000_000 });
      expect(call?.endedAt === undefined).toBe(story === 'open');
      expect(session?.children).toHaveLength(1);
    },
  );
});

describe('causes and effects', () => {
  const base = { sessionId: 's', turnId: 't', at: 1_000 };
  const opened = (id: string, changes: object = {}): ReadEvent =>
    ({
      ...base,
      id,
      type: 'turn.opened',
      cause: undefined,
      deadlineMs: undefined,
      parentSessionId: undefined,
      principal: undefined,
      ...changes,
    }) as ReadEvent;
  const requested = (id: string, callId: string, cause?: string, changes: object = {}): ReadEvent =>
    ({
      ...base,
      id,
      type: 'tool.requested',
      callId,
      cause,
      toolName: 'x',
      displayName: 'x',
      mode: 'read',
      modeOrigin: 'declared',
      requestedInput: {},
      hidden: [],
      requestDigest: '',
      ...changes,
    }) as unknown as ReadEvent;
  const unknown = (id: string, cause?: string, callId?: string): ReadEvent => ({
    ...base,
    id,
    type: 'retry.requested.of_the_future',
    cause,
    callId,
    unknownFields: { text: {}, body: {} },
  });

  test('a call is below the call that caused it', () => {
    expect(draw(buildTrace([opened('e1'), requested('e2', 'a', 'e1'), requested('e3', 'b', 'e2')]))).toEqual([
      'session s',
      '  turn t',
      '    call a open',
      '      call b open',
    ]);
  });

  test('a missing cause, or one that comes later, is reported and not followed', () => {
    expect(
      draw(
        buildTrace([requested('e1', 'a', 'gone'), requested('e2', 'b', 'e3'), requested('e3', 'c', 'e3')]),
      ),
    ).toEqual([
      'session s',
      '  turn t',
      '    call a open cause missing',
      '    call b open cause missing',
      '    call c open cause missing',
    ]);
  });

  test('events of unknown types are kept, in their call if they have one', () => {
    expect(
      draw(
        buildTrace([
          requested('e1', 'a'),
          unknown('e2', 'e1'),
          unknown('e3', 'gone'),
          unknown('e4', 'gone', 'a'),
        ]),
      ),
    ).toEqual([
      'session s',
      '  turn t',
      '    call a open',
      '      retry.requested.of_the_future',
      '      retry.requested.of_the_future',
      '    retry.requested.of_the_future',
    ]);
  });

  test('a session is below the one it works for, and a cycle of sessions ends', () => {
    const of = (sessionId: string, parentSessionId?: string): ReadEvent =>
      opened(`e-${sessionId}`, { sessionId, turnId: `t-${sessionId}`, parentSessionId });
    expect(draw(buildTrace([of('child', 'top'), of('top')]))).toEqual([
      'session top',
      '  turn t-top',
      '  session child',
      '    turn t-child',
    ]);
    expect(draw(buildTrace([of('a', 'b'), of('b', 'a')]))).toHaveLength(4);
    expect(draw(buildTrace([of('a', 'a')]))).toHaveLength(2);
    expect(draw(buildTrace([of('x', 'a'), of('a', 'b'), of('b', 'a')]))).toHaveLength(6);
  });

  test('however long the chain of causes is', () => {
    const chain = Array.from({ length: 20_000 }, (_, index) =>
      requested(`e${index}`, `c${index}`, index === 0 ? undefined : `e${index - 1}`),
    );
    let depth = 0;
    for (let at = buildTrace(chain)[0]; at !== undefined; at = at.children[0]) depth++;
    expect(depth).toBe(20_002);
  });

  test('every event appears once, whatever causes and ids say', () => {
    const id = fc.constantFrom('e1', 'e2', 'e3', 'e4');
    const event = fc.oneof(
      fc.tuple(id, id).map(([own, cause]) => unknown(own, cause)),
      fc.tuple(id, id, fc.constantFrom('a', 'b')).map(([own, cause, call]) => requested(own, call, cause)),
      fc
        .tuple(id, fc.constantFrom('s', 'r'))
        .map(([own, parent]) => opened(own, { parentSessionId: parent })),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const lines = draw(buildTrace(events));
        const drawn = (word: string): number => lines.filter((line) => line.trim().startsWith(word)).length;
        expect(drawn('retry.')).toBe(events.filter(({ type }) => type.startsWith('retry.')).length);
        const calls = new Set(
          events.flatMap((each) => (each.type === 'tool.requested' && 'callId' in each ? [each.callId] : [])),
        );
        expect(drawn('call ')).toBe(calls.size);
      }),
    );
  });
});
