import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import { findResources } from './resources.ts';
import type { SandboxRule } from '../language/ruleset.ts';
import { compileSandbox } from './sandbox.ts';
import { cpuMsOf } from '../../../../../test/cpu-time.ts';

const project = '/home/user/project';

type Constraints = Partial<
  Pick<
    SandboxRule,
    'within' | 'notWithin' | 'allowedCommands' | 'allowedDomains' | 'deniedDomains' | 'chains'
  >
>;

const toRule = (constraints: Constraints): SandboxRule => ({
  type: 'sandbox',
  id: 'kept-in',
  mode: undefined,
  message: 'Outside.',
  tags: [],
  metadata: undefined,
  tools: ['*'],
  within: undefined,
  notWithin: [],
  allowedCommands: undefined,
  allowedDomains: undefined,
  deniedDomains: [],
  chains: undefined,
  outside: 'block',
  timeoutSeconds: 300,
  timeoutEffect: 'block',
  ...constraints,
});

type World = Partial<Pick<PolicyWorld, 'workingDirectory' | 'homeDirectory' | 'realPath'>> & {
  readonly resources?: ToolResources;
};

/** A file system with links: the longest link that a path starts with is followed, repeatedly. */
const linked =
  (links: Readonly<Record<string, string>>) =>
  (path: string): string => {
    let real = path;
    for (let round = 0; round < 10; round++) {
      const link = Object.keys(links).find((from) => real === from || real.startsWith(`${from}/`));
      if (link === undefined) return real;
      real = `${links[link] ?? ''}${real.slice(link.length)}`;
    }
    return real;
  };

function isOutside(constraints: Constraints, input: JsonObject, { resources, ...more }: World = {}): boolean {
  const world: PolicyWorld = {
    environment: 'production',
    env: () => undefined,
    realPath: (path) => path,
    workingDirectory: undefined,
    homeDirectory: undefined,
    selectors: {},
    operators: {},
    ...more,
  };
  const call = {
    toolName: 'T',
    input,
    principal: undefined,
    metadata: undefined,
    snapshot: undefined,
    resources,
  };
  return compileSandbox(toRule(constraints))(() => findResources(call, world), world);
}

const within: Constraints = { within: [project] };
const commands: Constraints = {
  within: [project],
  allowedCommands: ['ls', 'cat', 'grep', 'git', 'find', 'curl', 'sed', 'awk', 'jq', 'env', 'bash'],
};
const domains: Constraints = { allowedDomains: ['api.example.com', '*.cdn.example.com'], deniedDomains: [] };
const anywhereBut: Constraints = {
  allowedDomains: ['*'],
  deniedDomains: ['evil.com', '127.0.0.1', '*.evil.com'],
};

