/**
 * Tells people about calls: one durable behavior for each target.
 *
 * 1. At least once: the position of a target moves in one commit with the record of the delivery. A crash in between
 *    repeats a message under the same id, and the repeat says that it may be one.
 * 2. A target that is down delays only its own messages. After a day and 20 deliveries a message is given up and
 *    recorded as undelivered.
 * 3. Messages are made from stored forms. Nothing that the redactor hides is sent, and answers of targets are not stored.
 */
import type { LookupFunction } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from 'quittance/internal/base/deadlines';
import { systemClock } from 'quittance/internal/base/deadlines';
import { QuittanceError } from 'quittance/internal/base/error';
import { looksSecretBy, hiddenId, safeSentenceBy, shownIdBy } from 'quittance/internal/base/safe-id';
import type { QuietTimes } from 'quittance/internal/base/quiet-hours';
import { createQuietTimes } from 'quittance/internal/base/quiet-hours';
import type { Call } from 'quittance/internal/call/call';
import type { BehaviorFailed } from 'quittance/internal/call/events/behavior-event';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { BehaviorContext, RegisteredBehavior } from 'quittance/internal/runtime/behavior';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { Notification, NoticeKind } from './notification.ts';
import type { NotificationsSettings, Target, NoticeRule } from './notifications-settings.ts';
import type { SendResult } from './send-result.ts';
import type { SendNotification } from './target-sender.ts';
import { limits } from 'quittance/internal/call/limits';
import { createTargetSender } from './target-sender.ts';
import { ReminderClock } from './reminder-clock.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import type { Redactor } from 'quittance/internal/base/redaction';
import { redacted } from 'quittance/internal/base/secret-pattern';
import type { HiddenId } from 'quittance/internal/call/events/gate-event';
import { compileGlob } from 'quittance/internal/policy/regex/glob';
import { isJsonObject } from 'quittance/internal/base/json';
import type { QuittanceEvent } from 'quittance/internal/call/event';
import { ownerOf } from 'quittance/internal/call/owner-of';

export type NotificationsOptions = {
  readonly runtime: Runtime;
  readonly settings: NotificationsSettings;
  /** Address of the console for people, without a final slash. Without it, messages have no link. */
  readonly publicUrl?: string;
  /** Resolves names; default: the resolver of the system. */
  readonly lookup?: LookupFunction;
  /** Default: the clock of this machine. */
  readonly clock?: Clock;
};

export type StartedNotifications = {
  /** Resolves once every event stored so far was handled for every target. */
  caughtUp(): Promise<void>;
  /** Stops sending. Another process, or the next start, continues. */
  close(): Promise<void>;
};

/** Prefix of the names of the behaviors: one for each target. */
export const notificationsPrefix = 'notifications.';
const retryName = 'notifications_retry';

/** Tries within one delivery, before the failure is recorded and the message waits for a later delivery. */
const triesAtOnce = 4;
/** A longer pause would hold up the messages behind this one: it is left to the next delivery. */
const longestPauseMs = 30_000;
/** A message that ends every process that sends it is given up. */
const mostLost = 5;

export function startNotifications(options: NotificationsOptions): StartedNotifications {
  const { runtime, settings, publicUrl, clock = systemClock } = options;
  const nowMs = (): number => clock.now();
  const quietTimes = createQuietTimes(settings.quietHours);
  if (publicUrl !== undefined) checkPublicUrl(publicUrl);
  const source = publicUrl ?? 'quittance';
  const behaviors: RegisteredBehavior[] = [...settings.targets.values()].map((target) => {
    const send = createTargetSender(target, {
      source,
      nowMs,
      ...(options.lookup !== undefined && { lookup: options.lookup }),
    });
    return runtime.events.on(
      {
        name: `${notificationsPrefix}${target.name}`,
        on: noticedEvents,
        // Most events concern no target. For those, no call is read and no position is stored.
        where: { type: (_, event) => concerns(settings.rules, target.name, event as NoticedEvent) },
        timeoutMs: 240_000,
      },
      (event, context) =>
        new Delivery({ ...options, clock, quietTimes }, target, send, context).deliver(event),
    );
  });
  behaviors.push(watchFailures(runtime, nowMs));
  const { remindAfterMs } = settings;
  const reminders = new ReminderClock({ runtime, clock, quietTimes, remindAfterMs });
  return {
    async caughtUp() {
      for (const behavior of behaviors) await behavior.caughtUp();
    },
    async close() {
      await reminders.close();
      await Promise.all(behaviors.map((behavior) => behavior.off()));
    },
  };
}

