import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillLedger } from '../../../test/fill-ledger.ts';
import { runProgramHere } from '../../../test/run-program.ts';
import { openBare } from '../../../test/bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-cli-'));
const inFolder = (...args: string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere(args, { cwd: folder });
const { privateKey, publicKey } = generateKeyPairSync('ed25519');

beforeAll(async () => {
  await fillLedger(join(folder, 'ledger.db'));
  writeFileSync(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(folder, 'public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A copy of the ledger, changed with SQL. */
function tamper(name: string, sql: string): string {
  for (const each of readdirSync(folder).filter((entry) => entry.startsWith('ledger.db')))
    cpSync(join(folder, each), join(folder, each.replace('ledger.db', name)), { recursive: true });
  const database = openBare(join(folder, name));
  database.exec(sql);
  database.close();
  return name;
}

describe('verify', () => {
  test('reports an intact ledger, and as JSON for a program', async () => {
    const said = await inFolder('verify', '--ledger', 'ledger.db');
    expect(said).toMatchObject({ code: 0, err: '' });
    expect(said.out).toMatch(
      /^The ledger is intact\. 2 sessions, \d+ entries, 11 calls \(0 without an outcome\)\.\n$/,
    );
    const { code, out } = await inFolder('verify', '--ledger', 'ledger.db', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      type: 'totals',
      ok: true,
      finished: true,
      calls: 11,
      problems: 0,
    });
  });

  test('names the entry with one changed byte', async () => {
    const name = tamper(
      'byte.db',
      "UPDATE entries SET bodies = replace(bodies, 'A7', 'A9') WHERE position = 2",
    );
    const { code, out } = await inFolder('verify', '--ledger', name);
    expect(code).toBe(1);
    expect(out).toContain('First bad place: session "ticket-42", entry ');
    expect(out).toContain('position 2');
    expect(out).toContain('bodies: The bodies were changed.');
    const [first, ...rest] = (await inFolder('verify', '--ledger', name, '--json')).out.trimEnd().split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ type: 'problem', kind: 'bodies', position: 2 });
    expect(JSON.parse(rest.at(-1) ?? '')).toMatchObject({ type: 'totals', ok: false });
  });

  test('finds a removed entry or session, and an overwritten page', async () => {
    const gone = tamper('gone.db', 'DELETE FROM entries WHERE position = 5');
    expect(await inFolder('verify', '--ledger', gone)).toMatchObject({
      code: 1,
      out: expect.stringContaining('sequence: Expected entry') as string,
    });
    const session = tamper('session.db', 'PRAGMA foreign_keys = OFF; DELETE FROM sessions WHERE session = 1');
    expect(await inFolder('verify', '--ledger', session)).toMatchObject({
      code: 1,
      out: expect.stringContaining('There are entries of an unlisted session.') as string,
    });
    const torn = tamper('torn.db', 'VACUUM');
    const bytes = readFileSync(join(folder, torn));
    writeFileSync(join(folder, torn), bytes.fill(0xaa, 3 * 8_192, 12 * 8_192));
    expect((await inFolder('verify', '--ledger', torn)).code).toBe(1);
  });

  test('finds wrong read tables, which rebuild repairs', async () => {
    const name = tamper(
      'tables.db',
      "UPDATE calls SET code = 'tool.timeout' WHERE call_id LIKE '%call_failed'",
    );
    const { code, out } = await inFolder('verify', '--ledger', name);
    expect(code).toBe(1);
    expect(out).toMatch(
      /First bad place: session "ticket-42", call "call_failed", position \d+\n {2}read_table: /,
    );
    await inFolder('rebuild', '--ledger', name);
    expect(await inFolder('verify', '--ledger', name)).toMatchObject({ code: 0 });
  });

  test('verify with a signed anchor finds a truncated chain, and rejects other signatures', async () => {
    const written = await inFolder(
      'verify',
      '--ledger',
      'ledger.db',
      '--write-anchor',
      'a.anchor',
      '--sign',
      'key.pem',
    );
    expect(written).toMatchObject({ code: 0 });
    const trusted = ['--anchor', 'a.anchor', '--trust', 'public.pem'];
    const whole = await inFolder('verify', '--ledger', 'ledger.db', ...trusted);
    expect(whole.out).toContain('The ledger is intact, and matches the anchor of ');
    const cut = tamper('cut.db', 'DELETE FROM entries WHERE position = (SELECT max(position) FROM entries)');
    // Without an anchor, the tables next to the entries reveal the truncation.
    expect(await inFolder('verify', '--ledger', cut)).toMatchObject({ code: 1 });
    const found = await inFolder('verify', '--ledger', cut, ...trusted);
    expect(found.code).toBe(1);
    expect(found.out).toContain('anchor: ');
    const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' });
    writeFileSync(join(folder, 'other.pem'), other);
    const foreign = await inFolder(
      'verify',
      '--ledger',
      'ledger.db',
      '--anchor',
      'a.anchor',
      '--trust',
      'other.pem',
    );
    expect(foreign).toMatchObject({ code: 1, out: '' });
    expect(foreign.err).toContain('was not signed with the private key for other.pem');
  });

  test('writes no anchor for a damaged ledger', async () => {
    const name = tamper('bad.db', "UPDATE entries SET hash = 'x' WHERE position = 2");
    const { code, err } = await inFolder('verify', '--ledger', name, '--write-anchor', 'bad.anchor');
    expect(code).toBe(1);
    expect(err).toContain('No anchor was written');
    expect(readdirSync(folder)).not.toContain('bad.anchor');
  });
});

describe('export', () => {
  test('is verified from its file alone, and any changed byte is found', async () => {
    const { code, err } = await inFolder('export', '--ledger', 'ledger.db', '--out', 'all.jsonl');
    expect(code).toBe(0);
    expect(err).toContain('quittance verify --export all.jsonl');
    const whole = await inFolder('verify', '--export', 'all.jsonl');
    expect(whole).toMatchObject({ code: 0, err: '' });
    expect(whole.out).toMatch(/^The export is intact\. 2 sessions/);
    const bytes = readFileSync(join(folder, 'all.jsonl'));
    const at = bytes.indexOf('\\"A7\\"');
    bytes[at + 3] = 0x39; // A9
    writeFileSync(join(folder, 'changed.jsonl'), bytes);
    const changed = await inFolder('verify', '--export', 'changed.jsonl');
    expect(changed.code).toBe(1);
    const line = bytes.subarray(0, at).toString().split('\n').length;
    expect(changed.out).toContain(`First bad place: line ${line}, session "ticket-42", entry `);
    writeFileSync(join(folder, 'short.jsonl'), bytes.subarray(0, bytes.lastIndexOf('{"quittanceExportEnd"')));
    expect(await inFolder('verify', '--export', 'short.jsonl')).toMatchObject({ code: 1 });
    writeFileSync(
      join(folder, 'binary.jsonl'),
      Buffer.concat([bytes.subarray(0, 2_000), Buffer.from([0xff])]),
    );
    expect(await inFolder('verify', '--export', 'binary.jsonl')).toMatchObject({ code: 1 });
  });

  test('export of one session goes to standard output', async () => {
    const { code, out, err } = await inFolder(
      'export',
      '--ledger',
      'ledger.db',
      '--session',
      'ticket-43',
      '--out',
      '-',
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({ quittanceExport: 2, sessions: 1 });
    expect(lines.slice(1, -1).every((line) => line['sessionId'] === 'ticket-43')).toBe(true);
    expect(lines.at(-1)).toMatchObject({ quittanceExportEnd: 2, entries: lines.length - 2 });
  });

  test('overwrites nothing without --force, and reports an unknown session', async () => {
    writeFileSync(join(folder, 'there.jsonl'), 'mine');
    const refused = await inFolder('export', '--ledger', 'ledger.db', '--out', 'there.jsonl');
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('quittance export --out there.jsonl --force');
    expect(readFileSync(join(folder, 'there.jsonl'), 'utf8')).toBe('mine');
    expect(
      await inFolder('export', '--ledger', 'ledger.db', '--out', 'there.jsonl', '--force'),
    ).toMatchObject({ code: 0 });
    const unknown = await inFolder('export', '--ledger', 'ledger.db', '--session', 'x', '--out', 'x.jsonl');
    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toContain('There is no session "x".');
  });
});