describe('a path under within', () => {
  test.each([
    [{ file_path: `${project}/src/main.py` }],
    [{ file_path: project }],
    [{ file_path: `${project}/` }],
    [{ file_path: `${project}/./src//a/../main.py` }],
    [{ file_path: `${project}/a b/ü.txt` }],
    [{ file_path: `${project}/app/routes/$postId.tsx` }],
    [{ file_path: `${project}/100%.txt` }],
    [{ file_path: `${project}/a`, content: 'either and/or both' }],
    [{ file_path: `${project}/a`, content: 'see /etc/passwd for that' }],
    [{ file_path: `${project}/a`, old_string: 'a / b', new_string: '// nothing\n../..' }],
    [{ path: project, pattern: '**/*.ts' }],
    [{ path: project, pattern: '\\bfoo\\d+' }],
    [{ file_path: `${project}/a`, mode: 'image/png', note_for_you: 'and/or not, 50% off ~5' }],
    [{ file_path: `${project}/a`, count: 3, deep: { flag: true, none: null } }],
    [{ files: [`${project}/a`, { path: `${project}/b` }] }],
    [{ files: { [`${project}/a`]: 'x' } }],
    [{ file_path: `file://${project}/a` }],
    [{ file_path: `${project}/%61.txt` }],
    [{ file_path: encodeURIComponent(`${project}/a`) }],
    [{ path: `${project}/src`, url: '' }],
    [{ file_path: `${project}/a`, old_string: '/api', new_string: '/api/v2' }],
    [{ file_path: `${project}/a`, patch: '*** Update File: /home/user/project/a\n-/etc/x\n+/etc/y' }],
  ])('%j is inside', (input) => {
    expect(isOutside(within, input)).toBe(false);
  });

  test.each([
    [{ file_path: '/etc/passwd' }],
    [{ file_path: '/home/user/project-evil/x' }],
    [{ file_path: '/home/user' }],
    [{ file_path: '/' }],
    [{ file_path: `${project}/../../etc/passwd` }],
    [{ file_path: `${project}/..` }],
    [{ file_path: `${project}/%2e%2e/%2e%2e/etc/passwd` }],
    [{ file_path: `${project}/%252e%252e/x` }],
    [{ file_path: `${project}/%25252e%25252e/x` }],
    [{ file_path: `${project}/..%2f..%2fetc%2fpasswd` }],
    [{ file_path: `${project}/%c0%ae%c0%ae/x` }],
    [{ file_path: `${project}/%u002e%u002e/x` }],
    [{ file_path: `${project}/..\\..\\x` }],
    [{ file_path: `${project}\\..\\x` }],
    [{ file_path: `${project}/．．/x` }],
    [{ file_path: `${project}／..／..／etc` }],
    [{ file_path: `${project}/‥/x` }],
    [{ file_path: `${project}/..∕..∕etc` }],
    [{ file_path: `${project}/a\0` }],
    [{ file_path: `${project}/a%00.txt` }],
    [{ file_path: '~/secret' }],
    [{ file_path: '~root/x' }],
    [{ file_path: '$HOME/x' }],
    [{ file_path: `${project}/\${X}` }],
    [{ file_path: 'C:\\Windows\\x' }],
    [{ file_path: '\\\\host\\share' }],
    [{ file_path: 'file:///etc/passwd' }],
    [{ file_path: 'FILE:/etc/passwd' }],
    [{ file_path: 'file://localhost/etc/passwd' }],
    [{ file_path: ' /etc/passwd' }],
    [{ file_path: `${project}/{a,..}/{b,..}/x` }],
    [{ file_path: `${project}/.*/.*/x` }],
    [{ file_path: `${project}/[.]./x` }],
    [{ file_path: `${project}/.. /x` }],
    [{ file_path: `${project}/.\u200b./x` }],
    [{ file_path: `${project}/a:/etc/passwd` }],
    [{ file_path: `${project}/a,/etc/passwd` }],
    [{ file_path: `${project}/a\n/etc/passwd` }],
    [{ file_path: 'src/main.py' }],
    [{ file_path: '../x' }],
    [{ file_path: 'https://x/../../../../etc/passwd' }],
    [{ file_path: `${project}/a`, target: '/etc/passwd' }],
    [{ file_path: `${project}/a`, content: '/etc/passwd' }],
    [{ file_path: `${project}/a`, query: 'read /etc/passwd please' }],
    [{ file_path: `${project}/a`, opts: { deep: [['--out=/etc/x']] } }],
    [{ file_path: `${project}/a`, opts: '-C/etc' }],
    [{ file_path: `${project}/a`, opts: '-xzf/etc/x' }],
    [{ file_path: `${project}/a`, x: '@/etc/passwd' }],
    [{ file_path: `${project}/a`, x: 'a=@/etc/passwd;type=x' }],
    [{ file_path: `${project}/a`, x: '../../x' }],
    [{ file_path: `${project}/a`, x: '%2fetc%2fpasswd' }],
    [{ file_path: `${project}/a`, x: '<path>/etc/passwd</path>' }],
    [{ file_path: `${project}/a`, payload: '{"p":"\\u002fetc\\u002fpasswd"}' }],
    [{ file_path: `${project}/a`, payload: '{"p":"\\/etc\\/passwd"}' }],
    [{ file_path: `${project}/a`, x: 'look at /été/x' }],
    [{ file_path: `${project}/a`, x: 'paths = [/etc/passwd]' }],
    [{ file_path: `${project}/a`, x: 'https://good.com/,/etc/passwd' }],
    [{ file_path: `${project}/a`, x: 'data:/etc/passwd' }],
    [{ file_path: `${project}/a`, x: 'https://x/../../../../etc/passwd' }],
    [{ files: { '/etc/passwd': 'x' } }],
    [{ path: project, pattern: '../../../etc/*' }],
    [JSON.parse('{"file_path":"/home/user/project/a","__proto__":{"path":"/etc/x"}}') as JsonObject],
    [JSON.parse('{"constructor":{"prototype":["/etc/x"]},"file_path":"/home/user/project"}') as JsonObject],
    [{}],
    [{ query: 'hello' }],
    [{ target: 'secret/file' }],
    [{ command: 'cat file.txt' }],
    [{ path: `${project}/sub`, pattern: '../x' }],
    [{ path: ['/home/user/project', '..', '..', 'etc'] }],
    [{ url: 'https://api.example.com' }],
  ])('%j is outside', (input) => {
    expect(isOutside(within, input)).toBe(true);
  });

  test('is relative to the directory the call declares, else to the one the host declares', () => {
    const relative = { file_path: 'src/main.py' };
    expect(isOutside(within, { ...relative, working_directory: project })).toBe(false);
    expect(isOutside(within, { ...relative, cwd: '/etc' })).toBe(true);
    expect(isOutside(within, relative, { workingDirectory: project })).toBe(false);
    expect(isOutside(within, relative, { workingDirectory: '/srv' })).toBe(true);
    expect(isOutside(within, { ...relative, cwd: 'sub' }, { workingDirectory: project })).toBe(false);
    expect(isOutside(within, { ...relative, cwd: '..' }, { workingDirectory: project })).toBe(true);
  });

  test.each([
    [{ dir: project, name: 'secrets' }],
    [{ folder: '.', filename: 'secrets' }],
    [{ directory: 'secrets', key: 'k' }],
    [{ root: '.', sub: 'secrets', leaf: 'k' }],
    [{ parts: ['secrets', 'k'] }],
    [{ segments: ['', 'etc', 'passwd'] }],
    [{ path: 'unix:/run/docker.sock' }],
    [{ file: 'sqlite:secrets/k' }],
    [{ file: 'php://filter/resource=secrets/k' }],
    [{ file: 'zip:a!/b' }],
    [{ url: 'unix:/run/docker.sock' }],
    [{ url: 'http+unix://%2Frun%2Fdocker.sock/x' }],
    [{ endpoint: 'jar:file:/etc/x!/y' }],
    [{ uri: 'odd:thing' }],
    [{ path: 'secret[[.s.]]' }],
    [{ source: 'a.txt', to: 'secrets' }],
    [{ path: 'a.txt', target: 'secrets' }],
    [{ path: 'a.txt', output: 'secrets' }],
    [{ path: '.', file_pattern: 'secret*' }],
    [{ path: '.', includes: ['secret*'] }],
    [{ path: '.', patch: '--- a/secrets/k\n+++ b/secrets/k\n@@ -1 +1 @@\n-a\n+b\n' }],
    [{ path: '.', patch: '*** Begin Patch\n*** Update File: secrets/k\n-a\n+b\n*** End Patch' }],
    [{ path: 'secret[s]/k' }],
    [{ path: '+(secrets)' }],
  ])('a path under within that several members or another scheme of %j spell is outside', (input) => {
    const rule = { within: [project], notWithin: [`${project}/secrets`], allowedDomains: ['*'] };
    expect(isOutside(rule, input, { workingDirectory: project })).toBe(true);
  });

  test('climbs from every directory the call names', () => {
    const world = { workingDirectory: `${project}/very/deep/down` };
    expect(isOutside(within, { path: '../x' }, world)).toBe(false);
    expect(isOutside(within, { dir: project, path: '../x' }, world)).toBe(true);
    expect(isOutside(within, { path: project, pattern: '../x' }, world)).toBe(true);
    expect(isOutside(within, { prefix: `${project}/`, suffix: '../x' }, world)).toBe(true);
    expect(isOutside(within, { command: `cat ${project}/a ../b` })).toBe(true);
    expect(isOutside(within, { parts: ['..', '..', '..', '..', 'x'] }, world)).toBe(true);
    expect(isOutside(within, { parts: ['..', '..', 'x'] }, world)).toBe(false);
  });

  test('may be in the home directory, if the host says which that is', () => {
    expect(isOutside(within, { path: '~/project/a' }, { homeDirectory: '/home/user' })).toBe(false);
    expect(isOutside(within, { path: '~/other' }, { homeDirectory: '/home/user' })).toBe(true);
    expect(
      isOutside({ within: ['~/project'] }, { path: `${project}/a` }, { homeDirectory: '/home/user' }),
    ).toBe(false);
    expect(isOutside({ within: ['~/project'] }, { path: '~/project/a' })).toBe(true);
  });

  test('may be relative without a base if the rule is relative too', () => {
    expect(isOutside({ within: ['src'] }, { path: 'src/a' })).toBe(false);
    expect(isOutside({ within: ['.'] }, { path: 'src/a' })).toBe(false);
    expect(isOutside({ within: ['src'] }, { path: 'srcs/a' })).toBe(true);
    expect(isOutside({ within: ['src'] }, { path: 'src/../a' })).toBe(true);
    expect(isOutside({ within: ['.'], notWithin: ['secret'] }, { path: './secret/a' })).toBe(true);
    expect(isOutside({ within: ['src'] }, { path: `${project}/src/a` }, { workingDirectory: project })).toBe(
      false,
    );
  });

  test('may be on a drive', () => {
    const drive = { within: ['C:\\work'] };
    expect(isOutside(drive, { path: 'c:/work/a' })).toBe(false);
    expect(isOutside(drive, { path: 'C:\\work\\..\\x' })).toBe(true);
    expect(isOutside(drive, { path: 'D:\\work\\a' })).toBe(true);
  });

  test('is judged by the target of its links, in the rule as in the call', () => {
    const world = {
      realPath: linked({ [`${project}/out`]: '/etc', '/var/here': project, '/srv/alias': '/data/real' }),
    };
    expect(isOutside(within, { path: `${project}/out/passwd` }, world)).toBe(true);
    expect(isOutside(within, { path: '/var/here/a' }, world)).toBe(false);
    expect(isOutside({ within: ['/srv/alias'] }, { path: '/srv/alias/a' }, world)).toBe(false);
    expect(isOutside({ within: ['/srv/alias'] }, { path: '/data/real/a' }, world)).toBe(false);
    expect(
      isOutside({ within: ['/srv', '/data'], notWithin: ['/srv/alias'] }, { path: '/data/real/a' }, world),
    ).toBe(true);
    expect(
      isOutside({ within: ['/srv', '/data'], notWithin: ['/data/real'] }, { path: '/srv/alias/a' }, world),
    ).toBe(true);
  });

  test('climbs from the target of a link, not only from the link', () => {
    const world = {
      realPath: linked({ [`${project}/down`]: `${project}/a/b/c`, [`${project}/out`]: '/etc/deep' }),
    };
    expect(isOutside(within, { path: `${project}/out/../x` }, world)).toBe(true);
    expect(isOutside(within, { path: `${project}/down/../x` }, world)).toBe(false);
  });

  test('is outside if the file system cannot be asked', () => {
    const realPath = (): string => {
      throw new Error('EIO');
    };
    expect(isOutside(within, { path: `${project}/a` }, { realPath })).toBe(true);
  });

  test('is outside if not_within denies it, in every spelling of its letters', () => {
    const rule = { within: [project], notWithin: [`${project}/secrets`, `${project}/caf\u00e9`] };
    expect(isOutside(rule, { path: `${project}/secrets` })).toBe(true);
    expect(isOutside(rule, { path: `${project}/a/../secrets/k` })).toBe(true);
    expect(isOutside(rule, { path: `${project}/cafe\u0301/k` })).toBe(true);
    expect(isOutside(rule, { path: `${project}/secrets-not` })).toBe(false);
    const decomposes = { realPath: (path: string) => path.normalize('NFD') };
    expect(isOutside(rule, { path: `${project}/link` }, { realPath: () => `${project}/cafe\u0301` })).toBe(
      true,
    );
    expect(
      isOutside(
        { ...rule, notWithin: [`${project}/cafe\u0301`] },
        { path: `${project}/caf\u00e9` },
        decomposes,
      ),
    ).toBe(true);
    expect(isOutside({ ...rule, allowedCommands: ['cat'] }, { command: 'cat secrets/k' })).toBe(true);
    expect(isOutside({ ...rule, allowedCommands: ['cat'] }, { command: 'cat sec*/k' })).toBe(true);
    expect(isOutside({ ...rule, allowedCommands: ['cat'] }, { command: 'cat other/k' })).toBe(false);
  });
});

