import { meantTool } from '../meant-options.ts';
import { isJsonObject } from 'quittance/internal/base/json';
import { describePerson, describeGivers } from 'quittance/internal/call/describe-identity';
import type { SessionQuery } from 'quittance/internal/ledger/call-query';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { GrantView } from 'quittance/internal/runtime/views';
import { listGrants } from 'quittance/internal/runtime/grants';
import { withPeopleRuntime } from '../people-runtime.ts';
import { confirmWith, proofOf, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given, Proof } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { readJsonArgument } from '../json-argument.ts';
import { readPages } from 'quittance/internal/ledger/call-query';
import { requireOption } from '../require-option.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { localTimeText, parseMoment, parseSpan, age } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import type { Column, Row } from '../table.ts';
import { toJsonWithTimes } from '../to-json.ts';
import { findSessions } from 'quittance/internal/ledger/reads';

const helpLine = 'quittance grants --help';

const actions = ['list', 'give', 'revoke'] as const;
const example = '{"args.cents":{"lte":500}}';

export const grantsCommand: CliCommand = {
  name: 'grants',
  summary: 'List standing approvals; give or revoke one',
  takes: '[list | give <tool> | revoke <grant>]',
  words: actions,
  most: 2,
  about: [
    'A grant approves calls of one tool in one session, with matching arguments. It ends when its time is over, its uses are spent, or a person revokes it. It never overrides a block. Every call approved by a grant records the grant and the person who gave it.',
    '--where says what must hold of the arguments, in the words of contracts. The tool may be a glob, as in mail_*.',
  ],
  options: {
    session: { value: 'ID', help: 'Session of the grant; or list only grants of this session' },
    by: { value: 'NAME', help: 'Name of the person who gives or revokes it; a token has a name' },
    ...proofOptions,
    where: { value: 'JSON|@FILE', help: 'Condition on the arguments; default: any arguments', file: true },
    for: { value: 'SPAN', help: 'Duration: 15m, 6h, 7d' },
    until: { value: 'TIME', help: 'End: 2026-10-12, 2026-10-12T14:00' },
    uses: { value: 'N', help: 'Number of calls it approves' },
    reason: { value: 'TEXT', help: 'Reason, optional' },
    all: { help: 'Also list grants that have ended' },
    json: jsonOption,
  },
  examples: [
    ['quittance grants', 'active grants of all sessions'],
    [
      `quittance grants give refund --session ticket-42 --by "Ada" --where '${example}' --for 1h --uses 5`,
      'five small refunds within the hour',
    ],
    [
      'quittance grants revoke grt_1a2b3c4d --by "Ada" --reason "The sale is over."',
      'ask for approval again from now on',
    ],
  ],
  effect(given) {
    const [action = 'list', subject] = given.args;
    if (action === 'list') return reads;
    if (action !== 'give' && action !== 'revoke') throw stray(action);
    const line = action === 'give' ? giveLine : revokeLine;
    if (subject === undefined)
      throw new UsageError(action === 'give' ? 'Missing tool name.' : 'Missing grant id.', [line]);
    if (action === 'give') requireOption(given, 'session', 'A grant needs a session', line);
    return { kind: 'decides', role: 'approver', line };
  },
  async run(given, context) {
    const [action = 'list', subject] = given.args;
    switch (action) {
      case 'list':
        if (subject !== undefined) throw stray(subject);
        return context.withLedger(given, (ledger, meant) => list(ledger, meant, context));
      case 'give':
      case 'revoke': {
        const act = action === 'give' ? give : revoke;
        return context.withLedger(
          given,
          (ledger, meant) => act(ledger, subject ?? '', meant, context, proofOf(context)),
          'write',
        );
      }
      default:
        throw stray(action);
    }
  },
};

const giveLine = 'quittance grants give TOOL --session ID --by NAME';
const revokeLine = 'quittance grants revoke GRANT --by NAME';

const stray = (word: string): UsageError =>
  new UsageError(`Expected "list", "give" or "revoke"; found ${JSON.stringify(word)}.`, [
    'quittance grants',
    giveLine,
    revokeLine,
  ]);

