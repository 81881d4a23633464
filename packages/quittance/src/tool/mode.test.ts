import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ToolMode } from './mode.ts';
import { toolNameWords } from './name-words.ts';
import {
  classifyTool,
  decideToolMode,
  isToolMode,
  riskOfTool,
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

  test.each(['getaway_car', 'forget_me', ' get_user', 'ｇet_user', 'refund', '', 'constructor', 'dropbox'])(
    'a name that says nothing (%j) is external by default',
    (name) => {
      expect(decideToolMode(name)).toBe('external');
      expect(classifyTool(name)).toEqual({ mode: 'external', origin: 'default' });
    },
  );

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

  test.each(
    'lrem xdel cache_flush_all atlas-streams-teardown detach_user_policy untag_resource empty_bucket prune_volumes void_invoice deactivateUser schedule_key_deletion force_push roll_back_release invoice-void usersUnfollow create_or_reset cancelDeletion flushcache removeuser move_to_trash message_mark_as_deleted drain_node slack_leave_channel strip_metadata junk_email get_rid_of_user power_off_server scrub_history'.split(
      ' ',
    ),
  )('%s takes something away', (name) => {
    expect(decideToolMode(name)).toBe('destructive');
  });

  test.each(
    'GmailReadEmail issue_read pods_list users_search query_prometheus server_status order_get slack-list-channels kubectl_get get_deletion_status list_empty_folders view_reset_history'.split(
      ' ',
    ),
  )('%s looks something up, and may have no effect', (name) => {
    expect(classifyTool(name)).toEqual({ mode: 'read', origin: 'inferred' });
  });

  test.each(
    'set_list patch_pod_status report_status mark_status compute_set_tags add_to_list issue_read_and_close query run_query sql_query check_out_book add_empty_row upload_and_get_link'.split(
      ' ',
    ),
  )('%s is not a read', (name) => {
    expect(decideToolMode(name)).not.toBe('read');
  });

  test('a read inferred from words anywhere skips no intent and is never rerun', () => {
    for (const name of ['GmailReadEmail', 'issue_read', 'pods_list', 'query_prometheus'])
      expect(surelyReads({ name, mode: 'read', modeOrigin: 'inferred' })).toBe(false);
  });

  test.each([
    ['transfer_money', 'money'],
    ['void_invoice', 'money'],
    ['grant_admin', 'credentials'],
    ['set_password', 'credentials'],
    ['mcp__vault__rotate_secret', 'credentials'],
    ['invite_user', 'sharing'],
    ['publishPost', 'publishing'],
    ['execute_sql', 'code'],
    ['deploy_production', 'production'],
    ['kubectl_apply', 'production'],
    ['file_chargeback', 'money'],
    ['set_visibility', 'publishing'],
    ['update_event', undefined],
    // A lookup risks nothing, whatever it is about.
    ['get_payment', undefined],
    ['users_tokens_list', undefined],
  ])('the risk of %s is %s', (name, risk) => {
    expect(riskOfTool(name)).toBe(risk);
  });

  test('no word of the table is both a write and a read, or twice in a list', () => {
    const { risk, readLast, ...lists } = toolNameWords;
    const all = [
      ...lists.remove,
      ...lists.removeOrNoun,
      ...lists.removal,
      ...lists.read,
      ...lists.write,
      ...lists.writeOrNoun,
    ];
    expect(all.filter((word, index) => all.indexOf(word) !== index)).toEqual([]);
    const risky = Object.values(risk).flat();
    expect(risky.filter((word, index) => risky.indexOf(word) !== index)).toEqual([]);
    for (const list of [readLast, ...Object.values(lists), ...Object.values(risk)])
      expect(Object.isFrozen(list) && list.every((word) => /^[a-z]+$/.test(word))).toBe(true);
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
  const rows = readFileSync(new URL('../../../../test/tool-names.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(rows.length).toBeGreaterThanOrEqual(500);
  expect(rows.map((row) => `${decideToolMode(row.split(' ')[1] ?? '')} ${row.split(' ')[1] ?? ''}`)).toEqual(
    rows,
  );
});

describe('on held-out operations of public API clients', () => {
  const [, heldOut = ''] = readFileSync(
    new URL('../../../../test/operation-names.txt', import.meta.url),
    'utf8',
  ).split(/^# held out$/m);
  const namesOf = (methods: string): readonly string[] =>
    heldOut
      .split('\n')
      .flatMap((line) => (RegExp(`^(?:${methods}) `).test(line) ? [line.split(' ')[1] ?? ''] : []));
  const share = (names: readonly string[], isWrong: (mode: ToolMode) => boolean): number =>
    names.filter((name) => isWrong(decideToolMode(name))).length / names.length;

  test('fewer than 2 % of the removals run unasked', () => {
    const names = namesOf('DELETE');
    expect(names.length).toBeGreaterThan(200);
    expect(share(names, (mode) => mode !== 'destructive')).toBeLessThan(0.02);
  });

  test('fewer than 5 % of the lookups are not read, and fewer than 0.5 % are held', () => {
    const names = namesOf('GET');
    expect(names.length).toBeGreaterThan(700);
    expect(share(names, (mode) => mode !== 'read')).toBeLessThan(0.05);
    expect(share(names, (mode) => mode === 'destructive' || mode === 'local')).toBeLessThan(0.005);
  });

  test('no change or removal is read', () => {
    expect(share(namesOf('DELETE|PUT|PATCH'), (mode) => mode === 'read')).toBe(0);
  });
});
