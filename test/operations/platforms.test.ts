/** No code depends on one system without a fallback: every place that uses a feature of one system is listed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSources, root } from '../sources.ts';

/** Features of one system, and the files that may use them because they have a fallback or only name them in a text. */
const features: readonly {
  readonly name: string;
  readonly pattern: RegExp;
  readonly files: readonly string[];
}[] = [
  {
    name: '/proc and /dev, read as files',
    pattern: /(?:readFileSync|readlinkSync|open|openSync|statSync)\([`'"]\/(?:proc|dev|sys)\b|= '\/proc/,
    files: [
      'packages/quittance/src/sandbox/run-sandboxed.ts',
      'packages/quittance/src/store/files/system-process.ts',
      'packages/quittance/src/threads/thread-clock.ts',
    ],
  },
  {
    name: 'a fixed temporary folder',
    pattern: /(?:Sync|open|mkdtemp)\([`'"]\/tmp\b/,
    files: [],
  },
  {
    name: 'user ids',
    pattern: /process\.(?:getuid|geteuid|getgid|setuid|setgid|umask)\b(?!\?)/,
    files: [],
  },
  {
    name: 'signals that Windows does not have',
    pattern: /['"]SIG(?:HUP|USR1|USR2|QUIT|STOP|CONT|CHLD|WINCH|PIPE)['"]/,
    files: [],
  },
  {
    name: 'flags of open that Windows does not have',
    pattern: /constants\.O_(?:DIRECT|DIRECTORY|NOATIME|NOFOLLOW|SYNC|DSYNC|NONBLOCK)\b(?! \?\?)/,
    files: ['packages/quittance/src/sandbox/sandbox-files.ts'],
  },
  {
    name: 'programs of one system',
    pattern: /(?:spawn|exec|execFile)(?:Sync)?\([`'"](?:\/bin\/|\/usr\/|sh\b|bash\b|flock\b|stat\b|df\b)/,
    files: ['packages/quittance/src/store/files/system-process.ts'],
  },
  {
    name: 'absolute paths recognized by a slash',
    pattern: /process\.cwd\(\)\s*\+\s*['"`]\/|__dirname\s*\+\s*['"`]\//,
    files: [],
  },
];

const sources = readSources().map(({ path }) => path);

test.each(features)('$name', ({ pattern, files }) => {
  const found = sources.filter((path) => pattern.test(readFileSync(join(root, path), 'utf8')));
  expect(found).toEqual(files);
});
