import type { LookupFunction } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createSendMail } from './target-sender.ts';

const message = { messageId: '<a@quittance.test>', subject: 'Approval', text: 'Please.', headers: {} };
const target = {
  type: 'email',
  name: 'boss',
  server: new URL('smtps://mail.quittance.test'),
  from: 'q@quittance.test',
  to: ['b@quittance.test'],
  allowPrivate: false,
  sendsArguments: false,
} as const;

const resolveTo =
  (...addresses: readonly string[]): LookupFunction =>
  (_, __, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
const send = (resolveName: LookupFunction, allowPrivate = false, signal = new AbortController().signal) =>
  createSendMail({ ...target, allowPrivate }, resolveName)(message, signal);

describe('a mail server', () => {
  it.each([
    ['a private address', ['10.0.0.1'], false],
    ['a public and a private address', ['8.8.8.8', '192.168.0.1'], false],
    ['a private address in another form', ['::ffff:127.0.0.1'], false],
    ['no address', [], false],
    ['a metadata service, although private addresses are allowed', ['169.254.169.254'], true],
    ['this machine and a metadata service', ['127.0.0.1', 'fd00:ec2::254'], true],
  ])('is not reached if its name leads to %s', async (_, addresses, allowPrivate) => {
    expect(await send(resolveTo(...addresses), allowPrivate)).toMatchObject({
      type: 'refused',
      problem: expect.stringContaining('must not be reached') as string,
    });
  });

  it('is tried later if its name is not found', async () => {
    const missing: LookupFunction = (_, __, callback) =>
      callback(Object.assign(new Error('No such name.'), { code: 'ENOTFOUND' }), '');
    expect(await send(missing)).toMatchObject({ type: 'try_later', problem: 'ENOTFOUND' });
  });

  it('is left when the delivery ends if its name is never resolved', async () => {
    const ending = new AbortController();
    const sending = send(() => undefined, false, ending.signal);
    ending.abort();
    expect(await sending).toMatchObject({ type: 'try_later' });
    // It may have ended before.
    expect(await send(() => undefined, false, ending.signal)).toMatchObject({ type: 'try_later' });
  });
});
