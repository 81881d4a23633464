/**
 * Compares two sessions: the calls that differ, by field and decision. Ids and times are ignored, also inside
 * texts of the runtime. Text of a tool or a model is never changed before the comparison.
 */
import { checkObject } from '../base/check-keys.ts';
import { canonicalJson } from '../base/canonical.ts';
import type { JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject } from '../base/json.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { stateIn } from '../ledger/last-state.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';
import type { DiffedCall } from './diffed-call.ts';
import { toCallViews } from './diffed-call.ts';
import { diffJson } from './diff-json.ts';

/** A difference between two calls or two sessions. */
export type SessionDifference = {
  /**
   * The field that differs: `arguments`, `decisions`, `questions`, `outcome`, `code`, `output`, `content`,
   * `cost_micros` …
   */
  readonly field: string;
  /** The path inside the field: `$.total`; `$` for all of it. */
  readonly path: string;
  /** Undefined if that side has no value. */
  readonly a: JsonValue | undefined;
  readonly b: JsonValue | undefined;
};

export type CallDifference =
  | { readonly status: 'same'; readonly a: DiffedCall; readonly b: DiffedCall }
  | {
      readonly status: 'changed';
      readonly a: DiffedCall;
      readonly b: DiffedCall;
      readonly differences: readonly SessionDifference[];
    }
  | { readonly status: 'only_a'; readonly a: DiffedCall }
  | { readonly status: 'only_b'; readonly b: DiffedCall };

export type SessionDiff = {
  readonly identical: boolean;
  /** In the order of the first session, with the calls of the second inserted in their order. */
  readonly calls: readonly CallDifference[];
  readonly same: number;
  readonly changed: number;
  readonly onlyA: number;
  readonly onlyB: number;
  /** Differences in the final states of workflows. */
  readonly workflows: readonly SessionDifference[];
  /** Principals, models and rules. Shown, but not counted: only their effects are differences. */
  readonly circumstances: readonly SessionDifference[];
  /** Pairs of calls with redacted arguments, compared by their stored form only. */
  readonly comparedByKeptForm: number;
};

export type DiffOptions = {
  /** Both sessions are in one ledger, so digests of redacted arguments can be compared. */
  readonly sameLedger?: boolean;
};

/** Compares the events of two sessions. */
export function diffSessions(
  a: readonly ReadEvent[],
  b: readonly ReadEvent[],
  options: DiffOptions = {},
): SessionDiff {
  checkObject('diffSessions', options);
  const { sameLedger = false } = options;
  const [left, right] = [toCallViews(a), toCallViews(b)];
  const aligned = alignCalls(left.map(toAlignable), right.map(toAlignable));
  const names = nameThings(aligned, left, right);
  let comparedByKeptForm = 0;
  const [overlappingA, overlappingB] = [overlappingCalls(left), overlappingCalls(right)];
  const calls = aligned.map(({ a: atA, b: atB, moved }): CallDifference => {
    const one = atA === undefined ? undefined : left[atA];
    const other = atB === undefined ? undefined : right[atB];
    if (one === undefined) return { status: 'only_b', b: other as DiffedCall };
    if (other === undefined) return { status: 'only_a', a: one };
    if ((one.hidden || other.hidden) && !sameLedger) comparedByKeptForm++;
    // The order of parallel calls has no meaning.
    const order = moved === true && !(overlappingA.has(one) && overlappingB.has(other));
    const differences = [
      ...compare(one, other, names, sameLedger),
      ...(order ? [{ field: 'order', path: '$', a: (atA ?? 0) + 1, b: (atB ?? 0) + 1 }] : []),
    ];
    return differences.length === 0
      ? { status: 'same', a: one, b: other }
      : { status: 'changed', a: one, b: other, differences };
  });
  const count = (status: CallDifference['status']): number =>
    calls.filter((each) => each.status === status).length;
  const workflows = fieldDifferences(workflowsOf(a), workflowsOf(b));
  const same = count('same');
  return {
    identical: same === calls.length && workflows.length === 0,
    calls,
    same,
    changed: count('changed'),
    onlyA: count('only_a'),
    onlyB: count('only_b'),
    workflows,
    circumstances: fieldDifferences(circumstancesOf(a), circumstancesOf(b)),
    comparedByKeptForm,
  };
}

const toAlignable = ({
  callId,
  toolName,
  requestedInput,
}: DiffedCall): { callId: string; toolName: string; key: string } => ({
  callId,
  toolName,
  key: canonicalJson(requestedInput),
});

