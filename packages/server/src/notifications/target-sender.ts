/** Sends a notification to one target, in the form that the target reads. */
import type { LookupFunction } from 'node:net';
import { hostOf, isForbiddenAddress, isPrivateAddress } from 'quittance/internal/outbound/address';
import type { Notification } from './notification.ts';
import type { HttpTarget, Target, MailTarget } from './notifications-settings.ts';
import type { SendResult } from './send-result.ts';
import { signWebhook } from './webhook-signature.ts';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';
import { isQuittanceError, QuittanceError } from 'quittance/internal/base/error';
import { createGuardedFetch } from 'quittance/internal/outbound/guarded-fetch';
import { findTargetUrlProblem } from './find-target-url-problem.ts';
import { lookup } from 'node:dns';
import { createRequire } from 'node:module';
import { isIP, Socket } from 'node:net';
import type { createTransport as CreateTransport, Transporter } from 'nodemailer';
import { cutText } from 'quittance/internal/base/cut-text';
import { headingOf } from './notification.ts';
import { visibleForeignText, visibleText, visibleValue } from 'quittance/internal/base/safe-text';

/** `delivery`: 1 for the first delivery of this message. More says that it may have been delivered before. */
export type SendNotification = (
  notification: Notification,
  delivery: number,
  signal: AbortSignal,
) => Promise<SendResult>;

type SenderPorts = {
  /** Identifies this installation to receivers: its public address, or a name. */
  readonly source: string;
  readonly nowMs: () => number;
  readonly lookup?: LookupFunction;
};

export function createTargetSender(target: Target, ports: SenderPorts): SendNotification {
  if (target.type === 'email') {
    const send = createSendMail(target, ports.lookup);
    const domain = hostOf(target.server);
    return (notification, delivery, signal) => send(toMailMessage(notification, delivery, domain), signal);
  }
  return createHttpSender(target, ports);
}

function createHttpSender(target: HttpTarget, { source, nowMs, lookup }: SenderPorts): SendNotification {
  const send = createSendJson(target, lookup);
  return (notification, delivery, signal) => {
    // A receiver sees that an earlier delivery may have arrived, even if it keeps no list of ids.
    const json = {
      'content-type': 'application/json; charset=utf-8',
      'quittance-delivery': String(delivery),
    };
    switch (target.type) {
      case 'slack':
        return send(JSON.stringify(toSlackMessage(notification, delivery)), json, signal);
      case 'teams':
        return send(JSON.stringify(toTeamsMessage(notification, delivery)), json, signal);
      case 'webhook': {
        const body = JSON.stringify(toCloudEvent(notification, source));
        const signature = signWebhook(target.secrets, notification.id, nowMs(), body);
        return send(body, { ...json, ...signature, 'content-type': cloudEventType }, signal);
      }
    }
  };
}

/** A notification as a CloudEvent 1.0, in its structured JSON form. */

const cloudEventType = 'application/cloudevents+json; charset=utf-8';

function toCloudEvent(notification: Notification, source: string): JsonObject {
  const { id, kind, at, sessionId, callId, toolName, displayName, text, rules, risk } = notification;
  const { owner, confirmationId, expiresAt, url, arguments: input } = notification;
  return {
    specversion: '1.0',
    id,
    source,
    type: `quittance.call.${kind}`,
    subject: `${sessionId}/${callId}`,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: {
      sessionId,
      callId,
      toolName,
      displayName,
      text,
      rules: [...rules],
      risk: [...risk],
      ...(owner !== undefined && { owner }),
      ...(confirmationId !== undefined && { confirmationId }),
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      ...(url !== undefined && { url }),
      ...(input !== undefined && { arguments: input }),
    },
  };
}

/** Chat programs also report failures in the text of an answer with status 200. */

/** Failures of Slack that pass: https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const passing: ReadonlySet<string> = new Set([
  'ratelimited',
  'rate_limited',
  'message_limit_exceeded',
  'request_timeout',
  'service_unavailable',
  'internal_error',
  'fatal_error',
]);

/** The status that an answer stands for. `text`: its first part. */
export function readStatus(type: HttpTarget['type'], status: number, text: string): number {
  if (status < 200 || status > 299) return status;
  switch (type) {
    case 'webhook':
      return status;
    case 'slack': {
      const error = slackError(text);
      return error === undefined ? status : passing.has(error) ? 503 : 400;
    }
    case 'teams': {
      // "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 …"
      if (!/^\s*"?Webhook message delivery failed/i.test(text)) return status;
      return Number(/HTTP error ([45]\d\d)\b/.exec(text)?.[1] ?? 503);
    }
  }
}

function slackError(text: string): string | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const { ok, error } = toObject(readJsonText(text));
    if (ok !== false) return undefined;
    return typeof error === 'string' ? error : 'unknown';
  } catch {
    return undefined;
  }
}