/** The address is part of every message, so it must hold nothing secret. */
function checkPublicUrl(publicUrl: string): void {
  const url = URL.parse(publicUrl);
  const isGood =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    `${url.username}${url.password}${url.search}${url.hash}` === '' &&
    !publicUrl.endsWith('/');
  if (!isGood)
    throw new QuittanceError(
      'config.invalid',
      'publicUrl of notifications must be an http or https address without user, password, query and final slash, e.g. https://quittance.example.com',
    );
}

type DeliveryOptions = NotificationsOptions & { readonly clock: Clock; readonly quietTimes: QuietTimes };

/** One event for one target. */
class Delivery {
  readonly #options: DeliveryOptions;
  readonly #target: Target;
  readonly #send: SendNotification;
  readonly #context: BehaviorContext;

  constructor(options: DeliveryOptions, target: Target, send: SendNotification, context: BehaviorContext) {
    this.#options = options;
    this.#target = target;
    this.#send = send;
    this.#context = context;
  }

  async deliver(event: NoticedEvent): Promise<void> {
    const { runtime, settings, quietTimes } = this.#options;
    const { sessionId, callId } = event;
    const [call] = await runtime.calls.list({ sessionId, callId });
    const notice = call && toNotice(event, call);
    if (call === undefined || notice === undefined) return;
    if (!tells(settings.rules, quietTimes, this.#target.name, notice)) return;
    // A message about a question that was answered meanwhile would only confuse its reader.
    if (notice.confirmationId !== undefined && !isOpen(call, notice.confirmationId)) {
      this.#record('skipped', event.id, notice, {
        why: 'the question was answered before the message was sent',
      });
      return;
    }
    const { askedAt: _, dueAt: __, hiddenIds, ...said } = notice;
    const notification: Notification = {
      ...said,
      id: `${event.id}.${this.#target.name}`,
      url: await this.#linkTo(notice),
      arguments: this.#target.sendsArguments ? notice.arguments : undefined,
    };
    await this.#try(event, maskNotification(notification, runtime.redactor, hiddenIds));
  }

  async #try(event: NoticedEvent, notification: Notification): Promise<void> {
    const { attempt, mayRepeat, signal } = this.#context;
    // An unrecorded try before this delivery counts as one.
    const before = (attempt - 1) * triesAtOnce + (mayRepeat ? 1 : 0);
    for (let tries = 1; ; tries++) {
      const delivery = before + tries;
      const result = await this.#send(notification, delivery, signal);
      if (result.type === 'sent')
        return this.#record('sent', event.id, notification, { delivery, answer: result.answer });
      if (result.type === 'refused')
        return this.#record('undelivered', event.id, notification, { delivery, problem: result.problem });
      const ms = result.afterMs ?? backOffMs(tries);
      if (tries === triesAtOnce || ms > longestPauseMs) throw this.#later(result);
      await pause(ms, undefined, { signal, ref: false });
    }
  }

  /** The behavior that watches failures has the event delivered again. */
  #later({ problem, afterMs }: SendResult & { readonly type: 'try_later' }): ToolError {
    return new ToolError('tool.network_error', `${this.#target.name} did not take the message: ${problem}`, {
      extras: { target: this.#target.name, ...(afterMs !== undefined && { afterMs }) },
    });
  }

  #record(
    what: 'sent' | 'skipped' | 'undelivered',
    eventId: string,
    { kind }: Pick<Notice, 'kind'>,
    more: Readonly<Record<string, string | number>>,
  ): void {
    this.#context.emit(`notification.${what}`, {
      id: `${eventId}.${this.#target.name}`,
      target: this.#target.name,
      channel: this.#target.type,
      kind,
      ...more,
    });
  }

  /** Opening the link decides nothing, and the link gives no permission: its user must sign in. */
  async #linkTo(notice: Notice): Promise<string | undefined> {
    const { confirmationId, sessionId, callId, expiresAt, hiddenIds } = notice;
    const { publicUrl, runtime, clock } = this.#options;
    if (publicUrl === undefined) return undefined;
    const page = `${publicUrl}/calls/${encodeURIComponent(sessionId)}/${encodeURIComponent(callId)}`;
    // The address of a call holds its ids.
    const isHidden =
      hiddenIds.includes('session') ||
      hiddenIds.includes('call') ||
      [sessionId, callId].some((id) => looksSecretBy(runtime.redactor, id));
    const callPage = isHidden ? undefined : page;
    if (confirmationId === undefined) return callPage;
    const left = expiresAt === undefined ? limits.link.longestMs : Math.max(1, expiresAt - clock.now());
    try {
      const token = await runtime.confirmations.link(confirmationId, {
        expiresInMs: Math.min(limits.link.longestMs, Math.ceil(left)),
      });
      return `${publicUrl}/decide#${token}`;
    } catch {
      // The question ended in this moment.
      return callPage;
    }
  }
}

const isOpen = ({ confirmation }: Call, confirmationId: string): boolean =>
  confirmation?.confirmationId === confirmationId && confirmation.status === 'pending';

