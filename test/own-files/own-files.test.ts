import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import * as quittance from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import type { ToolOutcome } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import * as contracts from 'quittance/contracts';
import { contractsFromMultiple, contractsFromYaml } from 'quittance/contracts';
import * as ledger from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { changeAttempts, companions, folderAttempts, spellings } from './own-file-spellings.ts';
import type { OwnFilesStage } from './own-files-stage.ts';
import { setOwnFilesStage } from './own-files-stage.ts';

const door = { quittance, contracts, ledger };
const refused = { type: 'ToolDenied', reason: 'contract', code: 'policy.protected' };

describe.each(['inside', 'outside'] as const)("the ledger %s the agent's folder (deny-wins)", (where) => {
  let stage: OwnFilesStage;
  beforeAll(async () => {
    stage = await setOwnFilesStage(door, where);
  });
  afterAll(() => stage.close());

  test.each(spellings)('$id is refused: $tries', async ({ tool, input }) => {
    stage.ran.length = 0;
    expect(await stage.call(tool, input(stage))).toMatchObject(refused);
    expect(stage.ran).toEqual([]);
  });

  test.each(companions)('"ledger.db%s" is neither read nor written', async (suffix) => {
    const file = stage.ledgerPath + suffix;
    expect(await stage.call('read_file', { path: file })).toMatchObject(refused);
    expect(await stage.call('Write', { path: file, content: '' })).toMatchObject(refused);
    expect(await stage.call('list_directory', { path: file })).toMatchObject(refused);
  });

  test('a protected file after many others is found, and the event loop is free meanwhile', async () => {
    // This clock advances 100 ms with each read, so a slice of work ends soon.
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 100));
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const ordinary = Array.from({ length: 1_200 }, (_, at) => `src/${at}.ts`);
    const outcome = await stage.call('read_file', { paths: [...ordinary, stage.ledgerPath] });
    isOver = true;
    clock.mockRestore();
    expect(outcome).toMatchObject(refused);
    expect(turns).toBeGreaterThan(12);
  });

  test('a script may name the same files repeatedly, but not too many different ones', async () => {
    const { agent } = stage;
    const same = Array.from({ length: 800 }, (_, at) => `grep -n todo src/${at % 40}.ts`).join('\n');
    expect(await stage.call('Bash', { command: same, cwd: agent })).toMatchObject({
      type: 'ToolExecutionResult',
    });
    const different = Array.from({ length: 2_000 }, (_, at) => `grep -n todo src/${at}.ts`).join('\n');
    expect(await stage.call('Bash', { command: different, cwd: agent })).toMatchObject(refused);
  });

  test('a substitution, a pattern above a folder and a NUL hide no file', async () => {
    const { ledgerPath: path } = stage;
    const commands = [`cat $(echo ${path})`, `x="$(<${path})"`, `cat <(cat ${path})`, `cat \`echo ${path}\``];
    const below = [
      '$H/.quittance/credentials.json',
      join(dirname(homedir()), '*', '.quittance', 'credentials.json'),
      '~root/.quittance/x',
    ];
    for (const command of [...commands, ...below.map((each) => `cat ${each}`)])
      expect({ command, ...(await stage.call('Bash', { command })) }).toMatchObject({ command, ...refused });
    expect(await stage.call('read_file', { path: `${path}\0.txt` })).toMatchObject(refused);
  });

  test('ordinary calls pass', async () => {
    const { agent } = stage;
    const good: readonly (readonly [string, JsonObject])[] = [
      ['read_file', { path: 'src/a.ts' }],
      ['read_file', { path: `${agent}/src/a.ts` }],
      ['Write', { file_path: 'lib/b.ts', content: 'The ledger is kept in .quittance/ledger.db, see there.' }],
      ['Write', { file_path: 'notes.md', content: `cat ${stage.ledgerPath}.key` }],
      ['list_directory', { path: '.' }],
      ['Glob', { pattern: '**/*', path: agent }],
      ['Grep', { pattern: 'x', path: 'src/deep' }],
      ['edit_thing', { city: 'Berlin', amount: 3, note: 'and/or', at: '12:30' }],
      [
        'edit_thing',
        { patch: Array.from({ length: 5_000 }, (_, at) => `/src/f${at}.ts`).join(' '), path: 'x/y' },
      ],
      ['edit_thing', { text: 'I keep a ledger of expenses.' }],
      ['Bash', { command: 'ls -la', cwd: agent }],
      ['Bash', { command: 'ls .', cwd: agent }],
      ['Bash', { command: 'git status && git diff', cwd: agent }],
      ['Bash', { command: `cd ${agent} && npm test` }],
      ['Bash', { command: 'npm run build 2>&1 | tail -20', cwd: agent }],
      ['Bash', { command: 'find . -name "*.ts"', cwd: agent }],
      ['Bash', { command: 'grep -rn TODO src/deep', cwd: agent }],
      ['Bash', { command: 'rm -rf lib/deep', cwd: agent }],
      ['Bash', { command: 'for f in lib/*.ts; do wc -l $f; done', cwd: agent }],
      ['Bash', { command: 'echo $HOME && ls lib/*', cwd: agent }],
      ['Bash', { command: 'git commit -m "Describe quittance approve"', cwd: agent }],
    ];
    const wrong: unknown[] = [];
    for (const [tool, input] of good) {
      const outcome = await stage.call(tool, input);
      if (outcome.type !== 'ToolExecutionResult') wrong.push([tool, input, outcome]);
    }
    expect(wrong).toEqual([]);
    stage.ran.length = 0;
  });
});

