/**
 * Who may decide on the command line. Every command declares its effect (command.ts). Before a command runs that decides
 * about calls, gives rights, removes evidence or reveals secrets, the program asks here for the proof.
 *
 * 1. To be able to start the program is not enough: the tools of an agent can start programs. Either a person types a
 *    confirmation at a terminal, or the caller has a token of the ledger whose role has the right.
 * 2. A process that has the ledger open to run calls cannot decide through a program that it started, whatever proof
 *    that program has: see `refuse-owners.ts`. A detached program is not found this way. It still needs the proof.
 * 3. Neither rule reads the command text, the name of the program or the environment that led to it.
 */
import { allows } from 'quittance/internal/call/role';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { isQuittanceError } from 'quittance/internal/base/error';
import { isSameName } from 'quittance/internal/call/same-identity';
import type { Actor } from '@quittance/server/internal/http/actor';
import { identityOf } from '@quittance/server/internal/http/actor';
import type { Role } from '@quittance/server/internal/http/api/role';
import { openTokenStore } from '@quittance/server/internal/http/open-access';
import { tokenActor } from '@quittance/server/internal/http/token-actor';
import type { TokenRecord, Tokens } from 'quittance/internal/runtime/tokens';
import { TokenFile, tokenFilePath } from '@quittance/server/internal/http/token-file';
import { checkPrivateFile } from 'quittance/internal/runtime/own-files';
import { openWithKey } from 'quittance/internal/store/open-ledger';
import type { Asked, CliCommand, Context, Decider, Given, Needs, Options, Proof } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { ledgerFile } from './find-ledger.ts';
import { UsageError } from './usage-error.ts';
import { platform } from 'node:os';
import type { ProcessMark, SystemProcess } from 'quittance/internal/store/files/system-process';
import {
  isSameProcess,
  readAncestors,
  readOwnNamespace,
  readOwnProcess,
} from 'quittance/internal/store/files/system-process';
import { readOwnerProcesses } from './ledgers/owner-processes.ts';
import { terminalText } from './terminal-text.ts';

/** Options of every command that needs proof. */
export const proofOptions: Options = {
  'token-file': {
    value: 'FILE',
    help: 'File with a token that decides in your place, readable only by you; default: QUITTANCE_TOKEN, else you confirm at a terminal',
    file: true,
  },
};

/** The proof that the command declares, asked before it runs. What it does not declare, it cannot do. */
export async function prove(command: CliCommand, given: Given, context: Context): Promise<Context> {
  const effect = typeof command.effect === 'function' ? await command.effect(given, context) : command.effect;
  switch (effect.kind) {
    case 'reads':
      return {
        ...context,
        withLedger: (theirs, work, access) => {
          if (access === 'write') throw new TypeError(`"${command.name}" declares that it only reads.`);
          return context.withLedger(theirs, work, access);
        },
      };
    case 'makes':
      return context;
    case 'serves':
      await refuseOwners(effect.ledgerUrl);
      return context;
    case 'decides': {
      const proof = await requireProof(given, context, effect);
      const { asks, line } = effect;
      return {
        ...context,
        proof:
          asks === undefined ? proof : { ...proof, decider: await confirmWith(proof, { ...asks, line }) },
      };
    }
    case 'decides_at_server':
      return { ...context, isConfirmed: await requireProofAtServer(given, context, effect.line) };
    default:
      return effect satisfies never;
  }
}

/** The proof of a command that declares a decision. */
export function proofOf({ proof }: Context): Proof {
  if (proof === undefined) throw new TypeError('The command does not declare that it decides.');
  return proof;
}

/** The same for a decision at a server. */
export function confirmationOf({ isConfirmed }: Context): NonNullable<Context['isConfirmed']> {
  if (isConfirmed === undefined)
    throw new TypeError('The command does not declare that it decides at a server.');
  return isConfirmed;
}

