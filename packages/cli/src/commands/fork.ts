import { isJsonObject } from 'quittance/internal/base/json';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { BoundedReads } from '@quittance/server/internal/http/bounded-reads';
import { HttpRefusal } from '@quittance/server/internal/http/problem';
import { mostRepeated, readForkPlan } from '@quittance/server/internal/http/read-fork';
import { forkId, recordFork } from '@quittance/server/internal/http/record-fork';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { repeatCalls } from 'quittance/internal/replay/repeat-calls';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, makes } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { meantSession } from '../meant-options.ts';
import { connectTo, serverOf, serverOption } from '../server/server-client.ts';
import { safeJson, terminalId } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { withRuntime } from '../with-runtime.ts';
import { findCalls } from 'quittance/internal/ledger/reads';

const line = 'quittance fork ticket-42 --runtime quittance.ts';

export const forkCommand: CliCommand = {
  name: 'fork',
  summary: 'Make the calls of a session again, in a new session',
  takes: '<session>',
  most: 1,
  about: [
    `Makes the calls from one call on again, with the arguments on record, in a new session: at most ${mostRepeated}. The tools run, every check applies, and calls may need approval; the command waits for it. Earlier calls are not made again. The ledger records who requested it. The command shows the first call and asks for confirmation; without a terminal, give --yes.`,
    'Only a process with the tools can fork: name its module with --runtime, or use the server that runs them. A server makes the calls in the background. Exit code 1: a call ended differently, or nothing was forked.',
  ],
  options: {
    runtime: { value: 'FILE', help: 'Module whose default export creates the runtime', file: true },
    server: serverOption,
    at: {
      value: 'CALL',
      help: 'First call to make again; default: the first call that did not succeed, otherwise the first call',
    },
    as: { value: 'ID', help: 'Id of the new session; default: a new one' },
    continue: { help: 'Continue after a call that ends differently' },
    yes: { help: 'Do not ask' },
    json: jsonOption,
  },
  examples: [
    [`${line} --at call_7`, 'from one call on; then compare: quittance diff'],
    ['quittance fork ticket-42 --server https://quittance.example.org', 'on a server'],
  ],
  effect: makes,
  async run(given, context) {
    const [typed] = given.args;
    if (typed === undefined) throw new UsageError('Missing session id.', [line, 'quittance sessions']);
    const server = serverOf(given, context);
    if (server !== undefined && !given.has('runtime')) return forkOnServer(typed, given, context, server);
    const tryThis = [`quittance calls --session ${shellWord(typed)}`];
    return withRuntime(
      given,
      context,
      { line, refusals: ['call.unknown'], tryThis },
      async (runtime, ledger) => {
        const sessionId = await meantSession(ledger, typed, context.signal);
        const { rows } = await findCalls(ledger, { sessionId, limit: mostRepeated });
        const callId = firstOf(rows, sessionId, given);
        if (!(await isWanted(given, context, sessionId, callId))) return exitCodes.bad;
        try {
          return await forkHere(runtime, ledger, { sessionId, callId }, given, context);
        } catch (error) {
          if (error instanceof HttpRefusal) throw new UsageError(error.message, tryThis, exitCodes.bad);
          throw error;
        }
      },
    );
  },
};

type Listed = Pick<CallSummary, 'callId' | 'outcome'>;

/** The call to begin with. People fork to see whether a call succeeds now. `rows`: newest first. */
function firstOf(rows: readonly Listed[], sessionId: string, given: Given): string {
  const typed = given.text('at');
  if (typed !== undefined) return typed;
  const oldestFirst = rows.toReversed();
  const first = oldestFirst.find(({ outcome }) => !isGood(outcome)) ?? oldestFirst[0];
  if (first !== undefined) return first.callId;
  throw new UsageError(
    `Session ${JSON.stringify(terminalId(sessionId))} has no calls.`,
    ['quittance sessions'],
    exitCodes.bad,
  );
}

const isGood = (outcome: CallSummary['outcome']): boolean =>
  outcome === 'ToolExecutionResult' || outcome === 'ToolArtifactReference';

const isWanted = (given: Given, context: Context, from: string, callId: string): Promise<boolean> =>
  isConfirmed(given, context, {
    question: `Make the calls of session ${terminalId(from)} from call ${terminalId(callId)} on again?`,
    missing: 'Without a terminal, a fork must be confirmed in advance',
    line,
    refused: 'Nothing was forked.',
  });