const toObject = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});

/**
 * Sends a message to a URL from the settings. The address of the real connection is checked. An answer is read up to a
 * limit, and never stored: a foreign server wrote it.
 */

const timeoutMs = 10_000;
const longestRetryAfterMs = 3_600_000;
const longestAnswer = 65_536;
const longestReadMs = 1_000;

type SendJson = (
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<SendResult>;

/** `lookup`: resolves names; default: the resolver of the system. */
function createSendJson(target: HttpTarget, lookup?: LookupFunction): SendJson {
  const guardedFetch = createGuardedFetch({
    subject: `The target "${target.name}"`,
    findProblem: (url) => findTargetUrlProblem(url, target.allowPrivate),
    forbids: (address) => (target.allowPrivate ? isForbiddenAddress(address) : isPrivateAddress(address)),
    ...(lookup !== undefined && { lookup }),
  });
  return async (body, headers, signal) => {
    try {
      const response = await guardedFetch(target.url, {
        method: 'POST',
        body,
        headers: { ...headers, 'user-agent': 'quittance' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const text = await readAnswer(response);
      return toResult(response, readStatus(target.type, response.status, text));
    } catch (error) {
      if (isQuittanceError(error, 'config.invalid')) return { type: 'refused', problem: error.message };
      return { type: 'try_later', problem: describeFailure(error), afterMs: undefined };
    }
  };
}

/**
 * The answer, up to a limit. A connection whose answer was read to the end serves the next message. A long answer is not
 * worth it.
 */
async function readAnswer({ body }: Response): Promise<string> {
  if (body === null) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const giveUp = setTimeout(() => void reader.cancel().catch(() => undefined), longestReadMs);
  try {
    let left = longestAnswer;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      left -= value.byteLength;
      if (left >= 0) continue;
      await reader.cancel();
      break;
    }
  } catch {
    // The status has arrived, and says how the delivery ended.
  } finally {
    clearTimeout(giveUp);
  }
  return text;
}

/** `status`: the one that the answer stands for. */
function toResult({ status: sent, headers }: Response, status: number): SendResult {
  if (status >= 200 && status < 300) return { type: 'sent', answer: `status ${status}` };
  const problem = status === sent ? `status ${status}` : `status ${sent}, but the answer reports a failure`;
  // 408 and 429 ask for another try. Other statuses of 400 and above say that this message is wrong.
  if (status >= 500 || status === 408 || status === 425 || status === 429)
    return { type: 'try_later', problem, afterMs: readRetryAfter(headers.get('retry-after')) };
  return { type: 'refused', problem };
}

/** Seconds, or a date. A target cannot delay its messages for longer than an hour. */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestRetryAfterMs) : undefined;
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.name;
}

/**
 * Sends a message by SMTP. Only this file uses the package `nodemailer`, which is loaded with the first message. The
 * address of the server is checked before the connection is opened, and the connection goes to the checked address.
 */

/** For each step. */
const mailTimeoutMs = 20_000;
/** For the whole delivery: a server that answers letter by letter would hold up the messages behind this one. */
const longestMs = 60_000;

type SendMail = (message: MailMessage, signal: AbortSignal) => Promise<SendResult>;

/**
 * Throws `config.invalid` if the package is missing: that shows at the start, not with the first message.
 * `resolveName`: resolves names; default: the resolver of the system.
 */
export function createSendMail(target: MailTarget, resolveName: LookupFunction = lookup): SendMail {
  findNodemailer();
  return async (message, signal) => {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
    const address = await findAddress(target, resolveName, ending);
    if (typeof address !== 'string') return address;
    // The transport has no way to give up. Without its connection it does.
    const socket = new Socket();
    const giveUp = (): void => void socket.destroy(new Error('The delivery was given up.'));
    ending.addEventListener('abort', giveUp, { once: true });
    const transport = await openTransport(target, address, socket);
    try {
      if (ending.aborted) giveUp();
      await transport.sendMail({ from: target.from, to: [...target.to], ...message });
      return { type: 'sent', answer: 'accepted' };
    } catch (error) {
      return toMailResult(error);
    } finally {
      ending.removeEventListener('abort', giveUp);
      transport.close();
      socket.destroy();
    }
  };
}

/** The address to connect to. All addresses of the name are checked, as for other targets. */
async function findAddress(
  { server, allowPrivate, name }: MailTarget,
  resolveName: LookupFunction,
  ending: AbortSignal,
): Promise<string | SendResult> {
  const host = hostOf(server);
  let addresses: readonly string[] = [host];
  try {
    if (isIP(host) === 0) addresses = await resolveAll(host, resolveName, ending);
  } catch (error) {
    return { type: 'try_later', problem: codeOf(error) ?? 'the name was not found', afterMs: undefined };
  }
  const isForbidden = allowPrivate ? isForbiddenAddress : isPrivateAddress;
  const [first] = addresses;
  if (first !== undefined && !addresses.some(isForbidden)) return first;
  return {
    type: 'refused',
    problem: `The target "${name}" leads to an address that must not be reached. Set allowPrivate: true if that is meant.`,
  };
}

/** Rejects when the delivery is given up: a resolver may take long, and cannot be stopped. */
function resolveAll(
  host: string,
  resolveName: LookupFunction,
  ending: AbortSignal,
): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const giveUp = (): void => reject(new Error('The delivery was given up.'));
  ending.addEventListener('abort', giveUp, { once: true });
  if (ending.aborted) giveUp();
  resolveName(host, { all: true }, (error, found) => {
    if (error !== null) reject(error);
    else resolve(typeof found === 'string' ? [found] : found.map(({ address }) => address));
  });
  return promise.finally(() => ending.removeEventListener('abort', giveUp));
}