describe('more than can be checked', () => {
  test('thousands of paths are outside, even if each may be inside', () => {
    const many = (count: number): JsonObject => ({
      files: Array.from({ length: count }, (_, index) => `${project}/${index}`),
    });
    expect(isOutside(within, many(1000))).toBe(false);
    expect(isOutside(within, many(3000))).toBe(true);
  });

  test('dozens of directories to climb from are outside', () => {
    const from = (count: number): JsonObject => ({
      path: 'a/../../b',
      steps: Array.from({ length: count }, (_, index) => ({ dir: `${project}/${index}` })),
    });
    expect(isOutside(within, from(10))).toBe(false);
    expect(isOutside(within, from(20))).toBe(true);
  });

  test('a path with endless turns is outside, after a bounded number of file system lookups', () => {
    let looks = 0;
    const realPath = (path: string): string => (looks++, path);
    expect(isOutside(within, { path: `${project}/a${'/../a'.repeat(30)}` }, { realPath })).toBe(false);
    looks = 0;
    expect(isOutside(within, { path: `${project}/a${'/../a'.repeat(1000)}` }, { realPath })).toBe(true);
    expect(looks).toBeLessThan(100);
  });
});

describe('a command', () => {
  test.each([
    'git status',
    'ls -la',
    'cat file.txt',
    `cat ${project}/a`,
    `cat '${project}/a b'`,
    'cat "a file"',
    'l"s" -a',
    "grep -r 'a|b; c > d $x' .",
    'git commit -m "fix; really | now"',
    'grep "end$" a.txt',
    "grep -r '--include=*.py' foo .",
    "find . -name '*.py'",
    'ls 2>&1',
    'cat notes.md',
    "git log --format='see /etc/passwd'",
    'git commit -m /etc/passwd',
    'git log --pretty=%H',
    "sed -n '1,20p' a.txt",
  ])('%s is inside', (command) => {
    expect(isOutside(commands, { command, working_directory: project })).toBe(false);
    expect(isOutside(commands, { command })).toBe(false);
  });

  test.each([
    'rm -rf x',
    '/bin/ls',
    './ls',
    'FOO=1 ls',
    'sudo ls',
    'env ls',
    '',
    '   ',
    'ls; rm x',
    'ls && rm x',
    'ls || rm x',
    'ls & rm x',
    'ls | sh',
    'ls\nrm x',
    'ls\r\nrm x',
    'ls `rm x`',
    'ls $(rm x)',
    'ls "$(rm x)"',
    'ls "`rm x`"',
    'ls ${HOME}',
    'ls $HOME',
    'ls "$HOME"',
    "ls $'\\x2fetc'",
    'ls $"x"',
    'ls $((1))',
    'ls $[1]',
    'ls > x',
    'ls < x',
    'ls 2>&1x',
    'cat <(ls)',
    'cat <<EOF',
    "cat 'a",
    'cat "a',
    'cat a\\',
    '(ls)',
    '{ ls',
    'ls # x',
    'ls {a,b}',
    'ls {1..3}',
    'ls\0x',
    'ls *',
    'cat /home/user/project/l?nk',
    'cat /etc/passwd',
    'cat ../x',
    'cat a/../../x',
    'cat ~/x',
    'cat ~root/x',
    'cat ~+/x',
    'cat "/etc/passwd"',
    "cat /e't'c/passwd",
    'cat /e\\tc/passwd',
    'git -C /etc status',
    'git -C/etc status',
    'git --git-dir=/etc/x status',
    'git -C.. status',
    'git show -m HEAD:/etc/passwd',
    'git checkout -m /etc/passwd',
    'curl file:///etc/passwd',
    'curl -d @/etc/passwd',
    'curl -d@/etc/passwd',
    'curl -F f=@/etc/passwd',
    'curl --data=@../../etc/passwd',
    'cat %2fetc/passwd',
    "grep -f'/etc/passwd' x",
    'find . -exec rm {} +',
    'find / -name x',
    'l? -a',
    'ls a\rb',
    'cat a\u2028b',
    'cat a\x01',
    '\\\\ls',
    'grep -r --include=*.py foo .',
    "find . -name '*.py' -exec cat {} +",
    `git -C ${project} log`,
    'git -c core.pager=rm log',
    'cat token[[.s.]]',
    'if true; then ls; fi',
    'ls; cat a',
    'ls || cat a',
    "awk '{print $1}' a",
    'awk \'1\\n/x/ {system("rm x")}\' a',
    'jq -n \'import "../../../../../src/policy/sandbox/a" as a; 1\'',
    "sed 's/a/b/e' a",
    "sed 's/a/b/w x' a",
    "sed -n '1e rm x' a",
    'sed -f a b',
    'env ls',
    "bash -c 'ls'",
    'git grep -Orm x',
    'git diff --output=x',
    'git log --ext-diff',
    'find . -files0-from a',
    'grep -f a b',
    'grep -eA /etc/passwd',
    'cat -n /etc/passwd',
  ])('%s is outside', (command) => {
    expect(isOutside(commands, { command, working_directory: project })).toBe(true);
    expect(isOutside(commands, { command })).toBe(true);
  });

  test.each(['ls; cat x', 'ls $(x)', 'cat a > b', `cat ${project}/a | sh`])(
    'a command that is not plain, such as %s, is outside under every rule',
    (command) => {
      expect(isOutside(within, { command, cwd: project })).toBe(true);
      expect(isOutside(domains, { command, url: 'https://api.example.com' })).toBe(true);
    },
  );

  test('is outside if it runs outside', () => {
    expect(isOutside(commands, { command: 'ls', working_directory: '/etc' })).toBe(true);
    expect(isOutside(commands, { command: 'ls' }, { workingDirectory: '/etc' })).toBe(true);
    expect(isOutside(commands, { command: 'ls' }, { workingDirectory: project })).toBe(false);
  });

  test('may be a list of words, or words in another argument', () => {
    expect(isOutside(commands, { command: ['git', 'status'] })).toBe(false);
    expect(isOutside(commands, { command: ['rm', 'ls'] })).toBe(true);
    expect(isOutside(commands, { command: ['ls', '; rm x'] })).toBe(true);
    expect(isOutside(commands, { command: [] })).toBe(true);
    expect(isOutside(commands, { command: 'ls', args: ['-a'] })).toBe(false);
    expect(isOutside(commands, { command: 'ls', args: ['-a', ';', 'rm'] })).toBe(true);
    expect(isOutside(commands, { command: 'git', args: ['-C', '/etc'] })).toBe(true);
    expect(isOutside(commands, { command: 'ls', cmd: 'rm x' })).toBe(true);
    expect(isOutside(commands, { command: { program: 'rm', args: ['x'] }, cwd: project })).toBe(true);
    expect(isOutside(commands, { command: [{ run: 'rm x' }], cwd: project })).toBe(true);
    expect(isOutside(commands, { steps: [{ command: 'ls' }, { command: 'rm x' }] })).toBe(true);
  });

  test('reads a link in its directory as the target file', () => {
    const realPath = linked({ [`${project}/link`]: '/etc/passwd' });
    expect(isOutside(commands, { command: 'cat link', cwd: project }, { realPath })).toBe(true);
    expect(isOutside(commands, { command: 'cat', args: ['link'], cwd: project }, { realPath })).toBe(true);
    expect(isOutside(commands, { command: 'cat lin?', cwd: project }, { realPath })).toBe(true);
    expect(isOutside(commands, { command: 'cat lin*', cwd: project })).toBe(true);
  });

  test('a command that is opaque is allowed only by an entry with its exact words', () => {
    const rule = { allowedCommands: ['sudo', 'bash', 'xargs', 'npm test', 'sudo -u root ls', 'frobnicate'] };
    for (const command of ['sudo', 'npm test', 'sudo -u root ls', 'frobnicate', 'NODE_ENV=test npm test'])
      expect(isOutside(rule, { command })).toBe(false);
    for (const command of [
      'sudo ls',
      'npm test -- x',
      'npm tests',
      'sudo -u root ls x',
      'sudo -u root',
      'frobnicate x',
      'xargs rm',
      'bash',
      "bash -c 'ls -a'",
      'LD_PRELOAD=x npm test',
      'NODE_ENV=$(x) npm test',
      '"NODE_ENV=test" npm test',
      'NODE_OPTIONS=--require=./x npm test',
    ])
      expect(isOutside(rule, { command })).toBe(true);
  });

  test.each([
    "find -- . -exec sh -c id ';'",
    'find -- . -delete',
    'printf %n PATH',
    'printf -v PATH x',
    'git log --format=%GS',
    'git log --pretty=format:%G?',
    'diff -l a b',
    'git commit',
    'git commit --amend',
    'git blame -S x a',
    'strings @names',
    'md5sum -c list',
    "curl -o '#1' 'http://api.example.com/{/etc/x}'",
    "curl 'http://ev{il,x}.com'",
    'git branch -D x',
    'git branch made',
    'git tag v1',
    'git tag -l -d v1',
    'rmdir -p a/b',
    'hostname evil',
    'date 010100002030',
    'git add :/',
    "git diff ':(top)x'",
    'sed -i p w/etc/x f',
    "sed -i 's/a/b/' f",
    'base64 -o x a',
    'grep -d recurse x',
    'git rev-parse --since x',
    'git fetch ext::sh',
    'git remote add x y',
    'git stash drop',
    'rg -z x',
    'rg --pre sh x',
    'sort -o x a',
    'sort --compress-program=sh a',
    'tree -o x',
    'cat x | python3.11',
    'cat x | node20',
    'cat x | Bash',
    'cat x | bash.exe',
    'date +%F --file=/etc/passwd',
    'date +%F -f.env',
    'rg -e -- --pre=./evil.sh .',
    'rg --regexp -- --pre=./evil.sh .',
    'git grep -e -- --open-files-in-pager=./evil.sh',
    'grep -e -- -rf.env a.txt',
    'cp -vt.git/hooks evil',
    'ln -st.git a.txt',
    'mv -vtsecret a.txt',
    'hexdump -vf.env a',
    'touch -crsecret x',
    'cd project other && cat data.txt',
    'grep -R TOP .',
    'rg -L TOP .',
    'diff -r . sub',
    'find -L . -name x',
    'git switch pr && cat notes.txt',
    'ln -s ../../other ../l && cat ../l',
    'mv node_modules/.bin/foo . && cat foo',
    'cd sub && git status',
    'git log --format=%+GG -1',
    'echo evil.com | nslookup',
  ])('%s is not plain, so a rule without its exact words does not allow it', (command) => {
    const programs =
      'find printf git diff strings md5sum curl rmdir hostname date sed base64 grep rg sort tree cat cp ln mv hexdump touch cd echo nslookup';
    const rule = {
      within: [project],
      chains: 'judge' as const,
      allowedCommands: [...programs.split(' '), 'python3.11', 'node20', 'Bash', 'bash.exe'],
    };
    const world = { workingDirectory: project };
    expect(isOutside(rule, { command, cwd: project }, world)).toBe(true);
    expect(isOutside({ ...rule, allowedCommands: undefined }, { command, cwd: project }, world)).toBe(true);
  });

  test('a command of git that connects is outside a rule about hosts, because only git knows the host', () => {
    expect(isOutside(domains, { command: 'curl https://api.example.com/' })).toBe(false);
    const rule = { ...domains, chains: 'judge' as const };
    expect(isOutside(rule, { command: 'curl https://api.example.com/ && git fetch origin' })).toBe(true);
    expect(isOutside(rule, { command: 'curl https://api.example.com/ && git fetch' })).toBe(true);
  });

  test.each(['cd -- ../b && cat secrets/k', 'cd -LP ../b && cat secrets/k', 'cd -Pe ../b && cat secrets/k'])(
    '%s is judged from the directory that cd leads to',
    (command) => {
      const rule = { within: [project], notWithin: [`${project}/b/secrets`], chains: 'judge' as const };
      expect(isOutside(rule, { command, cwd: `${project}/a` })).toBe(true);
    },
  );

  test('may be allowed with any further words, unless its program runs others', () => {
    const rule = { allowedCommands: ['kubectl get *', 'env *', 'bash *', '/bin/bash *', 'git *', '*'] };
    expect(isOutside(rule, { command: 'kubectl get' })).toBe(false);
    expect(isOutside(rule, { command: 'kubectl get pods -n web' })).toBe(false);
    for (const command of ['kubectl delete pods', 'env ls', "bash -c 'ls'", '/bin/bash x', 'git push', 'ls'])
      expect(isOutside(rule, { command })).toBe(true);
  });

  test('a command under a rule without entries must be plain', () => {
    for (const command of ['ls -la', 'cat a', 'git status'])
      expect(isOutside(within, { command, cwd: project })).toBe(false);
    for (const command of ['python3 a.py', 'make', 'frobnicate', "sh -c 'ls'", 'npm test'])
      expect(isOutside(within, { command, cwd: project })).toBe(true);
  });

  test('keeps the files of its redirections when words in another argument are joined to it', () => {
    const input = { command: 'echo x > /etc/cron.d/x', args: ['a'] };
    expect(isOutside({ allowedCommands: ['echo'], within: [project], chains: 'judge' }, input)).toBe(true);
  });

  test('a command as a list with an empty word is read as it is, not only joined', () => {
    for (const input of [
      { command: ['grep', '', '/etc/passwd'] },
      { command: 'grep', args: ['', '/etc/passwd'] },
      { program: 'grep', argv: ['', '/etc/passwd'] },
      { command: { program: 'grep', args: ['', '/etc/passwd'] } },
    ])
      expect(isOutside(commands, { ...input, cwd: project })).toBe(true);
  });

  test('a command without a program in the call is outside', () => {
    for (const input of [{ args: ['-c', 'id'] }, { tool: 'bash', args: ['-c', 'id'] }, { argv: '-c id' }])
      expect(isOutside(commands, { ...input, cwd: project })).toBe(true);
  });

  test('includes what is next to it in the arguments', () => {
    const rule = { allowedCommands: ['ls', 'frobnicate', 'npm test'] };
    const inside = { timeout: 5, description: 'Make it so', session_id: 'a1', run_in_background: true };
    expect(isOutside(rule, { command: 'npm test', ...inside })).toBe(false);
    expect(isOutside(rule, { command: 'npm test', env: { CI: '1' }, shell: '/bin/bash' })).toBe(false);
    const joined = [
      { stdin: 'rm x' },
      { input: 'rm x' },
      { file: 'x.sh' },
      { options: { input: 'rm x' } },
      { extra: ['-c', 'rm x'] },
      { content: 'rm x' },
    ];
    const refused = [
      { script: 'rm x' },
      { options: { env: { PATH: '.' } } },
      { env: { BASH_ENV: 'x' } },
      { env: ['LD_PRELOAD=x'] },
      { environment: 'PATH=.' },
      { shell: 'powershell' },
      { shell: 'python3' },
      { extra_env: { LD_PRELOAD: './x.so' } },
      { envOverrides: { PATH: '.' } },
      { additionalEnv: { CI: '$(id)' } },
      { vars: { PATH: '.' } },
      { settings: { LD_PRELOAD: './x.so' } },
      { options: { settings: { PATH: '.' } } },
      { exports: ['PATH=.'] },
      { PATH: '.' },
      { shell_path: './evil' },
      { shellPath: './evil' },
      { runner: 'python' },
      { language: 'python' },
    ];
    for (const more of [...joined, ...refused]) {
      expect(isOutside(rule, { command: 'frobnicate', ...more })).toBe(true);
      expect(isOutside(rule, { command: ['frobnicate'], ...more })).toBe(true);
    }
    // A plain program with one more word is still plain, but not with another shell or environment.
    expect(isOutside(rule, { command: 'ls', extra: ['a'] })).toBe(false);
    for (const more of refused) expect(isOutside(rule, { command: 'ls', ...more })).toBe(true);
  });

  test('may be a chain if the rule judges chains, and then each of its commands must be inside', () => {
    const rule = { ...commands, chains: 'judge' as const, notWithin: [`${project}/a/secrets`] };
    const at = { cwd: project };
    for (const command of [
      'git log --oneline | cat',
      'ls && cat a.txt',
      'ls && git status 2>&1 | cat',
      'cat a > b.txt',
      'grep x a 2>/dev/null | cat',
    ]) {
      expect(isOutside(rule, { command, ...at })).toBe(false);
      expect(isOutside(commands, { command, ...at })).toBe(true);
    }
    for (const command of [
      'ls | rm x',
      'ls && rm x',
      'cat a > /etc/x',
      'ls & cat a',
      'ls | $(cat a)',
      'ls &&',
      'cat a >',
      'cat <<X',
      'cat a >& b',
    ])
      expect(isOutside(rule, { command, ...at })).toBe(true);
    const withCd = { ...rule, allowedCommands: ['cd', 'cat'] };
    expect(isOutside(withCd, { command: 'cd a && cat b', ...at })).toBe(false);
    expect(isOutside(withCd, { command: 'cd a && cat secrets/k', ...at })).toBe(true);
    expect(isOutside(withCd, { command: 'cd .. && cat b', ...at })).toBe(true);
    expect(isOutside(withCd, { command: 'cd && cat b', ...at })).toBe(true);
  });

  test('may be allowed only by its first words, or by its path as written', () => {
    const rule = { allowedCommands: ['git status', '/usr/bin/make all'] };
    expect(isOutside(rule, { command: 'git  status -s' })).toBe(false);
    expect(isOutside(rule, { command: 'git push' })).toBe(true);
    expect(isOutside(rule, { command: 'git' })).toBe(true);
    expect(isOutside(rule, { command: '/usr/bin/make all' })).toBe(false);
    expect(isOutside(rule, { command: 'make all' })).toBe(true);
    expect(isOutside({ ...rule, within: [project] }, { command: '/usr/bin/make all' })).toBe(false);
  });
});

