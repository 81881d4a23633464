import { meantTool } from '../meant-options.ts';
import { isQuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import { describePerson } from '../../call/describe-identity.ts';
import type { SessionQuery } from '../../ledger/call-query.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { GrantView } from '../../runtime/host/grant-view.ts';
import { listGrants } from '../../runtime/grants/grants.ts';
import { createRuntime } from '../../store/memory/create-runtime.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { grantColumns, grantRow, grantToJson, shortGrant } from '../grant-columns.ts';
import { readJsonArgument } from '../json-argument.ts';
import { readPages } from '../../ledger/read-pages.ts';
import { requireOption } from '../require-option.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { localTimeText, parseMoment, parseSpan } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

const actions = ['list', 'give', 'revoke'] as const;
const example = '{"args.cents":{"lte":500}}';

export const grantsCommand: CliCommand = {
  name: 'grants',
  summary: 'List what was permitted beforehand; permit something, or take it back',
  takes: '[list | give <tool> | revoke <grant>]',
  words: actions,
  most: 2,
  about: [
    'A grant answers what would be asked about calls of one tool, in one session, with such arguments: until its time is up, its uses are spent or somebody revokes it. It never overrules a block. Every call it lets through names it, and whoever gave it.',
    '--where says what must hold of the arguments, in the words of contracts. The tool may be a glob, as in mail_*.',
  ],
  options: {
    session: { value: 'ID', help: 'The session it is for; or list only those of this session' },
    by: { value: 'NAME', help: 'Who gives it, or takes it back' },
    where: { value: 'JSON|@FILE', help: 'What must hold of the arguments; anything unless told', file: true },
    for: { value: 'SPAN', help: 'For how long: 15m, 6h, 7d' },
    until: { value: 'TIME', help: 'Until when: 2026-10-12, 2026-10-12T14:00' },
    uses: { value: 'N', help: 'How many calls it lets through' },
    reason: { value: 'TEXT', help: 'Why' },
    all: { help: 'List those that are over, too' },
    json: jsonOption,
  },
  examples: [
    ['quittance grants', 'what is permitted now, in every session'],
    [
      `quittance grants give refund --session ticket-42 --by "Ada" --where '${example}' --for 1h --uses 5`,
      'five small refunds within the hour',
    ],
    [
      'quittance grants revoke grt_1a2b3c4d --by "Ada" --reason "The sale is over."',
      'from now on, ask again',
    ],
  ],
  run(given, context) {
    const [action = 'list', subject] = given.args;
    switch (action) {
      case 'list':
        if (subject !== undefined) throw stray(subject);
        return context.withLedger(given, (ledger, meant) => list(ledger, meant, context));
      case 'give':
        return context.withLedger(given, (ledger, meant) => give(ledger, subject, meant, context), 'write');
      case 'revoke':
        return context.withLedger(given, (ledger, meant) => revoke(ledger, subject, meant, context), 'write');
      default:
        throw stray(action);
    }
  },
};

const stray = (word: string): UsageError =>
  new UsageError(`Grants are listed, given or revoked; found ${JSON.stringify(word)}.`, [
    'quittance grants',
    'quittance grants give TOOL --session ID --by NAME',
    'quittance grants revoke GRANT --by NAME',
  ]);

async function list(ledger: Ledger, given: Given, { out, err, signal }: Context): Promise<ExitCode> {
  const found: GrantView[] = [];
  for await (const grant of readGrants(ledger, given.text('session'), signal))
    if (given.has('all') || grant.status === 'active') found.push(grant);
  if (given.has('json')) for (const grant of found) await out.print(safeJson(grantToJson(grant)));
  else if (found.length > 0) {
    const now = ledger.now();
    const rows = found.map((grant) => grantRow(grant, now));
    const table = layOutTable(grantColumns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  } else
    await err.print(given.has('all') ? 'Nothing was ever permitted beforehand.' : 'No grant is in force.');
  return exitCodes.good;
}

/** Of one session, or of every one there is. */
async function* readGrants(
  ledger: Ledger,
  sessionId: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<GrantView, void, undefined> {
  if (sessionId !== undefined) return yield* await listGrants({ ledger }, { sessionId });
  const ask = (query: SessionQuery): ReturnType<Ledger['queries']['findSessions']> =>
    ledger.queries.findSessions(query);
  for await (const { rows } of readPages(ask, {}, Number.POSITIVE_INFINITY, signal))
    for (const session of rows) yield* await listGrants({ ledger }, { sessionId: session.sessionId });
}

async function give(
  ledger: Ledger,
  tool: string | undefined,
  given: Given,
  { out, now, signal, identity }: Context,
): Promise<ExitCode> {
  const line = 'quittance grants give TOOL --session ID --by NAME';
  if (tool === undefined) throw new UsageError('For which tool?', [line]);
  const toolName = await meantTool(ledger, tool, signal);
  const sessionId = requireOption(given, 'session', 'A grant is for one session', line);
  const by = requireOption(given, 'by', 'A grant has a name on it', line);
  const [typed, span, moment, reason] = ['where', 'for', 'until', 'reason'].map((name) => given.text(name));
  const where = typed === undefined ? undefined : readJsonArgument(typed, 'where', example);
  if (where !== undefined && !isJsonObject(where))
    throw new UsageError('--where is a JSON object.', [`--where '${example}'`]);
  if (span !== undefined && moment !== undefined)
    throw new UsageError('--for and --until cannot both hold.', ['--for 1h']);
  const until = moment === undefined ? undefined : parseMoment(moment, 'until', now());
  if (until !== undefined && until <= ledger.now())
    throw new UsageError('--until lies in the past.', ['--for 1h']);
  const uses = given.count('uses');
  const grant = await withRuntime(ledger, (runtime) =>
    runtime.grants.give({
      sessionId,
      toolName,
      by,
      identity,
      ...(where !== undefined && { where }),
      ...(span !== undefined && { forMs: parseSpan(span, 'for') }),
      ...(until !== undefined && { until }),
      ...(uses !== undefined && { uses }),
      ...(reason !== undefined && { reason }),
    }),
  );
  if (given.has('json')) await out.print(safeJson(grantToJson(grant)));
  else {
    const end = grant.until === undefined ? 'it is revoked' : localTimeText(grant.until);
    const count = grant.uses === undefined ? 'calls' : `${grant.uses} ${grant.uses === 1 ? 'call' : 'calls'}`;
    const which = where === undefined ? 'with any arguments' : `where ${terminalText(JSON.stringify(where))}`;
    await out.say(
      `Granted by ${terminalText(describePerson({ name: grant.by, identity: grant.identity }))}: ${count} of ${terminalId(grant.toolName)} in session ${terminalId(sessionId)}, ${which}, until ${end}. To take it back: quittance grants revoke ${shortGrant(grant.grantId)} --by NAME`,
    );
  }
  return exitCodes.good;
}

async function revoke(
  ledger: Ledger,
  typed: string | undefined,
  given: Given,
  { out, signal, identity }: Context,
): Promise<ExitCode> {
  const line = 'quittance grants revoke GRANT --by NAME';
  if (typed === undefined) throw new UsageError('Which grant?', ['quittance grants', line]);
  const by = requireOption(given, 'by', 'A revocation has a name on it', line);
  const { sessionId, grantId, revoked } = await findGrant(ledger, typed, given.text('session'), signal);
  if (revoked !== undefined)
    throw new UsageError(
      `Grant ${grantId} was revoked already by ${describePerson({ name: revoked.by, identity: revoked.identity })} at ${localTimeText(revoked.at)}.`,
      ['quittance grants --all'],
      exitCodes.bad,
    );
  const reason = given.text('reason');
  const grant = await withRuntime(ledger, (runtime) =>
    runtime.grants.revoke({ sessionId, grantId, by, identity, ...(reason !== undefined && { reason }) }),
  );
  if (given.has('json')) await out.print(safeJson(grantToJson(grant)));
  else
    await out.say(
      `Revoked by ${terminalText(describePerson({ name: grant.revoked?.by ?? by, identity: grant.revoked?.identity }))}: ${terminalId(grant.toolName)} in session ${terminalId(sessionId)}. Calls whose body has not begun are asked about again.`,
    );
  return exitCodes.good;
}

async function findGrant(
  ledger: Ledger,
  typed: string,
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<GrantView> {
  const wanted = typed.replace(/…$/, '');
  const found: GrantView[] = [];
  for await (const grant of readGrants(ledger, sessionId, signal)) {
    if (grant.grantId === wanted) return grant;
    if (grant.grantId.startsWith(wanted)) found.push(grant);
  }
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return first;
  if (first === undefined)
    throw new UsageError(`There is no grant ${JSON.stringify(wanted)}.`, ['quittance grants'], exitCodes.bad);
  throw new UsageError(
    `${found.length} grants begin with ${JSON.stringify(wanted)}. Say which one.`,
    found.slice(0, 8).map(({ grantId }) => `quittance grants revoke ${shellWord(grantId)} --by NAME`),
  );
}

async function withRuntime<Result>(
  ledger: Ledger,
  work: (runtime: ReturnType<typeof createRuntime>) => Promise<Result>,
): Promise<Result> {
  const runtime = createRuntime({ tools: [], ledger });
  try {
    return await work(runtime);
  } catch (error) {
    // What is wrong with what was typed, in the words of the language it is written in.
    if (isQuittanceError(error, 'config.invalid'))
      throw new UsageError(error.message.replace(/^runtime\.[\w.]+: /, ''), ['quittance grants --help']);
    throw error;
  } finally {
    await runtime.close();
  }
}