async function openTransport(
  { server, allowPrivate }: MailTarget,
  address: string,
  socket: Socket,
): Promise<Transporter> {
  const { createTransport } = await loadNodemailer();
  const secure = server.protocol === 'smtps:';
  const [user, pass] = [decodeURIComponent(server.username), decodeURIComponent(server.password)];
  return createTransport({
    host: address,
    socket,
    port: server.port === '' ? (secure ? 465 : 587) : Number(server.port),
    secure,
    // Without TLS, passwords and messages could be read on the way. Only a server that is allowed by name may lack it.
    requireTLS: !secure && !allowPrivate,
    tls: isIP(hostOf(server)) === 0 ? { servername: hostOf(server) } : {},
    ...(user !== '' && { auth: { user, pass } }),
    connectionTimeout: mailTimeoutMs,
    greetingTimeout: mailTimeoutMs,
    socketTimeout: mailTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

const loadNodemailer = (): Promise<{ readonly createTransport: typeof CreateTransport }> =>
  import('nodemailer');

function findNodemailer(): void {
  try {
    createRequire(import.meta.url).resolve('nodemailer');
  } catch (cause) {
    throw new QuittanceError(
      'config.invalid',
      'E-mail needs the package nodemailer: npm install nodemailer',
      {},
      cause,
    );
  }
}

/** Codes of 500 and above say that the server will never take this message. */
function toMailResult(error: unknown): SendResult {
  const code = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : undefined;
  const problem = code === undefined ? (codeOf(error) ?? 'the connection failed') : `status ${code}`;
  const isFinal = (code !== undefined && code >= 500) || codeOf(error) === 'EAUTH';
  return isFinal ? { type: 'refused', problem } : { type: 'try_later', problem, afterMs: undefined };
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

/** A notification as the body of a Slack incoming webhook. */

/** Slack refuses a message with longer ones. */
const longestHeading = 150;
const longestUrl = 3_000;

export function toSlackMessage(notification: Notification, delivery: number): JsonObject {
  const heading = plainPart(headingOf(notification));
  // Slack refuses an empty text.
  const text = plainPart(notification.text) || '-';
  const { url } = notification;
  return {
    // Shown in the notification of the phone.
    text: escapeSlack(`${heading}: ${text}`),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutText(heading, longestHeading), emoji: false } },
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
      {
        type: 'section',
        // Plain text: nothing that a model or a tool wrote becomes a link, a mention or formatting.
        fields: factsOf(notification, delivery)
          .slice(0, 10)
          .map(({ label, value }) => ({ type: 'plain_text', text: `${label}: ${value}`, emoji: false })),
      },
      ...(url === undefined || url.length > longestUrl
        ? []
        : [
            {
              type: 'actions',
              elements: [
                { type: 'button', text: { type: 'plain_text', text: linkLabel(notification) }, url },
              ],
            },
          ]),
    ],
  };
}

/** The fallback text is always read as Slack's markup. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A notification as an Adaptive Card, for a webhook of a Microsoft Teams workflow. */

function toTeamsMessage(notification: Notification, delivery: number): JsonObject {
  const { url } = notification;
  const plain = (text: string, more: JsonObject): JsonObject => ({
    type: 'RichTextBlock',
    // Runs of text are not read as Markdown, unlike text blocks.
    inlines: [{ type: 'TextRun', text: plainPart(text), ...more }],
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            plain(headingOf(notification), { weight: 'Bolder', size: 'Medium' }),
            plain(notification.text, {}),
            ...factsOf(notification, delivery).map(({ label, value }) =>
              plain(`${label}: ${value}`, { size: 'Small' }),
            ),
          ],
          ...(url !== undefined && {
            actions: [{ type: 'Action.OpenUrl', title: linkLabel(notification), url }],
          }),
        },
      },
    ],
  };
}