describe('a host', () => {
  test.each([
    'https://api.example.com/data',
    'https://API.EXAMPLE.COM:8443/x?y=https://other.com',
    'https://api.example.com./x',
    'https://user:pw@api.example.com/',
    'api.example.com',
    'api.example.com:443/x',
    '//api.example.com/x',
    'https://a.cdn.example.com',
    'https://a.b.cdn.example.com',
    'https://api。example。com/',
    'HTTPS:api.example.com',
    'https://api.example.com/@someone',
    'git@api.example.com:repo.git',
  ])('%s is inside', (url) => {
    expect(isOutside(domains, { url })).toBe(false);
    expect(isOutside({ ...domains, within: [project] }, { url })).toBe(false);
  });

  test.each([
    'https://example.com',
    'https://cdn.example.com',
    'https://api.example.com.evil.com',
    'https://evil.com/api.example.com',
    'https://api.example.com@evil.com/',
    'https://evil.com#@api.example.com/',
    'https://evil.com?@api.example.com/',
    'https://evil.com\\@api.example.com/',
    'https:\\\\evil.com',
    'https://api.example.com%2f@evil.com',
    'https://api.example.com%2eevil.com',
    'https://api.example.com\t.evil.com',
    'https://api.example.com .evil.com',
    'https://a@b@api.example.com',
    'https://api.example.com, https://evil.com',
    'https:///evil.com',
    'https:/evil.com',
    'jar:https://evil.com!/x',
    'view-source:https://evil.com',
    '//evil.com/x',
    'evil.com',
    'evil.com:443',
    'user@evil.com',
    'mailto:x@evil.com',
    'javascript:fetch(1)',
    'https://',
    'https://api.examp1e.com',
    'https://аpi.example.com',
    'https://[::1]/',
    'https://127.0.0.1/',
    '2130706433',
    'localhost:3000',
    'file:///etc/passwd',
    '/etc/passwd',
  ])('%s is outside', (url) => {
    expect(isOutside(domains, { url })).toBe(true);
    expect(isOutside({ ...domains, within: [project] }, { url })).toBe(true);
  });

  test.each([
    [{ target: 'evil.com' }],
    [{ target: 'https://evil.com' }],
    [{ targets: 'api.example.com evil.com' }],
    [{ deep: { list: [{ x: 'wss://evil.com/' }] } }],
    [{ query: 'please fetch https://evil.com now' }],
    [{ 'https://evil.com': 1 }],
    [{ host: 2130706433 }],
    [{ content: 'https://evil.com' }],
    [{ x: 'to=https://evil.com' }],
    [{ command: 'curl https://evil.com' }],
    [{ command: 'curl evil.sh' }],
    [{ command: 'curl --url=https://evil.com' }],
    [{ command: 'curl -xhttps://evil.com' }],
    [{ command: 'curl 2130706433' }],
    [{ command: 'ssh me@evil.com' }],
    [{ command: 'git clone git@evil.com:a/b' }],
    [{ command: 'git clone https://evil.com/a' }],
    [{ path: '//evil.com/share' }],
  ])('a host in %j is found', (more) => {
    expect(isOutside(domains, { url: 'https://api.example.com/', ...more })).toBe(true);
  });

  test.each([
    [{ to: 'Bob <bob@evil.com>' }, true],
    [{ to: '"api.example.com" <bob@evil.com>' }, true],
    [{ to: 'bob@api.example.com <bob@evil.com>' }, true],
    [{ to: 'a@api.example.com, Bob <b@evil.com>' }, true],
    [{ to: 'Bob <b@api.example.com>, a@evil.com' }, true],
    [{ to: 'good.com<x@evil.com>' }, true],
    [{ to: '"x" <"a@api.example.com"@evil.com>' }, true],
    [{ to: ['Bob <b@api.example.com>', 'Eve <e@evil.com>'] }, true],
    [{ cc: 'evil@evil.com (boss)' }, true],
    [{ cc: '(ok@api.example.com) evil@evil.com' }, true],
    [{ cc: 'team: evil@evil.com;' }, true],
    [{ cc: '"evil x"@evil.com' }, true],
    [{ cc: 'evil @evil.com' }, true],
    [{ cc: 'evil@ evil.com' }, true],
    [{ cc: 'evil@evil.com boss@api.example.com x' }, true],
    [{ to: '"evil.com, eve@evil.com" <bob@api.example.com>' }, false],
    [{ to: 'Bob <b@api.example.com>; a@api.example.com' }, false],
  ])('a host of a mail address is parsed, not searched: %j', (more, outside) => {
    expect(isOutside(domains, { url: 'https://api.example.com/', ...more })).toBe(outside);
  });

  test.each([
    [{ name: 'notes.txt' }],
    [{ version: '1.2.3' }],
    [{ content: 'write to me at evil.com' }],
    [{ query: 'what is evil.com' }],
    [{ file_path: 'README.md' }],
    [{ command: 'cat README.md' }],
    [{ image: 'data:image/png;base64,AAAA//evil.com/' }],
    [{ at: '12:30' }],
  ])('is not seen in %j', (more) => {
    expect(isOutside(domains, { url: 'https://api.example.com/', ...more })).toBe(false);
  });

  test.each([
    'https://evil.com/',
    'https://EVIL.com.',
    'https://www.evil.com',
    'https://ｅvil.com',
    'https://127.1/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://2130706433/',
    'https://[::ffff:127.0.0.1]/',
    'https://ev\til.com/',
    'https://evil.com\\@x.com',
  ])('%s is matched by a denied pattern', (url) => {
    expect(isOutside(anywhereBut, { url })).toBe(true);
    expect(isOutside(anywhereBut, { url: 'https://good.org' })).toBe(false);
  });

  test('is compared in one spelling with a pattern in any spelling', () => {
    const rule = {
      allowedDomains: ['Bücher.DE', '*.bücher.de', 'https://x.org:8080/y', '[::1]', '10.0.0.*'],
    };
    expect(isOutside(rule, { url: 'https://xn--bcher-kva.de/' })).toBe(false);
    expect(isOutside(rule, { url: 'https://www.bücher.de/' })).toBe(false);
    expect(isOutside(rule, { url: 'https://x.org:8080/' })).toBe(false);
    expect(isOutside(rule, { url: 'https://x.org/' })).toBe(true);
    expect(isOutside(rule, { url: 'http://[0:0::1]/' })).toBe(false);
    expect(isOutside(rule, { url: 'http://10.0.0.7/' })).toBe(false);
    expect(isOutside(rule, { url: 'http://10.0.1.7/' })).toBe(true);
  });
});