/** Calls that had not ended when the next one was requested, and the calls requested meanwhile. */
function overlappingCalls(calls: readonly DiffedCall[]): ReadonlySet<DiffedCall> {
  const overlapping = new Set<DiffedCall>();
  let latest: DiffedCall | undefined;
  const endOf = ({ settledAt = Number.POSITIVE_INFINITY }: DiffedCall): number => settledAt;
  for (const call of calls) {
    if (latest !== undefined && call.requestedAt < endOf(latest)) overlapping.add(call).add(latest);
    if (latest === undefined || endOf(call) > endOf(latest)) latest = call;
  }
  return overlapping;
}

/** Maps ids of calls and artifacts to a common name for both of a pair. */
type Names = { readonly a: ReadonlyMap<string, string>; readonly b: ReadonlyMap<string, string> };

function nameThings(
  aligned: readonly Aligned[],
  left: readonly DiffedCall[],
  right: readonly DiffedCall[],
): Names {
  const names = { a: new Map<string, string>(), b: new Map<string, string>() };
  const name = (known: Map<string, string>, call: DiffedCall | undefined, number: number): void => {
    if (call === undefined) return;
    known.set(call.callId, `<call ${number}>`);
    for (const [index, id] of call.artifactIds.entries()) known.set(id, `<artifact ${number}.${index + 1}>`);
  };
  for (const [index, { a, b }] of aligned.entries()) {
    if (a !== undefined) name(names.a, left[a], index + 1);
    if (b !== undefined) name(names.b, right[b], index + 1);
  }
  return names;
}

function compare(
  a: DiffedCall,
  b: DiffedCall,
  names: Names,
  sameLedger: boolean,
): readonly SessionDifference[] {
  const found = fieldDifferences(a.fields, b.fields).filter(
    ({ field, a: one, b: other }) =>
      plain(field, one, a, names.a) !== plain(field, other, b, names.b) ||
      one === undefined ||
      other === undefined,
  );
  const has = (fields: ReadonlySet<string>): boolean => found.some(({ field }) => fields.has(field));
  // The model's text is made from the outcome, and the digest of a large output from the output. Both are reported only if
  // nothing else explains them.
  const [isTextExplained, isDigestExplained] = [has(outcomeFields), has(outputFields)];
  const shown = found.filter(
    ({ field }) => !(field === 'content' && isTextExplained) && !(field === 'digest' && isDigestExplained),
  );
  const hidden = a.hidden && b.hidden && sameLedger && a.digest !== b.digest;
  return hidden && !shown.some(({ field }) => field === 'arguments' || field === 'effective_arguments')
    ? [...shown, { field: 'hidden_arguments', path: '$', a: a.digest, b: b.digest }]
    : shown;
}

const outcomeFields: ReadonlySet<string> = new Set([
  'outcome',
  'code',
  'reason',
  'details',
  'error',
  'output',
  'retryable',
  'summary',
]);

const outputFields: ReadonlySet<string> = new Set(['summary', 'size_bytes']);

/** A value without the ids and times that the runtime puts into it. */
function plain(
  field: string,
  value: JsonValue | undefined,
  { fields }: DiffedCall,
  names: ReadonlyMap<string, string>,
): JsonValue | undefined {
  if (typeof value !== 'string') return value;
  let text = value.replaceAll(/\bart_[0-9a-f]{32}\b/g, (id) => names.get(id) ?? id);
  if (field === 'content' && fields['outcome'] === 'ToolTimeout')
    text = text.replace(/it was stopped after \d+ ms\./, 'it was stopped.');
  // The end of an undo period is a time.
  if (field === 'model_note')
    text = text.replace(/( can undo this until )\d{4}-\d\d-\d\dT[\d:.]+Z\./, '$1then.');
  if (field === 'copied_from') return names.get(text) ?? text;
  return madeByRuntime(field, fields) ? nameCall(text, names) : text;
}

const codesThatNameCalls: ReadonlySet<JsonValue> = new Set([
  'call.duplicate',
  'call.twin',
  'call.blocked',
  'call.conflict',
]);

/** Could the text be a sentence of the runtime that names another call? Rules and tools write their own texts. */
const madeByRuntime = (field: string, fields: DiffedCall['fields']): boolean =>
  field === 'questions' ||
  ((field === 'details' || field === 'content') && codesThatNameCalls.has(fields['code'] ?? null));