/** Throws unless the caller may decide about these ledgers. */
async function requireProof(given: Given, context: Context, needs: Needs): Promise<Proof> {
  const { role, line, ledgerUrls = [context.ledgerUrl(given, 'make')] } = needs;
  const { person } = context;
  const secret = readSecret(given, context);
  const by = given.text('by') ?? needs.byDefault ?? '';
  if (secret === undefined && by.trim() === '')
    throw new UsageError('A decision needs the name of a person: --by is missing.', [
      line.includes('--by') ? line : `${line} --by NAME`,
    ]);
  if (secret === undefined && person === undefined)
    throw new UsageError(
      'A decision needs more than this command: a person who confirms it at a terminal, or a token. There is no terminal and no token.',
      [
        `${line} --token-file FILE`,
        `quittance tokens create --name NAME --role ${role}   (at a terminal; it makes a token)`,
      ],
    );
  const actors: Actor[] = [];
  for (const url of ledgerUrls) {
    await refuseOwners(url);
    if (secret === undefined) continue;
    const actor = await findActor(secret, url, given, context);
    requireRole(actor, role);
    actors.push(actor);
  }
  const [actor] = actors;
  if (actor === undefined) {
    const decider: Decider = { by, identity: context.identity };
    return {
      actor,
      decider,
      confirm: async (asked) => ((await isTyped(context, asked)) ? decider : undefined),
    };
  }
  const typed = given.text('by');
  if (typed !== undefined && !isSameName(typed, actor.name) && !isSameName(typed, actor.person))
    throw new UsageError(
      `The token belongs to ${JSON.stringify(actor.name)}, so --by cannot name ${JSON.stringify(typed)}. Leave --by out, or use the token of that person.`,
      [line],
      exitCodes.bad,
    );
  const decider: Decider = { by: actor.name, identity: identityOf(actor) };
  return {
    actor,
    decider,
    confirm: async (asked) =>
      asked.always !== true || person === undefined || (await isTyped(context, asked)) ? decider : undefined,
  };
}

/** Throws if the person does not confirm: nothing was done. */
export async function confirmWith(
  proof: Proof,
  { question, word, line }: { readonly question: string; readonly word: string; readonly line: string },
): Promise<Decider> {
  const decider = await proof.confirm({ question, word });
  if (decider !== undefined) return decider;
  throw new UsageError(
    `Not confirmed: nothing was done. The word to type was ${word}.`,
    [line],
    exitCodes.bad,
  );
}

/**
 * Proof for a decision at a server. The server checks a given token. A stored sign-in is readable by every program of
 * this user, so it also needs a person at a terminal.
 */
async function requireProofAtServer(
  given: Given,
  context: Context,
  line: string,
): Promise<(asked: Asked) => Promise<boolean>> {
  const { person } = context;
  const hasToken = readSecret(given, context) !== undefined;
  if (!hasToken && person === undefined)
    throw new UsageError(
      'A decision with the stored sign-in needs a person who confirms it at a terminal. A program uses a token.',
      [`${line} --token-file FILE`],
    );
  await refuseOwners(localLedger(given, context));
  return async (asked) =>
    (hasToken && (asked.always !== true || person === undefined)) || isTyped(context, asked);
}

