import { readFileSync } from 'node:fs';
import { isQuittanceError } from '../../base/error.ts';
import type { JsonValue } from '../../base/json.ts';
import { dueAt, isHandedOver } from '../../call/handoff.ts';
import { outcomeToWire } from '../../call/outcome-wire.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { HandoffClaim } from '../../runtime/handoff/claim-handoff.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { readOpenCalls } from '../../runtime/handoff/open-calls.ts';
import type { HandoffReport } from '../../runtime/handoff/handoff-report.ts';
import { toHandoffView } from '../../runtime/handoff/list-handoffs.ts';
import { withoutUndefined } from '../call-columns.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import type { ShownHandoff } from '../handoff-columns.ts';
import { handoffColumns, handoffRow, handoffToJson } from '../handoff-columns.ts';
import { readJsonArgument } from '../json-argument.ts';
import { loadRuntime } from '../load-runtime.ts';
import { outcomeLabel } from '../../view/outcome-words.ts';
import { json, labelled } from '../page-layout.ts';
import { requireOption } from '../require-option.ts';
import { terminalId, safeJson } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { localTimeText, utcTimeText } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

const actions = ['list', 'claim', 'report'] as const;
const claimLine = 'quittance handoff claim CALL --runtime worker.ts --worker NAME --json';
const reportLine = `quittance handoff report --runtime worker.ts --token @token --output '{"frames":96}'`;

export const handoffCommand: CliCommand = {
  name: 'handoff',
  summary: 'List calls another process runs; take one, or say how it went',
  takes: '[list | claim <call> | report]',
  words: actions,
  most: 2,
  about: [
    'A tool with handoff: true is run by a worker. Whoever claims a call has it alone until the lease is over, and gets its arguments as they are and a token to report with; both only with --json, or the token with --show-token. What is listed and shown is the kept form, with secrets hidden.',
    'A worker knows the tool: its schemas, the rules that hear its results, what of them is hidden. --runtime names a module of yours that makes such a runtime: export default (ledger) => createRuntime({ tools, contracts, ledger }). Its body does not run here.',
  ],
  options: {
    tool: { value: 'NAME', help: 'Only calls of this tool; or claim the one that has waited longest for it' },
    session: { value: 'ID', help: 'Only calls of this session; or the session of the call' },
    runtime: { value: 'FILE', help: 'The module that makes the runtime of the worker', file: true },
    worker: { value: 'NAME', help: 'Who takes the call' },
    lease: { value: 'SECONDS', help: 'How long nobody else may have it; until its deadline unless told' },
    'show-token': { help: 'Print the token, where that is not done as JSON' },
    token: { value: 'TOKEN|@FILE', help: 'What the claim gave; @FILE keeps it out of the list of processes' },
    output: { value: 'JSON|@FILE', help: 'It went well, and gave this', file: true },
    error: { value: 'TEXT', help: 'It went wrong, like this' },
    code: { value: 'CODE', help: 'Of --error: why, e.g. tool.reported_error where nothing happened' },
    retryable: { help: 'Of --error: nothing happened, and trying again is safe' },
    json: jsonOption,
  },
  examples: [
    ['quittance handoff', 'what waits for a worker, and who has what'],
    [
      'quittance handoff claim --tool render_video --runtime worker.ts --worker farm-1 --json',
      'take the next one',
    ],
    [reportLine, 'it went well'],
    [
      'quittance handoff report --runtime worker.ts --token @token --error "No such scene." --code tool.reported_error',
      'it went wrong',
    ],
  ],
  run(given, context) {
    const [action = 'list', subject] = given.args;
    if (subject !== undefined && action !== 'claim') throw stray(subject);
    switch (action) {
      case 'list':
        return context.withLedger(given, (ledger, meant) => list(ledger, meant, context));
      case 'claim':
        return claim(subject, given, context);
      case 'report':
        return report(given, context);
      default:
        throw stray(action);
    }
  },
};

const stray = (word: string): UsageError =>
  new UsageError(`Calls are listed, claimed or reported; found ${JSON.stringify(word)}.`, [
    'quittance handoff',
    claimLine,
    reportLine,
  ]);

