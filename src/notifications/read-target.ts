/** Reads one target of the notifications file. Secrets come from variables, so the file can be shared. */
import type { ClosedObject, DocumentReader } from '../policy/read/document-reader.ts';
import type { HttpTarget, MailTarget, Target } from './notifications-settings.ts';
import type { ReadVariable } from './read-variable.ts';
import { hostOf } from '../outbound/address.ts';
import { findHostProblem, findTargetUrlProblem } from './find-target-url-problem.ts';
import { decodeWebhookSecret, shortestSecret } from './webhook-signature.ts';

const httpKeys = ['type', 'url', 'secret', 'allowPrivate', 'sendArguments'] as const;
const mailKeys = ['type', 'server', 'from', 'to', 'allowPrivate', 'sendArguments'] as const;

export function readTarget(name: string, at: DocumentReader, variable: ReadVariable): Target | undefined {
  const members = at.members('an object with type') ?? [];
  const typeAt = members.find(({ key }) => key === 'type')?.value;
  if (typeAt === undefined) return at.refuse('type is missing: expected webhook, slack, teams or email.');
  const type = typeAt.oneOf(['webhook', 'slack', 'teams', 'email']);
  if (type === undefined) return undefined;
  return type === 'email' ? readMailTarget(name, at, variable) : readHttpTarget(name, type, at, variable);
}

function readHttpTarget(
  name: string,
  type: HttpTarget['type'],
  at: DocumentReader,
  variable: ReadVariable,
): HttpTarget | undefined {
  const fields = at.closed(type === 'webhook' ? httpKeys : httpKeys.filter((key) => key !== 'secret'));
  if (fields === undefined) return undefined;
  const allowPrivate = fields.optional('allowPrivate')?.flag() ?? false;
  const urlAt = fields.required('url');
  const url = readUrl(urlAt, variable);
  const problem = url && findTargetUrlProblem(url, allowPrivate);
  if (problem !== undefined) urlAt?.refuse(`The address of "${name}" ${problem}.`);
  const secrets = type === 'webhook' ? readSecrets(fields.required('secret'), variable) : [];
  if (url === undefined || secrets === undefined) return undefined;
  return { type, name, url, secrets, allowPrivate, sendsArguments: sendsArguments(fields) };
}

function readMailTarget(name: string, at: DocumentReader, variable: ReadVariable): MailTarget | undefined {
  const fields = at.closed(mailKeys);
  if (fields === undefined) return undefined;
  const serverAt = fields.required('server');
  const server = readUrl(serverAt, variable);
  if (server !== undefined && server.protocol !== 'smtps:' && server.protocol !== 'smtp:')
    return serverAt?.refuse('server must start with smtps:// or smtp://.');
  if (server !== undefined && ![server.username, server.password].every(isDecodable))
    return serverAt?.refuse(
      'The user or password in server has a "%" that is not part of an escape: write %25.',
    );
  const from = readAddress(fields.required('from'));
  const to = (fields.required('to')?.items(1, 'addresses') ?? []).flatMap((item) => readAddress(item) ?? []);
  if (server === undefined || from === undefined) return undefined;
  const allowPrivate = fields.optional('allowPrivate')?.flag() ?? false;
  const problem = findHostProblem(hostOf(server), allowPrivate);
  if (problem !== undefined) return serverAt?.refuse(`The address of "${name}" ${problem}.`);
  return { type: 'email', name, server, from, to, allowPrivate, sendsArguments: sendsArguments(fields) };
}

const sendsArguments = (fields: ClosedObject<'sendArguments'>): boolean =>
  fields.optional('sendArguments')?.flag() ?? false;

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** One address, without anything that could become another header. */
const readAddress = (at: DocumentReader | undefined): string | undefined =>
  at?.text({ pattern: /^[^\s<>,;:"\\()[\]@]+@[^\s<>,;:"\\()[\]@]+$/, patternWords: 'an e-mail address' });

function readUrl(at: DocumentReader | undefined, variable: ReadVariable): URL | undefined {
  const text = at && readText(at, variable);
  if (text === undefined) return undefined;
  // The text is not repeated in the problem: it may hold a secret.
  return URL.canParse(text) ? new URL(text) : at?.refuse(`${at.name} is not a URL.`);
}

function readSecrets(
  at: DocumentReader | undefined,
  variable: ReadVariable,
): readonly Uint8Array[] | undefined {
  if (at === undefined) return undefined;
  const items = at.node.type === 'list' ? (at.items(1, 'secrets') ?? []) : [at];
  const secrets = items.flatMap((item) => {
    const text = readText(item, variable);
    if (text === undefined) return [];
    const bytes = decodeWebhookSecret(text);
    return bytes.length >= shortestSecret
      ? [bytes]
      : (item.refuse(
          `A secret has at least ${shortestSecret} bytes, written as base64. Make one: openssl rand -base64 32`,
        ) ?? []);
  });
  return secrets.length === items.length ? secrets : undefined;
}

/** Text in which `${NAME}` stands for an environment variable. */
function readText(at: DocumentReader, variable: ReadVariable): string | undefined {
  const text = at.text();
  if (text === undefined) return undefined;
  const missing: string[] = [];
  const filled = text.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
    const value = variable(name);
    if (value === undefined || value === '') missing.push(name);
    return value ?? '';
  });
  return missing.length === 0
    ? filled
    : at.refuse(
        `The environment variable ${missing.join(', ')} is not set. Set it before you start the server.`,
      );
}
