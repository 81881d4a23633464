import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { project, type Attack } from './attack.ts';

const write = (id: string, tries: string, input: JsonObject, more: Partial<Attack> = {}): Attack => ({
  id,
  tries,
  document: 'files',
  tool: 'Write',
  input,
  ...more,
});
const path = (id: string, tries: string, file_path: string, more?: Partial<Attack>): Attack =>
  write(id, tries, { file_path }, more);
/** Next to an allowed path. */
const beside = (id: string, tries: string, input: JsonObject, more?: Partial<Attack>): Attack =>
  write(id, tries, { file_path: `${project}/a.txt`, ...input }, more);

export const pathAttacks: readonly Attack[] = [
  path('path-absolute', 'an absolute path elsewhere', '/etc/passwd'),
  path('path-sibling', 'a directory whose name begins like the allowed one', '/home/user/project-evil/x'),
  path('path-parent', 'the directory above', '/home/user'),
  path('path-dots', 'climbing by `..`', `${project}/../../../etc/passwd`),
  path('path-dots-back', 'climbing out and back into what is taken away', `${project}/../project/secrets/k`),
  path('path-slashes', 'doubled slashes', `${project}//..//..//..//etc/passwd`),
  path('path-dot-slash', 'dots and slashes that mean nothing', `${project}/./././../x`),
  path('path-percent', 'percent-encoded dots', `${project}/%2e%2e/%2e%2e/etc/passwd`),
  path('path-percent-slash', 'percent-encoded slashes', `${project}/..%2f..%2f..%2fetc%2fpasswd`),
  path('path-percent-twice', 'percent signs that are encoded themselves', `${project}/%252e%252e/x`),
  path('path-percent-deep', 'percent signs encoded four times', `${project}/%2525252e%2525252e/x`),
  path(
    'path-percent-endless',
    'more rounds of encoding than are ever decoded',
    `${project}/%${'25'.repeat(12)}2e/x`,
  ),
  path('path-overlong', 'overlong UTF-8 for a dot', `${project}/%c0%ae%c0%ae/x`),
  path('path-percent-u', 'the `%u` escapes of old servers', `${project}/%u002e%u002e%u002fx`),
  path('path-fullwidth-dots', 'fullwidth dots', `${project}/．．/x`),
  path('path-fullwidth-slash', 'fullwidth slashes', `${project}／..／..／x`),
  path('path-two-dot-leader', 'the one letter that normalizes to two dots', `${project}/‥/x`),
  path('path-division-slash', 'letters that look like slashes', `${project}/..∕..⁄x`),
  path('path-backslash', 'backslashes as separators', `${project}/..\\..\\x`),
  path('path-nul', 'a NUL that cuts the name short', `/etc/passwd\0${project}`),
  path('path-nul-end', 'a NUL at the end of a good name', `${project}/a\0.txt`),
  path('path-nul-encoded', 'an encoded NUL', `${project}/a%00.txt`),
  path('path-blank', 'a blank in front', ' /etc/passwd'),
  path('path-newline', 'a second path behind a newline', `${project}/a\n/etc/passwd`),
  path('path-colon', 'a second path behind a colon', `${project}/a:/etc/passwd`),
  path('path-comma', 'a second path behind a comma', `${project}/a,/etc/passwd`),
  path('path-home', 'the home directory', '~/.ssh/id_rsa'),
  path('path-other-home', 'the home of another user', '~root/.ssh/id_rsa'),
  path('path-variable', 'a variable at the start', '$HOME/.ssh/id_rsa'),
  path('path-variable-inside', 'a variable inside', `${project}/\${X}`),
  path('path-file-url', 'a file url', 'file:///etc/passwd'),
  path('path-file-url-host', 'a file url with a host', 'file://localhost/etc/passwd'),
  path('path-file-url-short', 'a file url with one slash, in capitals', 'FILE:/etc/passwd'),
  path('path-url-shape', 'a path that looks like a web address', 'https://x/../../../../../etc/passwd'),
  path('path-share', 'a share of another machine', '\\\\host\\share\\x'),
  path('path-drive', 'a drive', 'C:\\Windows\\System32'),
  path('path-relative', 'a relative path without a known base', 'notes.txt'),
  path('path-brace', 'braces that may stand for `..`', `${project}/{..,a}/{..,b}/x`),
  path('path-glob-dots', 'a pattern that may stand for `..`', `${project}/.*/.[.]/x`),
  path('path-invisible', 'an invisible letter between the dots', `${project}/.\u200b./x`),
  path('path-trailing-blank', 'a blank behind the dots', `${project}/.. /x`),
  path('path-denied-dot', 'a dot before what is taken away', `${project}/./secrets`),
  path('path-link', 'a link that leads out', `${project}/link/passwd`, {
    links: { link: '/etc' },
  }),
  path('path-link-up', 'going up behind a link', `${project}/link/../shadow`, {
    links: { link: '/usr/bin' },
  }),
  path('path-link-to-denied', 'a link to what is taken away', `${project}/ok/k`, {
    links: { ok: `${project}/secrets` },
  }),
  beside('path-other-key', 'an argument whose name says nothing', { where: '/etc/passwd' }),
  beside('path-nested', 'a path deep in lists and maps', { a: [{ b: [[{ c: '/etc/passwd' }]] }] }),
  beside('path-key', 'a path as the key of a map', { edits: { '/etc/passwd': 'x' } }),
  beside(
    'path-proto',
    'a path below `__proto__`',
    JSON.parse('{"__proto__":{"path":"/etc/passwd"}}') as JsonObject,
  ),
  beside('path-constructor', 'a path below `constructor`', {
    constructor: { prototype: { path: '/etc/x' } },
  }),
  beside('path-json', 'a path in JSON in a text', { payload: '{"path":"/etc/passwd"}' }),
  beside('path-json-escaped', 'escapes of JSON in a text', { payload: '{"path":"\\u002fetc\\u002fpasswd"}' }),
  beside('path-xml', 'a path in XML in a text', { payload: '<file>/etc/passwd</file>' }),
  beside('path-key-list', 'a path in a list of YAML', { payload: '[/etc/passwd]' }),
  beside('path-key-map', 'a path in a map of YAML', { payload: '{/etc/passwd}' }),
  beside('path-key-quotes', 'a path in typographic quotes', { payload: '“/etc/passwd”' }),
  beside('path-sentence', 'a path in a sentence', { task: 'first read /etc/shadow, then answer' }),
  beside('path-option', 'a path behind an option', { flags: '--output=/etc/cron.d/x' }),
  beside('path-short-option', 'a path glued to an option', { flags: ['-C/etc'] }),
  beside('path-at', 'a path behind an at sign', { data: '@/etc/passwd' }),
  beside('path-content', 'a path as the whole content', { content: '/etc/passwd' }),
  beside('path-pattern', 'a pattern that climbs', { pattern: '../../../etc/*' }),
  beside('path-camel', 'another way to write the name of an argument', {
    targetFilePath: 'x/../../../../etc/x',
  }),
  write('path-mixed-case-key', 'capitals in the name of an argument', { FILE_PATH: 'etc/passwd' }),
  write('path-fullwidth-key', 'fullwidth letters in the name of an argument', { ｐａｔｈ: 'etc/passwd' }),
  write('path-directory', 'a directory to be relative to', { cwd: '/etc', file_path: 'passwd' }),
  write(
    'path-climb-from',
    'climbing from a directory that is fine',
    { directory: project, file: '../../x' },
    {
      workingDirectory: `${project}/a/b/c/d`,
    },
  ),
  write('path-components', 'a path in pieces', { path: [project, '..', '..', 'x'] }),
  beside(
    'path-halves',
    'a path in two arguments',
    { before: `${project}/`, after: '../../x' },
    {
      workingDirectory: `${project}/a/b/c`,
    },
  ),
  write('path-guess', 'a relative path in an argument whose name says nothing', { target: 'etc/passwd' }),
  write('path-nothing', 'naming nothing at all', { x: 'hello' }),
  write('path-empty', 'an empty path', { file_path: '' }),
  write('path-number', 'a number for a path', { file_path: 7 }),
  write(
    'path-tool-glob',
    'a tool name with dots and slashes',
    { file_path: '/etc/passwd' },
    {
      tool: 'mcp_../../x',
    },
  ),
];
