import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RuntimeTrouble } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime } from 'quittance';
import { contractsFromTemplate, contractsFromYaml } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runProgramHere } from '../run-program.ts';

let root = '';
let ledger: OpenLedger;
beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'exposures-')));
  mkdirSync(join(root, 'workspace'));
  ledger = await openLedger(join(root, '.quittance', 'ledger.db'));
});
afterEach(async () => {
  await ledger.close();
  rmSync(root, { recursive: true, force: true });
});

const write = (within: string, more = ''): string => {
  const path = join(root, 'contracts.yaml');
  writeFileSync(
    path,
    `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: x}
defaults: {mode: enforce}
rules:
  - id: area
    type: sandbox
    tool: Bash
    within: [${JSON.stringify(within)}]
${more}    message: Stay.
`,
  );
  return path;
};

async function troubles(path: string, workingDirectory: string): Promise<readonly string[]> {
  const told: RuntimeTrouble[] = [];
  const contracts = await contractsFromYaml(path, { workingDirectory });
  const runtime = createRuntime({ tools: [], ledger, contracts, onTrouble: (trouble) => told.push(trouble) });
  await contracts.reload();
  await runtime.close();
  return told.map((trouble) =>
    trouble.type === 'files.exposed' ? trouble.path.slice(root.length + 1) : '?',
  );
}

describe('a runtime warns once, at its start, of an allowed folder that contains its own files', () => {
  test.each(['.', './', 'workspace/..', 'absolute'])(
    'a runtime warns once, at its start, of an allowed folder that contains its own files within %j',
    async (within) => {
      const path = write(within === 'absolute' ? root : within);
      expect(await troubles(path, root)).toEqual(['.quittance/ledger.db', 'contracts.yaml']);
    },
  );

  test('a runtime warns once, at its start, of an allowed folder that contains its own files through a link to the folder above', async () => {
    symlinkSync(root, join(root, 'workspace', 'up'));
    expect(await troubles(write(join(root, 'workspace', 'up')), root)).toEqual([
      '.quittance/ledger.db',
      'contracts.yaml',
    ]);
  });

  test('not if the agent has its own folder', async () => {
    expect(await troubles(write('.'), join(root, 'workspace'))).toEqual([]);
  });

  test('not if the rule excludes them', async () => {
    const path = write('.', '    not_within: [./.quittance, ./contracts.yaml]\n');
    expect(await troubles(path, root)).toEqual([]);
  });

  test('a runtime warns once, at its start, of an allowed folder that contains its own files with templates too', async () => {
    const told: RuntimeTrouble[] = [];
    const contracts = contractsFromTemplate('coding-agent', { workingDirectory: root });
    const runtime = createRuntime({
      tools: [],
      ledger,
      contracts,
      onTrouble: (trouble) => told.push(trouble),
    });
    await runtime.close();
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'files.exposed', path: join(root, '.quittance', 'ledger.db') }),
    );
  });
});

describe('quittance contracts check', () => {
  test('warns of the same, with advice', async () => {
    write('.');
    const checked = await runProgramHere(['contracts', 'check', 'contracts.yaml', '--json'], { cwd: root });
    const warnings = checked.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly code?: string; readonly message?: string })
      .filter(({ code }) => code === 'holds_own_files');
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('contracts.yaml'),
      expect.stringContaining('ledger.db'),
    ]);
    expect(
      (await runProgramHere(['contracts', 'check', 'contracts.yaml', '--strict'], { cwd: root })).code,
    ).toBe(1);
  });

  test('gives no warning for a project made by `quittance init`', async () => {
    await runProgramHere(['init', '--yes', 'fresh'], { cwd: root });
    const cwd = join(root, 'fresh');
    const checked = await runProgramHere(['contracts', 'check', 'contracts.yaml', '--strict'], { cwd });
    expect(checked).toMatchObject({ code: 0 });
  });
});
