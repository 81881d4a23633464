import { describe, expect, test } from 'vitest';
import type { ToolMode } from './mode.ts';
import { classifyTool, decideToolMode, isToolMode, toolModePatterns, toolModeTreatments } from './mode.ts';

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

  test('every row of the table has its case here', () => {
    expect(toolModePatterns.map(({ pattern }) => rows.filter(([name]) => pattern.test(name)).length)).toEqual(
      toolModePatterns.map(() => 1),
    );
    expect(rows).toHaveLength(toolModePatterns.length);
  });

  test('case does not matter and a dash is as good as an underscore', () => {
    expect(decideToolMode('GET_user')).toBe('read');
    expect(decideToolMode('delete-user')).toBe('destructive');
  });

  test.each(['get', 'getUser', 'getaway_car', 'forget_me', ' get_user', 'refund', '', 'constructor'])(
    'a name that says nothing (%j) is external by default',
    (name) => {
      expect(decideToolMode(name)).toBe('external');
      expect(classifyTool(name)).toEqual({ mode: 'external', origin: 'default' });
    },
  );

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

  test('the tables cannot be changed by anyone', () => {
    expect(Object.isFrozen(toolModePatterns) && toolModePatterns.every(Object.isFrozen)).toBe(true);
    expect(
      Object.isFrozen(toolModeTreatments) && Object.values(toolModeTreatments).every(Object.isFrozen),
    ).toBe(true);
  });
});
