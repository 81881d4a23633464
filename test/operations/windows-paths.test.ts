/** Windows spellings of paths, checked on any system: the functions of `path.win32` and a file system in memory. */
import { win32 } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseLedgerUrl } from '../../packages/quittance/src/store/ledger-url.ts';
import {
  isWindowsAlias,
  placeSpelling,
  baseOf,
  readBase,
  type FoundPath,
} from '../../packages/quittance/src/policy/sandbox/found-path.ts';
import type { PathSystem } from '../../packages/quittance/src/runtime/own-files.ts';
import { realPath, toPlace } from '../../packages/quittance/src/runtime/own-files.ts';
import { compilePaths } from '../../packages/quittance/src/policy/sandbox/sandbox.ts';
import { readPath } from '../../packages/quittance/src/policy/sandbox/path-spelling.ts';
import type { PolicyWorld } from '../../packages/quittance/src/policy/language/policy-call.ts';

/** Files of a machine: their true spelling by their name in small letters. Links lead elsewhere. */
const files = new Map(
  [
    'C:\\',
    'C:\\box',
    'C:\\box\\notes.txt',
    'C:\\box\\Secret',
    'C:\\box\\Secret\\key.pem',
    'C:\\Users',
    'C:\\Users\\Ada',
    'C:\\Users\\Ada\\.ssh',
  ].map((path) => [path.toLowerCase(), path]),
);
const links = new Map([
  ['c:\\box\\link', 'C:\\Users\\Ada'],
  ['c:\\box\\secre~1', 'C:\\box\\Secret'],
]);
const trueName = (path: string): string | undefined => {
  // Windows drops dots and spaces at the end of each component.
  const parts = win32.normalize(path).toLowerCase().split('\\');
  const plain = parts.map((part, index) => (index === 0 ? part : part.replace(/[. ]+$/, ''))).join('\\');
  for (const [link, target] of links)
    if (plain === link || plain.startsWith(`${link}\\`)) return trueName(target + plain.slice(link.length));
  return files.get(plain);
};
const windows: PathSystem = {
  ...win32,
  resolve: (...paths) => win32.resolve('C:\\work', ...paths),
  realpath: (path) => {
    const found = trueName(path);
    if (found === undefined) throw new Error('ENOENT');
    return found;
  },
  readlink: () => {
    throw new Error('EINVAL');
  },
  leadsSomewhere: (path) => trueName(path) !== undefined,
  isThere: (path) => trueName(path) !== undefined,
};

const world: PolicyWorld = {
  environment: 'production',
  env: () => undefined,
  realPath: (path) => realPath(path, windows),
  workingDirectory: 'C:\\box',
  homeDirectory: 'C:\\Users\\Ada',
  selectors: {},
  operators: {},
};

const rule = compilePaths(['C:\\box'], ['C:\\box\\secret']);
/** Would a rule that allows C:\box, except its secret, allow the path? */
function judge(text: string, within: typeof rule = rule): string {
  const base = readBase(world.workingDirectory ?? '');
  const found = (readPath(text) ?? []).map((spelling): FoundPath => {
    const start = spelling.root === undefined ? base : baseOf(spelling, world);
    return start === undefined ? { type: 'unreadable' } : placeSpelling(start, spelling.parts, world);
  });
  return found.length === 0 ? 'outside' : within(found, world);
}

describe('paths on Windows', () => {
  test.each([
    'C:\\box\\notes.txt',
    'C:/box/notes.txt',
    'c:\\BOX\\NOTES.TXT',
    'C:\\box\\new\\file.txt',
    'notes.txt',
    '.\\notes.txt',
    'C:\\box\\a\\..\\notes.txt',
  ])('%s is inside', (path) => {
    expect(judge(path)).toBe('inside');
  });

  test.each([
    'C:\\Users\\Ada\\.ssh\\id_rsa',
    'C:\\box\\..\\Users\\Ada\\.ssh',
    'C:\\box\\link\\.ssh',
    'C:\\box\\Secret\\key.pem',
    'C:\\box\\SECRET\\key.pem',
    'C:\\box\\secret.\\key.pem',
    'C:\\box\\secret \\key.pem',
    'C:\\box\\SECRE~1\\key.pem',
    'C:\\box\\secret::$INDEX_ALLOCATION\\key.pem',
    'C:\\box\\notes.txt:hidden',
    'C:\\box\\notes.txt::$DATA',
    'C:\\box\\NUL',
    'C:\\box\\con.txt',
    'C:\\box\\COM1',
    'C:\\box\\lpt\u00b9.log',
    'aux',
    'D:\\box\\notes.txt',
    'C:notes.txt',
    '\\\\server\\share\\x',
    '//server/share/x',
    '\\\\?\\C:\\box\\notes.txt',
    '\\\\.\\PhysicalDrive0',
    '\\\\localhost\\C$\\box\\notes.txt',
    '/box/notes.txt',
    '\\box\\notes.txt',
    '%USERPROFILE%\\.ssh',
    '~\\.ssh',
    '..\\Users\\Ada',
  ])('%s is outside', (path) => {
    expect(judge(path)).toBe('outside');
  });

  test('a whole drive does not include the shares of the network', () => {
    const drive = compilePaths(['C:\\'], []);
    expect(judge('C:\\Users\\Ada', drive)).toBe('inside');
    expect(['\\\\server\\share\\x', '//server/share/x'].map((path) => judge(path, drive))).toEqual([
      'outside',
      'outside',
    ]);
  });
});

test('real paths have slashes and a capital drive', () => {
  expect(realPath('c:\\box\\SECRE~1\\new.txt', windows)).toBe('C:/box/Secret/new.txt');
  expect(realPath('c:/box/link/x', windows)).toBe('C:/Users/Ada/x');
  expect(realPath('relative', windows)).toBe('relative');
  expect(toPlace('\\\\?\\C:\\x', '\\')).toBe('C:/x');
  expect(toPlace('\\\\?\\UNC\\server\\share', '\\')).toBe('//server/share');
  expect(toPlace('/etc/a\\b', '/')).toBe('/etc/a\\b');
});

test('names that stand for something else', () => {
  const aliases = ['NUL', 'nul.txt', 'Con', 'a.', 'a ', 'x:y', 'COM9', 'clock$', 'LPT1.foo.bar'];
  expect(aliases.filter((name) => !isWindowsAlias(name))).toEqual([]);
  const plain = ['.', '..', 'console', 'null', 'com10', 'auxiliary', '.env', 'a.b', 'PROGRA~1', 'lpt'];
  expect(plain.filter(isWindowsAlias)).toEqual([]);
});

test('a ledger may be named by a drive, with either slash', () => {
  for (const path of ['C:\\data\\ledger.db', 'C:/data/ledger.db', '\\\\server\\share\\ledger.db'])
    expect([parseLedgerUrl(path), parseLedgerUrl(`sqlite:${path}`)]).toEqual([
      { kind: 'sqlite', path },
      { kind: 'sqlite', path },
    ]);
});
