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
import type { Clock } from '../base/clock.ts';
import { systemClock } from '../base/clock.ts';
import { QuittanceError } from '../base/error.ts';
import { looksSecretBy } from '../base/safe-id.ts';
import type { QuietTimes } from '../base/quiet-hours.ts';
import { createQuietTimes } from '../base/quiet-hours.ts';
import type { Call } from '../call/call.ts';
import type { BehaviorFailed } from '../call/events/behavior-event.ts';
import { ToolError } from '../call/tool-error.ts';
import type { BehaviorContext, RegisteredBehavior } from '../runtime/host/behavior.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import { concerns, tells } from './tells.ts';
import { backOffMs, isUndeliverable } from './back-off-ms.ts';
import { maskNotification } from './mask-notification.ts';
import type { Notification } from './notification.ts';
import type { NotificationsSettings, Target } from './notifications-settings.ts';
import type { SendResult } from './send-result.ts';
import type { SendNotification } from './target-sender.ts';
import { createTargetSender } from './target-sender.ts';
import type { Notice, NoticedEvent } from './notice.ts';
import { noticedEvents, toNotice } from './notice.ts';
import { ReminderClock } from './reminder-clock.ts';

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
const longestLinkMs = 7 * 24 * 3_600_000;

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
    const left = expiresAt === undefined ? longestLinkMs : Math.max(1, expiresAt - clock.now());
    try {
      const token = await runtime.confirmations.link(confirmationId, {
        expiresInMs: Math.min(longestLinkMs, Math.ceil(left)),
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
