/**
 * Sends a message by SMTP. Only this file uses the package `nodemailer`, which is loaded with the first message. The
 * address of the server is checked before the connection is opened, and the connection goes to the checked address.
 */
import { lookup } from 'node:dns/promises';
import { createRequire } from 'node:module';
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

/** Throws `config.invalid` if the package is missing: that shows at the start, not with the first message. */
export function createSendMail(target: MailTarget): SendMail {
  findNodemailer();
  return async (message, signal) => {
    const address = await findAddress(target);
    if (typeof address !== 'string') return address;
    // The transport has no way to give up. Without its connection it does.
    const socket = new Socket();
    const giveUp = (): void => void socket.destroy(new Error('The delivery was given up.'));
    const ending = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
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

async function findAddress({ server, allowPrivate, name }: MailTarget): Promise<string | SendResult> {
  const host = hostOf(server);
  let address = host;
  try {
    if (isIP(host) === 0) ({ address } = await lookup(host));
  } catch (error) {
    return { type: 'try_later', problem: codeOf(error) ?? 'the name was not found', afterMs: undefined };
  }
  const isForbidden = allowPrivate ? isForbiddenAddress(address) : isPrivateAddress(address);
  if (!isForbidden) return address;
  return {
    type: 'refused',
    problem: `The target "${name}" leads to an address that must not be reached. Set allowPrivate: true if that is meant.`,
  };
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