describe('a folder that contains them', () => {
  let inside: OwnFilesStage;
  let outside: OwnFilesStage;
  beforeAll(async () => {
    inside = await setOwnFilesStage(door, 'inside');
    outside = await setOwnFilesStage(door, 'outside');
  });
  afterAll(async () => {
    await inside.close();
    await outside.close();
  });
  const call = (stage: OwnFilesStage, tool: string, input: JsonObject): Promise<ToolOutcome> =>
    stage.call(tool, tool === 'Bash' ? { ...input, cwd: stage.agent } : input);

  test.each(folderAttempts)(
    'a call of %s with %j on a folder is refused if the ledger is inside',
    async (tool, input) => {
      expect(await call(inside, tool, input)).toMatchObject({
        ...refused,
        details: expect.stringMatching(/^The folder ".+" holds the ledger of this runtime\./),
      });
    },
  );

  test.each([
    ['Bash', { command: 'grep -r x .' }],
    ['Bash', { command: 'tar czf - .' }],
    ['Bash', { command: 'git add .' }],
    ['Bash', { command: 'npx prettier --write .' }],
    ['Grep', { pattern: 'x', path: '.' }],
    ['read_file', { path: 'contracts.yaml' }],
    ['read_file', { path: 'src/hard-rules.txt' }],
    ['Bash', { command: 'cat contracts.yaml' }],
    ['Bash', { command: "sed -n '1,5p' contracts.yaml" }],
    ['Bash', { command: 'git diff contracts.yaml' }],
    ['Grep', { pattern: 'x', path: join(import.meta.dirname, '../../packages/quittance/src/runtime') }],
  ] as const)('a call of %s with %j passes if the ledger is outside', async (tool, input) => {
    expect(await call(outside, tool, input)).toMatchObject({ type: 'ToolExecutionResult' });
  });

  test.each(changeAttempts)(
    'a call of %s with %j would change a contract file or the runtime, and is refused',
    async (tool, input) => {
      expect(await call(outside, tool, input)).toMatchObject({
        ...refused,
        details: expect.stringContaining('Calls may read it but not change it.'),
      });
    },
  );
});

