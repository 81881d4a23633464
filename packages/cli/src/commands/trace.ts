import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { TraceNode } from 'quittance/internal/ledger/trace';
import { buildTrace } from 'quittance/internal/ledger/trace';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { safeJson, terminalId, terminalText } from '../terminal-text.ts';
import { meantSession } from '../meant-options.ts';
import { UsageError } from '../usage-error.ts';
import { isKnownEvent } from 'quittance/internal/ledger/formats/v1/event-table';
import { readEntry } from 'quittance/internal/ledger/formats/v1/read-entry';
import { readPages } from 'quittance/internal/ledger/call-query';
import type { SessionQuery, SessionSummary } from 'quittance/internal/ledger/call-query';
import type { JsonObject } from 'quittance/internal/base/json';
import { colorOf } from '../outcome-query.ts';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';
import type { Terminal } from '../terminal.ts';
import { fit, textWidth, trim } from '../text-width.ts';
import { duration, localTimeText } from '../time-text.ts';
import { toJsonWithTimes, withoutUndefined } from '../to-json.ts';
import { findSessions } from 'quittance/internal/ledger/reads';

export const traceCommand: CliCommand = {
  name: 'trace',
  summary: 'Show the tree of causes for a session or for one call',
  takes: '<call | session>',
  most: 1,
  about: [
    'Prints a tree: the session, its turns, and their calls. Below each call: its decisions, confirmations and attempts, later events, and the calls it caused. Sub-sessions are below their session. On the right: the start, relative to the start of the trace, and the duration.',
  ],
  options: {
    session: { value: 'ID', help: 'Session of the call, if several sessions have this call id' },
    json: { help: 'JSON instead of text: one node per line, with the number of its parent' },
  },
  examples: [
    ['quittance trace ticket-42', 'a whole session'],
    ['quittance trace call_7', 'one call and the calls it caused'],
    ['quittance trace ticket-42 --json | jq \'select(.kind == "attempt")\'', 'every attempt, for a program'],
  ],
  effect: reads,
  run: (given, context) =>
    context.withLedger(given, async (ledger) => {
      const roots = await findRoots(ledger, given, context);
      if (given.has('json')) for (const line of traceToJson(roots)) await context.out.print(safeJson(line));
      else for (const line of traceLines(roots, context.out)) await context.out.print(line);
      return exitCodes.good;
    }),
};

async function findRoots(ledger: OpenLedger, given: Given, context: Context): Promise<readonly TraceNode[]> {
  const [typed] = given.args;
  if (typed === undefined)
    throw new UsageError('Missing call id or session id.', ['quittance trace <call>', 'quittance sessions']);
  const session = given.has('session')
    ? undefined
    : await findSession(ledger, await meantSession(ledger, typed, context.signal));
  if (session !== undefined) {
    const { sessionIds, isCut } = await findSessionFamily(ledger, session, context.signal);
    if (isCut) await context.err.say('There are many sessions: the trace may lack some sub-sessions.');
    const events: ReadEvent[] = [];
    for (const sessionId of sessionIds) events.push(...(await ledger.readSession(sessionId)));
    return buildTrace(events);
  }
  const { sessionId, callId } = await findCall(
    ledger,
    typed,
    given.text('session'),
    'trace',
    given.has('session') ? undefined : { what: 'session', list: 'quittance sessions' },
  );
  const call = findNode(buildTrace(await ledger.readSession(sessionId)), callId);
  return call === undefined ? [] : [call];
}

/** Finds the node of the call in the tree. */
function findNode(roots: readonly TraceNode[], callId: string): TraceNode | undefined {
  const stack = [...roots];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.kind === 'call' && node.callId === callId) return node;
    stack.push(...node.children);
  }
  return undefined;
}

/** A session and its sub-sessions, which name their parent when they begin. */

/** Most sessions to search for sub-sessions, because no table lists them. */
const mostLookedAt = 5_000;

type Family = {
  readonly sessionIds: readonly string[];
  /** Were there more sessions than were searched? */
  readonly isCut: boolean;
};

