/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { expect, test } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { compilePolicy } from '../judge/compile-policy.ts';
import { composeRules } from '../compose/compose-rules.ts';
import { parseDocument } from '../read/parse-document.ts';

const decide = async (when: JsonObject, input: JsonObject): Promise<string> => {
  const document = {
    apiVersion: 'quittance/v1',
    kind: 'Ruleset',
    metadata: { name: 'found' },
    defaults: { mode: 'enforce' },
    rules: [{ id: 'r', type: 'pre', tool: '*', when, then: { action: 'block', message: 'No.' } }],
  };
  const policy = compilePolicy(composeRules([parseDocument(JSON.stringify(document), 'd')]), {
    environment: 'production',
    env: () => undefined,
    realPath: (path) => (path === '/p/link' ? '/etc/shadow' : path),
    workingDirectory: '/p',
    homeDirectory: '/home/ada',
    selectors: {},
    operators: {},
  });
  const call = { toolName: 't', input, principal: undefined, metadata: undefined, snapshot: undefined };
  return (await policy.judgeCall({ ...call, resources: undefined })).decision;
};

test.each([
  [{ 'found.paths': { matches: '\\.env$' } }, { deep: [{ x: 'a/.env' }] }],
  [{ 'found.paths': { equals: './a/.env' } }, { command: 'cat a/.e""nv' }],
  [{ 'found.paths': { equals: '/etc/shadow' } }, { path: 'link' }],
  [{ 'found.names': { matches: '^\\.env$' } }, { anything: '.env' }],
  [{ 'found.names': { equals: '.env' } }, { anything: '.e%256ev' }],
  [{ 'found.names': { equals: '.env' } }, { payload: '{ "a": ".env", "b": 1 }' }],
  [{ 'found.names': { equals: '.env' } }, { many: [...Array.from({ length: 5000 }, String), '.env'] }],
  [{ 'found.names': { equals: '.env' } }, { map: { '.env': 1 } }],
  [{ 'found.hosts': { ends_with: '.internal' } }, { list: ['https://A.INTERNAL/x'] }],
  [{ 'found.hosts': { equals: '169.254.169.254' } }, { u: 'http://[64:ff9b::a9fe:a9fe]/' }],
  [{ 'found.commands': { starts_with: 'sudo ' } }, { command: 'env /usr/bin/sudo ls' }],
  [{ 'found.commands': { equals: 'git push --force' } }, { program: 'git', args: ['push', '--force'] }],
  [{ 'found.commands': { equals: 'rm -rf build' } }, { job: 'rm -rf build' }],
  [{ 'found.commands': { equals: 'rm build' } }, { path: 'a.txt', z: { y: ['rm', 'build'] } }],
  [{ 'found.commands': { equals: 'curl https://a.example/x' } }, { z: '{"y":"curl https://a.example/x"}' }],
  [{ 'found.commands': { equals: 'kubectl delete ns prod' } }, { z: 'cd /p && kubectl delete ns prod' }],
  [{ 'found.commands': { equals: 'find . -delete' } }, { z: '/usr/bin/find . -delete' }],
  [{ 'found.urls': { contains: 'token=' } }, { x: { y: 'see https://a.example/?token=1' } }],
  [{ 'found.hosts': { not_in: ['a.example'] } }, { urls: ['https://a.example/', 'https://b.example/'] }],
  [{ 'found.paths': { exists: true } }, { path: 'a' }],
])('%j fires for %j', async (when, input) => {
  expect(await decide(when, input)).toBe('block');
});

test.each([
  [{ 'found.paths': { matches: '\\.env$' } }, { content: 'put it into .env' }],
  [{ 'found.paths': { matches: 'process' } }, { command: 'grep -rn process.env src' }],
  [{ 'found.commands': { contains: 'sudo' } }, { description: 'sudo is not used' }],
  [{ 'found.commands': { exists: true } }, { query: 'find the report in docs' }],
  [{ 'found.commands': { exists: true } }, { query: 'git rebase tutorial' }],
  [{ 'found.commands': { exists: true } }, { query: 'make it short; then sort by date' }],
  [{ 'found.commands': { exists: true } }, { query: 'how to use rm -rf safely' }],
  [{ 'found.commands': { exists: true } }, { tags: ['python', 'node', 'docker'], city: 'Lyon' }],
  [{ 'found.hosts': { exists: true } }, { x: 'nothing' }],
  [{ 'found.hosts': { not_in: ['a.example'] } }, { url: 'https://a.example/' }],
])('%j does not fire for %j', async (when, input) => {
  expect(await decide(when, input)).toBe('allow');
});

test.each([
  'rm -rf $HOME',
  'rm $(ls)',
  '(rm x)',
  '{ rm x; }',
  'if true; then rm x; fi',
  '! rm x',
  'rm x &',
  'echo `rm x`',
  'ls # x\nrm x',
  'r$@m x',
  'bash -c "rm \\$X"',
])('a rule about commands, paths or hosts fires for the unreadable command %s', async (command) => {
  for (const kind of ['found.commands', 'found.paths', 'found.hosts']) {
    expect(await decide({ [kind]: { equals: 'other' } }, { command })).toBe('block');
    expect(await decide({ [kind]: { equals: 'other', on_missing: 'skip' } }, { command })).toBe('allow');
  }
});

test.each([
  'env rm x',
  'sudo -u root rm x',
  "bash -c 'ls; rm x'",
  'timeout 5 /bin/rm x',
  'if true; then rm x; fi',
])('a rule about rm fires for %s, because an opaque program may run any of its words', async (command) => {
  expect(await decide({ 'found.commands': { matches: '^rm( |$)', on_missing: 'skip' } }, { command })).toBe(
    'block',
  );
});

test('a rule about hosts fires for a URL that parsers read differently', async () => {
  const when = { 'found.hosts': { equals: 'evil.com' } };
  expect(await decide(when, { url: 'https://evil.com\\@api.example.com/' })).toBe('block');
  expect(await decide(when, { url: 'https://api.example.com/' })).toBe('allow');
  expect(await decide(when, { note: 'see vscode://file/x' })).toBe('allow');
});

test('a text that only looks like a command may be unreadable', async () => {
  expect(await decide({ 'found.commands': { equals: 'x' } }, { query: 'rm -rf $HOME explained' })).toBe(
    'allow',
  );
});

test('an unknown kind is rejected when the document is loaded', async () => {
  await expect(decide({ 'found.files': { exists: true } }, {})).rejects.toThrow(/contracts/i);
});
