import type { Ledger } from '../../ledger/ledger.ts';
import type { TraceNode } from '../../ledger/trace.ts';
import { buildTrace } from '../../ledger/trace.ts';
import type { ReadEvent } from '../../ledger/unknown-event.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { safeJson } from '../terminal-text.ts';
import { meantSession } from '../meant-options.ts';
import { findSessionFamily, findSession } from '../session-family.ts';
import { traceLines, traceToJson } from '../trace-lines.ts';
import { UsageError } from '../usage-error.ts';

export const traceCommand: CliCommand = {
  name: 'trace',
  summary: 'Show what brought about what, in a session or from one call on',
  takes: '<call | session>',
  most: 1,
  about: [
    'A tree: the session, its turns, their calls; below a call its decisions, questions and attempts, what came later, and the calls it caused. Sessions that work for this one stand below it. On the right: when it began, counted from the beginning of the trace, and how long it took.',
  ],
  options: {
    session: { value: 'ID', help: 'The session of the call, where several have a call of this id' },
    json: { help: 'JSON instead of text: a node to a line, with the number of the one it stands below' },
  },
  examples: [
    ['quittance trace ticket-42', 'a whole session'],
    ['quittance trace call_7', 'one call, and what it caused'],
    ['quittance trace ticket-42 --json | jq \'select(.kind == "attempt")\'', 'every attempt, for a program'],
  ],
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
    throw new UsageError('Which call or session?', ['quittance trace <call>', 'quittance sessions']);
  const session = given.has('session')
    ? undefined
    : await findSession(ledger, await meantSession(ledger, typed, context.signal));
  if (session !== undefined) {
    const { sessionIds, isCut } = await findSessionFamily(ledger, session, context.signal);
    if (isCut)
      await context.err.say(
        'There are many sessions: some that work for this one may be missing from the trace.',
      );
    const events: ReadEvent[] = [];
    for (const sessionId of sessionIds) events.push(...(await ledger.journal.readSession(sessionId)));
    return buildTrace(events);
  }
  const { sessionId, callId } = await findCall(ledger, typed, given.text('session'), 'trace');
  const call = findNode(buildTrace(await ledger.journal.readSession(sessionId)), callId);
  return call === undefined ? [] : [call];
}

/** The call, wherever it stands. */
function findNode(roots: readonly TraceNode[], callId: string): TraceNode | undefined {
  const stack = [...roots];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.kind === 'call' && node.callId === callId) return node;
    stack.push(...node.children);
  }
  return undefined;
}
