/** A trace as lines: a tree with times and outcomes, or one JSON object per line. */
import type { JsonObject } from '../base/json.ts';
import type { TraceNode } from '../ledger/trace-node.ts';
import { colorOf } from './outcome-query.ts';
import { outcomeLabel } from '../view/outcome-words.ts';
import { terminalId, terminalText } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';
import { fit, textWidth, trim } from './text-width.ts';
import { duration, localTimeText } from './time-text.ts';
import { toJsonWithTimes, withoutUndefined } from './to-json.ts';

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

export function* traceLines(roots: readonly TraceNode[], out: Terminal): Generator<string, void> {
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
export function* traceToJson(roots: readonly TraceNode[]): Generator<JsonObject, void> {
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
