/** Reads the notifications file: targets, rules that choose them, reminders and quiet hours. */
import { QuittanceError } from '../base/error.ts';
import type { QuietHours } from '../base/quiet-hours.ts';
import { describeUnknownName } from '../base/nearest.ts';
import type { ContractsProblem } from '../policy/language/contracts-problem.ts';
import type { DocumentReader } from '../policy/read/document-reader.ts';
import { DocumentReader as Reader } from '../policy/read/document-reader.ts';
import { readDocumentText } from '../policy/read/document-text.ts';
import { readYamlDocument } from '../policy/read/yaml-document.ts';
import { noticeKinds } from './notification.ts';
import type { NoticeRule, NotificationsSettings, Target } from './notifications-settings.ts';
import { readDuration } from './read-duration.ts';
import { readQuietHoursField } from './quiet-hours-field.ts';
import { readTarget } from './read-target.ts';
import type { ReadVariable } from './read-variable.ts';

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
  return [...new Set([...given, ...wanted])].toSorted((left, right) => left - right);
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
