import { describePerson } from 'quittance/internal/call/describe-identity';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { DelegationView } from 'quittance/internal/runtime/delegations';
import { listDelegations } from 'quittance/internal/runtime/delegations';
import { confirmWith, proofOf, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given, Proof } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { withPeopleRuntime } from '../people-runtime.ts';
import { requireOption } from '../require-option.ts';
import type { Column } from '../table.ts';
import { layOutTable } from '../table.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { localTimeText, parseMoment, parseSpan } from '../time-text.ts';
import { toJsonWithTimes } from '../to-json.ts';
import { UsageError } from '../usage-error.ts';

const helpLine = 'quittance delegations --help';

const actions = ['list', 'give', 'revoke'] as const;
const giveLine = 'quittance delegations give --to NAME --for 7d --by NAME';
const revokeLine = 'quittance delegations revoke DELEGATION --by NAME';

export const delegationsCommand: CliCommand = {
  name: 'delegations',
  summary: 'List delegations of approvals; give or revoke one',
  takes: '[list | give | revoke <delegation>]',
  words: actions,
  most: 2,
  about: [
    'A delegation lets another person approve in your place until an instant. It passes on what you are: here your user of the operating system. Over HTTP it passes on your groups and roles. A delegate and you count once.',
    'A rule can forbid delegation, or allow a delegate to delegate: approval.delegation in a contract.',
  ],
  options: {
    to: {
      value: 'NAME',
      help: 'The delegate: a subject of the identity provider, the name of a token, or an OS user',
    },
    by: { value: 'NAME', help: 'Your name; a token has a name' },
    ...proofOptions,
    for: { value: 'SPAN', help: 'Duration: 6h, 7d; at most 90d' },
    until: { value: 'TIME', help: 'End: 2026-10-12, 2026-10-12T14:00' },
    reason: { value: 'TEXT', help: 'Reason, optional' },
    all: { help: 'Also list delegations that have ended' },
    json: jsonOption,
  },
  examples: [
    ['quittance delegations', 'who approves for whom now'],
    ['quittance delegations give --to dan --for 7d --by "Ada" --reason "Holiday"', 'dan approves for a week'],
    ['quittance delegations revoke dlg_1a2b3c4d --by "Ada"', 'end it early'],
  ],
  effect(given) {
    const [action = 'list', subject] = given.args;
    switch (action) {
      case 'list':
        return reads;
      case 'give':
        requireOption(given, 'to', 'A delegation needs a delegate', giveLine);
        return { kind: 'decides', role: 'approver', line: giveLine };
      case 'revoke':
        if (subject === undefined)
          throw new UsageError('Missing delegation id.', ['quittance delegations', revokeLine]);
        return { kind: 'decides', role: 'approver', line: revokeLine };
      default:
        throw new UsageError(`Expected "list", "give" or "revoke"; found ${JSON.stringify(action)}.`, [
          'quittance delegations',
          giveLine,
          revokeLine,
        ]);
    }
  },
  async run(given, context) {
    const [action = 'list', subject = ''] = given.args;
    if (action === 'list') return context.withLedger(given, (ledger, meant) => list(ledger, meant, context));
    const proof = proofOf(context);
    return context.withLedger(
      given,
      (ledger, meant) =>
        action === 'give'
          ? give(ledger, meant, context, proof)
          : revoke(ledger, subject, meant, context, proof),
      'write',
    );
  },
};

const columns: readonly Column[] = [
  { title: 'DELEGATION' },
  { title: 'FROM', min: 8 },
  { title: 'TO', min: 8 },
  { title: 'UNTIL' },
  { title: 'STATUS' },
  { title: 'REASON', min: 8, optional: 1 },
];

async function list(ledger: OpenLedger, given: Given, { out, err }: Context): Promise<ExitCode> {
  const found = (await listDelegations({ ledger })).filter(
    ({ status }) => given.has('all') || status === 'active',
  );
  if (given.has('json')) for (const each of found) await out.print(toText(each));
  else if (found.length === 0) await err.print('No delegation is active.');
  else {
    const rows = found.map(({ delegationId, by, identity, to, until, status, reason }) => [
      delegationId.slice(0, 16),
      terminalText(describePerson({ name: by, identity })),
      terminalText(to),
      localTimeText(until),
      status,
      terminalText(reason ?? ''),
    ]);
    const table = layOutTable(columns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  }
  return exitCodes.good;
}

async function give(
  ledger: OpenLedger,
  given: Given,
  { out, now }: Context,
  proof: Proof,
): Promise<ExitCode> {
  const to = requireOption(given, 'to', 'A delegation needs a delegate', giveLine);
  const [span, moment, reason] = ['for', 'until', 'reason'].map((name) => given.text(name));
  if ((span === undefined) === (moment === undefined))
    throw new UsageError('A delegation needs an end: --for or --until.', [giveLine]);
  const until =
    span !== undefined ? ledger.now() + parseSpan(span, 'for') : parseMoment(moment ?? '', 'until', now());
  const decider = await confirmWith(proof, {
    question: `Let ${terminalText(to)} approve in your place until ${localTimeText(until)}?`,
    word: 'delegate',
    line: giveLine,
  });
  const made = await withPeopleRuntime(ledger, helpLine, (runtime) =>
    runtime.delegations.give({ ...decider, to, until, ...(reason !== undefined && { reason }) }),
  );
  if (given.has('json')) await out.print(toText(made));
  else
    await out.say(
      `${terminalText(made.to)} may approve for ${terminalText(describePerson({ name: made.by, identity: made.identity }))} until ${localTimeText(made.until)}. To end it: quittance delegations revoke ${made.delegationId.slice(0, 16)} --by NAME`,
    );
  return exitCodes.good;
}

async function revoke(
  ledger: OpenLedger,
  typed: string,
  given: Given,
  { out }: Context,
  proof: Proof,
): Promise<ExitCode> {
  const wanted = typed.replace(/…$/, '');
  const found = (await listDelegations({ ledger })).filter(({ delegationId }) =>
    delegationId.startsWith(wanted),
  );
  const [first] = found;
  if (first === undefined || found.length > 1)
    throw new UsageError(
      first === undefined
        ? `There is no delegation ${JSON.stringify(wanted)}.`
        : `${found.length} delegations begin with ${JSON.stringify(wanted)}. Type more of the id.`,
      ['quittance delegations --all'],
      exitCodes.bad,
    );
  const reason = given.text('reason');
  const { delegationId } = first;
  const decider = await confirmWith(proof, {
    question: `Revoke the delegation of ${terminalText(first.by)} to ${terminalText(first.to)}?`,
    word: 'revoke',
    line: revokeLine,
  });
  const made = await withPeopleRuntime(ledger, helpLine, (runtime) =>
    runtime.delegations.revoke({ delegationId, ...decider, ...(reason !== undefined && { reason }) }),
  );
  if (given.has('json')) await out.print(toText(made));
  else await out.say(`Revoked: ${terminalText(made.to)} no longer approves for ${terminalText(made.by)}.`);
  return exitCodes.good;
}

const toText = (each: DelegationView): string => safeJson(toJsonWithTimes(each, 'until', 'givenAt'));