describe('the kinds of a rule', () => {
  const named = {
    path: { file_path: `${project}/a` },
    command: { command: 'ls' },
    host: { url: 'https://api.example.com/' },
  };
  const constrained = {
    path: { within: [project] },
    command: { allowedCommands: ['ls'] },
    host: { allowedDomains: ['api.example.com'] },
  };
  const kinds = ['path', 'command', 'host'] as const;
  const subsets = (): (readonly (typeof kinds)[number][])[] =>
    Array.from({ length: 8 }, (_, bits) => kinds.filter((_, index) => (bits >> index) & 1));
  const rows = subsets().flatMap((rule) => subsets().map((call) => [rule, call] as const));

  test.each(rows.filter(([rule]) => rule.length > 0))(
    'a rule about %j and a call with %j: one kind in common is enough',
    (rule, call) => {
      const constraints = Object.assign({}, ...rule.map((kind) => constrained[kind])) as Constraints;
      const input = Object.assign({}, ...call.map((kind) => named[kind])) as JsonObject;
      expect(isOutside(constraints, input)).toBe(!rule.some((kind) => call.includes(kind)));
    },
  );
});

describe('a tool that declares its resources', () => {
  test('is judged only by them', () => {
    const resources = { paths: ['target'], urls: ['pages.*.at'], commands: ['run'] };
    const rule = { ...commands, allowedDomains: ['api.example.com'] };
    const input = {
      target: `${project}/a`,
      pattern: '/api',
      note: 'https://evil.com',
      file_path: '/etc/passwd',
    };
    expect(isOutside(rule, input)).toBe(true);
    expect(isOutside(rule, input, { resources })).toBe(false);
    expect(isOutside(rule, { ...input, target: '/etc/x' }, { resources })).toBe(true);
    expect(isOutside(rule, { ...input, target: ['/etc/x'] }, { resources })).toBe(true);
    expect(isOutside(rule, { ...input, pages: [{ at: 'evil.com' }] }, { resources })).toBe(true);
    expect(isOutside(rule, { ...input, run: 'rm x' }, { resources })).toBe(true);
    expect(isOutside(rule, { ...input, run: ['ls', '-a'] }, { resources })).toBe(false);
    expect(isOutside(rule, {}, { resources })).toBe(true);
    expect(isOutside(rule, { target: 'constructor' }, { resources: { paths: ['constructor.name'] } })).toBe(
      true,
    );
  });

  test('declares its working directory like any path', () => {
    const resources = { paths: ['cwd', 'file'] };
    expect(isOutside(within, { cwd: project, file: 'a' }, { resources })).toBe(false);
    expect(isOutside(within, { cwd: '/etc', file: 'a' }, { resources })).toBe(true);
  });
});