const nameCall = (text: string, names: ReadonlyMap<string, string>): string => {
  const put = (whole: string, before: string, id: string, after: string): string =>
    names.has(id) ? `${before}${names.get(id)}${after}` : whole;
  return text
    .replace(/(\bCall )(.+?)( (?:of this turn did|did|has|took) the same )/s, put)
    .replace(/(\(call )(.+)(\)\.)/s, put);
};

function fieldDifferences(
  a: { readonly [field: string]: JsonValue },
  b: { readonly [field: string]: JsonValue },
): readonly SessionDifference[] {
  return diffJson(a, b).map(({ path: [field = '', ...path], ...values }) => ({
    field: String(field),
    path: formatPath(path),
    ...values,
  }));
}

/** The final state of each workflow: its stage, completed and approved stages. Evidence is left out. */
function workflowsOf(events: readonly ReadEvent[]): { readonly [name: string]: JsonValue } {
  const states = new Map<string, JsonValue>();
  for (const event of events) {
    const shown = stateIn(event);
    if (shown === undefined || !isJsonObject(shown.state)) continue;
    const { active_stage = null, completed_stages = null, approvals = null } = shown.state;
    states.set(shown.subject, { active_stage, completed_stages, approvals });
  }
  return Object.fromEntries(states);
}

function circumstancesOf(events: readonly ReadEvent[]): { readonly [name: string]: JsonValue } {
  const [principals, models, policies] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const event of events) {
    if (!isKnownEvent(event)) continue;
    if (event.type === 'tool.requested') {
      if (event.principal !== undefined)
        principals.add(event.principal.userId ?? event.principal.serviceId ?? '?');
      const { provider = '', model = '' } = event.provenance ?? {};
      if (provider !== '' || model !== '') models.add([provider, model].filter(Boolean).join('/'));
    }
    if (event.type === 'tool.decided' && event.policyVersion !== undefined) policies.add(event.policyVersion);
  }
  const list = (names: ReadonlySet<string>): string => [...names].toSorted().join(', ');
  return {
    ...(principals.size > 0 && { principals: list(principals) }),
    ...(models.size > 0 && { models: list(models) }),
    ...(policies.size > 0 && { policy_versions: list(policies) }),
  };
}

/**
 * Pairs the calls of two sessions. First: as many calls as possible with the same tool and input, or the same tool
 * and id, in order. Second: such calls at another place in the order, as parallel calls have. Third: calls of one
 * tool between two matches, in their order. The rest stays unpaired.
 */

export type Alignable = { readonly callId: string; readonly toolName: string; readonly key: string };

/** Indexes into the two lists; undefined if the other session has no such call. */
type Aligned = {
  readonly a: number | undefined;
  readonly b: number | undefined;
  /** The same call, at another place in the order. */
  readonly moved?: true;
};

export function alignCalls(a: readonly Alignable[], b: readonly Alignable[]): readonly Aligned[] {
  const matches = longestMatch(a, b);
  const pairs = new Pairs();
  for (const [atA, atB] of matches) pairs.take(atA, atB);
  const moved = new Set([
    ...pairs.takeBy(a, b, ({ toolName, callId }) => JSON.stringify([toolName, callId])),
    ...pairs.takeBy(a, b, ({ toolName, key }) => JSON.stringify([toolName, key])),
  ]);
  const aligned: Aligned[] = [];
  let [fromA, fromB] = [0, 0];
  for (const [atA, atB] of [...matches, [a.length, b.length] as const]) {
    const [gapA, gapB] = [a.slice(fromA, atA), b.slice(fromB, atB)];
    pairs.takeBy(gapA, gapB, ({ toolName }) => toolName, fromA, fromB);
    for (let index = fromA; index < Math.min(atA + 1, a.length); index++)
      aligned.push({ a: index, b: pairs.of(index), ...(moved.has(index) && { moved: true as const }) });
    // Placed before the match, in their original order.
    const alone = gapB.flatMap((_, index) =>
      pairs.hasB(fromB + index) ? [] : [{ a: undefined, b: fromB + index }],
    );
    aligned.splice(atA < a.length ? -1 : aligned.length, 0, ...alone);
    [fromA, fromB] = [atA + 1, atB + 1];
  }
  return aligned;
}

/** The pairs found so far. */
class Pairs {
  readonly #ofA = new Map<number, number>();
  readonly #usedB = new Set<number>();