/** Delivers failed messages again, for a day at least. Then they are recorded as undelivered. */
function watchFailures(runtime: Runtime, nowMs: () => number): RegisteredBehavior {
  return runtime.events.on(
    { name: retryName, on: 'behavior.failed', where: { behavior: { prefix: notificationsPrefix } } },
    async (event, context) => {
      const failed = await findEvent(runtime, event);
      if (failed === undefined) return;
      const age = nowMs() - failed.at;
      const wanted = event.payloadExtras?.['afterMs'];
      // Processes that were killed while they sent: that says nothing about the target.
      if (event.reason === 'behavior.lost' && event.attempt < mostLost) return context.retry();
      if (!isUndeliverable(age, event.attempt)) {
        context.retry({
          afterMs: Math.max(backOffMs(event.attempt + triesAtOnce), typeof wanted === 'number' ? wanted : 0),
        });
        return;
      }
      const target = event.behavior.slice(notificationsPrefix.length);
      context.emit('notification.undelivered', {
        id: `${event.triggeringEventId}.${target}`,
        target,
        problem: event.message,
        delivery: event.attempt * triesAtOnce,
      });
    },
  );
}

async function findEvent(
  runtime: Runtime,
  { sessionId, triggeringCallId: callId, triggeringEventId }: BehaviorFailed,
): Promise<{ readonly at: number } | undefined> {
  // Noticed events are events of a call. A whole session may be long.
  const events = await runtime.events.list({ sessionId, ...(callId !== undefined && { callId }) });
  return events.find(({ id }) => id === triggeringEventId);
}

/** When a failed delivery is tried again, and when it is given up. */
const firstMs = 500;
const longestMs = 5 * 60_000;

/** The pause after this many tries: it doubles, up to five minutes. Half of it is random, so targets are not hit at once. */
export function backOffMs(tries: number, random: () => number = Math.random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries, 30));
  return Math.round(full / 2 + (full / 2) * random());
}

const giveUpAfterMs = 24 * 3_600_000;
/** A clock that jumps must not end the tries early, nor let them go on for ever. */
const fewestDeliveries = 20;
const mostDeliveries = 1_000;

/** Is a message undelivered for good? `deliveries`: those that failed, of several tries each. */
export const isUndeliverable = (ageMs: number, deliveries: number): boolean =>
  deliveries >= (ageMs < giveUpAfterMs ? mostDeliveries : fewestDeliveries);

/**
 * Masks names, ids and texts of a message that look like secrets, by the built-in patterns and by the redaction of the
 * runtime. Stored forms hide the secrets of arguments. Ids and names of tools are stored unchanged, or no call could be
 * found by them. Another process with other patterns may have made the call, so arguments are searched again.
 */

/** `hiddenIds`: names that repeat a hidden value of the call, whatever they look like. */
export function maskNotification(
  notification: Notification,
  redactor: Redactor,
  hiddenIds: readonly HiddenId[],
): Notification {
  const id = (text: string, what?: HiddenId): string =>
    what !== undefined && hiddenIds.includes(what) ? hiddenId(text) : shownIdBy(redactor, text);
  const { owner, arguments: input } = notification;
  const names: Readonly<Record<HiddenId, string | undefined>> = {
    session: notification.sessionId,
    call: notification.callId,
    tool: notification.toolName,
    owner,
  };
  // Sentences may quote them.
  const sentence = (text: string): string =>
    hiddenIds.reduce(
      (said, what) => said.replaceAll(names[what] ?? redacted, redacted),
      safeSentenceBy(redactor, text),
    );
  return {
    ...notification,
    sessionId: id(notification.sessionId, 'session'),
    callId: id(notification.callId, 'call'),
    toolName: id(notification.toolName, 'tool'),
    displayName: hiddenIds.includes('tool')
      ? hiddenId(notification.toolName)
      : sentence(notification.displayName),
    text: sentence(notification.text),
    rules: notification.rules.map((rule) => id(rule)),
    risk: notification.risk.map(sentence),
    owner: owner === undefined ? undefined : id(owner, 'owner'),
    // Redaction keeps an object an object.
    arguments: input === undefined ? undefined : (redactor.input(input).value as JsonObject),
  };
}

/** Which targets hear about a call, by the rules of the file. */

type NotedCall = Pick<Notice, 'kind' | 'toolName' | 'risk' | 'rules' | 'owner' | 'askedAt' | 'dueAt'>;

/** May a rule tell this target about the event? Cheap: it is asked about every end of a call. */
export function concerns(rules: readonly NoticeRule[], target: string, event: NoticedEvent): boolean {
  const kind = kindOf(event);
  return kind !== undefined && rules.some(({ on, tell }) => on.includes(kind) && tell.includes(target));
}