describe('one file in many spellings', () => {
  const part = fc.constantFrom('a', 'b.txt', 'c d', 'ü', '..', '.', 'src');
  const encodings: readonly ((path: string) => string)[] = [
    (path) => path,
    (path) => path.replaceAll('.', '%2e'),
    (path) => path.replaceAll('.', '%252E'),
    (path) => `${path}/.`,
    (path) => path.replaceAll('/', '//'),
    (path) => path.replaceAll('.', '．'),
    (path) => `file://${path}`,
    (path) => encodeURIComponent(path),
  ];
  const wrappings: readonly ((path: string) => JsonObject)[] = [
    (path) => ({ file_path: path }),
    (path) => ({ filePath: path }),
    (path) => ({ files: [path] }),
    (path) => ({ deep: { er: [{ path }] } }),
    (path) => ({ files: { [path]: 1 } }),
  ];

  test('is judged alike', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 8 }),
        fc.constantFrom(...encodings),
        fc.constantFrom(...wrappings),
        (parts, encode, wrap) => {
          // After a space, a climbing part is also read as a separate word, unless the spelling hides the space. That
          // denies more, never less, as the next test shows.
          fc.pre(!(parts.includes('c d') && parts.includes('..')));
          const path = `${project}/${parts.join('/')}`;
          expect(isOutside(within, wrap(encode(path)))).toBe(isOutside(within, { file_path: path }));
        },
      ),
    );
  });

  test('is outside in each spelling if it lies outside', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 8 }),
        fc.constantFrom(...encodings),
        fc.constantFrom(...wrappings),
        (parts, encode, wrap) => {
          const path = `${project}/${parts.join('/')}`;
          const place = posix.normalize(`${path}/`);
          fc.pre(!place.startsWith(`${project}/`));
          expect(isOutside(within, wrap(encode(path)))).toBe(true);
        },
      ),
    );
  });

  test('never throws, whatever the arguments', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\ud800', '%', '%u', '[::', '~', '-', '$', '{', '//', '\\'),
    );
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.oneof(hostile, fc.constantFrom('path', 'url', 'command', 'args', 'cwd')),
          fc.oneof(hostile, fc.array(hostile), fc.jsonValue()),
        ),
        (input) => {
          const rule = {
            ...commands,
            notWithin: [`${project}/x`],
            allowedDomains: ['*'],
            deniedDomains: ['evil.com'],
          };
          expect(typeof isOutside(rule, input as JsonObject)).toBe('boolean');
        },
      ),
    );
  });
});

