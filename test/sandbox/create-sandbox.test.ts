/** The tools of a sandbox, without running them. `npm run sandbox` runs them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromTemplate, contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { createSandbox, isSandboxedTool, type SandboxOptions } from 'quittance/sandbox';
import { checkExecutor } from '../../packages/cli/src/doctor/check-settings.ts';
import type { Finding } from '../../packages/cli/src/doctor/finding.ts';
import { sandboxMarkOf } from '../../packages/quittance/src/tool/sandboxed-tool.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-sandbox-'));
const project = join(folder, 'project');
mkdirSync(project);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const contracts = contractsFromTemplate('coding-agent', { workingDirectory: project });
const make = (more: Partial<SandboxOptions> = {}) =>
  createSandbox({ contracts, ledger: createMemoryLedger(), ...more });

describe('the tools of a sandbox', () => {
  test('are configured by the template for coding agents', () => {
    const sandbox = make();
    expect(sandbox.plan('Bash')).toMatchObject({
      ruleIds: ['known-commands'],
      writable: [project],
      hosts: [],
    });
    expect(sandbox.bubblewrapArguments('Bash')).toContain('--unshare-all');
    expect(sandbox.fileTools().map(({ name, mode }) => [name, mode])).toEqual([
      ['read_file', 'read'],
      ['write_file', 'safe_write'],
      ['edit_file', 'safe_write'],
      ['list_directory', 'read'],
    ]);
  });

  test('are marked, and a copy with another body is not', () => {
    const tool = make().shellTool({ name: 'Bash' });
    const other = defineTool({ name: 'Bash', run: () => 'x' });
    expect([tool, { ...tool }, { ...tool, run: other.run }, other].map(isSandboxedTool)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(make().fileTools().every(isSandboxedTool)).toBe(true);
  });

  test('say which files they protect, under the name of the call', () => {
    const ledger = {
      ownFiles: [
        {
          path: join(project, '.quittance/ledger.db'),
          kind: 'ledger',
          access: 'sealed',
          withCompanions: true,
        },
      ],
    } as const;
    const mark = sandboxMarkOf(make({ ledger }).shellTool({ name: 'Bash' }));
    const protects = (path: string, access: 'sealed' | 'read_only', name = 'Bash') =>
      mark?.protects([{ path, access, withCompanions: false }], name);
    expect(protects(join(project, 'src/a.ts'), 'sealed')).toBe(false);
    expect(protects(join(project, 'src/a.ts'), 'read_only')).toBe(false);
    expect(protects(join(project, '.quittance/ledger.db'), 'sealed')).toBe(true);
    expect(protects(join(folder, 'ledger.db'), 'sealed')).toBe(true);
    expect(protects(join(folder, 'ledger.db'), 'sealed', 'no_rule')).toBe(false);
  });

  test('are judged by the kernel where a rule lists no commands, and by their text where it does', async () => {
    const text = (allows: string): string =>
      `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: b }\ndefaults: { mode: enforce }\nrules:\n  - { id: box, type: sandbox, tools: [Bash], within: ['.'], ${allows} message: Outside. }\n`;
    const decide = async (allows: string, shared: boolean, command: string): Promise<string> => {
      const rules = contractsFromYamlString(text(allows), { workingDirectory: project });
      const others = contractsFromYamlString(text(allows), { workingDirectory: project });
      const sandbox = make({ contracts: shared ? rules : others });
      const tool = { ...sandbox.shellTool({ name: 'Bash' }) };
      const runtime = createRuntime({
        tools: [tool],
        contracts: rules,
        // The mode `local` asks, so that this test starts no process.
        onConfirm: () => ({ decision: 'deny', by: 'test' }),
      });
      const outcome = await runtime
        .turn({ sessionId: 's' })
        .call({ id: 'c', name: 'Bash', arguments: { command } });
      await runtime.close();
      return 'reason' in outcome ? outcome.reason : outcome.type;
    };
    const loop = 'for f in *; do cat "$f"; done';
    expect(await decide('', true, loop)).toBe('write_denied');
    expect(await decide('', false, loop)).toBe('contract');
    expect(await decide('allows: { commands: [ls] },', true, loop)).toBe('contract');
    expect(await decide('allows: { commands: [ls] },', true, 'ls')).toBe('write_denied');
  });

  test('are kept away from files that only the runtime knows, also under another name', async () => {
    const rules = contractsFromYamlString(
      `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: b }\ndefaults: { mode: enforce }\nrules:\n  - { id: a, type: sandbox, tools: [Bash], within: [narrow], message: m }\n  - { id: b, type: sandbox, tools: [Other, write_file, read_file, edit_file, list_directory], within: ['.'], message: m }\n`,
      { workingDirectory: project },
    );
    mkdirSync(join(project, 'narrow'), { recursive: true });
    const sandbox = make({ contracts: rules });
    const shell = sandbox.shellTool({ name: 'Bash' });
    const runtime = createRuntime({
      tools: [...sandbox.fileTools(), { ...shell, name: 'Other' }],
      contracts: rules,
      protectedFiles: { sealed: [join(project, 'key.pem')] },
      onConfirm: () => ({ decision: 'deny', by: 'test' }),
    });
    runtime.protectFiles({ readOnly: [join(project, 'settings.yaml')] });
    const turn = runtime.turn({ sessionId: 's' });
    const written = await turn.call({
      id: 'c1',
      name: 'write_file',
      arguments: { path: 'settings.yaml', content: 'x' },
    });
    const read = await turn.call({ id: 'c2', name: 'Other', arguments: { command: 'cat key.pem' } });
    await runtime.close();
    for (const outcome of [written, read]) expect(outcome).toMatchObject({ reason: 'contract' });
  });

  test('need a rule for their name', () => {
    expect(() => make().shellTool({ name: 'do_it' })).toThrow(/No sandbox rule applies to the tool "do_it"/);
  });

  test('follow the rules in force: a plan is made for every call', () => {
    const text = (id: string, within: string): string =>
      `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: b }\ndefaults: { mode: enforce }\nrules:\n  - { id: ${id}, type: sandbox, tools: [Bash], within: [${within}], message: m }\n`;
    const rules = contractsFromYamlString(text('before', "'.'"), { workingDirectory: project });
    const sandbox = make({ contracts: rules });
    expect(sandbox.plan('Bash')).toMatchObject({ ruleIds: ['before'], writable: [project] });
    rules.reload(text('after', '/tmp'));
    expect(sandbox.plan('Bash')).toMatchObject({ ruleIds: ['after'], writable: [] });
  });

  test('take only known options and limits', () => {
    expect(() => make({ limits: { memoryMb: 0 } })).toThrow(/limits\.memoryMb is 0/);
    expect(() => make({ limits: { memory: 5 } as object })).toThrow(/memory/);
    expect(() => createSandbox({ contracts } as unknown as SandboxOptions)).toThrow(
      /needs \{ contracts, ledger \}/,
    );
  });

  test('judge a command by its exit code and by what ended it', () => {
    const { successCheck } = make().shellTool({ name: 'Bash' });
    const output = { exitCode: 0, stdout: '', stderr: '', omittedBytes: 0 };
    expect(successCheck?.('Bash', output)).toBe(true);
    expect(successCheck?.('Bash', { ...output, exitCode: 2, stderr: 'no such file' })).toEqual({
      ok: false,
      reason: 'The exit code is 2.\nno such file',
    });
    expect(successCheck?.('Bash', { ...output, stopped: 'The command was ended after 5 ms.' })).toMatchObject(
      { ok: false },
    );
  });
});

describe('quittance doctor', () => {
  const findings = async (check: Parameters<typeof checkExecutor>[0]): Promise<readonly Finding[]> => {
    const found: Finding[] = [];
    for await (const each of checkExecutor(check)) found.push(each);
    return found;
  };

  test('says that the executor works', async () => {
    expect(await findings(() => Promise.resolve({ works: true, version: '0.8.0', startMs: 12.4 }))).toEqual([
      {
        level: 'ok',
        check: 'sandbox',
        message: 'The sandboxed executor works: bubblewrap 0.8.0, started in 12 ms',
      },
    ]);
  });

  test('says why not and what to install, and does not fail for it', async () => {
    const found = await findings(() =>
      Promise.resolve({ works: false, problem: 'bwrap is missing.', remedy: 'apt-get install bubblewrap.' }),
    );
    expect(found).toMatchObject([
      {
        level: 'note',
        check: 'sandbox',
        remedy: expect.stringContaining('apt-get install bubblewrap') as string,
      },
    ]);
  });
});
