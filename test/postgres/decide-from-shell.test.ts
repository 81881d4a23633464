/** The rule about processes that an owner started, on a ledger in PostgreSQL. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, test } from 'vitest';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';
import { listConfirmations } from '../../packages/quittance/src/runtime/decide-confirmation.ts';
import { makeToken } from '../make-token.ts';
import { eventually } from '../eventually.ts';
import { startHost } from '../people/start-host.ts';
import { cliCommand, runCli } from '../run-cli.ts';
import { quoteWord } from '../sit-at-terminal.ts';
import { sharePostgres } from './shared-postgres.ts';

const sealKey = 'ab'.repeat(32);

test('a shell of the host cannot decide with a token, and another process of this machine can', async () => {
  const server = await sharePostgres();
  const schema = `decide_${randomUUID().slice(0, 8)}`;
  const url = `${server.url}${server.url.includes('?') ? '&' : '?'}schema=${schema}`;
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
  const env = { QUITTANCE_TOKEN: token, QUITTANCE_SEAL_KEY: sealKey };
  const shell = `env QUITTANCE_TOKEN=${token} ${cliCommand(...args)
    .map(quoteWord)
    .join(' ')}`;
  // A process can change the name of the host that it sees.
  const unshare = 'unshare --user --map-root-user --uts';
  const mayRename = (await host.run(`${unshare} true`)).code === 0;
  const renamed = await host.run(
    mayRename ? `${unshare} sh -c ${quoteWord(`hostname other; ${shell}`)}` : shell,
  );
  expect(renamed).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`Process ${host.pid} (`) });
  // Without a readable mark, no process of this machine decides: the owner may be above it.
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const found = await client.query<{ owner_id: string; host: string }>(
    `SELECT owner_id, host FROM ${schema}.owners WHERE host LIKE '% ${host.pid} %'`,
  );
  const [owner] = found.rows;
  const setNote = (text: string | undefined) =>
    client.query(`UPDATE ${schema}.owners SET host = $1 WHERE owner_id = $2`, [text, owner?.owner_id]);
  expect((await setNote('changed beyond reading')).rowCount).toBe(1);
  for (const refusedToo of [await host.run(shell), await runCli(args, { env })])
    expect(refusedToo).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/is missing or cannot be read.*Restart that process/s),
    });
  await setNote(owner?.host);
  await client.end();
  const done = await runCli(args, { env });
  expect(done).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Approved by Ada \(token /) });
});
