import { isRole, mayDo } from 'quittance/internal/call/role';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { JsonValue } from 'quittance/internal/base/json';
import { LedgerTokens } from '@quittance/server/internal/http/ledger-tokens';
import type { TokenRecord, Tokens, TokenPrincipals } from 'quittance/internal/runtime/tokens';
import { TokenFile, tokenFilePath } from '@quittance/server/internal/http/token-file';
import { proofOptions } from '../proof.ts';
import type { CliCommand, Context, Effect, Given } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { ledgerFile } from '../find-ledger.ts';
import { makeFolder } from '../make-folder.ts';
import { readTokenPrincipals } from 'quittance/internal/runtime/tokens';
import { readJsonArgument } from '../json-argument.ts';
import { requireOption } from '../require-option.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import type { Column } from '../table.ts';
import { layOutTable } from '../table.ts';
import { localTimeText, parseSpan, utcTimeText } from '../time-text.ts';
import { readTextList } from '../text-list.ts';
import { UsageError } from '../usage-error.ts';
import { withoutUndefined } from '../to-json.ts';

const actions = ['list', 'create', 'revoke'] as const;
const revokeLine = 'quittance tokens revoke NAME';
const createLine = 'quittance tokens create --name "Ada" --role approver';

export const tokensCommand: CliCommand = {
  name: 'tokens',
  summary: 'List, create or revoke access tokens of the server',
  takes: '[list | create | revoke <token>]',
  words: actions,
  most: 2,
  about: [
    'A token gives access to the server that `quittance serve` starts on this ledger. Every decision made with a token records its name. Roles: a viewer reads; an operator makes, runs and reports calls; an approver decides held calls and gives grants; an admin does everything. Operators cannot approve, and approvers cannot make calls.',
    'To create or revoke a token, confirm it at a terminal, or use a token with the role admin. The first token of a ledger is created at a terminal.',
    'A token is shown once, when it is created. Only its digest is stored, in a file next to the ledger or in its database. A revoked token stops working immediately.',
  ],
  options: {
    name: { value: 'NAME', help: 'Name on the token' },
    role: { value: 'ROLE', help: 'Role of the token', choices: Object.keys(mayDo) },
    person: { value: 'NAME', help: 'Owner of the token, for people with several tokens' },
    group: {
      value: 'NAME,…',
      multiple: true,
      help: 'Groups of the owner, for rules about approvers. A name with a comma needs a JSON list',
    },
    principals: {
      value: 'JSON|@FILE',
      help: 'Principals that calls may be made for; default: any',
      file: true,
    },
    for: { value: 'SPAN', help: 'Lifetime: 6h, 30d; default: until it is revoked' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance tokens', 'list tokens'],
    [createLine, 'a person who approves calls'],
    [
      'TOKEN=$(quittance tokens create --name agent-7 --role operator --for 30d)',
      'a program that makes calls',
    ],
    [
      'quittance tokens create --name Ben --role approver --token-file admin.token',
      'from a script of an admin',
    ],
    ['quittance tokens revoke agent-7', 'revoke it immediately'],
  ],
  effect(given, context) {
    const [action = 'list', subject] = given.args;
    if (subject !== undefined && action !== 'revoke') throw stray(subject);
    if (!isAction(action)) throw stray(action);
    return action === 'list' ? reads : adminEffect(action, subject, given, context);
  },
  async run(given, context) {
    const [action = 'list', subject] = given.args;
    if (!isAction(action)) throw stray(action);
    const path = ledgerFile(context.ledgerUrl(given, 'make'));
    const work = (tokens: Tokens): Promise<ExitCode> => {
      switch (action) {
        case 'list':
          return list(tokens, given, context);
        case 'create':
          return create(tokens, path, given, context);
        case 'revoke':
          return revoke(tokens, subject, given, context);
      }
    };
    if (path !== undefined) return work(new TokenFile(tokenFilePath(path), context.now));
    return context.withLedger(
      given,
      async (ledger) => {
        if (ledger.documents === undefined)
          throw new UsageError('This ledger has no place for tokens.', ['quittance help tokens']);
        const tokens = new LedgerTokens(ledger.documents, () => ledger.now());
        await tokens.refresh();
        return work(tokens);
      },
      action === 'list' ? 'look' : 'write',
    );
  },
};

/** A token gives its rights to its holder, so only an admin gives or takes one. */
function adminEffect(
  action: 'create' | 'revoke',
  subject: string | undefined,
  given: Given,
  context: Context,
): Effect {
  if (action === 'create') {
    requireOption(given, 'name', 'A token needs a name', createLine);
    requireOption(given, 'role', 'A token needs a role', createLine);
  } else if (subject === undefined)
    throw new UsageError('Missing token name.', ['quittance tokens', revokeLine]);
  const [name, role] = [subject ?? given.text('name') ?? '', given.text('role') ?? ''];
  return {
    kind: 'decides',
    role: 'admin',
    byDefault: context.userName,
    line: action === 'create' ? createLine : revokeLine,
    asks: {
      question:
        action === 'create'
          ? `Create a token for ${terminalText(name)} with the role ${terminalText(role)}?`
          : `Revoke the token ${terminalText(name)}?`,
      word: action,
    },
  };
}

const isAction = (word: string): word is (typeof actions)[number] =>
  (actions as readonly string[]).includes(word);

const stray = (word: string): UsageError =>
  new UsageError(`Expected "list", "create" or "revoke"; found ${JSON.stringify(word)}.`, [
    'quittance tokens',
    createLine,
    revokeLine,
  ]);

/** Owner and groups are shown only if a token has them. */
const columnsFor = (owners: boolean, groups: boolean): readonly Column[] => [
  { title: 'NAME', min: 8 },
  { title: 'ROLE' },
  ...(owners ? [{ title: 'OWNER', min: 8 }] : []),
  ...(groups ? [{ title: 'GROUPS', min: 8 }] : []),
  { title: 'ID' },
  { title: 'CREATED' },
  { title: 'UNTIL' },
];

async function list(tokens: Tokens, given: Given, { out, err, now }: Context): Promise<ExitCode> {
  const all = tokens.list();
  if (given.has('json')) for (const token of all) await out.print(safeJson(toJson(token)));
  else if (all.length === 0) await err.print(`There are no tokens. To create one: ${createLine}`);
  else {
    const owners = all.some(({ person }) => person !== undefined);
    const inGroups = all.some(({ groups }) => groups !== undefined);
    const rows = all.map(({ name, role, tokenId, createdAt, expiresAt, person, groups }) => [
      terminalText(name),
      role,
      ...(owners ? [terminalText(person ?? '-')] : []),
      ...(inGroups ? [terminalText(groups?.join('; ') ?? '-')] : []),
      tokenId,
      localTimeText(createdAt),
      expiresAt === undefined ? '-' : expiresAt <= now() ? 'over' : localTimeText(expiresAt),
    ]);
    const table = layOutTable(columnsFor(owners, inGroups), rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  }
  return exitCodes.good;
}

function readGroups(given: Given): readonly string[] | undefined {
  if (!given.has('group')) return undefined;
  const groups = given.list('group').flatMap((each) => readTextList('--group', each));
  if (groups.length === 0) throw new UsageError('--group names no group.', ['--group finance,security']);
  return [...new Set(groups)];
}

async function create(
  tokens: Tokens,
  /** The file of the ledger, if it has one. */
  path: string | undefined,
  given: Given,
  { out, err }: Context,
): Promise<ExitCode> {
  const name = requireOption(given, 'name', 'A token needs a name', createLine);
  const role = requireOption(given, 'role', 'A token needs a role', createLine);
  if (!isRole(role)) throw new UsageError(`Unknown role ${JSON.stringify(role)}.`, [createLine]);
  const span = given.text('for');
  if (path !== undefined) makeFolder(dirname(path), ['quittance tokens create --ledger path/to/ledger.db']);
  try {
    const { token, record } = await tokens.create({
      name,
      role,
      expiresInMs: span === undefined ? undefined : parseSpan(span, 'for'),
      person: given.text('person'),
      groups: readGroups(given),
      principals: readPrincipals(given),
    });
    if (given.has('json')) await out.print(safeJson({ ...toJson(record), token }));
    else {
      await out.print(token);
      await err.say(`The token is shown only once. ${terminalText(name)} may now use the server as ${role}.`);
      // Without this note, a user in another folder than the server would wonder why the server rejects the token.
      if (path !== undefined && !existsSync(path))
        await err.say(
          `There is no ledger at ${terminalText(path)} yet. The token works for a server started on that path.`,
        );
    }
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid')) throw new UsageError(error.message, ['quittance tokens']);
    throw error;
  }
  return exitCodes.good;
}

const principalsExample = '{"userId":["bob"],"claims":{"team":["ops"]}}';

function readPrincipals(given: Given): TokenPrincipals | undefined {
  const typed = given.text('principals');
  if (typed === undefined) return undefined;
  const principals = readTokenPrincipals(readJsonArgument(typed, 'principals', principalsExample));
  if (principals !== undefined) return principals;
  throw new UsageError('--principals maps principal fields to lists of values; "*" matches any value.', [
    `--principals '${principalsExample}'`,
  ]);
}

async function revoke(
  tokens: Tokens,
  which: string | undefined,
  given: Given,
  { out }: Context,
): Promise<ExitCode> {
  if (which === undefined)
    throw new UsageError('Missing token name.', ['quittance tokens', 'quittance tokens revoke NAME']);
  const isThere = tokens.list().some(({ name, tokenId }) => name === which || tokenId === which);
  const revoked = isThere ? await tokens.revoke(which) : undefined;
  if (revoked === undefined)
    throw new UsageError(`There is no token ${JSON.stringify(which)}.`, ['quittance tokens'], exitCodes.bad);
  if (given.has('json')) await out.print(safeJson(toJson(revoked)));
  else
    await out.say(
      `Revoked: ${terminalText(revoked.name)} (${revoked.role}). Browsers that logged in with it are logged out.`,
    );
  return exitCodes.good;
}

const toJson = ({
  tokenId,
  name,
  role,
  createdAt,
  expiresAt,
  person,
  groups,
  principals,
}: TokenRecord): ReturnType<typeof withoutUndefined> =>
  withoutUndefined({
    tokenId,
    name,
    role,
    person,
    groups,
    principals: principals as unknown as JsonValue | undefined, // plain data
    createdAt: utcTimeText(createdAt),
    expiresAt: expiresAt === undefined ? undefined : utcTimeText(expiresAt),
  });