describe('long arguments', () => {
  const size = 1_000_000;
  test.each([
    ['letters', 'a'.repeat(size)],
    ['slashes', '/'.repeat(size)],
    ['dots', '../'.repeat(size / 3)],
    ['words', 'and/or '.repeat(size / 7)],
    ['paths', Array.from({ length: size / 10 }, (_, index) => `/p/${index}`).join(' ')],
    ['escapes', '%2525'.repeat(size / 5)],
    ['options', '-'.repeat(size)],
    ['colons', 'a:'.repeat(size / 2)],
    ['at signs', 'a@'.repeat(size / 2)],
    ['equals', '=a'.repeat(size / 2)],
    ['braces', '{'.repeat(size)],
    ['quotes', `"'`.repeat(size / 2)],
    ['names', 'a.'.repeat(size / 2)],
    ['fullwidth', '．／'.repeat(size / 2)],
    ['base64', 'aB3/'.repeat(size / 4)],
    ['brackets', '['.repeat(size)],
    ['schemes', 'a+:'.repeat(size / 3)],
    ['blanks', ' '.repeat(size)],
    ['letters and a mark', `${'a'.repeat(size)}=`],
    ['commas', ',/a'.repeat(size / 3)],
    ['many commas', Array.from({ length: size / 10 }, (_, index) => `,/p/${index}`).join('')],
  ])('long arguments of %s are read in time proportional to their length', (_, text) => {
    for (const key of ['content', 'x', 'path', 'url', 'command', 'args', 'cwd']) {
      const judge = () =>
        void isOutside({ ...commands, allowedDomains: ['*'] }, { [key]: text, file_path: project });
      expect(cpuMsOf(judge)).toBeLessThan(5000);
    }
  });
});