describe('a tool that runs commands', () => {
  const shell = (spec: {
    readonly name: string;
    readonly mode?: 'local' | 'read';
    readonly commands?: string[];
  }) =>
    defineTool({
      name: spec.name,
      description: 'x',
      input: { type: 'object' },
      ...(spec.mode !== undefined && { mode: spec.mode }),
      ...(spec.commands !== undefined && { resources: { commands: spec.commands } }),
      run: () => 'ran',
    });

  test.each([
    { name: 'Bash' },
    { name: 'run_in_terminal' },
    { name: 'mcp__box__shell' },
    { name: 'run_command' },
    { name: 'anything', mode: 'local' as const },
    { name: 'docker_exec', mode: 'read' as const },
    { name: 'run_python', mode: 'read' as const },
    { name: 'code_interpreter', mode: 'read' as const },
    { name: 'start_process', mode: 'read' as const },
    { name: 'deploy', mode: 'read' as const, commands: ['step'] },
  ])('$name is refused if it can reach the ledger, unless the host accepts that by name', async (spec) => {
    const { root, close } = await setOwnFilesStage(door, 'outside');
    const options = { tools: [shell(spec)], ledger: `sqlite:${join(root, 'other', 'ledger.db')}` };
    mkdirSync(join(root, 'other'));
    expect(() => createRuntime(options)).toThrow(
      /createSandbox of quittance\/sandbox, or keep the ledger in PostgreSQL\. .*ownFiles: \{ outOfReach: \[.*'reachable'/,
    );
    await createRuntime({ ...options, ownFiles: 'reachable' }).close();
    await createRuntime({ ...options, ownFiles: { outOfReach: [spec.name] } }).close();
    await close();
  });

  test('a tool that reads only by a word in its name may not name the contract file', async () => {
    const { agent, contractsPath, close } = await setOwnFilesStage(door, 'outside');
    const loaded = await contractsFromYaml(contractsPath, { workingDirectory: agent });
    const tools = ['get_notes', 'notes_show'].map((name) => defineTool({ name, run: () => 'done' }));
    const runtime = createRuntime({ tools, contracts: loaded, ledger: createMemoryLedger() });
    const turn = runtime.turn({ sessionId: 's' });
    const ends = [];
    for (const { name } of tools)
      ends.push((await turn.call({ id: name, name, arguments: { path: contractsPath } })).type);
    expect(ends).toEqual(['ToolExecutionResult', 'ToolDenied']);
    await runtime.close();
    loaded.close();
    await close();
  });

  test('a hand-off tool counts too, and an acceptance names its tool', async () => {
    const { root, close } = await setOwnFilesStage(door, 'outside');
    mkdirSync(join(root, 'other'));
    const work = defineTool({
      name: 'convert',
      description: 'x',
      input: { type: 'object', properties: { cmd: { type: 'string' } } },
      handoff: true,
    });
    const options = {
      tools: [work, shell({ name: 'bash' })],
      ledger: `sqlite:${join(root, 'other', 'ledger.db')}`,
    };
    const create = (outOfReach: readonly string[]) =>
      createRuntime({ ...options, ownFiles: { outOfReach } as never });
    expect(() => createRuntime(options)).toThrow('"convert" counts as one that runs commands');
    expect(() => create(['convert'])).toThrow('"bash" counts as one that runs commands');
    expect(() => create(['bash'])).toThrow('"convert" counts as one that runs commands');
    expect(() => create(['convert', 'bash', 'bsh'])).toThrow('ownFiles.outOfReach names "bsh"');
    await create(['convert', 'bash']).close();
    await close();
  });

  test.each([{ name: 'execute_payment' }, { name: 'publish' }])(
    '$name does not count as one',
    async (spec) => {
      const { root, close } = await setOwnFilesStage(door, 'outside');
      mkdirSync(join(root, 'other'));
      const runtime = createRuntime({
        tools: [shell(spec)],
        ledger: `sqlite:${join(root, 'other', 'ledger.db')}`,
      });
      expect(Object.keys(runtime)).toContain('turn');
      await runtime.close();
      await close();
    },
  );

  test('needs no acceptance on a ledger without files, and no other word is accepted', async () => {
    await createRuntime({ tools: [shell({ name: 'Bash' })], ledger: createMemoryLedger() }).close();
    expect(() =>
      createRuntime({ tools: [], ledger: createMemoryLedger(), ownFiles: 'yes' as never }),
    ).toThrow('ownFiles takes "reachable"');
  });
});

describe('which files are protected', () => {
  test('the templates of the package can be read but never changed', async () => {
    const path = join(import.meta.dirname, '../../packages/quittance/templates/coding-agent.yaml');
    const stage = await setOwnFilesStage(door, 'outside', { contracts: false });
    try {
      expect(await stage.call('read_file', { path })).toMatchObject({ type: 'ToolExecutionResult' });
      for (const [tool, input] of [
        ['Write', { path, content: 'rules: []' }],
        ['delete_folder', { path: join(path, '..') }],
        ['Bash', { command: `sed -i s/block/allow/ ${path}`, cwd: stage.agent }],
        ['Bash', { command: `rm -rf ${join(path, '..')}`, cwd: stage.agent }],
      ] as const)
        expect(await stage.call(tool, input)).toMatchObject(refused);
    } finally {
      await stage.close();
    }
  });

  test('works without any contract', async () => {
    const stage = await setOwnFilesStage(door, 'inside', { contracts: false });
    try {
      for (const path of [stage.ledgerPath, `${stage.agent}/src/innocent.txt`, `${stage.agent}/src/hard.txt`])
        expect(await stage.call('read_file', { path })).toMatchObject(refused);
      expect(await stage.call('Write', { path: stage.contractsPath })).toMatchObject({
        type: 'ToolExecutionResult',
      });
    } finally {
      await stage.close();
    }
  });

  test('a person cannot approve it, by an answer or by an edit', async () => {
    const stage = await setOwnFilesStage(door, 'outside');
    try {
      const asked: string[] = [];
      const runtime = createRuntime({
        tools: [
          defineTool({
            name: 'shell',
            mode: 'local',
            description: 'Runs a command.',
            input: { type: 'object', additionalProperties: true },
            run: () => 'ran',
          }),
        ],
        ledger: stage.ledger,
        ownFiles: 'reachable',
        onConfirm: ({ toolName }) => {
          asked.push(toolName);
          return { decision: 'edit', arguments: { command: `cat ${stage.ledgerPath}.key` }, by: 'ada' };
        },
      });
      const turn = runtime.turn({ sessionId: 'approved' });
      expect(
        await turn.call({ id: 'c1', name: 'shell', arguments: { command: `cat ${stage.ledgerPath}.key` } }),
      ).toMatchObject(refused);
      expect(asked).toEqual([]);
      expect(await turn.call({ id: 'c2', name: 'shell', arguments: { command: 'ls' } })).toMatchObject(
        refused,
      );
      expect(asked).toEqual(['shell']);
      await runtime.close();
    } finally {
      await stage.close();
    }
  });

  test('listed files of the host, at the start and later', async () => {
    const { root, close } = await setOwnFilesStage(door, 'outside');
    const runtime = createRuntime({
      tools: [
        defineTool({ name: 'get_file', description: 'x', input: { type: 'object' }, run: () => 'ran' }),
        defineTool({ name: 'set_file', description: 'x', input: { type: 'object' }, run: () => 'ran' }),
      ],
      ledger: createMemoryLedger(),
      protectedFiles: { sealed: [join(root, 'secrets')], readOnly: [join(root, 'quittance.ts')] },
    });
    const turn = runtime.turn({ sessionId: 's' });
    const call = (id: string, name: 'get_file' | 'set_file', path: string) =>
      turn.call({ id, name, arguments: { path: join(root, path) } });
    expect(await call('1', 'get_file', 'secrets/key')).toMatchObject(refused);
    expect(await call('2', 'get_file', 'quittance.ts')).toMatchObject({ output: 'ran' });
    expect(await call('3', 'set_file', 'quittance.ts')).toMatchObject(refused);
    expect(await call('4', 'set_file', 'later.ts')).toMatchObject({ output: 'ran' });
    runtime.protectFiles({ readOnly: [join(root, 'later.ts')] });
    expect(await call('5', 'set_file', 'later.ts')).toMatchObject(refused);
    await runtime.close();
    await close();
  });

  test('invalid lists are refused at the start', () => {
    for (const protectedFiles of [{ sealed: 'x' }, { sealed: [''] }, { hidden: [] }, { readOnly: [7] }])
      expect(() => createRuntime({ tools: [], protectedFiles: protectedFiles as never })).toThrow(
        'protectedFiles takes two lists of paths',
      );
  });

  test('contract files that a reload adds, and the target of a link that moved', async () => {
    const { root, contractsPath, agent, close } = await setOwnFilesStage(door, 'outside');
    const link = join(root, 'link.yaml');
    symlinkSync(contractsPath, link);
    const contracts = await contractsFromYaml(link, { workingDirectory: agent });
    const both = contractsFromMultiple([contracts], { workingDirectory: agent });
    const runtime = createRuntime({
      tools: [
        defineTool({ name: 'set_file', description: 'x', input: { type: 'object' }, run: () => 'ran' }),
      ],
      contracts: both,
    });
    const turn = runtime.turn({ sessionId: 's' });
    const call = (id: string, path: string) => turn.call({ id, name: 'set_file', arguments: { path } });
    expect(await call('1', contractsPath)).toMatchObject(refused);
    const moved = join(root, 'moved.yaml');
    writeFileSync(moved, (both.documents[0]?.text ?? '').replace('No.', 'Never.'));
    expect(await call('2', moved)).toMatchObject({ output: 'ran' });
    mkdirSync(join(root, 'aside'));
    renameSync(link, join(root, 'aside', 'old.yaml'));
    symlinkSync(moved, link);
    expect(await contracts.reload()).toMatchObject({ ok: true });
    expect(await call('3', moved)).toMatchObject(refused);
    await runtime.close();
    await close();
  });
});
