import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ToolMode } from './mode.ts';
import {
  classifyTool,
  decideToolMode,
  isToolMode,
  surelyReads,
  toolModePatterns,
  toolModeTreatments,
} from './mode.ts';

const rows: readonly (readonly [string, ToolMode])[] = [
  ['get_user', 'read'],
  ['list_users', 'read'],
  ['read_file', 'read'],
  ['search_web', 'read'],
  ['create_event', 'safe_write'],
  ['update_event', 'safe_write'],
  ['add_row', 'safe_write'],
  ['set_flag', 'safe_write'],
  ['delete_user', 'destructive'],
  ['remove_row', 'destructive'],
  ['archive_mail', 'destructive'],
  ['drop_table', 'destructive'],
  ['local_open', 'local'],
  ['shell_run', 'local'],
  ['exec_script', 'local'],
];

describe('the mode of a tool', () => {
  test.each(rows)('%s is %s by its name', (name, mode) => {
    expect(decideToolMode(name)).toBe(mode);
    expect(classifyTool(name)).toEqual({ mode, origin: 'inferred' });
  });

  test('every row of the table has a case here', () => {
    expect(toolModePatterns.map(({ pattern }) => rows.filter(([name]) => pattern.test(name)).length)).toEqual(
      toolModePatterns.map(() => 1),
    );
    expect(rows).toHaveLength(toolModePatterns.length);
  });

  test('case does not matter and a dash counts as an underscore', () => {
    expect(decideToolMode('GET_user')).toBe('read');
    expect(decideToolMode('delete-user')).toBe('destructive');
  });

  test.each([
    'getaway_car',
    'forget_me',
    ' get_user',
    'ｇet_user',
    'refund',
    '',
    'constructor',
    'dropbox_list',
  ])('a name that says nothing (%j) is external by default', (name) => {
    expect(decideToolMode(name)).toBe('external');
    expect(classifyTool(name)).toEqual({ mode: 'external', origin: 'default' });
  });

  test.each<[string, ToolMode]>([
    ['getUser', 'read'],
    ['listS3Buckets', 'read'],
    ['get.user', 'external'],
    ['users.list_all', 'read'],
    ['mcp__files__read_file', 'read'],
    ['mcp__my_server__create_issue', 'safe_write'],
    ['mcp__delete_server__get_user', 'destructive'],
    ['deleteAccount', 'destructive'],
    ['deleteaccount', 'destructive'],
    ['files_delete_all', 'destructive'],
    ['dropTable', 'destructive'],
    ['get_and_delete', 'destructive'],
    ['find_and_delete', 'destructive'],
    ['cancel_order', 'destructive'],
    ['update_then_purge', 'destructive'],
    ['github/delete-repo', 'destructive'],
    ['rm', 'destructive'],
    ['kill', 'destructive'],
    ['terminate', 'destructive'],
    ['wipe', 'destructive'],
    ['bash', 'local'],
    ['exec', 'local'],
    ['shell', 'local'],
    ['run_command', 'local'],
    ['runShellCommand', 'local'],
    ['execute_query', 'external'],
    ['get_or_create_user', 'safe_write'],
    ['get_deleted_items', 'read'],
    ['search_archive', 'read'],
    ['find_user', 'read'],
    ['lookup', 'read'],
    ['look_up_order', 'read'],
    ['check_balance', 'read'],
    ['fetch', 'read'],
    ['find_and_replace', 'external'],
    ['check_out_book', 'external'],
    ['look_after', 'external'],
  ])('%s is %s by its words', (name, mode) => {
    expect(decideToolMode(name)).toBe(mode);
  });

  test('only a declared read, or one in the table, is certain', () => {
    const isSure = (name: string, declared?: ToolMode): boolean => {
      const { mode, origin } = classifyTool(name, declared);
      return surelyReads({ name, mode, modeOrigin: origin });
    };
    for (const name of ['get_user', 'getUser', 'mcp__files__read_file']) expect(isSure(name)).toBe(true);
    for (const name of ['find_user', 'fetch', 'get', 'get_or_create', 'delete_user'])
      expect(isSure(name)).toBe(false);
    expect(isSure('find_user', 'read')).toBe(true);
    expect(isSure('get_user', 'external')).toBe(false);
  });

  test('a declared mode wins over the name', () => {
    expect(classifyTool('get_and_delete', 'destructive')).toEqual({
      mode: 'destructive',
      origin: 'declared',
    });
    expect(classifyTool('delete_cache', 'read')).toEqual({ mode: 'read', origin: 'declared' });
  });

  test('only the five modes are modes', () => {
    expect(Object.keys(toolModeTreatments)).toEqual([
      'read',
      'safe_write',
      'destructive',
      'local',
      'external',
    ]);
    expect(isToolMode('safe_write')).toBe(true);
    for (const other of ['Read', 'write', 'toString', '', null, 1]) expect(isToolMode(other)).toBe(false);
  });

  test('the tables are immutable', () => {
    expect(Object.isFrozen(toolModePatterns) && toolModePatterns.every(Object.isFrozen)).toBe(true);
    expect(
      Object.isFrozen(toolModeTreatments) && Object.values(toolModeTreatments).every(Object.isFrozen),
    ).toBe(true);
  });
});

test('more than 500 tool names have their expected mode', () => {
  const rows = readFileSync(new URL('../../test/tool-names.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(rows.length).toBeGreaterThanOrEqual(500);
  expect(rows.map((row) => `${decideToolMode(row.split(' ')[1] ?? '')} ${row.split(' ')[1] ?? ''}`)).toEqual(
    rows,
  );
});
