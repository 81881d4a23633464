/** Reads the notifications file: targets, rules that choose them, reminders and quiet hours. */
import { QuittanceError } from 'quittance/internal/base/error';
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import { describeUnknownName } from 'quittance/internal/base/nearest';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import type { DocumentReader, ClosedObject } from 'quittance/internal/policy/read/document-reader';
import { DocumentReader as Reader } from 'quittance/internal/policy/read/document-reader';
import { readDocumentText } from 'quittance/internal/policy/read/document-text';
import { readYamlDocument } from 'quittance/internal/policy/read/yaml-document';
import { limits } from 'quittance/internal/call/limits';
import { noticeKinds } from './notification.ts';
import type {
  NoticeRule,
  NotificationsSettings,
  Target,
  HttpTarget,
  MailTarget,
} from './notifications-settings.ts';
import type { ReadVariable } from './read-variable.ts';
import { findQuietHoursProblem, weekDays } from 'quittance/internal/base/quiet-hours';
import { hostOf } from 'quittance/internal/outbound/address';
import { findHostProblem, findTargetUrlProblem } from './find-target-url-problem.ts';
import { decodeWebhookSecret, shortestSecret } from './webhook-signature.ts';

/** Throws `config.invalid` with every problem of the file. */
export function readNotifications(
  text: string | Uint8Array,
  source: string,
  variable: ReadVariable,
): NotificationsSettings {
  return readFile(text, source, (document) => readDocument(document, variable));
}

/** The quiet hours of a notifications file, for a program that makes calls and sends no messages. */
export function readQuietHours(text: string | Uint8Array, source: string): readonly QuietHours[] {
  return readFile(text, source, (document) => {
    const fields = document.closed(documentKeys);
    return fields && readQuietHoursField(fields.optional('quietHours'));
  });
}

const documentKeys = ['apiVersion', 'kind', 'targets', 'rules', 'reminders', 'quietHours'] as const;

function readFile<Value>(
  text: string | Uint8Array,
  source: string,
  read: (document: DocumentReader) => Value | undefined,
): Value {
  const problems: ContractsProblem[] = [];
  const given = readDocumentText(text, source, problems);
  const node = given && readYamlDocument(given.text, given.reading);
  const value = node && read(new Reader(node, given.reading));
  if (value !== undefined && problems.length === 0) return value;
  const lines = problems.map(
    ({ line, column, field, message }) =>
      `${source}:${line ?? 1}:${column ?? 1}${field === '' ? '' : ` ${field}`}: ${message}`,
  );
  throw new QuittanceError('config.invalid', `The notifications file has problems:\n${lines.join('\n')}`);
}

function readDocument(at: DocumentReader, variable: ReadVariable): NotificationsSettings | undefined {
  const fields = at.closed(documentKeys);
  if (fields === undefined) return undefined;
  fields.required('apiVersion')?.oneOf(['quittance/v1']);
  fields.required('kind')?.oneOf(['Notifications']);
  const targets = new Map<string, Target>();
  for (const { key, keyAt, value } of fields.required('targets')?.members('an object of named targets') ??
    []) {
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(key))
      keyAt.refuse('The name of a target has lower-case letters, digits, "-" and "_", at most 64 of them.');
    const target = readTarget(key, value, variable);
    if (target !== undefined) targets.set(key, target);
  }
  const named = (fields.optional('targets')?.members() ?? []).map(({ key }) => key);
  const rules = (fields.required('rules')?.items(1, 'rules') ?? []).flatMap(
    (item) => readRule(item, named) ?? [],
  );
  const remindAfterMs = readReminders(fields.optional('reminders'), rules);
  const quietHours = readQuietHoursField(fields.optional('quietHours'));
  return { targets, rules, remindAfterMs, quietHours };
}