async function list(ledger: OpenLedger, given: Given, { out, err, signal }: Context): Promise<ExitCode> {
  const found: GrantView[] = [];
  for await (const grant of readGrants(ledger, given.text('session'), signal))
    if (given.has('all') || grant.status === 'active' || grant.status === 'suspended') found.push(grant);
  if (given.has('json')) for (const grant of found) await out.print(safeJson(grantToJson(grant)));
  else if (found.length > 0) {
    const now = ledger.now();
    const rows = found.map((grant) => grantRow(grant, now));
    const table = layOutTable(grantColumns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  } else await err.print(given.has('all') ? 'No grant was ever given.' : 'No grant is active.');
  return exitCodes.good;
}

/** The grants of one session, or of all sessions. */
async function* readGrants(
  ledger: OpenLedger,
  sessionId: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<GrantView, void, undefined> {
  if (sessionId !== undefined) return yield* await listGrants({ ledger }, { sessionId });
  const ask = (query: SessionQuery): ReturnType<typeof findSessions> => findSessions(ledger, query);
  for await (const { rows } of readPages(ask, {}, Number.POSITIVE_INFINITY, signal))
    for (const session of rows) yield* await listGrants({ ledger }, { sessionId: session.sessionId });
}

async function give(
  ledger: OpenLedger,
  tool: string,
  given: Given,
  { out, now, signal }: Context,
  proof: Proof,
): Promise<ExitCode> {
  const toolName = await meantTool(ledger, tool, signal);
  const sessionId = requireOption(given, 'session', 'A grant needs a session', giveLine);
  const [typed, span, moment, reason] = ['where', 'for', 'until', 'reason'].map((name) => given.text(name));
  const where = typed === undefined ? undefined : readJsonArgument(typed, 'where', example);
  if (where !== undefined && !isJsonObject(where))
    throw new UsageError('--where is a JSON object.', [`--where '${example}'`]);
  if (span !== undefined && moment !== undefined)
    throw new UsageError('--for and --until cannot both hold.', ['--for 1h']);
  const until = moment === undefined ? undefined : parseMoment(moment, 'until', now());
  if (until !== undefined && until <= ledger.now())
    throw new UsageError('--until is in the past.', ['--for 1h']);
  const uses = given.count('uses');
  const forMs = span === undefined ? undefined : parseSpan(span, 'for');
  const which = where === undefined ? 'with any arguments' : `where ${terminalText(JSON.stringify(where))}`;
  const decider = await confirmWith(proof, {
    question: `Approve calls of ${terminalId(toolName)} in session ${terminalId(sessionId)} in advance, ${which}?`,
    word: 'grant',
    line: giveLine,
  });
  const grant = await withPeopleRuntime(ledger, helpLine, (runtime) =>
    runtime.grants.give({
      sessionId,
      toolName,
      ...decider,
      ...(where !== undefined && { where }),
      ...(forMs !== undefined && { forMs }),
      ...(until !== undefined && { until }),
      ...(uses !== undefined && { uses }),
      ...(reason !== undefined && { reason }),
    }),
  );
  if (given.has('json')) await out.print(safeJson(grantToJson(grant)));
  else {
    const end = grant.until === undefined ? 'it is revoked' : localTimeText(grant.until);
    const count = grant.uses === undefined ? 'calls' : `${grant.uses} ${grant.uses === 1 ? 'call' : 'calls'}`;
    await out.say(
      `Granted by ${terminalText(describePerson({ name: grant.by, identity: grant.identity }))}: ${count} of ${terminalId(grant.toolName)} in session ${terminalId(sessionId)}, ${which}, until ${end}. To revoke it: quittance grants revoke ${shortGrant(grant.grantId)} --by NAME`,
    );
  }
  return exitCodes.good;
}

async function revoke(
  ledger: OpenLedger,
  typed: string,
  given: Given,
  { out, signal }: Context,
  proof: Proof,
): Promise<ExitCode> {
  const { sessionId, grantId, revoked } = await findGrant(ledger, typed, given.text('session'), signal);
  if (revoked !== undefined)
    throw new UsageError(
      `Grant ${grantId} was already revoked by ${describePerson({ name: revoked.by, identity: revoked.identity })} at ${localTimeText(revoked.at)}.`,
      ['quittance grants --all'],
      exitCodes.bad,
    );
  const reason = given.text('reason');
  const decider = await confirmWith(proof, {
    question: `Revoke grant ${terminalId(grantId)}?`,
    word: 'revoke',
    line: revokeLine,
  });
  const grant = await withPeopleRuntime(ledger, helpLine, (runtime) =>
    runtime.grants.revoke({ sessionId, grantId, ...decider, ...(reason !== undefined && { reason }) }),
  );
  if (given.has('json')) await out.print(safeJson(grantToJson(grant)));
  else
    await out.say(
      `Revoked by ${terminalText(describePerson({ name: grant.revoked?.by ?? decider.by, identity: grant.revoked?.identity }))}: ${terminalId(grant.toolName)} in session ${terminalId(sessionId)}. Calls that have not started need approval again.`,
    );
  return exitCodes.good;
}

async function findGrant(
  ledger: OpenLedger,
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
    `${found.length} grants begin with ${JSON.stringify(wanted)}. Type more of the id.`,
    found.slice(0, 8).map(({ grantId }) => `quittance grants revoke ${shellWord(grantId)} --by NAME`),
  );
}

/** Grants, as rows of a table and as JSON. */

const grantColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'GRANT' },
  { title: 'TOOL', min: 10 },
  { title: 'WHERE', min: 12 },
  { title: 'ENDS' },
  { title: 'USED', align: 'right' },
  { title: 'STATUS' },
  { title: 'BY', min: 6 },
  { title: 'SESSION', min: 10, optional: 1 },
  { title: 'REASON', min: 12, optional: 2 },
];

const shortGrant = (grantId: string): string => grantId.slice(0, 12);

function grantRow(grant: GrantView, now: number): Row {
  const { status, until } = grant;
  return [
    age(grant.givenAt, now),
    terminalText(shortGrant(grant.grantId)),
    terminalId(grant.toolName),
    terminalText(grant.where === undefined ? 'any arguments' : JSON.stringify(grant.where)),
    until === undefined ? 'never' : now >= until ? 'over' : age(until, now),
    `${grant.used}${grant.uses === undefined ? '' : ` of ${grant.uses}`}`,
    { text: status === 'used_up' ? 'used up' : status, style: status === 'active' ? 'green' : 'dim' },
    terminalText(describeGivers(grant)),
    terminalId(grant.sessionId),
    {
      text: terminalText(grant.why === undefined ? (grant.reason ?? '') : `does not apply: ${grant.why}`),
      style: 'dim',
    },
  ];
}

const grantToJson = (grant: GrantView): JsonObject => ({
  ...toJsonWithTimes(grant, 'until', 'givenAt'),
  ...(grant.revoked !== undefined && { revoked: toJsonWithTimes(grant.revoked, 'at') }),
});
