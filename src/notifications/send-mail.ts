/**
 * Sends a message by SMTP. Only this file uses the package `nodemailer`, which is loaded with the first message. The
 * address of the server is checked before the connection is opened, and the connection goes to the checked address.
 */
import { lookup } from 'node:dns';
import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import { isIP, Socket } from 'node:net';
import type { createTransport as CreateTransport, Transporter } from 'nodemailer';
import { QuittanceError } from '../base/error.ts';
import { hostOf, isForbiddenAddress, isPrivateAddress } from '../outbound/address.ts';
import type { MailMessage } from './mail-message.ts';
import type { MailTarget } from './notifications-settings.ts';
import type { SendResult } from './send-result.ts';

/** For each step. */
const timeoutMs = 20_000;
/** For the whole delivery: a server that answers letter by letter would hold up the messages behind this one. */
const longestMs = 60_000;

export type SendMail = (message: MailMessage, signal: AbortSignal) => Promise<SendResult>;

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
      return toResult(error);
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
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
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
function toResult(error: unknown): SendResult {
  const code = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : undefined;
  const problem = code === undefined ? (codeOf(error) ?? 'the connection failed') : `status ${code}`;
  const isFinal = (code !== undefined && code >= 500) || codeOf(error) === 'EAUTH';
  return isFinal ? { type: 'refused', problem } : { type: 'try_later', problem, afterMs: undefined };
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;
