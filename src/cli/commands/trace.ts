import type { Ledger } from '../../ledger/ledger.ts';
import type { TraceNode } from '../../ledger/trace-node.ts';
import { buildTrace } from '../../ledger/trace.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { safeJson } from '../terminal-text.ts';
import { meantSession } from '../meant-options.ts';
import { findSessionFamily, findSession } from '../session-family.ts';
import { traceLines, traceToJson } from '../trace-lines.ts';
import { UsageError } from '../usage-error.ts';

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

async function findRoots(ledger: Ledger, given: Given, context: Context): Promise<readonly TraceNode[]> {
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
    for (const sessionId of sessionIds) events.push(...(await ledger.journal.readSession(sessionId)));
    return buildTrace(events);
  }
  const { sessionId, callId } = await findCall(
    ledger,
    typed,
    given.text('session'),
    'trace',
    given.has('session') ? undefined : { what: 'session', list: 'quittance sessions' },
  );
  const call = findNode(buildTrace(await ledger.journal.readSession(sessionId)), callId);
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