/** Does a rule tell this target about the call? */
export function tells(
  rules: readonly NoticeRule[],
  quietTimes: QuietTimes,
  target: string,
  facts: NotedCall,
): boolean {
  return rules.some(
    (rule) => rule.tell.includes(target) && matches(rule, facts) && isDue(rule, quietTimes, facts),
  );
}

/** Only the time outside of quiet hours counts. */
const isDue = ({ afterMs }: NoticeRule, quietTimes: QuietTimes, { askedAt, dueAt }: NotedCall): boolean =>
  afterMs === 0 || dueAt >= quietTimes.addWakingTime(askedAt, afterMs);

function matches({ on, tools, risk, rules, owners }: NoticeRule, facts: NotedCall): boolean {
  if (!on.includes(facts.kind)) return false;
  if (tools !== undefined && !tools.some((glob) => compileGlob(glob).matches(facts.toolName))) return false;
  if (risk !== undefined && !risk.some((word) => facts.risk.some((each) => hasWord(each, word))))
    return false;
  if (rules !== undefined && !rules.some((id) => facts.rules.includes(id))) return false;
  return owners === undefined || (facts.owner !== undefined && owners.includes(facts.owner));
}

const hasWord = (text: string, word: string): boolean => text.toLowerCase().includes(word.toLowerCase());

/** The notification about an event of a call. */

/** The events that a notification may be about. */
export const noticedEvents = [
  'tool.held',
  'confirmation.reminded',
  'confirmation.decided',
  'confirmation.expired',
  'tool.responded',
] as const;
export type NoticedEvent = Extract<QuittanceEvent, { readonly type: (typeof noticedEvents)[number] }>;

/** What a message says before its target and its link are known. */
export type Notice = Omit<Notification, 'id' | 'url'> & {
  /** When the question was asked, and the time that the event stands for, by the ledger's clock. */
  readonly askedAt: number;
  readonly dueAt: number;
  /** Names that repeat a hidden value. */
  readonly hiddenIds: readonly HiddenId[];
};

/** What an event means for people. Undefined if they need not hear of it. */
export function kindOf(event: NoticedEvent): NoticeKind | undefined {
  switch (event.type) {
    case 'tool.held':
      return 'held';
    case 'confirmation.reminded':
      return event.kind === 'escalation' ? 'escalated' : 'reminder';
    case 'confirmation.decided':
      return 'decided';
    case 'confirmation.expired':
      return 'expired';
    case 'tool.responded':
      return event.final && 'code' in event.outcome && event.outcome.code === 'tool.indeterminate'
        ? 'unresolved'
        : undefined;
  }
}

export function toNotice(event: NoticedEvent, call: Call): Notice | undefined {
  const kind = kindOf(event);
  if (kind === undefined) return undefined;
  const { confirmation, principal, acceptedInput, requestedInput } = call;
  const input = acceptedInput ?? requestedInput;
  const isOpen = ['held', 'reminder', 'escalated'].includes(kind);
  return {
    kind,
    text: describeEvent(event, call),
    at: event.at,
    askedAt: confirmation?.askedAt ?? event.at,
    dueAt: event.type === 'confirmation.reminded' ? event.dueAt : event.at,
    sessionId: event.sessionId,
    callId: event.callId,
    toolName: call.toolName,
    displayName: call.displayName,
    rules: rulesOf(call),
    risk: confirmation?.risk ?? [],
    owner: ownerOf(principal),
    hiddenIds: call.hiddenIds,
    confirmationId: isOpen ? confirmation?.confirmationId : undefined,
    expiresAt: isOpen ? confirmation?.expiresAt : undefined,
    arguments: isJsonObject(input) ? input : undefined,
  };
}

function describeEvent(event: NoticedEvent, { confirmation }: Call): string {
  switch (event.type) {
    case 'tool.held':
      return event.description;
    case 'confirmation.reminded':
      return [confirmation?.description ?? '', describeWait(event.missing)].join(' ').trim();
    case 'confirmation.decided':
      return `${event.by.name} decided: ${event.decision}.`;
    case 'confirmation.expired':
      return event.effect === 'allow'
        ? 'No person decided in time. The rule lets the call run.'
        : 'No person decided in time. The call was denied.';
    case 'tool.responded':
      return 'The call may have taken effect. Check the system that the tool talks to, then record what you found.';
  }
}

const describeWait = (missing: readonly string[]): string =>
  missing.length === 0 ? 'It still waits.' : `Still missing: ${missing.join('; ')}.`;

const rulesOf = ({ confirmation, decidedBy }: Call): readonly string[] => [
  ...new Set(
    [...(confirmation?.asks ?? []).map(({ by }) => by), ...(decidedBy === undefined ? [] : [decidedBy])]
      .filter(({ type }) => type === 'rule')
      .map(({ name }) => name),
  ),
];
