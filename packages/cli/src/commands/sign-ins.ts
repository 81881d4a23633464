import type { JsonValue } from 'quittance/internal/base/json';
import { openSignInContent } from '@quittance/server/internal/http/sign-in/open-sign-in-content';
import type { KeptSignIn, SignInContent, StoredContent } from 'quittance/internal/runtime/tokens';
import { withoutPerson } from '@quittance/server/internal/http/sign-in/with-sign-in';
import { proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { ledgerFile } from '../find-ledger.ts';
import type { Column } from '../table.ts';
import { layOutTable } from '../table.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { localTimeText, utcTimeText } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

export const signInsCommand: CliCommand = {
  name: 'sign-ins',
  summary: 'List or end the sign-ins of people at the servers of this ledger',
  takes: '[list | end <id|subject>]',
  words: ['list', 'end'],
  most: 2,
  about: [
    'People sign in to the server with an identity provider. `end` with a subject ends all sign-ins of that person, in browsers and on command lines, at once. Decision links that the person made become invalid. Disable the account at the provider too, or the person can sign in again.',
  ],
  options: { ...proofOptions, json: jsonOption },
  examples: [
    ['quittance sign-ins', 'who is signed in'],
    ['quittance sign-ins end 00u1abcd', 'end all sign-ins of a person'],
  ],
  effect(given, context) {
    const [action = 'list', subject, ...more] = given.args;
    if (
      (action !== 'list' && action !== 'end') ||
      more.length > 0 ||
      (action === 'list' && subject !== undefined)
    )
      throw new UsageError('Expected "list", or "end" with an id or a subject.', [
        'quittance sign-ins',
        'quittance sign-ins end SUBJECT',
      ]);
    if (action === 'list') return reads;
    return {
      kind: 'decides',
      role: 'admin',
      byDefault: context.userName,
      line: 'quittance sign-ins end SUBJECT',
      ...(subject !== undefined && {
        asks: { question: `End the sign-ins of ${terminalText(subject)}?`, word: 'end' },
      }),
    };
  },
  run(given, context) {
    const [action = 'list', subject] = given.args;
    const path = ledgerFile(context.ledgerUrl(given));
    const work = async (content: StoredContent<SignInContent>): Promise<ExitCode> => {
      await content.refresh();
      return action === 'list' ? list(content, given, context) : end(content, subject, given, context);
    };
    if (path !== undefined) return work(openSignInContent({}, path));
    return context.withLedger(
      given,
      (ledger) => work(openSignInContent(ledger, undefined)),
      action === 'list' ? 'look' : 'write',
    );
  },
};

const columns: readonly Column[] = [
  { title: 'NAME', min: 8 },
  { title: 'SUBJECT', min: 8 },
  { title: 'KIND' },
  { title: 'ID' },
  { title: 'SINCE' },
  { title: 'USED' },
  { title: 'CONFIRMED' },
];

async function list(
  content: StoredContent<SignInContent>,
  given: Given,
  { out, err }: Context,
): Promise<ExitCode> {
  const { signIns } = content.read();
  if (given.has('json')) for (const each of signIns) await out.print(safeJson(toJson(each)));
  else if (signIns.length === 0) await err.print('No person is signed in.');
  else {
    const rows = signIns.map(({ person, kind, signInId, createdAt, seenAt, verifiedAt }) => [
      terminalText(person.name),
      terminalText(person.subject),
      kind,
      signInId,
      localTimeText(createdAt),
      localTimeText(seenAt),
      localTimeText(verifiedAt),
    ]);
    const table = layOutTable(columns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  }
  return exitCodes.good;
}

async function end(
  content: StoredContent<SignInContent>,
  which: string | undefined,
  given: Given,
  { out }: Context,
): Promise<ExitCode> {
  if (which === undefined)
    throw new UsageError('Missing id of a sign-in, or subject of a person.', ['quittance sign-ins']);
  const isMeant = ({ signInId, person }: KeptSignIn): boolean =>
    signInId === which || person.subject === which;
  let ended: readonly KeptSignIn[] = [];
  let wasKnown = false;
  await content.change((current) => {
    ended = current.signIns.filter(isMeant);
    wasKnown = current.people.some(({ person }) => person.subject === which);
    const subjects = new Set([which, ...ended.map(({ person }) => person.subject)]);
    const rest = withoutPerson(current, ({ subject }) => subject === which);
    return {
      ...rest,
      signIns: rest.signIns.filter((each) => !isMeant(each)),
      people: rest.people.filter(({ person }) => !subjects.has(person.subject)),
    };
  });
  if (ended.length === 0 && !wasKnown)
    throw new UsageError(
      `No sign-in has this id or subject: ${which}`,
      ['quittance sign-ins'],
      exitCodes.bad,
    );
  if (given.has('json')) for (const each of ended) await out.print(safeJson(toJson(each)));
  else if (ended.length === 0)
    await out.say('The person was not signed in. Decision links that they made are invalid now.');
  else
    await out.say(
      `Ended ${ended.length === 1 ? 'one sign-in' : `${ended.length} sign-ins`} of ${terminalText(ended[0]?.person.name ?? '')}.`,
    );
  return exitCodes.good;
}

const toJson = ({ signInId, kind, person, createdAt, seenAt, verifiedAt }: KeptSignIn): JsonValue => ({
  signInId,
  kind,
  ...person,
  createdAt: utcTimeText(createdAt),
  seenAt: utcTimeText(seenAt),
  verifiedAt: utcTimeText(verifiedAt),
});
