import { isQuittanceError } from 'quittance/internal/base/error';
import type { Resolution } from 'quittance/internal/call/event';
import type { CallQuery, CallSummary } from 'quittance/internal/ledger/call-query';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { toCallSummary } from 'quittance/internal/ledger/listed-call';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { readOpenCalls } from 'quittance/internal/runtime/claim-handoff';
import { createPeopleRuntime } from '../people-runtime.ts';
import { pagingOptions } from '../call-query.ts';
import { callColumns, callRow, callToJson } from '../call-columns.ts';
import { confirmWith, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given, Proof } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall, shellWord } from '../find-call.ts';
import { readJsonArgument } from '../json-argument.ts';
import { printList } from '../print-list.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { findCalls, statusOfOwner } from 'quittance/internal/ledger/reads';

const resolutions: Readonly<Record<string, Resolution>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  'safe-to-retry': 'safe_to_retry',
};

export const reconcileCommand: CliCommand = {
  name: 'reconcile',
  summary: 'List unresolved calls (effect unknown), or resolve one',
  takes: '[<call>]',
  most: 1,
  about: [
    'A call that started and has no recorded end is not run again. A person has to check the system that the tool uses. Report your finding with your name. The outcome does not change; the resolution is recorded once, in addition to it.',
    'This command cannot ask the tool itself. A runtime with the tool can: runtime.calls.reconcile(call, { ask: "tool", by }).',
    'succeeded: it happened. failed: it did not happen. safe-to-retry: running it again does no harm in either case.',
  ],
  options: {
    as: { value: 'WORD', help: 'The finding', choices: Object.keys(resolutions) },
    by: { value: 'NAME', help: 'Name of the person who resolves it; a token has a name' },
    ...proofOptions,
    reason: { value: 'TEXT', help: 'Evidence for the finding, optional' },
    result: { value: 'JSON|@FILE', help: 'Output of the call, if known', file: true },
    session: { value: 'ID', help: 'Session of the call; or list only calls of this session' },
    ...pagingOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance reconcile', 'unresolved calls'],
    [
      'quittance reconcile call_7 --as succeeded --by "Ada" --reason "The refund is in the bank statement."',
      'it happened',
    ],
    [
      'quittance reconcile call_7 --as safe-to-retry --by "Ada" --reason "The mail never left."',
      'it may be retried',
    ],
  ],
  effect(given) {
    const [typed] = given.args;
    if (typed === undefined || !given.has('as')) return reads;
    const line = `quittance reconcile ${shellWord(typed)} --as ${given.text('as')}`;
    return { kind: 'decides', role: 'approver', line };
  },
  async run(given, context) {
    const [typed] = given.args;
    const { proof } = context;
    return context.withLedger(
      given,
      (ledger, meant) => {
        if (typed !== undefined) return resolve(ledger, typed, given, context, proof);
        const stray = ['as', 'by', 'reason', 'result'].find((option) => given.has(option));
        if (stray !== undefined)
          throw new UsageError(`--${stray} is about one call. Which one?`, [
            'quittance reconcile <call> --as succeeded --by NAME --reason WHY',
            'quittance reconcile',
          ]);
        return list(ledger, meant, context);
      },
      proof === undefined ? 'look' : 'write',
    );
  },
};

async function list(ledger: OpenLedger, given: Given, context: Context): Promise<ExitCode> {
  const now = context.now();
  const query: CallQuery = { unresolved: true, sessionId: given.text('session') };
  const code = await printList<CallSummary, CallQuery>(
    {
      ask: (asked) => findCalls(ledger, asked),
      query,
      columns: callColumns,
      toRow: (call) => callRow(call, now),
      toJson: callToJson,
      none: 'No unresolved calls.',
    },
    given,
    context,
  );
  const abandoned = await countAbandoned(ledger);
  if (abandoned > 0)
    await context.err.say(
      `${abandoned} more ${abandoned === 1 ? 'call has' : 'calls have'} no outcome, and the owner process has ended. A runtime with their tools settles them: runtime.recover()`,
    );
  return code;
}

/**
 * Calls without an outcome whose owner process ended. Only a runtime that has their tools can settle them. Calls held
 * for approval do not count: they need no process until a person decides.
 */
async function countAbandoned(ledger: OpenLedger): Promise<number> {
  const alive = new Map<string, boolean>();
  let count = 0;
  for await (const { ownerId, sessionId, callId } of readOpenCalls(ledger)) {
    if (!alive.has(ownerId)) alive.set(ownerId, (await statusOfOwner(ledger, ownerId)) !== 'gone');
    if (alive.get(ownerId) === true) continue;
    const stored = await ledger.readCall(sessionId, callId);
    if ((stored && foldStored(stored))?.status !== 'held') count++;
  }
  return count;
}

async function resolve(
  ledger: OpenLedger,
  typed: string,
  given: Given,
  context: Context,
  /** Undefined without a finding. */
  proof: Proof | undefined,
): Promise<ExitCode> {
  const [as, reason] = [given.text('as'), given.text('reason')];
  const { sessionId, callId } = await findCall(ledger, typed, given.text('session'), 'reconcile');
  const line = `quittance reconcile ${shellWord(terminalId(callId))} --session ${shellWord(terminalId(sessionId))}`;
  const resolution = resolutions[as ?? ''];
  if (as === undefined || resolution === undefined || proof === undefined)
    throw new UsageError('A resolution is permanent and needs a finding and a name: --as is missing.', [
      `${line} --as succeeded --by ${shellWord(given.text('by') ?? 'NAME')}`,
      `quittance show ${shellWord(terminalId(callId))} --session ${shellWord(terminalId(sessionId))}`,
    ]);
  const typedResult = given.text('result');
  const result = typedResult === undefined ? undefined : readJsonArgument(typedResult, 'result', '{"id":7}');
  if (result !== undefined && resolution !== 'succeeded')
    throw new UsageError('--result is what an effect gave that did happen: --as succeeded.', [
      `${line} --as succeeded --reason WHY`,
    ]);
  const question = `Resolve call ${terminalId(callId)} as ${as}, permanently?`;
  const { by, identity } = await confirmWith(proof, { question, word: as, line: `${line} --as ${as}` });
  const runtime = createPeopleRuntime(ledger);
  try {
    const call = await runtime.calls.reconcile(
      { sessionId, callId },
      {
        resolution,
        by,
        identity,
        ...(reason !== undefined && { reason }),
        ...(result !== undefined && { result }),
      },
    );
    if (given.has('json')) await context.out.print(safeJson(callToJson(toCallSummary(call))));
    else
      await context.out.print(
        `Call ${terminalId(callId)}: ${as}, by ${terminalText(by)}. Its outcome does not change.`,
      );
    return exitCodes.good;
  } catch (error) {
    if (!isQuittanceError(error, 'call.resolved')) throw error;
    throw new UsageError(
      error.message,
      [`quittance show ${shellWord(terminalId(callId))} --session ${shellWord(terminalId(sessionId))}`],
      exitCodes.bad,
    );
  } finally {
    await runtime.close();
  }
}
