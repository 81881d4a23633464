import type { EmittedEvent } from 'quittance/internal/call/emitted-event';
import { isEmittedEvent } from 'quittance/internal/call/emitted-event';
import { describeUnknownName } from 'quittance/internal/base/nearest';
import { readStored } from 'quittance/internal/ledger/feed';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { resendUndelivered } from '@quittance/server/internal/notifications/resend-undelivered';
import { createTargetSender } from '@quittance/server/internal/notifications/target-sender';
import { readAllEntries } from 'quittance/internal/replay/read-all-entries';
import { timesOf } from '../call-query.ts';
import { proofOf, proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, makes, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { loadNotifications } from '../load-notifications.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { utcTimeText } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

const lines = [
  'quittance notifications check notifications.yaml',
  'quittance notifications send notifications.yaml TARGET',
  'quittance notifications log --undelivered',
  'quittance notifications resend --target TARGET',
];

export const notificationsCommand: CliCommand = {
  name: 'notifications',
  summary: 'Check a notifications file, list deliveries, send messages again',
  takes: '<check FILE|send FILE TARGET|log|resend>',
  words: ['check', 'send', 'log', 'resend'],
  most: 3,
  about: [
    'check reads the file and lists its targets. Variables such as ${SLACK_URL} come from the environment. send sends a test message to one target.',
    'log lists the deliveries that the ledger records: sent, skipped or undelivered. A message is skipped if its question was answered before.',
    'resend asks for undelivered messages again, for example after a wrong address was corrected. The request is recorded, and needs a person who confirms it at a terminal, or a token with the role operator. `quittance serve --notifications FILE`, which sends all messages, delivers them under their old ids. Messages about answered questions are skipped.',
  ],
  options: {
    undelivered: { help: 'log: only messages that a target did not take' },
    target: { value: 'NAME', help: 'resend: only messages of this target' },
    since: { value: 'TIME', help: 'log, resend: not before this time, e.g. 2h or 2026-01-31' },
    until: { value: 'TIME', help: 'log, resend: not after this time' },
    by: { value: 'NAME', help: 'resend: name recorded with the request; default: the user of the system' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: lines.map((line, index) => [
    line,
    [
      'read the file and show its targets',
      'send a test message',
      'messages that did not arrive',
      'send those of one target again',
    ][index] ?? '',
  ]),
  effect(given, { userName }) {
    const [action = ''] = given.args;
    switch (action) {
      case 'send':
        return makes;
      case 'resend':
        return {
          kind: 'decides',
          role: 'operator',
          byDefault: userName,
          line: lines[3] ?? '',
          asks: { question: 'Send the undelivered messages again?', word: 'resend' },
        };
      default:
        return reads;
    }
  },
  run(given, context) {
    const [action = '', path, target] = given.args;
    switch (action) {
      case 'check':
        return check(path, given, context);
      case 'send':
        return send(path, target, context);
      case 'log':
        return context.withLedger(given, (ledger) => log(ledger, given, context));
      case 'resend':
        return context.withLedger(given, (ledger) => resend(ledger, given, context), 'write');
      default:
        throw new UsageError(
          `Expected check, send, log or resend; found ${action === '' ? 'nothing' : JSON.stringify(action)}.`,
          lines,
        );
    }
  },
};

async function check(path: string | undefined, given: Given, context: Context): Promise<ExitCode> {
  const { targets, rules, remindAfterMs, quietHours } = loadNotifications(needPath(path), context);
  for (const { name, type } of targets.values()) {
    const about = rules.filter(({ tell }) => tell.includes(name)).flatMap(({ on }) => on);
    const kinds = [...new Set(about)];
    if (given.has('json')) await context.out.print(safeJson({ target: name, type, on: kinds }));
    else
      await context.out.print(
        `${terminalText(name)} (${type}): ${kinds.length === 0 ? 'no rule tells it anything' : kinds.join(', ')}`,
      );
  }
  if (given.has('json')) {
    await context.out.print(safeJson({ remindAfterMs: [...remindAfterMs], quietHours: [...quietHours] }));
    return exitCodes.good;
  }
  for (const ms of remindAfterMs) await context.out.print(`reminder after ${ms / 60_000} minutes`);
  for (const { from, to, timeZone, days = ['every day'] } of quietHours)
    await context.out.print(`quiet from ${from} to ${to}, ${days.join(', ')} (${terminalText(timeZone)})`);
  return exitCodes.good;
}

async function send(
  path: string | undefined,
  typed: string | undefined,
  context: Context,
): Promise<ExitCode> {
  const { targets } = loadNotifications(needPath(path), context);
  if (typed === undefined) throw new UsageError('Missing target.', [lines[1] ?? '']);
  const target = targets.get(typed);
  if (target === undefined)
    throw new UsageError(describeUnknownName('target', typed, [...targets.keys()]), [lines[0] ?? '']);
  const sendTo = createTargetSender(target, { source: 'quittance', nowMs: context.now });
  const at = context.now();
  const result = await sendTo(
    {
      id: `test-${at}.${target.name}`,
      kind: 'held',
      at,
      sessionId: 'test',
      callId: 'test',
      toolName: 'test',
      displayName: 'a test message',
      text: 'This is a test message. No call waits.',
      rules: [],
      risk: [],
      owner: undefined,
      confirmationId: undefined,
      expiresAt: undefined,
      url: undefined,
      arguments: undefined,
    },
    1,
    context.signal,
  );
  if (result.type === 'sent') {
    await context.out.say(`Sent to ${terminalText(target.name)}: ${terminalText(result.answer)}.`);
    return exitCodes.good;
  }
  await context.err.say(
    `${terminalText(target.name)} did not take the message: ${terminalText(result.problem)}.`,
  );
  return exitCodes.bad;
}

function needPath(path: string | undefined): string {
  if (path === undefined) throw new UsageError('Missing file.', lines);
  return path;
}

async function log(ledger: OpenLedger, given: Given, context: Context): Promise<ExitCode> {
  const { since = 0, until = Number.MAX_SAFE_INTEGER } = timesOf(given, context.now());
  for await (const stored of readAllEntries(ledger, context.signal)) {
    // Everything that a behavior emits begins with its type, so most entries need no decoding.
    if (!stored.text.includes('notification.')) continue;
    for (const event of readStored(stored).events) {
      if (!isDelivery(event) || event.at < since || event.at > until) continue;
      if (given.has('undelivered') && event.type !== 'notification.undelivered') continue;
      await printDelivery(event, given, context);
    }
  }
  return exitCodes.good;
}

async function resend(ledger: OpenLedger, given: Given, context: Context): Promise<ExitCode> {
  const { since = 0, until = Number.MAX_SAFE_INTEGER } = timesOf(given, context.now());
  const asked = await resendUndelivered(ledger, {
    target: given.text('target'),
    since,
    until,
    by: proofOf(context).decider.by,
    signal: context.signal,
  });
  for (const { id, target, sessionId, callId } of asked)
    await context.out.print(
      given.has('json')
        ? safeJson({ id, target, sessionId, callId })
        : [target, `${sessionId}/${callId ?? ''}`].map(terminalText).join('  '),
    );
  if (asked.length === 0) await context.err.say('No message is undelivered. Nothing was asked for.');
  else
    await context.err.say(
      `Asked for ${asked.length === 1 ? '1 message' : `${asked.length} messages`} again. \`quittance serve --notifications FILE\` delivers them.`,
    );
  return exitCodes.good;
}

const isDelivery = (event: object): event is EmittedEvent =>
  isEmittedEvent(event) && event.type.startsWith('notification.');

async function printDelivery(event: EmittedEvent, given: Given, { out }: Context): Promise<void> {
  const { at, type, sessionId, callId, data } = event;
  const what = type.slice('notification.'.length);
  if (given.has('json')) {
    await out.print(safeJson({ at: new Date(at).toISOString(), what, sessionId, callId, ...data }));
    return;
  }
  const text = (name: string): string => {
    const value = data[name];
    return typeof value === 'string' ? value : '';
  };
  const detail = text('problem') || text('why') || text('answer');
  const parts = [utcTimeText(at), what, text('target'), text('kind'), `${sessionId}/${callId ?? ''}`, detail];
  await out.print(parts.map(terminalText).join('  '));
}
