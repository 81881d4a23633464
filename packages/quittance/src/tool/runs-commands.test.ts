import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import { isCommandName, readShellName, whyRunsCommands } from './runs-commands.ts';

const names = (text: string): readonly string[] => text.trim().split(/\s+/);

describe('the name of a tool', () => {
  test('the name of a tool with a shell word, or with nothing but words for running, counts as a shell', () => {
    const shells = names(`
      bash Bash shell PowerShell zsh cmd subprocess terminal console command commands execute run Run RUN run2 code cli git
      kubectl python python3 repl run_it run_command run-on-host run_in_background runInTerminal open_console execute_local
      my_terminal local_script command_runner code_execution code_interpreter start_process docker_exec container_exec
      mcp__x__run terminal.run mcp__bash__list run_project_script x__run iTerm sudo osascript deno_run runner executor execute_ipython_cell KillShell`);
    expect(shells.filter((name) => readShellName(name) !== 'shell')).toEqual([]);
  });

  test('counts in every spelling of a shell word', () => {
    const spelled = [
      ...names(
        'ｂａｓｈ ｒｕｎ bàsh 𝒃𝒂𝒔𝒉 ⓑⓐⓢⓗ scrıpt_runner b_a_s_h ba_sh com_mand bAsH c0mmand b4sh sh3ll runcommand',
      ),
      ...names('shellexec execcmd bashtool'),
      'ba\u200bsh',
      'term\u00adinal',
      'bash\u202e',
    ];
    expect(spelled.filter((name) => readShellName(name) !== 'shell')).toEqual([]);
  });

  test('is unclear if its letters mix scripts or look like others, and without letters', () => {
    const unclear = [
      ...names('bаsh сmd соnsole kоmmand_run tеrminal ρython ɡit ʙᴀsʜ ехес ѕһ ꓐꓮꓢꓧ ᏴᎪᏚᎻ 🅱🅰🆂🅷 🇧🇦🇸🇭 $ >_'),
      '',
    ];
    expect(unclear.filter((name) => readShellName(name) !== 'unclear')).toEqual([]);
  });

  test('the name of a tool of an ordinary tool says nothing, in any language', () => {
    const ordinary = names(`
      run_report run_payroll run_query run_tests run_workflow run_campaign list_commands list_terminals get_terminal_info
      get_console_url generate_code generate_video_script process_payment execute_payment execute_order execute_trade
      execute_sql start_run start_session start_timer open_ticket send_code run_code_review start_approval_process
      order_fish run_eval_suite book_interpreter search_python_docs push_notification flush_cache finish_task
      dashboard_create assign_script translate_text apply_coupon verify_code create_program add_step render transcode
      local_weather get_local_time заказ bestellung_anlegen größe_ändern 注文検索 buscar_pedido crear_reunión κράτηση`);
    expect(ordinary.filter((name) => readShellName(name) !== 'other')).toEqual([]);
  });

  test('counts for 25 of more than 500 names of known tools, all of which run commands or code', () => {
    const known = readFileSync(new URL('../../../../test/tool-names.txt', import.meta.url), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.split(' ')[1] ?? '');
    expect(known.filter((name) => readShellName(name) !== 'other')).toEqual(
      names(`container_exec run_container exec_in_pod pods_exec ExecuteTerraformCommand Bash KillShell BashOutput bash
        shell exec_command execute_bash execute_ipython_cell run_terminal_cmd execute_command run_in_terminal
        run_notebook_cell python code_interpreter run_python_code execute_code terminal cmd powershell subprocess`),
    );
  });
});

const why = (name: string, shape: z.ZodRawShape, more: object = {}): string | undefined =>
  whyRunsCommands(
    defineTool({ name, description: 'x', input: z.object(shape), run: () => 1, ...more } as never),
  );

describe('the schema of a tool', () => {
  const text = z.string();
  test.each<[what: string, shape: z.ZodRawShape]>([
    ['a command', { command: text }],
    ['a list of words', { command: z.array(text) }],
    [
      'a text or a list',
      {
        cmd: z
          .union([text, z.array(text)])
          .nullable()
          .optional(),
      },
    ],
    [
      'a command inside a list of objects',
      { options: z.object({ inner: z.array(z.object({ cmd: text })) }) },
    ],
    [
      'a command in one branch of a union',
      { job: z.union([z.object({ cmd: text }), z.object({ n: z.int() })]) },
    ],
    ['a command in a map', { map: z.record(text, z.object({ cmd: text })) }],
    ['a command among the keys of a map', { map: z.record(z.enum(['cmd', 'cwd']), text) }],
    ['a step', { steps: z.array(z.object({ run: text })) }],
    ['a script', { script: text }],
    ['a shell script', { shellScript: text }],
    ['code', { code: text }],
    ['source code', { source_code: text }],
    ['a program', { program: text }],
    ['an executable', { executable: text }],
    ['arguments', { args: z.array(text) }],
    ['a command line', { command_line: text }],
    ['a glued name', { runcommand: text }],
    ['full-width letters', { ｃｏｍｍａｎｄ: text }],
    ['an invisible letter', { 'com\u200bmand': text }],
    ['a foreign letter', { сommand: text }],
    ['a digit for a letter', { c0mmand: text }],
    ['Python source', { pythonSource: text }],
    ['input of a terminal', { terminalInput: text }],
    ['a step in a flat name', { 'steps.run': text }],
    ['a file to execute', { file_to_execute: text }],
    ['a choice of shells', { shell: z.enum(['bash', 'zsh']), input: text }],
  ])('counts if it takes %s', (_, shape) => {
    expect(why('helper', shape)).toMatch(/^it has the argument /);
  });

  test.each<[tool: string, shape: z.ZodRawShape]>([
    ['apply_coupon', { code: text }],
    ['verify_code', { code: text }],
    ['lookup_country', { code: text }],
    ['helper', { code: text.max(20) }],
    ['enroll_student', { program: text }],
    ['record_video', { script: text }],
    ['editor', { command: z.enum(['view', 'create']), path: text }],
    ['thermostat', { command: z.literal('on').or(z.literal('off')) }],
    ['helper', { country_code: text, promoCode: text, zipCode: text, command_id: text, run_id: text }],
    ['helper', { run: z.boolean(), transcript: text, größe: text }],
    ['translate', { source: text, target: text, text }],
    ['search', { language: z.enum(['python', 'js']), query: text }],
  ])('%s with ordinary arguments does not count', (tool, shape) => {
    expect(why(tool, shape)).toBeUndefined();
  });
});

test('the mode and declared command arguments of a tool count, whatever its name and schema say', () => {
  const shape = { amount: z.int() };
  expect(why('refund', shape)).toBeUndefined();
  expect(why('refund', shape, { mode: 'local' })).toBe('its mode is local');
  expect(why('local_refund', shape)).toBe('its mode is local');
  expect(why('refund', shape, { undo: () => undefined, undoMode: 'local' })).toBe('its mode is local');
  expect(why('refund', { step: z.string() }, { resources: { commands: ['step'] } })).toBe(
    'it declares a command argument',
  );
});

test('an argument that the schema only requires counts', () => {
  const tool = defineTool({ name: 'helper', input: { type: 'object', required: ['cmd'] }, run: () => 1 });
  expect(whyRunsCommands(tool)).toBe('it has the argument "cmd"');
});

test('names of arguments that are about a command do not hold one', () => {
  expect(names('command_id commandStatus script_url run_count').filter(isCommandName)).toEqual([]);
});
