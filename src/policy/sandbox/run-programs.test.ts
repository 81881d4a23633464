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

  test.each([
    ['sudo -n -E ls', ['sudo', 'ls']],
    ['env -i ls', ['env', 'ls']],
    ['time -p ls', ['time', 'ls']],
    ['timeout --foreground -k 5 10 ls', ['timeout', 'ls']],
    ['xargs -0 -r -n1 ls', ['xargs', 'ls']],
    ['xargs --no-run-if-empty ls', ['xargs', 'ls']],
    ['strace -ff -tt -e trace=file ls', ['strace', 'ls']],
    ['npx -y --prefer-offline tsc', ['npx', 'tsc']],
    ['npm --silent run build', ['npm']],
    ['npm -s test', ['npm']],
    ['pnpm -r --filter=api test', ['pnpm']],
    ['pnpm -w test', ['pnpm']],
    ['docker exec -it web ls', ['docker', 'ls']],
    ['docker compose exec -T web ls', ['docker', 'ls']],
    ['kubectl exec -i -t pod -c app -- ls', ['kubectl', 'ls']],
    ['cargo +nightly -q build', ['cargo']],
    ['git --no-pager -P log', ['git']],
    ['uv run --frozen --extra dev pytest', ['uv', 'pytest']],
    ['sudo --unknown ls', ['sudo', 'opaque', 'ls']],
    ['find . -exec ls {} + -print', ['find', 'ls']],
    ['export NODE_ENV=test', ['export']],
    ['export PATH=x', ['export', 'opaque']],
  ])('%s: %j', (text, expected) => {
    expect(programs(read(text))).toEqual(expected);
  });

  test.each([
    ['curl -sSL -m 5 -H "A: b" -o out.json https://api.example.com/x', ['https://api.example.com/x']],
    ['curl intranet', ['intranet']],
    ['ping -c 3 intranet', ['intranet']],
    ['ssh -p 22 user@intranet ls', ['user@intranet']],
    ['scp -P 22 a intranet:b', ['intranet:b']],
    ['git push origin main:main', []],
    ['git clone ./a', []],
    ['ls intranet', []],
  ])('%s connects to %j', (text, expected) => {
    expect(read(text)?.hosts).toEqual(expected);
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