/** A notification as an e-mail: plain text only, so nothing in it can be more than text. */

type MailMessage = {
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
};

function toMailMessage(notification: Notification, delivery: number, domain: string): MailMessage {
  const { url, id } = notification;
  const facts = factsOf(notification, delivery).map(({ label, value }) => `${label}: ${value}`);
  const link = url === undefined ? [] : [`${linkLabel(notification)}: ${url}`, ''];
  return {
    // Mail programs drop a second message with the same id.
    messageId: `<${id.replaceAll(/[^\w.-]/g, '_')}@${domain}>`,
    headers: { 'Quittance-Delivery': String(delivery) },
    subject: plainPart(headingOf(notification)),
    text: [plainPart(notification.text), '', ...link, ...facts, ''].join('\n'),
  };
}

/** Longest text of one part: chat programs refuse longer ones. */
const longestPart = 2_000;
/** With its label it is one part. */
const longestValue = 1_900;

export type MessageFact = { readonly label: string; readonly value: string };

/** Chat programs keep no list of ids, so the text says it. */
const describeRepeat = (delivery: number): string => `${delivery}. This message may have arrived before.`;

/**
 * The facts below the heading and the text. Values are plain text: each channel escapes them. `delivery`: above 1 if an
 * earlier one may have arrived.
 */
export function factsOf(notification: Notification, delivery: number): readonly MessageFact[] {
  const { toolName, sessionId, callId, owner, rules, risk, expiresAt, arguments: input } = notification;
  return [
    { label: 'Tool', value: toolName },
    ...(owner === undefined ? [] : [{ label: 'On behalf of', value: owner }]),
    ...(risk.length === 0 ? [] : [{ label: 'Risk', value: risk.map(visibleValue).join('; ') }]),
    ...(rules.length === 0 ? [] : [{ label: 'Rules', value: rules.map(visibleValue).join(', ') }]),
    ...(expiresAt === undefined ? [] : [{ label: 'Expires', value: new Date(expiresAt).toISOString() }]),
    { label: 'Session', value: sessionId },
    { label: 'Call', value: callId },
    ...(delivery === 1 ? [] : [{ label: 'Delivery', value: describeRepeat(delivery) }]),
    ...(input === undefined ? [] : [{ label: 'Arguments', value: JSON.stringify(input) }]),
  ].map(({ label, value }) => ({
    label,
    value: cutText(visibleForeignText(value.toWellFormed()).trim(), longestValue),
  }));
}

/** One line of visible text. Half of a surrogate pair makes some programs refuse the whole message. */
export const plainPart = (text: string, longest: number = longestPart): string =>
  cutText(visibleText(text.toWellFormed()).trim(), longest);

/** The label of the link. */
export const linkLabel = ({ confirmationId }: Notification): string =>
  confirmationId === undefined ? 'Open the call' : 'Review and decide';
