import { isQuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';
import { confirmationOf, proofOf, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall, shellWord } from '../find-call.ts';
import { requireOption } from '../require-option.ts';
import { connectTo, serverOf, serverOption } from '../server/server-client.ts';
import { safeJson, terminalId, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { withRuntime } from '../with-runtime.ts';

const line = 'quittance undo call_7 --runtime quittance.ts --by NAME';
const serverLine = 'quittance undo call_7 --session ticket-42 --server https://quittance.example.org';
const refusals = [
  'undo.unavailable',
  'undo.spent',
  'undo.expired',
  'undo.conflict',
  'call.unknown',
  'seal.broken',
] as const;

export const undoCommand: CliCommand = {
  name: 'undo',
  summary: 'Undo a call whose tool supports it',
  takes: '<call>',
  most: 1,
  about: [
    'The undo is a separate call, with all rules, limits and approvals. A call is undone at most once, within the time that its tool allows. A person at a terminal types a confirmation; a program needs a token with the role operator.',
    'Only a process with the tool can undo: name its module with --runtime, or use the server that runs it. Exit code 1: the call was not undone, or the undo awaits approval.',
  ],
  options: {
    runtime: { value: 'FILE', help: 'Module whose default export creates the runtime', file: true },
    server: serverOption,
    by: { value: 'NAME', help: 'Name of the person who undoes it; not with --server' },
    reason: { value: 'TEXT', help: 'Reason, optional' },
    force: { help: 'Undo even if later calls changed the same resources' },
    session: { value: 'ID', help: 'Session of the call, if several sessions have this call id' },
    yes: { help: 'With a token: do not ask at a terminal' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance undo call_7 --runtime quittance.ts --by "Ada" --reason "Wrong customer."', 'undo it'],
    [serverLine, 'on a server, as the person who is signed in'],
  ],
  effect(given, context) {
    if (given.args.length === 0) throw new UsageError('Missing call id.', [line, 'quittance calls']);
    if (serverOf(given, context) === undefined || given.has('runtime'))
      return { kind: 'decides', role: 'operator', line };
    requireOption(given, 'session', 'A server needs the session of the call', serverLine);
    if (given.has('by'))
      throw new UsageError('--by is for a ledger. A server records who is signed in.', [serverLine]);
    return { kind: 'decides_at_server', line: serverLine };
  },
  async run(given, context) {
    const [typed = ''] = given.args;
    const server = serverOf(given, context);
    if (server !== undefined && !given.has('runtime')) return undoOnServer(typed, given, context, server);
    const proof = proofOf(context);
    return withRuntime(
      given,
      context,
      { line, refusals, tryThis: [`quittance show ${shellWord(typed)}`] },
      async (runtime, ledger) => {
        const { sessionId, callId, toolName } = await findCall(ledger, typed, given.text('session'), 'undo');
        const decider = await proof.confirm(
          asked(given, `Undo ${terminalId(toolName)}, call ${terminalId(callId)}?`),
        );
        if (decider === undefined) return refuse(context);
        const reason = given.text('reason');
        try {
          const outcome = await runtime.calls.undo(
            { sessionId, callId },
            {
              ...decider,
              ...(reason !== undefined && { reason }),
              ...(given.has('force') && { force: true }),
              timeoutMs: waitMs,
            },
          );
          return await printOutcome(outcome, given, context);
        } catch (error) {
          if (!isQuittanceError(error, 'call.pending')) throw error;
          await context.err.say('The undo awaits approval: quittance pending');
          return exitCodes.bad;
        }
      },
    );
  },
};

/** As long as the server waits for the same request. */
const waitMs = 10_000;

const asked = (given: Given, question: string) => ({ question, word: 'undo', always: !given.has('yes') });

async function refuse({ out }: Context): Promise<ExitCode> {
  await out.print('Nothing was undone.');
  return exitCodes.bad;
}

async function printOutcome(outcome: ToolOutcome, given: Given, { out }: Context): Promise<ExitCode> {
  if (given.has('json')) await out.print(safeJson(outcome));
  else {
    const details = outcome.type === 'ToolDenied' ? ` ${terminalText(outcome.details)}` : '';
    await out.say(`Undo call ${terminalId(outcome.callId)}: ${outcomeLabel(outcome)}.${details}`);
  }
  const hasSucceeded = outcome.type === 'ToolExecutionResult' || outcome.type === 'ToolArtifactReference';
  return hasSucceeded ? exitCodes.good : exitCodes.bad;
}

/** The server has the tool, and knows who is signed in. */
async function undoOnServer(
  typed: string,
  given: Given,
  context: Context,
  server: string,
): Promise<ExitCode> {
  const sessionId = requireOption(given, 'session', 'A server needs the session of the call', serverLine);
  const isConfirmed = confirmationOf(context);
  if (!(await isConfirmed(asked(given, `Undo call ${terminalId(typed)} on ${server}?`))))
    return refuse(context);
  const reason = given.text('reason');
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/calls/${encodeURIComponent(typed)}/undo`;
  const answer = await connectTo(given, context, server).post(path, {
    ...(reason !== undefined && { reason }),
    ...(given.has('force') && { force: true }),
  });
  if (given.has('json')) await context.out.print(safeJson(answer));
  const decision = isJsonObject(answer) ? answer['decision'] : undefined;
  const callId = isJsonObject(answer) && typeof answer['callId'] === 'string' ? answer['callId'] : '';
  if (decision === 'held') await context.err.say('The undo awaits approval: quittance pending');
  else if (!given.has('json'))
    await context.out.say(
      `Undo call ${terminalId(callId)}: ${terminalText(typeof decision === 'string' ? decision : 'no answer')}.`,
    );
  return decision === 'settled' ? exitCodes.good : exitCodes.bad;
}