/** The command reads its own ledger, so it reads as much as a call may have. */
const limits = { callBytes: Infinity, totalBytes: Infinity, timeMs: Infinity };

async function forkHere(
  runtime: Runtime,
  ledger: OpenLedger,
  { sessionId: from, callId }: { readonly sessionId: string; readonly callId: string },
  given: Given,
  { out, identity, signal }: Context,
): Promise<ExitCode> {
  const plan = await readForkPlan(new BoundedReads(ledger, limits), { sessionId: from, callId });
  const sessionId = given.text('as') ?? forkId(from);
  const fork = await recordFork(ledger, runtime.tools, plan, { from, callId, as: sessionId });
  const { calls } = plan;
  const asJson = given.has('json');
  if (asJson) await out.print(safeJson({ sessionId, fork, calls: calls.length }));
  else await out.say(`Session ${terminalId(sessionId)}: makes ${counted(calls.length)} again.`);
  let made = 0;
  let same = 0;
  const lines: string[] = [];
  await repeatCalls(runtime, calls, {
    sessionId,
    parentSessionId: from,
    askedBy: identity,
    continues: given.has('continue'),
    signal,
    onOutcome(call, outcome) {
      made++;
      if (outcome.type === call.outcome) same++;
      const isSame = outcome.type === call.outcome;
      lines.push(
        asJson
          ? safeJson({ callId: call.callId, outcome, isSame })
          : `${terminalId(call.callId)}  ${terminalId(call.toolName)}: ${outcomeLabel(outcome)}${isSame ? '' : ', different'}`,
      );
    },
  });
  for (const each of lines) await out.print(each);
  if (!asJson) await out.say(saidAtEnd(from, sessionId, made, calls.length));
  return same === calls.length ? exitCodes.good : exitCodes.bad;
}

const counted = (calls: number): string => `${calls} ${calls === 1 ? 'call' : 'calls'}`;

const saidAtEnd = (from: string, as: string, made: number, all: number): string =>
  `${made === all ? `Made ${counted(all)}.` : `Stopped after ${made} of ${counted(all)}.`} Compare: quittance diff ${shellWord(terminalId(from))} ${shellWord(terminalId(as))}`;

/** The server has the tools, and knows who is signed in. */
async function forkOnServer(from: string, given: Given, context: Context, server: string): Promise<ExitCode> {
  const client = connectTo(given, context, server);
  const list = new URLSearchParams({ sessionId: from, limit: String(mostRepeated) });
  const page = given.has('at') ? undefined : await client.get(`/v1/calls?${list.toString()}`);
  const rows = isJsonObject(page) && Array.isArray(page['rows']) ? page['rows'] : [];
  // The answer of the route.
  const callId = firstOf(rows as unknown as readonly Listed[], from, given);
  if (!(await isWanted(given, context, from, callId))) return exitCodes.bad;
  const as = given.text('as');
  const answer = await client.post(`/v1/sessions/${encodeURIComponent(from)}/forks`, {
    callId,
    ...(as !== undefined && { as }),
    ...(given.has('continue') && { continue: true }),
  });
  if (given.has('json')) await context.out.print(safeJson(answer));
  else {
    const { sessionId = '', calls = 0 } = isJsonObject(answer) ? answer : {};
    await context.out.say(
      `Session ${terminalId(String(sessionId as string))}: the server makes ${counted(Number(calls))} again.`,
    );
  }
  return exitCodes.good;
}

/** Asks the person at the terminal before a command has an effect. Without a terminal, `--yes` must say so in advance. */
async function isConfirmed(
  given: Given,
  { ask, out }: Context,
  {
    question,
    missing,
    line,
    refused,
  }: {
    readonly question: string;
    /** Why `--yes` is needed without a terminal. */
    readonly missing: string;
    /** A complete command. */
    readonly line: string;
    /** Printed after a no. */
    readonly refused: string;
  },
): Promise<boolean> {
  if (given.has('yes')) return true;
  if (ask === undefined || given.has('json'))
    throw new UsageError(`${missing}: --yes is missing.`, [`${line} --yes`]);
  const isYes = await ask(question);
  if (!isYes) await out.print(refused);
  return isYes;
}
