import { readFileSync } from 'node:fs';
import { dueAt, isHandoff } from 'quittance/internal/call/call';
import type { ReasonCode } from 'quittance/internal/call/reason';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { HandoffClaim, HandoffView } from 'quittance/internal/runtime/claim-handoff';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { readOpenCalls, toHandoffView } from 'quittance/internal/runtime/claim-handoff';
import type { HandoffReport } from 'quittance/internal/runtime/report-handoff';
import { proofOf, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, makes, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { readJsonArgument } from '../json-argument.ts';
import { withRuntime } from '../with-runtime.ts';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';
import { json, labelled } from '../page-layout.ts';
import { requireOption } from '../require-option.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { localTimeText, age } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';
import { toJsonWithTimes } from '../to-json.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import type { Column, Row } from '../table.ts';

const actions = ['list', 'claim', 'report'] as const;
const claimLine = 'quittance handoff claim CALL --runtime worker.ts --worker NAME --json';
const reportLine = `quittance handoff report --runtime worker.ts --token @token --output '{"frames":96}'`;

export const handoffCommand: CliCommand = {
  name: 'handoff',
  summary: 'List handed-off calls; claim one, or report its result',
  takes: '[list | claim <call> | report]',
  words: actions,
  most: 2,
  about: [
    'A worker process runs the calls of a tool with handoff: true. A worker that claims a call owns it until the lease ends. With --json it receives the real arguments and a token for the report; --show-token prints the token. Lists show the stored form, with secrets redacted.',
    "A worker needs the tool: its schemas, the contracts for its results, its redaction. --runtime names a module that creates such a runtime: export default (ledger) => createRuntime({ tools, contracts, ledger }). This command does not run the tool's function.",
  ],
  options: {
    tool: { value: 'NAME', help: 'Only calls of this tool; or claim its oldest waiting call' },
    session: { value: 'ID', help: 'Only calls of this session; or the session of the call' },
    runtime: { value: 'FILE', help: "Module that creates the worker's runtime", file: true },
    worker: { value: 'NAME', help: 'Name of the worker that claims the call' },
    lease: { value: 'SECONDS', help: 'Time the worker owns the call; default: until its deadline' },
    'show-token': { help: 'Print the token when the output is not JSON' },
    token: { value: 'TOKEN|@FILE', help: 'Token of the claim; @FILE keeps it out of the process list' },
    output: { value: 'JSON|@FILE', help: 'Report success with this output', file: true },
    error: { value: 'TEXT', help: 'Report a failure with this message' },
    code: { value: 'CODE', help: 'With --error: reason code, e.g. tool.reported_error if nothing happened' },
    retryable: { help: 'With --error: nothing happened, and a retry is safe' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance handoff', 'waiting and claimed calls, with their workers'],
    [
      'quittance handoff claim --tool render_video --runtime worker.ts --worker farm-1 --json',
      'claim the next call',
    ],
    [reportLine, 'report success'],
    [
      'quittance handoff report --runtime worker.ts --token @token --error "No such scene." --code tool.reported_error',
      'report a failure',
    ],
  ],
  effect(given, context) {
    const [action = 'list', subject] = given.args;
    if (action === 'list') return reads;
    // A report proves itself by the token of its claim.
    if (action !== 'claim') return makes;
    checkClaim(subject, given);
    // The claim shows real arguments and a token that ends the call.
    return {
      kind: 'decides',
      role: 'operator',
      byDefault: context.userName,
      line: claimLine,
      asks: { question: 'Claim the call and show its arguments?', word: 'claim' },
    };
  },
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
  new UsageError(`Expected "list", "claim" or "report"; found ${JSON.stringify(word)}.`, [
    'quittance handoff',
    claimLine,
    reportLine,
  ]);

/** Reads only. Overdue calls are left to a runtime that has the tool. */
async function list(ledger: OpenLedger, given: Given, { out, err }: Context): Promise<ExitCode> {
  const now = ledger.now();
  const [toolName, session] = [given.text('tool'), given.text('session')];
  const found: ShownHandoff[] = [];
  for await (const { sessionId, callId } of readOpenCalls(ledger)) {
    if (session !== undefined && session !== sessionId) continue;
    const stored = await ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (call === undefined || !isHandoff(call)) continue;
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
  } else await err.print('No call is waiting for a worker or claimed by one.');
  return exitCodes.good;
}

/** Returns the name of the worker. */
function checkClaim(typed: string | undefined, given: Given): string {
  if ((typed === undefined) === !given.has('tool'))
    throw new UsageError('Missing call: give a call id, or a tool with --tool.', [
      claimLine,
      'quittance handoff claim --tool NAME --runtime worker.ts --worker NAME --json',
    ]);
  const worker = requireOption(given, 'worker', 'A claim needs the name of a worker', claimLine);
  // A token is shown once. Without it, the worker could not report the call.
  if (!given.has('json') && !given.has('show-token'))
    throw new UsageError('A claim shows its token only once, and only on request.', [
      claimLine,
      claimLine.replace('--json', '--show-token'),
    ]);
  given.count('lease');
  return worker;
}

async function claim(typed: string | undefined, given: Given, context: Context): Promise<ExitCode> {
  const worker = checkClaim(typed, given);
  const lease = given.count('lease');
  const { identity } = proofOf(context).decider;
  const terms = {
    worker,
    identity,
    ...(lease !== undefined && { leaseMs: lease * 1_000 }),
  };
  return withRuntime(given, context, needs(claimLine), async (runtime, ledger, meant) => {
    const toolName = meant.text('tool');
    const claimed =
      toolName === undefined
        ? await runtime.handoffs.claim(await findHandoff(ledger, typed ?? '', given), terms)
        : await runtime.handoffs.claim({ toolName }, terms);
    if (claimed === undefined) {
      await context.err.say(`No call of ${terminalId(toolName ?? '')} is waiting for a worker.`);
      return exitCodes.bad;
    }
    await printClaim(claimed, ledger, given, context);
    return exitCodes.good;
  });
}

async function findHandoff(
  ledger: OpenLedger,
  typed: string,
  given: Given,
): Promise<{ readonly sessionId: string; readonly callId: string }> {
  const { sessionId, callId } = await findCall(ledger, typed, given.text('session'), 'handoff claim');
  return { sessionId, callId };
}

async function printClaim(
  claimed: HandoffClaim,
  ledger: OpenLedger,
  given: Given,
  { out }: Context,
): Promise<void> {
  const { sessionId, callId, token } = claimed;
  if (given.has('json')) {
    await out.print(safeJson(toJsonWithTimes(claimed, 'expiresAt')));
    return;
  }
  const stored = await ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  const hidden = call?.hidden ?? [];
  for (const line of [
    `${out.paint('bold', terminalId(callId))}  ${terminalId(claimed.toolName)}`,
    ...labelled('session', terminalId(sessionId), out),
    ...labelled('attempt', String(claimed.attempt), out),
    ...labelled('key', claimed.idempotencyKey, out),
    ...labelled('claimed until', localTimeText(claimed.expiresAt), out),
    ...json(call?.effectiveInput ?? call?.requestedInput ?? null, out, 'all'),
    ...hidden.flatMap((path) => labelled('hidden', `${path} (redacted here; use --json)`, out)),
  ])
    await out.print(line);
  await out.print(`  token  ${token}`);
}

async function report(given: Given, context: Context): Promise<ExitCode> {
  const typed = requireOption(given, 'token', 'A report needs the token of the claim', reportLine);
  const token = typed.startsWith('@') ? readToken(typed.slice(1)) : typed;
  const said = readReport(given);
  return withRuntime(given, context, needs(reportLine), async (runtime) => {
    const reported = await runtime.handoffs.report(token, said, undefined, context.identity);
    const { status, outcome, differs, callId } = reported;
    if (given.has('json')) await context.out.print(safeJson(reported));
    else {
      const word = outcomeLabel(outcome);
      const what = {
        settled: `The call ended: ${word}.`,
        replayed: `The call was already reported and ended: ${word}.${differs ? ' This report differs; the first one stays.' : ''}`,
        late: `The call had already ended (${word}); this report is recorded as late.`,
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
    throw new UsageError('Missing result: use --output or --error.', [
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
    // The runtime rejects codes that a tool may not use.
    ...(code !== undefined && { code: code as ReasonCode }),
    ...(given.has('retryable') && { retryable: true }),
  };
}

const refusals = ['handoff.unknown', 'handoff.taken', 'handoff.expired', 'seal.broken'] as const;
const needs = (line: string) => ({ line, refusals, tryThis: ['quittance handoff'] });

/** Handed-off calls, as rows of a table and as JSON. */

/** `overdue`: the next process that asks for the call or has its tool settles it. */
type ShownHandoff = Omit<HandoffView, 'status'> & { readonly status: HandoffView['status'] | 'over' };

const handoffColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'CALL', min: 14, isId: true },
  { title: 'TOOL', min: 12 },
  { title: 'STATUS', usual: 7 },
  { title: 'WORKER', min: 8 },
  { title: 'UNTIL', usual: 8 },
  { title: 'SESSION', min: 10, optional: 1 },
  { title: 'FOR', min: 6, optional: 3 },
  { title: 'INPUT', min: 16, optional: 2 },
];

function handoffRow(handoff: ShownHandoff, now: number): Row {
  const { status, principal, expiresAt = handoff.deadlineMs } = handoff;
  const style = ({ waiting: 'yellow', taken: 'blue', over: 'dim' } as const)[status];
  return [
    age(handoff.startedAt, now),
    terminalId(handoff.callId),
    terminalId(handoff.toolName),
    { text: status, style },
    terminalText(handoff.worker ?? ''),
    status === 'over' ? '' : age(expiresAt, now),
    terminalId(handoff.sessionId),
    terminalText(principal?.userId ?? principal?.serviceId ?? ''),
    { text: terminalText(JSON.stringify(handoff.input)), style: 'dim' },
  ];
}

const handoffToJson = (handoff: ShownHandoff): JsonObject =>
  toJsonWithTimes(handoff, 'startedAt', 'takenAt', 'expiresAt');