  of(a: number): number | undefined {
    return this.#ofA.get(a);
  }

  hasB(b: number): boolean {
    return this.#usedB.has(b);
  }

  take(a: number, b: number): void {
    this.#ofA.set(a, b);
    this.#usedB.add(b);
  }

  /** Pairs unpaired calls with the same key, in their order. Returns the first of each. */
  takeBy(
    a: readonly Alignable[],
    b: readonly Alignable[],
    wordOf: (call: Alignable) => string,
    fromA = 0,
    fromB = 0,
  ): readonly number[] {
    const waiting = new Map<string, number[]>();
    // From the end, so that the first is the last of the list and cheap to remove.
    for (let index = b.length - 1; index >= 0; index--) {
      if (this.#usedB.has(fromB + index)) continue;
      const word = wordOf(b[index] as Alignable);
      const list = waiting.get(word);
      if (list === undefined) waiting.set(word, [fromB + index]);
      else list.push(fromB + index);
    }
    const taken: number[] = [];
    for (let index = 0; index < a.length; index++) {
      if (this.#ofA.has(fromA + index)) continue;
      const other = waiting.get(wordOf(a[index] as Alignable))?.pop();
      if (other === undefined) continue;
      this.take(fromA + index, other);
      taken.push(fromA + index);
    }
    return taken;
  }
}

const isSame = (one: Alignable | undefined, other: Alignable | undefined): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.toolName === other.toolName &&
  (one.key === other.key || one.callId === other.callId);

type Match = readonly [a: number, b: number];

/** Beyond this number of edits, the sessions have little in common. Matching then uses calls that occur once. */
const mostEdits = 2_000;

function longestMatch(a: readonly Alignable[], b: readonly Alignable[]): readonly Match[] {
  let start = 0;
  while (start < a.length && isSame(a[start], b[start])) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && isSame(a.at(-1 - end), b.at(-1 - end))) end++;
  const middle = findPath(
    { start, length: a.length - end - start },
    { start, length: b.length - end - start },
    (x, y) => isSame(a[x], b[y]),
  );
  return [
    ...Array.from({ length: start }, (_, index): Match => [index, index]),
    ...middle,
    ...Array.from({ length: end }, (_, index): Match => [a.length - end + index, b.length - end + index]),
  ];
}

type Range = { readonly start: number; readonly length: number };

/** The greedy algorithm of Myers (1986): fast for few edits, however long the lists are. */
function findPath(a: Range, b: Range, same: (x: number, y: number) => boolean): readonly Match[] {
  const trails: Int32Array[] = [];
  let furthest = new Int32Array([0, 0, 0]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, mostEdits); edits++) {
    // Diagonals from -edits to edits, with one spare on either side.
    const next = new Int32Array(2 * edits + 3);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const before = (other: number): number => furthest[other + edits] ?? 0;
      const goesDown =
        diagonal === -edits || (diagonal !== edits && before(diagonal - 1) < before(diagonal + 1));
      let x = edits === 0 ? 0 : goesDown ? before(diagonal + 1) : before(diagonal - 1) + 1;
      let y = x - diagonal;
      while (x < a.length && y < b.length && same(a.start + x, b.start + y)) [x, y] = [x + 1, y + 1];
      next[diagonal + edits + 1] = x;
      if (x >= a.length && y >= b.length) {
        trails.push(next);
        return walkBack(trails, a, b);
      }
    }
    trails.push(next);
    furthest = next;
  }
  return [];
}

function walkBack(trails: readonly Int32Array[], a: Range, b: Range): readonly Match[] {
  const matches: Match[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trails.length - 1; edits >= 0; edits--) {
    const before = trails[edits - 1];
    const diagonal = x - y;
    const at = (other: number): number => before?.[other + edits] ?? 0;
    const goesDown = diagonal === -edits || (diagonal !== edits && at(diagonal - 1) < at(diagonal + 1));
    const fromX = edits === 0 ? 0 : goesDown ? at(diagonal + 1) : at(diagonal - 1);
    const fromY = edits === 0 ? 0 : fromX - (goesDown ? diagonal + 1 : diagonal - 1);
    const reached = edits === 0 ? 0 : goesDown ? fromX : fromX + 1;
    while (x > reached) {
      [x, y] = [x - 1, y - 1];
      matches.push([a.start + x, b.start + y]);
    }
    [x, y] = [fromX, fromY];
  }
  return matches.reverse();
}
