import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { thrownBy } from '../../../../test/thrown-by.ts';
import { parseLedgerUrl, showLedgerUrl } from './ledger-url.ts';
import { createRuntime } from './create-runtime.ts';

test.each([
  ['memory:', { kind: 'memory' }],
  ['sqlite:./calls.db', { kind: 'sqlite', path: './calls.db' }],
  ['sqlite:///var/calls.db', { kind: 'sqlite', path: '/var/calls.db' }],
  ['./a@b/calls.db', { kind: 'sqlite', path: './a@b/calls.db' }],
  ['postgres://u:p%40w@h:5432/db', { kind: 'postgres' }],
  ['POSTGRESQL://u@[::1]/db?schema=agents&sslmode=verify-full', { kind: 'postgres' }],
  ['postgres:///db?host=/var/run/postgresql', { kind: 'postgres' }],
])('%s names a ledger', (url, address) => {
  expect(parseLedgerUrl(url)).toMatchObject(address);
});

const secret = 'hunter2';

test.each([
  ['mysql://u:hunter2@h/db', /Cannot open a ledger from "mysql:\/\/u:\*\*\*@h\/db"/],
  ['user:hunter2@h/db', /Cannot/],
  ['postgres//u:hunter2@h/db', /Cannot open a ledger/],
  ['sqlite:', /Cannot open a ledger/],
  ['sqlite::memory:', /Cannot open a ledger/],
  ['memory:x', /Cannot open a ledger/],
  ['', /Cannot open a ledger/],
  ['postgres:u:hunter2@h/db', /does not begin with postgres:\/\//],
  ['postgres:/u:hunter2@h/db', /does not begin with postgres:\/\//],
  ['postgres://u:hunter2/x@h/db', /write them as %2F/],
  ['postgres://u:hunter2#x@h/db', /write them as %2F/],
  ['postgres://u:x%zzhunter2@h/db', /%25/],
  ['postgres://u:hunter2@h:99999/db', /port above 65535/],
  ['postgres://u:hunter2@h:abc/db', /port that is not a number/],
  ['postgres://u:hunter2@h1:1,h2:abc/db', /port that is not a number/],
  ['postgres://u@h/db?listen=mysql%3A%2F%2Fu%3Ahunter2%40h', /does not begin with postgres/],
  ['postgres://u:hunter2@h/db?writers=many', /writers must be a whole number/],
  ['postgres://u:hunter2@/db', /names no host/],
  ['postgres://u:hunter2@h/db?sslmode=requre', /unknown sslmode.*verify-full/],
  ['postgres://u:hunter2@h/db?schema=a-b', /schema/],
  ['postgres://u:hunter2@h/db?schema=pg_x', /schema/],
  [`postgres://u:hunter2@h/db?schema=${'s'.repeat(54)}`, /at most 53 characters/],
  ['postgres://u:hunter2@h/db?shema=agents', /unknown parameter "shema"; did you mean "schema"\?$/],
  ['postgres://u:hunter2@h/db?ownerLeaseMs=9000', /did you mean "owner_lease_ms"/],
  ['postgres://u:hunter2@h/db?migrate=false', /"migrate", which is an option of openLedger/],
  ['postgres://u:hunter2@h/db?outage_wait_ms=1', /"outage_wait_ms", which is an option of openLedger/],
  ['postgres:///db?service=agents', /names a service/],
  ['postgres://u:hunter2@h/db#x', /%23/],
])('a runtime on %s is refused at once, with the reason and without the password', (url, reason) => {
  const error = thrownBy(() => createRuntime({ tools: [], ledger: url }));
  expect(error).toMatchObject({ code: 'config.invalid', message: expect.stringMatching(reason) });
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
});

test.each([
  ['postgres://u:hunter2@h/db', 'postgres://u:***@h/db'],
  ['postgres://u:a:hunter2@@h/db', 'postgres://u:***@h/db'],
  ['postgres://u:a/hunter2@h/db', 'postgres://u:***@h/db'],
  ['postgres://:hunter2@h/db', 'postgres://:***@h/db'],
  ['postgres//u:hunter2@h/db', 'postgres//u:***@h/db'],
  ['postgres:u:hunter2@h', 'postgres:u:***@h'],
  ['postgres://u@h/db?password=hunter2&a=b', 'postgres://u@h/db?password=***&a=b'],
  ['postgres://u@h/db?sslpassword=hunter2', 'postgres://u@h/db?sslpassword=***'],
  ['postgres://u@h:5432/db?schema=agents', 'postgres://u@h:5432/db?schema=agents'],
  ['postgres://u:hunter2@h1:1,h2:2/db', 'postgres://u:***@h1:1,h2:2/db'],
  ['postgres://u@h/db?listen=postgres%3A%2F%2Fu%3Ahunter2%40h', 'postgres://u@h/db?listen=***'],
  ['u:hunter2@h/db', 'u:***@h/db'],
  ['./.quittance/ledger.db', './.quittance/ledger.db'],
  ['/data/a@b:c/ledger.db', '/data/a@b:c/ledger.db'],
])('%s is shown as %s', (url, shown) => {
  expect(showLedgerUrl(url)).toBe(shown);
});