/** The ledger of this folder, if there is one: a process that has it open may also use the server. */
function localLedger(given: Given, context: Context): string | undefined {
  try {
    return context.ledgerUrl(given);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/**
 * Why a server that this command starts must give no login: a reader of its link or token can decide. Undefined if it
 * may.
 */
export async function whyNoLogin(
  given: Given,
  context: Context,
  ledgerUrl: string,
): Promise<string | undefined> {
  if (context.person !== undefined) return undefined;
  const secret = readSecret(given, context);
  if (secret === undefined) return 'there is no terminal and no token';
  try {
    const { role } = await findActor(secret, ledgerUrl, given, context);
    return allows(role, 'admin') ? undefined : 'the given token does not have the role admin';
  } catch (error) {
    // The token may be for another server, and there may be no ledger yet. Neither keeps a server from starting.
    if (error instanceof UsageError || isQuittanceError(error))
      return 'the given token is not one of this ledger';
    throw error;
  }
}

/** The token of the caller. It is never an argument: other users can list those. */
export function readSecret(given: Given, { env }: Context): string | undefined {
  const path = given.text('token-file');
  if (path === undefined) return env['QUITTANCE_TOKEN']?.trim() || undefined;
  if (!existsSync(path))
    throw new UsageError(`There is no token file ${path}.`, ['quittance tokens create --help']);
  checkPrivateFile({ path, what: 'token file', secret: true });
  const secret = readFileSync(path, 'utf8').trim();
  if (secret === '') throw new UsageError(`The token file ${path} is empty.`, ['quittance tokens create']);
  return secret;
}

async function findActor(secret: string, url: string, given: Given, context: Context): Promise<Actor> {
  const find = async (tokens: Tokens): Promise<TokenRecord | undefined> => {
    tokens.check();
    await tokens.refresh();
    return tokens.findToken(secret);
  };
  const path = ledgerFile(url);
  const record =
    path === undefined
      ? await findInDatabase(url, find)
      : await find(new TokenFile(tokenFilePath(path), context.now));
  if (record !== undefined) return tokenActor(record, 'token', record.expiresAt);
  throw new UsageError(
    `The token ${given.has('token-file') ? 'in the token file' : 'in QUITTANCE_TOKEN'} is not a token of this ledger, was revoked, or its time is up.`,
    ['quittance tokens', ...(context.person === undefined ? [] : ['unset QUITTANCE_TOKEN'])],
    exitCodes.bad,
  );
}

/** In the ledger of the decision, which need not be the one that the options name. */
async function findInDatabase<Found>(url: string, find: (tokens: Tokens) => Promise<Found>): Promise<Found> {
  const ledger = await openWithKey(url, { readOnly: true, migrate: false }, 'look');
  try {
    return await find(openTokenStore(ledger, undefined));
  } finally {
    await ledger.close();
  }
}

function requireRole({ name, role }: Actor, needed: Role): void {
  if (allows(role, needed)) return;
  throw new UsageError(
    `The token ${JSON.stringify(name)} has the role ${role}, and this needs ${needed}.`,
    [`quittance tokens create --name NAME --role ${needed}`],
    exitCodes.bad,
  );
}

/** Did the person type the word? A piped answer does not count: without a terminal there is no person. */
async function isTyped({ person }: Context, { question, word }: Asked): Promise<boolean> {
  const typed = await person?.readLine(`${question} Type ${word} to confirm: `);
  return typed !== undefined && typed.trim().toLowerCase() === word.toLowerCase();
}

/**
 * An owner of the ledger cannot decide through a program that it started. The start time of a process counts beside its
 * id, because the system uses ids again. Only processes above this one count, not this one.
 */

/** Refuses if a process that has the ledger open to run calls started this program, directly or not. */
async function refuseOwners(url: string | undefined): Promise<void> {
  if (url === undefined) return;
  const path = ledgerFile(url);
  // Under a second name, the file has other owners and other tokens next to it.
  if (path !== undefined && (statSync(path, { throwIfNoEntry: false })?.nlink ?? 1) > 1)
    throw new UsageError(
      `The ledger file ${path} has several names (hard links), so its owners and tokens cannot be known. Remove the other names.`,
      [],
      exitCodes.bad,
    );
  const owners = await readOwnerProcesses(url);
  if (owners.length === 0) return;
  // If the system lists no processes, no owner has a mark and none can be found. A Linux without /proc hides them.
  if (
    readOwnProcess() === undefined &&
    owners.every((owner) => owner === undefined) &&
    platform() !== 'linux'
  )
    return;
  const { ancestor, isComplete } = findAbove(owners.filter((owner) => owner !== undefined));
  if (ancestor === undefined) {
    const problem = whyUnknown(owners, isComplete);
    if (problem === undefined) return;
    throw new UsageError(
      `${problem} So it is not known whether a process that makes calls started this command.`,
      [
        'Run the command on the machine and in the container of that process, or use the console.',
        'Restart that process if it runs an older version or its record was changed: it then records its process id again.',
      ],
      exitCodes.bad,
    );
  }
  throw new UsageError(
    `${describeProcess(ancestor)} started this command and has the ledger open to run calls. A process that makes calls cannot decide about them, also not through a program that it starts.`,
    ['Run the command in a terminal that this process did not start, or use the console.'],
    exitCodes.bad,
  );
}

type Above = { readonly ancestor: SystemProcess | undefined; readonly isComplete: boolean };

function findAbove(owners: readonly ProcessMark[], tries = 10): Above {
  const ancestors = readAncestors();
  for (;;) {
    const { done, value } = ancestors.next();
    if (done === true)
      // A process above may have ended meanwhile. Those below it then have another parent.
      return value || tries === 1 ? { ancestor: undefined, isComplete: value } : findAbove(owners, tries - 1);
    if (owners.some((owner) => isSameProcess(owner, value))) return { ancestor: value, isComplete: true };
  }
}

/** Why an owner may be above although it was not found; undefined if it cannot be. */
function whyUnknown(owners: readonly (ProcessMark | undefined)[], isComplete: boolean): string | undefined {
  if (owners.includes(undefined))
    return 'A process has the ledger open to run calls, and the process id that it recorded with the ledger is missing or cannot be read.';
  if (!isComplete) return 'Not all processes that led to this command can be read.';
  const own = readOwnNamespace();
  if (owners.some((owner) => owner?.namespace !== undefined && owner.namespace !== own))
    return 'A process that has the ledger open to run calls is in another process namespace, such as a container.';
  return undefined;
}

const describeProcess = ({ pid, name }: SystemProcess): string => `Process ${pid} (${terminalText(name)})`;