/** Only looks: what is due is left to whoever has the tool. */
async function list(ledger: Ledger, given: Given, { out, err }: Context): Promise<ExitCode> {
  const now = ledger.now();
  const [toolName, session] = [given.text('tool'), given.text('session')];
  const found: ShownHandoff[] = [];
  for await (const { sessionId, callId } of readOpenCalls(ledger)) {
    if (session !== undefined && session !== sessionId) continue;
    const stored = await ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (call === undefined || !isHandedOver(call)) continue;
    if (toolName !== undefined && call.toolName !== toolName) continue;
    const view = toHandoffView(call, now);
    found.push(now >= dueAt(call) ? { ...view, status: 'over' } : view);
  }
  if (given.has('json')) for (const each of found) await out.print(safeJson(handoffToJson(each)));
  else if (found.length > 0) {
    const rows = found.map((each) => handoffRow(each, now));
    const table = layOutTable(handoffColumns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  } else await err.print('Nothing waits for a worker, and no worker has anything in hand.');
  return exitCodes.good;
}

async function claim(typed: string | undefined, given: Given, context: Context): Promise<ExitCode> {
  if ((typed === undefined) === !given.has('tool'))
    throw new UsageError('Which call: this one, or the next of a tool?', [
      claimLine,
      'quittance handoff claim --tool NAME --runtime worker.ts --worker NAME --json',
    ]);
  const worker = requireOption(given, 'worker', 'A call is in the hands of somebody', claimLine);
  // A token is told once. Whoever would not see it had better not have the call.
  if (!given.has('json') && !given.has('show-token'))
    throw new UsageError('The token of a claim is told once, and only if asked for.', [
      claimLine,
      claimLine.replace('--json', '--show-token'),
    ]);
  const lease = given.count('lease');
  const terms = {
    worker,
    identity: context.identity,
    ...(lease !== undefined && { leaseMs: lease * 1_000 }),
  };
  return withRuntime(given, context, claimLine, async (runtime, ledger, meant) => {
    const toolName = meant.text('tool');
    const claimed =
      toolName === undefined
        ? await runtime.handoffs.claim(await findHandoff(ledger, typed ?? '', given), terms)
        : await runtime.handoffs.claim({ toolName }, terms);
    if (claimed === undefined) {
      await context.err.say(`No call of ${terminalId(toolName ?? '')} waits for a worker.`);
      return exitCodes.bad;
    }
    await printClaim(claimed, ledger, given, context);
    return exitCodes.good;
  });
}

async function findHandoff(
  ledger: Ledger,
  typed: string,
  given: Given,
): Promise<{ readonly sessionId: string; readonly callId: string }> {
  const { sessionId, callId } = await findCall(ledger, typed, given.text('session'), 'handoff claim');
  return { sessionId, callId };
}

async function printClaim(
  claimed: HandoffClaim,
  ledger: Ledger,
  given: Given,
  { out }: Context,
): Promise<void> {
  const { sessionId, callId, token } = claimed;
  if (given.has('json')) {
    await out.print(
      safeJson(
        withoutUndefined({
          token,
          session_id: sessionId,
          call_id: callId,
          tool_name: claimed.toolName,
          arguments: claimed.arguments,
          idempotency_key: claimed.idempotencyKey,
          attempt: claimed.attempt,
          principal: claimed.principal as unknown as JsonValue | undefined, // plain data
          deadline_at: utcTimeText(claimed.deadlineMs),
          expires_at: utcTimeText(claimed.expiresAt),
        }),
      ),
    );
    return;
  }
  const stored = await ledger.journal.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  const hidden = call?.hidden ?? [];
  for (const line of [
    `${out.paint('bold', terminalId(callId))}  ${terminalId(claimed.toolName)}`,
    ...labelled('session', terminalId(sessionId), out),
    ...labelled('attempt', String(claimed.attempt), out),
    ...labelled('key', claimed.idempotencyKey, out),
    ...labelled('yours until', localTimeText(claimed.expiresAt), out),
    ...json(call?.effectiveInput ?? call?.requestedInput ?? null, out, 'all'),
    ...hidden.flatMap((path) => labelled('hidden', `${path} (--json gives it)`, out)),
  ])
    await out.print(line);
  await out.print(`  token  ${token}`);
}

async function report(given: Given, context: Context): Promise<ExitCode> {
  const typed = requireOption(given, 'token', 'A report is by whoever has the call', reportLine);
  const token = typed.startsWith('@') ? readToken(typed.slice(1)) : typed;
  const said = readReport(given);
  return withRuntime(given, context, reportLine, async (runtime) => {
    const reported = await runtime.handoffs.report(token, said, undefined, context.identity);
    const { status, outcome, differs, callId } = reported;
    if (given.has('json'))
      await context.out.print(
        safeJson({
          session_id: reported.sessionId,
          call_id: callId,
          status,
          differs,
          outcome: outcomeToWire(outcome),
        }),
      );
    else {
      const word = outcomeLabel(outcome);
      const what = {
        settled: `It ended: ${word}.`,
        replayed: `It was reported before and ended: ${word}.${differs ? ' This report says something else; what was recorded first stays.' : ''}`,
        late: `It had ended otherwise (${word}); this report is kept beside that, as late.`,
      }[status];
      await context.out.say(`Call ${terminalId(callId)}. ${what}`);
    }
    return status === 'late' || differs ? exitCodes.bad : exitCodes.good;
  });
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new UsageError(
      `--token names a file that cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      [reportLine],
    );
  }
}

function readReport(given: Given): HandoffReport {
  const [output, error, code] = [given.text('output'), given.text('error'), given.text('code')];
  if ((output === undefined) === (error === undefined))
    throw new UsageError('How did it go? Say --output or --error.', [
      reportLine,
      reportLine.replace(/--output.*/, '--error "What went wrong."'),
    ]);
  if (output !== undefined) {
    if (code !== undefined || given.has('retryable'))
      throw new UsageError('--code and --retryable are about an --error.', [reportLine]);
    return { output: readJsonArgument(output, 'output', '{"frames":96}') };
  }
  return {
    error: error ?? '',
    // A word that is no reason of a body is read as what it is.
    ...(code !== undefined && { code: code as ReasonCode }),
    ...(given.has('retryable') && { retryable: true }),
  };
}

const refusals = ['handoff.unknown', 'handoff.taken', 'handoff.expired', 'seal.broken'] as const;

async function withRuntime(
  given: Given,
  context: Context,
  line: string,
  work: (runtime: Runtime, ledger: Ledger, meant: Given) => Promise<ExitCode>,
): Promise<ExitCode> {
  const file = requireOption(given, 'runtime', 'Only a runtime that has the tool can do this', line);
  return context.withLedger(
    given,
    async (ledger, meant) => {
      const runtime = await loadRuntime(file, ledger);
      try {
        return await work(runtime, ledger, meant);
      } catch (error) {
        if (isQuittanceError(error) && refusals.some((code) => isQuittanceError(error, code)))
          throw new UsageError(error.message, ['quittance handoff'], exitCodes.bad);
        throw error;
      } finally {
        await runtime.close();
      }
    },
    'write',
  );
}
