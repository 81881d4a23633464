import { describe, expect, test } from 'vitest';
import { readCommandLine } from './command-line.ts';
import { readRun, type ProgramRun } from './run-programs.ts';

const read = (text: string): ProgramRun | undefined => {
  const line = readCommandLine(text);
  return line.plain ? readRun(line.words) : undefined;
};

/** Every program that is run, or the reason why it cannot be read. */
const programs = (run: ProgramRun | undefined): readonly string[] =>
  run === undefined
    ? []
    : [
        run.words[0]?.text ?? '',
        ...run.inner.flatMap(({ runs }) => (typeof runs === 'string' ? [runs] : runs.flatMap(programs))),
      ];

describe('the programs that a command runs', () => {
  test.each([
    ['ls -la', ['ls']],
    ['env -u HOME NODE_ENV=test rm x', ['env', 'rm']],
    ['env A=1 rm x', ['env', 'opaque', 'rm']],
    ['nice -n 5 timeout -s KILL 5 rm x', ['nice', 'timeout', 'rm']],
    ["bash -lc 'rm x'", ['bash', 'rm']],
    ["bash -c 'ls; rm x'", ['bash', 'ls', 'rm']],
    ["bash -c 'ls $X'", ['bash', 'unreadable']],
    ['bash', ['bash', 'unreadable']],
    ['bash build.sh -c x', ['bash']],
    ['find . -exec rm {} +', ['find', 'rm']],
    ['find . -delete', ['find', 'rm']],
    ['find . -fprintf out %p', ['find', 'tee']],
    ['git status', ['git']],
    ['git -c color.ui=never log', ['git']],
    ['git -c core.pager=x log', ['git', 'opaque']],
    ['git switch -c topic', ['git']],
    ['git config user.name Ada', ['git']],
    ['git config alias.x !rm', ['git', 'opaque']],
    ['git some-alias', ['git', 'opaque']],
    ['python -c x', ['python', 'opaque']],
    ['python --version', ['python']],
    ['python tool.py -c x', ['python']],
    ['npx --yes vitest run', ['npx', 'vitest']],
    ['docker run --rm -e A=1 alpine rm x', ['docker', 'opaque', 'rm']],
    ['kubectl exec -it pod -- rm x', ['kubectl', 'rm']],
    ['tar --to-comm=rm -xf a', ['tar', 'opaque']],
    ['tar xIf rm a', ['tar', 'opaque']],
    ['unknown --exec rm', ['unknown', 'opaque']],
    ['unknown --no-pager', ['unknown']],
    ['sed -n 1,5p a', ['sed']],
    ["sed 's/a/b/e' a", ['sed', 'opaque']],
  ])('%s: %j', (text, expected) => {
    expect(programs(read(text))).toEqual(expected);
  });

  test('end at a depth that no command line needs', () => {
    expect(programs(read('env env env env env env ls'))).toContain('unreadable');
  });

  test('report which of their words name nothing', () => {
    expect([...(read("grep -rn 'a/b' src")?.data ?? [])]).toEqual([2]);
    expect([...(read('grep -e x -f list src')?.data ?? [])]).toEqual([2]);
    expect([...(read('git commit -m /etc/passwd')?.data ?? [])]).toEqual([3]);
    expect([...(read('cat a b')?.data ?? [])]).toEqual([]);
  });
});
