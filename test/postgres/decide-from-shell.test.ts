/** The rule about processes that an owner started, on a ledger in PostgreSQL. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openLedger } from '../../src/store/open-ledger.ts';
import { listConfirmations } from '../../src/runtime/people/list-confirmations.ts';
import { makeToken } from '../make-token.ts';
import { eventually } from '../eventually.ts';
import { startHost } from '../people/start-host.ts';
import { cliCommand, runCli } from '../run-cli.ts';
import { quoteWord } from '../sit-at-terminal.ts';
import { sharePostgres } from './shared-postgres.ts';

const sealKey = 'ab'.repeat(32);

test('a shell of the host cannot decide with a token, and another process of this machine can', async () => {
  const server = await sharePostgres();
  const url = `${server.url}${server.url.includes('?') ? '&' : '?'}schema=decide_${randomUUID().slice(0, 8)}`;
  const host = await startHost(url, { QUITTANCE_SEAL_KEY: sealKey });
  const token = await makeToken(url, Buffer.from(sealKey, 'hex'), 'approver', 'Ada');
  const ledger = await openLedger(url, { readOnly: true, sealKey: Buffer.from(sealKey, 'hex') });
  const held = await eventually(async () => {
    const [view] = (await listConfirmations({ ledger }, {})).rows;
    if (view === undefined) throw new Error('The host holds no call.');
    return view;
  });
  await ledger.close();
  const args = ['approve', 'call_refund', '--digest', held.inputDigest, '--ledger', url];
  const refused = await host.run(
    `env QUITTANCE_TOKEN=${token} ${cliCommand(...args)
      .map(quoteWord)
      .join(' ')}`,
  );
  expect(refused).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining(`Process ${host.pid} (`),
  });
  const done = await runCli(args, { env: { QUITTANCE_TOKEN: token, QUITTANCE_SEAL_KEY: sealKey } });
  expect(done).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Approved by Ada \(token /) });
});