/** The summary of the session, if it exists. */
async function findSession(ledger: OpenLedger, sessionId: string): Promise<SessionSummary | undefined> {
  const pages = readPages<SessionSummary, SessionQuery>(
    (query) => findSessions(ledger, query),
    { text: sessionId },
    Number.POSITIVE_INFINITY,
    new AbortController().signal,
  );
  for await (const { rows } of pages) {
    const found = rows.find((row) => row.sessionId === sessionId);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function findSessionFamily(
  ledger: OpenLedger,
  { sessionId, firstAt }: SessionSummary,
  signal: AbortSignal,
): Promise<Family> {
  const children = new Map<string, string[]>();
  let next: string | undefined;
  const pages = readPages<SessionSummary, SessionQuery>(
    (query) => findSessions(ledger, query),
    { since: firstAt },
    mostLookedAt,
    signal,
  );
  for await (const page of pages) {
    ({ next } = page);
    for (const row of page.rows) {
      const parent = await parentOf(ledger, row.sessionId);
      if (parent !== undefined) children.set(parent, [row.sessionId, ...(children.get(parent) ?? [])]);
    }
  }
  const family = new Set([sessionId]);
  // Iterating a set includes the elements added meanwhile.
  for (const id of family) for (const child of children.get(id) ?? []) family.add(child);
  return { sessionIds: [...family], isCut: next !== undefined };
}

async function parentOf(ledger: OpenLedger, sessionId: string): Promise<string | undefined> {
  const first = await firstEventOf(ledger, sessionId);
  if (first === undefined || !isKnownEvent(first)) return undefined;
  if (first.type === 'session.forked') return first.fromSessionId;
  return first.type === 'turn.opened' ? first.parentSessionId : undefined;
}

/** The first event of a session. Failed requests may be recorded before the session begins. */
async function firstEventOf(ledger: OpenLedger, sessionId: string): Promise<ReadEvent | undefined> {
  let after = 0;
  for (;;) {
    const [entry] = await ledger.readEntries({ sessionId, after, limit: 1 });
    if (entry === undefined) return undefined;
    const first = readEntry(entry).events.find(({ type }) => type !== 'call.not_accepted');
    if (first !== undefined) return first;
    after = entry.position;
  }
}

/** A trace as lines: a tree with times and outcomes, or one JSON object per line. */

type Placed = {
  readonly node: TraceNode;
  readonly depth: number;
  readonly parent: number | undefined;
  /** Indentation of the node and of its children. */
  readonly prefix: string;
  readonly below: string;
};

/** Deeper nodes are not indented further, so that they fit the page. */
const deepest = 10;

/** Every node in the order of the lines. No recursion, because a chain of causes may be as long as a ledger. */
function* walk(roots: readonly TraceNode[]): Generator<Placed & { readonly index: number }, void> {
  const stack: Placed[] = roots
    .toReversed()
    .map((node) => ({ node, depth: 0, parent: undefined, prefix: '', below: '' }));
  let index = 0;
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield { ...next, index };
    const { node, depth, below } = next;
    const isDeep = depth >= deepest;
    for (const [at, child] of [...node.children.entries()].reverse()) {
      const isLast = at === node.children.length - 1;
      stack.push({
        node: child,
        depth: depth + 1,
        parent: index,
        prefix: isDeep ? `${below}… ` : `${below}${isLast ? '└─ ' : '├─ '}`,
        below: isDeep ? below : `${below}${isLast ? '   ' : '│  '}`,
      });
    }
    index++;
  }
}

const timeWidth = 10;

function* traceLines(roots: readonly TraceNode[], out: Terminal): Generator<string, void> {
  const width = Math.min(out.width, 110);
  const beganAt = roots[0]?.at ?? 0;
  for (const { node, prefix, depth } of walk(roots)) {
    const room = width - 2 * timeWidth - 2;
    const name = nameOf(node);
    const note = noteOf(node);
    const left = trim(`${prefix}${name}`, room);
    const rest = room - textWidth(left) - 2;
    const shown = note === '' || rest < 4 ? '' : `  ${trim(note, rest)}`;
    const blanks = ' '.repeat(Math.max(0, room - textWidth(left) - textWidth(shown)));
    const when =
      depth === 0 ? localTimeText(node.at).slice(11) : `+${duration(Math.max(0, node.at - beganAt))}`;
    const took = node.endedAt === undefined ? '' : duration(Math.max(0, node.endedAt - node.at));
    yield `${paintName(left, prefix, node, out)}${paintNote(shown, node, out)}${blanks} ${out.paint('dim', fit(when, timeWidth, 'right'))} ${fit(took, timeWidth, 'right')}`.trimEnd();
  }
}

const paintName = (left: string, prefix: string, { kind }: TraceNode, out: Terminal): string =>
  kind === 'call' || kind === 'session'
    ? `${out.paint('dim', left.slice(0, prefix.length))}${out.paint('bold', left.slice(prefix.length))}`
    : out.paint('dim', left);

const paintNote = (note: string, node: TraceNode, out: Terminal): string =>
  note !== '' && (node.kind === 'call' || node.kind === 'attempt')
    ? out.paint(
        colorOf(node.outcome === undefined ? 'open' : outcomeLabel({ type: node.outcome, code: node.code })),
        note,
      )
    : note;

function nameOf(node: TraceNode): string {
  switch (node.kind) {
    case 'session':
      return `session ${terminalId(node.sessionId)}`;
    case 'turn':
      return `turn ${terminalId(node.turnId)}`;
    case 'call':
      return `${terminalId(node.callId)}  ${terminalId(node.toolName)}`;
    case 'attempt':
      return `attempt ${node.attempt}`;
    case 'event':
      return terminalText(node.type);
  }
}

function noteOf(node: TraceNode): string {
  switch (node.kind) {
    case 'session':
      return node.parentSessionId === undefined ? '' : `for ${terminalText(node.parentSessionId)}`;
    case 'turn':
      return node.why === undefined ? '' : `ended: ${terminalText(node.why)}`;
    case 'call': {
      const missing =
        node.cause?.known === false ? `, cause ${terminalText(node.cause.eventId)} is missing` : '';
      return `${endOf(node)}${missing}`;
    }
    case 'attempt':
      return endOf(node);
    case 'event':
      return node.known ? terminalText(node.note) : 'of a type unknown to this version';
  }
}

const endOf = ({ outcome, code }: Extract<TraceNode, { kind: 'call' | 'attempt' }>): string =>
  outcome === undefined
    ? 'no recorded end'
    : `${terminalText(outcomeLabel({ type: outcome, code }))}${code === undefined ? '' : ` ${terminalText(code)}`}`;

/** Each node with the number of its parent. */
function* traceToJson(roots: readonly TraceNode[]): Generator<JsonObject, void> {
  for (const { node, index, parent, depth } of walk(roots)) {
    const { children: _, ...fields } = node;
    yield {
      node: index,
      ...withoutUndefined({ parent }),
      depth,
      ...toJsonWithTimes(fields, 'at', 'endedAt'),
    };
  }
}