/** A rule for reminders after a time has a reminder at that time. */
function readReminders(at: DocumentReader | undefined, rules: readonly NoticeRule[]): readonly number[] {
  const given = (at?.items(1, 'durations') ?? []).flatMap((item) => readDuration(item) ?? []);
  const wanted = rules.flatMap(({ on, afterMs }) =>
    on.includes('reminder') && afterMs > 0 ? [afterMs] : [],
  );
  const times = [...new Set([...given, ...wanted])].toSorted((left, right) => left - right);
  const { times: most, leastApartMs } = limits.reminders;
  if (times.length > most) at?.refuse(`reminders has at most ${most} durations.`);
  if (times.some((ms, index) => ms - (times[index - 1] ?? 0) < leastApartMs))
    at?.refuse(`reminders must be at least ${leastApartMs / 1_000} s apart.`);
  return times;
}

function readRule(at: DocumentReader, targets: readonly string[]): NoticeRule | undefined {
  const fields = at.closed(['on', 'when', 'after', 'tell']);
  if (fields === undefined) return undefined;
  const on = (fields.required('on')?.items(1, 'events') ?? []).flatMap(
    (item) => item.oneOf(noticeKinds) ?? [],
  );
  const when = fields.optional('when')?.closed(['tool', 'risk', 'rule', 'owner']);
  const list = (key: 'tool' | 'risk' | 'rule' | 'owner'): readonly string[] | undefined => {
    const value = when?.optional(key);
    return value?.node.type === 'list' ? value.texts(1) : value && [value.text() ?? ''];
  };
  const after = fields.optional('after');
  const isAboutReminders = on.every((kind) => kind === 'reminder' || kind === 'escalated');
  if (after !== undefined && !isAboutReminders)
    after.refuse('after applies to reminders only: on must be [reminder] or [escalated].');
  const tell = (fields.required('tell')?.items(1, 'targets') ?? []).flatMap((item) => {
    const name = item.text();
    if (name === undefined || targets.includes(name)) return name ?? [];
    return item.refuse(describeUnknownName('target', name, targets)) ?? [];
  });
  return {
    on,
    tools: list('tool'),
    risk: list('risk'),
    rules: list('rule'),
    owners: list('owner'),
    afterMs: (after && readDuration(after)) ?? 0,
    tell,
  };
}

/** The quiet hours of the notifications file. */
function readQuietHoursField(at: DocumentReader | undefined): readonly QuietHours[] {
  const hours = (at?.items(1, 'quiet hours') ?? []).flatMap((item) => readHours(item) ?? []);
  const problem = findQuietHoursProblem(hours);
  if (problem !== undefined) at?.refuse(`quietHours${problem}`);
  return hours;
}

function readHours(at: DocumentReader): QuietHours | undefined {
  const fields = at.closed(['from', 'to', 'timeZone', 'days']);
  const [from, to] = [fields?.required('from')?.text(), fields?.required('to')?.text()];
  const timeZone = fields?.required('timeZone')?.text();
  const days = fields
    ?.optional('days')
    ?.items(1, 'days')
    ?.flatMap((item) => item.oneOf(weekDays) ?? []);
  if (from === undefined || to === undefined || timeZone === undefined) return undefined;
  return { from, to, timeZone, ...(days !== undefined && { days }) };
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration such as `90s`, `30m`, `2h` or `1d`, in milliseconds. */
function readDuration(at: DocumentReader): number | undefined {
  const text = at.text({ pattern: /^[1-9]\d{0,5}[smhd]$/, patternWords: 'a duration such as 30m, 2h or 1d' });
  if (text === undefined) return undefined;
  const unit = text.slice(-1) as keyof typeof unitMs; // the pattern allows no other
  return Number(text.slice(0, -1)) * unitMs[unit];
}

/** Reads one target of the notifications file. Secrets come from variables, so the file can be shared. */

const httpKeys = ['type', 'url', 'secret', 'allowPrivate', 'sendArguments'] as const;
const mailKeys = ['type', 'server', 'from', 'to', 'allowPrivate', 'sendArguments'] as const;

function readTarget(name: string, at: DocumentReader, variable: ReadVariable): Target | undefined {
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
