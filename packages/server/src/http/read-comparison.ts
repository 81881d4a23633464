/** Two sessions compared for the console: within limits, and sorted by what matters. */
import type { JsonValue } from 'quittance/internal/base/json';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import type { CallDifference, SessionDifference } from 'quittance/internal/replay/diff-sessions';
import { diffSessions } from 'quittance/internal/replay/diff-sessions';
import type { DifferenceWeight } from 'quittance/internal/replay/difference-weight';
import {
  differenceWeights,
  weightOfCall,
  weightOfDifference,
} from 'quittance/internal/replay/difference-weight';
import type { DiffedCall } from 'quittance/internal/replay/diffed-call';
import type {
  ComparedCall,
  ComparedSession,
  ComparedSide,
  ComparedValue,
  SessionComparison,
} from './api/session.ts';
import { BoundedReads } from './bounded-reads.ts';
import { readOrigin } from './read-fork.ts';
import type { NewestCalls } from './read-newest-calls.ts';
import { readNewestCalls } from './read-newest-calls.ts';

/** The newest calls of each session that are compared. */
const mostCompared = 500;
const mostListed = 200;
const mostDifferences = 30;
const mostTextLength = 2_000;

export async function readComparison(reads: BoundedReads, a: string, b: string): Promise<SessionComparison> {
  const { fork, ...origins } = await readForkBetween(reads, a, b);
  // Each gets half of the limits, so that a large session leaves room for the other.
  const half = (): BoundedReads => {
    const { callBytes, totalBytes, timeMs } = reads.limits;
    return new BoundedReads(reads.ledger, { callBytes, totalBytes: totalBytes / 2, timeMs: timeMs / 2 });
  };
  const [left, right] = [
    await readNewestCalls(half(), a, { most: mostCompared }),
    await readNewestCalls(half(), b, { most: mostCompared }),
  ];
  // A live fork does not make the earlier calls again. A replayed one does, and they are compared.
  const [partA, partB] = [
    origins.forkedA === undefined ? left : fromFork(left, right, origins.forkedA),
    origins.forkedB === undefined ? right : fromFork(right, left, origins.forkedB),
  ];
  const diff = diffSessions(eventsOf(partA), eventsOf(partB), { sameLedger: true });
  const different = diff.calls
    .flatMap((call) => {
      const weight = weightOfCall(call);
      return weight === undefined || call.status === 'same' ? [] : [{ call, weight }];
    })
    .toSorted((one, other) => rank(one.weight) - rank(other.weight));
  return {
    a: toSession(a, left, partA),
    b: toSession(b, right, partB),
    fork,
    identical: diff.identical,
    same: diff.same,
    changed: diff.changed,
    onlyA: diff.onlyA,
    onlyB: diff.onlyB,
    calls: different.slice(0, mostListed).map(({ call, weight }) => toCall(call, weight)),
    moreCalls: Math.max(0, different.length - mostListed),
    workflows: diff.workflows.slice(0, mostDifferences).map(toValue),
    circumstances: diff.circumstances.slice(0, mostDifferences).map(toValue),
    comparedByKeptForm: diff.comparedByKeptForm,
  };
}

const rank = (weight: DifferenceWeight): number => differenceWeights.indexOf(weight);

/** `forkedA`: the call of `a` at which `b` was forked. */
async function readForkBetween(
  { ledger }: BoundedReads,
  a: string,
  b: string,
): Promise<{
  readonly fork: SessionComparison['fork'];
  readonly forkedA?: string | undefined;
  readonly forkedB?: string | undefined;
}> {
  const [ofA, ofB] = [await readOrigin(ledger, a), await readOrigin(ledger, b)];
  if (ofB?.fromSessionId === a)
    return {
      fork: { of: 'a', atCallId: ofB.atCallId, position: ofB.position },
      forkedA: ofB.atCallId,
    };
  if (ofA?.fromSessionId === b)
    return {
      fork: { of: 'b', atCallId: ofA.atCallId, position: ofA.position },
      forkedB: ofA.atCallId,
    };
  return { fork: undefined };
}

/** The calls of the source from the fork on, unless the fork has earlier ones too. */
function fromFork(source: NewestCalls, fork: NewestCalls, atCallId: string): NewestCalls {
  const at = source.calls.findIndex(({ callId }) => callId === atCallId);
  const before = new Set(source.calls.slice(0, Math.max(at, 0)).map(({ callId }) => callId));
  if (at <= 0 || fork.calls.some(({ callId }) => before.has(callId))) return source;
  return { ...source, calls: source.calls.slice(at) };
}

const eventsOf = ({ calls }: NewestCalls): readonly ReadEvent[] =>
  calls.flatMap(({ stored }) => stored?.events ?? []);

const toSession = (sessionId: string, read: NewestCalls, { calls }: NewestCalls): ComparedSession => ({
  sessionId,
  calls: read.total,
  compared: calls.length,
  large: calls.filter(({ stored }) => stored === undefined).length,
});

function toCall(call: Exclude<CallDifference, { status: 'same' }>, weight: DifferenceWeight): ComparedCall {
  const [a, b] = ['a' in call ? call.a : undefined, 'b' in call ? call.b : undefined];
  const differences = (call.status === 'changed' ? call.differences : []).toSorted(
    (one, other) => rank(weightOfDifference(one)) - rank(weightOfDifference(other)),
  );
  return {
    status: call.status,
    weight,
    toolName: (a ?? b)?.toolName ?? '',
    a: a && toSide(a),
    b: b && toSide(b),
    differences: differences.slice(0, mostDifferences).map(toValue),
    moreDifferences: Math.max(0, differences.length - mostDifferences),
  };
}

const toSide = ({ callId, outcome, requestedInput, fields: { code } }: DiffedCall): ComparedSide => ({
  callId,
  outcome,
  code: typeof code === 'string' ? code : undefined,
  input: toText(requestedInput),
});

const toValue = ({ field, path, a, b }: SessionDifference): ComparedValue => ({
  field,
  path: cut(path),
  a: a === undefined ? undefined : toText(a),
  b: b === undefined ? undefined : toText(b),
});

const toText = (value: JsonValue): string => cut(JSON.stringify(value));

const cut = (text: string): string =>
  text.length <= mostTextLength
    ? text
    : `${text.slice(0, mostTextLength)}… (${text.length - mostTextLength} more characters)`;
