/**
 * Command lines that sign in through a browser: the device flow of RFC 8628, with this server as the authorization
 * server.
 *
 * 1. The command line holds a secret that no page shows. The person compares the short code, signs in, and allows it.
 * 2. The sign-in is opened when the command line fetches it, so a forgotten attempt leaves nothing behind.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { cutText } from 'quittance/internal/base/cut-text';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';
import type { Seal } from 'quittance/internal/ledger/seal';
import type { StoredContent, DeviceRequest, SignInContent } from 'quittance/internal/runtime/tokens';
import { hashSecret, isSecretOf } from 'quittance/internal/runtime/tokens';
import type { Verified } from './provider.ts';
import type { OpenedSignIn, SignIns } from './sign-ins.ts';

export type DevicesOptions = {
  readonly content: StoredContent<SignInContent>;
  readonly signIns: SignIns;
  readonly seal: Seal;
  readonly now: () => number;
};

export type StartedDevice = {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInMs: number;
  readonly intervalMs: number;
};

export type Polled =
  | { readonly status: 'signed in'; readonly opened: OpenedSignIn; readonly name: string }
  | { readonly status: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' };

const lastsMs = 10 * 60_000;
const intervalMs = 5_000;
/** Requests without a person look alike, so a flood of them replaces the oldest. */
const mostDevices = 200;
/** No vowels and no digits that look like letters: a code spells no word and is easy to read. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';

export class Devices {
  readonly #options: DevicesOptions;

  constructor(options: DevicesOptions) {
    this.#options = options;
  }

  async start(from: string): Promise<StartedDevice> {
    const { content, now } = this.#options;
    const deviceCode = `qd_${randomBytes(32).toString('base64url')}`;
    const userCode = newUserCode();
    await content.change((current) => ({
      ...current,
      devices: [
        ...current.devices.filter(({ expiresAt }) => expiresAt > now()).slice(1 - mostDevices),
        {
          hash: hashSecret(deviceCode),
          userCode,
          from: cutText(from.replaceAll(/[\p{C}\s]+/gu, ' ').trim() || 'an unnamed machine', 80),
          expiresAt: now() + lastsMs,
          polledAt: undefined,
          signedIn: undefined,
          status: 'waiting',
        },
      ],
    }));
    return { deviceCode, userCode, expiresInMs: lastsMs, intervalMs };
  }

  /** The command line that shows this code. People may type it in lower case and without the dash. */
  async find(typed: string): Promise<{ readonly userCode: string; readonly from: string } | undefined> {
    await this.#options.content.refresh();
    return this.#waiting(this.#options.content.read(), typed);
  }

  /** Notes who signed in. Returns what the page must send to allow it. */
  async signIn(
    typed: string,
    verified: Verified,
  ): Promise<{ readonly userCode: string; readonly from: string; readonly confirm: string } | undefined> {
    const { content, seal, now } = this.#options;
    const confirm = randomBytes(32).toString('base64url');
    let found: DeviceRequest | undefined;
    await content.change((current) => {
      found = this.#waiting(current, typed);
      if (found === undefined) return undefined;
      const { issuer, subject } = verified.person;
      const signedIn = {
        sealed: seal.seal(JSON.stringify(verified), context(found.userCode)),
        confirmHash: hashSecret(confirm),
        person: { issuer, subject },
        providerSession: verified.providerSession,
        verifiedAt: now(),
      };
      return withDevice(current, { ...found, signedIn });
    });
    return found && { userCode: found.userCode, from: found.from, confirm };
  }

  /** The person's answer. False if the page is not the one that the person was shown last. */
  async answer(typed: string, confirm: string, isAllowed: boolean): Promise<boolean> {
    let isKnown = false;
    await this.#options.content.change((current) => {
      const found = this.#waiting(current, typed);
      isKnown = found?.signedIn !== undefined && isSecretOf(found.signedIn.confirmHash, confirm);
      if (found === undefined || !isKnown) return undefined;
      return withDevice(current, { ...found, status: isAllowed ? 'allowed' : 'denied' });
    });
    return isKnown;
  }

  /** The command line asks whether the person has answered. */
  async poll(deviceCode: string): Promise<Polled> {
    const { content, now, signIns, seal } = this.#options;
    let status: DeviceRequest['status'] | 'slow_down' | 'expired_token' = 'expired_token';
    let taken: DeviceRequest | undefined;
    await content.change((current) => {
      const found = current.devices.find(({ hash }) => isSecretOf(hash, deviceCode));
      taken = found;
      if (found === undefined || found.expiresAt <= now()) {
        status = 'expired_token';
        return undefined;
      }
      const isFast = found.polledAt !== undefined && now() < found.polledAt + intervalMs / 2;
      status = isFast && found.status === 'waiting' ? 'slow_down' : found.status;
      if (status === 'waiting' || status === 'slow_down')
        return withDevice(current, { ...found, polledAt: now() });
      // It is taken out in the same change, so it is handed over once.
      return { ...current, devices: current.devices.filter((each) => each !== found) };
    });
    const ended = status as DeviceRequest['status'] | 'slow_down' | 'expired_token'; // set by the change
    if (ended === 'waiting') return { status: 'authorization_pending' };
    if (ended === 'denied') return { status: 'access_denied' };
    if (ended !== 'allowed') return { status: ended };
    if (taken?.signedIn === undefined) return { status: 'expired_token' };
    const verified = readVerified(taken.signedIn.sealed, taken.userCode, seal);
    if (verified === undefined) return { status: 'expired_token' };
    const opened = await signIns.open('command line', verified, taken.signedIn.verifiedAt);
    return { status: 'signed in', opened, name: verified.person.name };
  }

  #waiting({ devices }: SignInContent, typed: string): DeviceRequest | undefined {
    const code = typed.toUpperCase().replaceAll(/[^A-Z]/g, '');
    return devices.find(
      ({ userCode, expiresAt, status }) =>
        userCode.replace('-', '') === code && expiresAt > this.#options.now() && status === 'waiting',
    );
  }
}

const context = (userCode: string): string => `device ${userCode}`;

function readVerified(sealed: string, userCode: string, seal: Seal): Verified | undefined {
  const value = readJsonText(seal.open(sealed, context(userCode)));
  return isJsonObject(value) ? (value as unknown as Verified) : undefined; // sealed by signIn
}

function newUserCode(): string {
  const code = Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('');
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

const withDevice = (content: SignInContent, device: DeviceRequest): SignInContent => ({
  ...content,
  devices: content.devices.map((each) => (each.hash === device.hash ? device : each)),
});
