import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { runProgramHere } from '../../../test/run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-output-'));
const inFolder = (...args: string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere([...args, '--ledger', 'ledger.db'], { cwd: folder });
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  const ledger = await openLedger(join(folder, 'ledger.db'));
  const runtime = createRuntime({
    ledger,
    tools: [defineTool({ name: 'look', mode: 'read', run: () => 1 })],
  });
  await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'look', arguments: {} });
  await runtime.close();
  await ledger.close();
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'file'), '');
});

const writers: readonly (readonly string[])[] = [
  ['export', '--out'],
  ['archive', '--session', 's', '--out'],
  ['cassette', 'export', 's', '--out'],
  ['verify', '--write-anchor'],
];

describe.each(writers)('%s %s', (...command) => {
  it('says that the folder of its target is missing, and how to create it', async () => {
    const { code, err } = await inFolder(...command, 'no/such/out');
    expect(err).toBe(
      'quittance: Cannot write no/such/out: there is no folder no/such.\n  try: mkdir -p no/such\n',
    );
    // Not 1, which says that the ledger was changed.
    expect(code).toBe(3);
  });

  it('refuses a folder as its target', async () => {
    for (const force of command.includes('--write-anchor') ? [[]] : [[], ['--force']])
      expect(await inFolder(...command, 'folder', ...force)).toMatchObject({
        code: 2,
        err: expect.stringContaining('folder is a folder. Name a file.') as string,
      });
    expect(readdirSync(join(folder, 'folder'))).toEqual([]);
  });

  it('never writes over a ledger, a file next to one or a file of Quittance, under any name', async () => {
    mkdirSync(join(folder, '.quittance'), { recursive: true });
    mkdirSync(join(folder, 'home', '.config', 'quittance'), { recursive: true });
    writeFileSync(join(folder, 'other.db'), 'SQLite format 3\0');
    const [key, soft, hard] = ['ledger.db.key', 'soft', 'hard'].map((name) => join(folder, name));
    rmSync(soft ?? '', { force: true });
    rmSync(hard ?? '', { force: true });
    symlinkSync(key ?? '', soft ?? '');
    linkSync(key ?? '', hard ?? '');
    const dangling = join(folder, 'dangling');
    rmSync(dangling, { force: true });
    symlinkSync('ledger.db.tokens', dangling);
    const before = readFileSync(key ?? '');
    for (const target of [
      'ledger.db',
      'ledger.db.key',
      './folder/../ledger.db.key',
      'ledger.db.tokens',
      'soft',
      'hard',
      'dangling',
      'other.db',
      'other.db.key',
      '.quittance/seal.key',
      'home/.config/quittance/credentials.json',
    ]) {
      const force = command.includes('--write-anchor') ? [] : ['--force'];
      const ran = await runProgramHere([...command, target, ...force, '--ledger', 'ledger.db'], {
        cwd: folder,
        env: { HOME: join(folder, 'home') },
      });
      expect({ target, ...ran }).toMatchObject({
        target,
        code: 1,
        err: expect.stringContaining('No command writes its output there') as string,
      });
    }
    expect(readFileSync(key ?? '')).toEqual(before);
    rmSync(hard ?? '');
  });

  it('says that a file is part of the path of its target', async () => {
    expect(await inFolder(...command, 'file/out')).toMatchObject({
      code: 3,
      err: expect.stringMatching(
        /Cannot write file\/out: a file is part of its path\.\n {2}try: /u,
      ) as string,
    });
  });
});

describe('an error of the operating system', () => {
  it('is not reported as a changed ledger', async () => {
    const long = `${'x'.repeat(300)}`;
    const { code, err } = await inFolder('export', '--out', long);
    expect(err).toContain('the name is too long');
    expect(err).not.toContain('quittance verify');
    expect(code).toBe(3);
  });

  it('names an anchor that cannot be read', async () => {
    expect(await inFolder('verify', '--anchor', 'folder')).toMatchObject({
      code: 3,
      err: expect.stringContaining('Cannot read the anchor folder: it is a folder, not a file.') as string,
    });
  });
});

it('a folder in place of a notifications file is refused with a command that works', async () => {
  expect(await inFolder('notifications', 'check', 'folder')).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      'Name a file in it.\n  try: quittance notifications check folder/notifications.yaml\n',
    ) as string,
  });
});
