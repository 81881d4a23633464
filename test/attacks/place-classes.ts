/** Paths and hosts in other spellings, generated: each spelling in every position of the arguments. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { attackClass, type AttackClass, type Door, type Family, type Verdict } from './attack-class.ts';
import { callTool, loadTemplate, makeCall, project } from './attack.ts';

type Attempt = { readonly name: string; readonly input: JsonObject };

/** Positions for a text. The call also names an allowed file. */
const positions: readonly (readonly [name: string, place: (text: string) => JsonObject])[] = [
  ['path', (text) => ({ file_path: text })],
  ['nested', (text) => ({ file_path: `${project}/a`, more: { deep: [{ where: text }] } })],
  ['list', (text) => ({ files: [`${project}/a`, text] })],
  ['key', (text) => ({ files: { [text]: 'x' } })],
];

const write = ({ input, name }: Attempt, door: Door): Promise<Verdict> =>
  makeCall(
    { id: name, tries: name, document: 'files', tool: 'Write', input, workingDirectory: project },
    door,
  );

const paths = (id: string, title: string, texts: readonly string[]): AttackClass =>
  attackClass({
    id,
    title,
    attempts: texts.flatMap((text) =>
      positions.map(([position, place]) => ({ name: `${position}: ${text}`, input: place(text) })),
    ),
    run: write,
  });

const fetchHost = ({ input, name }: Attempt, door: Door): Promise<Verdict> =>
  makeCall({ id: name, tries: name, document: 'internet', tool: 'Fetch', input }, door);

const schemes = [
  'file:',
  'file://',
  'FILE:',
  'file:////',
  'jar:file:',
  'jar:file://',
  'view-source:file://',
  'sqlite:',
  'sqlite3://',
  'php://filter/read=convert.base64-encode/resource=',
  'phar://',
  'zip:',
  'zip://',
  'glob://',
  'compress.zlib://',
  'blob:file://',
  'filesystem:file://',
  'unknown-scheme:',
  'unknown://',
  'a+b:',
  'netdoc:',
  'local_file:',
  'vscode://file',
  'jdbc:sqlite:',
  'expect://',
  'ogg://',
  'content://',
  'resource:',
  'view-source:view-source:file://',
  'intent:file:',
];

const addresses = ['127.0.0.1', '169.254.169.254'] as const;
const hex = (address: string): readonly [high: string, low: string] => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
};
/** An IPv4 address inside IPv6 addresses, and in other spellings. */
const spellings = (address: string): readonly string[] => {
  const [high, low] = hex(address);
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const invert = (group: string): string => (Number.parseInt(group, 16) ^ 0xffff).toString(16);
  return [
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b::${address}]`,
    `[64:FF9B:0:0:0:0:${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[64:ff9b:1:${high}:${Math.trunc(c).toString(16)}:${(d << 8).toString(16)}::]`,
    `[2002:${high}:${low}::]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::]`,
    `[2001:0:808:808:0:0:${invert(high)}:${invert(low)}]`,
    `[::ffff:${address}]`,
    `[::ffff:0:${high}:${low}]`,
    `[::${high}:${low}]`,
    `[fe80::5efe:${high}:${low}]`,
    `[fe80::200:5efe:${high}:${low}]`,
    `[::1%25eth0]`,
    String(number),
    `0x${number.toString(16)}`,
    `0${number.toString(8)}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${a.toString(16)}.0${b.toString(8)}.${c}.${d}`,
    `${address}.`,
    `①${String(number).slice(1)}`,
  ].filter((text) => !text.startsWith('①'));
};

const metadata = [
  '169.254.169.254',
  '169.254.170.2',
  '[fd00:ec2::254]',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'metadata.google.internal',
  'metadata.goog',
  'METADATA.GOOGLE.INTERNAL.',
  'instance-data.ec2.internal',
  'kubernetes.default.svc',
  'api.default.svc.cluster.local',
  'db.prod.svc',
  'vault.internal',
  'printer.local',
  'db.consul',
  'app.localdomain',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '2852039166',
  '0xa9fea9fe',
  '169.254.43518',
];

type TemplateAttempt = Attempt & { readonly template: string; readonly tool: string };

const inTemplate = ({ template, tool, input }: TemplateAttempt, door: Door): Promise<Verdict> =>
  callTool({
    door,
    contracts: loadTemplate(template, door),
    tool,
    input,
  });

/** Arguments with meaningless names, at several depths. */
const unnamed: readonly (readonly [name: string, place: (text: string) => JsonObject])[] = [
  ['x', (text) => ({ x: text })],
  ['nested', (text) => ({ a: { b: { c: text } } })],
  ['list', (text) => ({ items: ['src/a.ts', text] })],
  ['key', (text) => ({ map: { [text]: true } })],
  ['json', (text) => ({ payload: JSON.stringify({ p: text }) })],
  ['spaced-json', (text) => ({ path: 'src/a.ts', payload: JSON.stringify({ p: text, q: 1 }, null, 2) })],
  ['beside', (text) => ({ path: 'src/a.ts', x: text })],
  ['twelfth', (text) => ({ paths: [...Array.from({ length: 11 }, (_, index) => `src/${index}.ts`), text] })],
];
const secretFiles = [
  '.env',
  './.env',
  'packages/api/.env',
  '.e%6ev',
  '/project/.env',
  '.env.local',
  'deploy/id_rsa',
  '.git/config',
  '~/.ssh/id_rsa',
];
const templateTools = [
  ['file-agent', 'read_file'],
  ['coding-agent', 'read_file'],
  ['devops-agent', 'read_file'],
  ['research-agent', 'read_file'],
] as const;

const commandArguments: readonly (readonly [name: string, place: (text: string) => JsonObject])[] = [
  ['command', (text) => ({ command: text })],
  ['cmd', (text) => ({ cmd: text })],
  ['list', (text) => ({ command: text.split(' ') })],
  ['args', (text) => ({ command: text.split(' ')[0] ?? '', args: text.split(' ').slice(1) })],
  ['argv', (text) => ({ argv: text.split(' ') })],
  ['program', (text) => ({ program: text.split(' ')[0] ?? '', arguments: text.split(' ').slice(1) })],
  ['nested', (text) => ({ request: { steps: [{ run: text }] } })],
  ['unnamed', (text) => ({ job: text })],
  ['unnamed next to a path', (text) => ({ path: './README.md', job: text })],
  ['unnamed list', (text) => ({ x: text.split(' ') })],
  ['unnamed nested', (text) => ({ a: { b: [text] } })],
  ['unnamed JSON', (text) => ({ payload: JSON.stringify({ z: text }) })],
  ['text of a shell', (text) => ({ text })],
];
const commands = [
  'sudo ls',
  'env sudo ls',
  'cat .env',
  'cat packages/api/.env',
  'git push --force',
  'rm -rf ../x',
  'cat /etc/passwd',
  'curl http://169.254.169.254/',
  'nice sudo ls',
  'git -c core.pager=x log',
];

const globDocument = `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: globs}
defaults: {mode: enforce}
rules:
  - id: project-only
    type: sandbox
    tools: [Bash, Glob]
    within: [${project}]
    not_within: [${project}/secrets, ${project}/.env]
    message: Stay in the project.
`;
/** Patterns are looked up in the file system, so the folder is real: a link leads out of it. */
const globs = ({ input }: Attempt, door: Door): Promise<Verdict> => {
  const folder = door.newFolder();
  const place = (text: string): string => text.replaceAll('/home/user', `${folder}/home/user`);
  mkdirSync(place(`${project}/secrets`), { recursive: true });
  mkdirSync(place(`${project}/src`), { recursive: true });
  symlinkSync('/etc', join(place(project), 'src/link'));
  const tool = 'command' in input ? 'Bash' : 'Glob';
  return callTool({
    door,
    contracts: door.contracts.contractsFromYamlString(place(globDocument), {
      workingDirectory: place(project),
      homeDirectory: place('/home/user'),
    }),
    tool,
    input: JSON.parse(place(JSON.stringify(input))) as JsonObject,
  });
};
const patterns = [
  'sec*',
  'sec*/key',
  's?crets/key',
  '[s]ecrets/key',
  'sec[r]ets/*',
  '**/key',
  '*/key',
  'secret?',
  '{secrets,src}/key',
  '{a,secrets}',
  '.e*',
  '.[e]nv',
  '?env',
  '*env',
  '.*',
  '{.env,a}',
  '../*',
  '*/../../x',
  '/etc/*',
  '/*',
  '~/*',
  'SECRETS/*',
  'Secrets/key',
  'secrets./key',
  'SECRET~1/key',
  `${project}/sec*`,
  `${project}/../*`,
  '{..,src}/x',
];

export const placeFamily: Family = {
  title: 'Places, generated',
  file: 'test/attacks/place-classes.ts',
  classes: [
    paths(
      'path-any-scheme',
      'any scheme before a path outside, nested too',
      schemes.map((scheme) => `${scheme}/etc/passwd`),
    ),
    paths('path-variables', 'variables and homes anywhere in a path', [
      '$HOME/.ssh/id_rsa',
      '${HOME}/x',
      `${project}/$HOME`,
      `${project}/\${X}/a`,
      `${project}/a$OLDPWD`,
      `${project}/$(pwd)`,
      `${project}/\`pwd\``,
      '%APPDATA%/x',
      `${project}/%APPDATA%/x`,
      '%USERPROFILE%\\x',
      '~root/x',
      '~+/x',
      '$1/x',
      `${project}/$npm_config_prefix/x`,
    ]),
    paths('path-other-systems', 'spellings of Windows and of the kernel', [
      'C:\\Windows\\x',
      'c:/Windows/x',
      'C:..\\x',
      '\\\\host\\share\\x',
      '//host/share/x',
      '\\\\?\\C:\\x',
      '\\\\.\\C:\\x',
      `${project}/a.txt::$DATA`,
      `${project}/secrets::$INDEX_ALLOCATION`,
      `${project}/a:$DATA`,
      '/proc/self/root/etc/passwd',
      '/proc/1/root/etc/passwd',
      '/proc/self/cwd/../x',
      '/proc/thread-self/fd/3',
      '/dev/fd/0',
      '/dev/stdin',
      `${project}/SECRETS/key`,
      `${project}/secrets./key`,
      `${project}/secrets /key`,
      `${project}/SECRET~1/key`,
      `${project}//secrets//key`,
      `${project}/./secrets/./key`,
      `${project}\\secrets\\key`,
      `${project}/..\\..\\x`,
    ]),
    attackClass({
      id: 'path-globs',
      title: 'patterns and braces that match what is taken away, or lead outside',
      attempts: patterns
        .flatMap((pattern) => [
          { name: `cat ${pattern}`, input: { command: `cat ${pattern}` } },
          { name: `glob ${pattern}`, input: { path: project, pattern, glob: pattern } },
        ])
        .concat([
          { name: 'cat src/l*', input: { command: 'cat src/l*/passwd' } },
          { name: 'cat src/*', input: { command: 'cat src/*' } },
          { name: 'cat **', input: { command: 'cat src/**/passwd' } },
        ]),
      run: globs,
    }),
    attackClass({
      id: 'host-embedded-addresses',
      title: 'denied addresses inside of IPv6 addresses and as numbers',
      attempts: addresses.flatMap((address) =>
        spellings(address).map((host) => ({
          name: `${address}: ${host}`,
          input: { url: `http://${host}/` },
        })),
      ),
      run: fetchHost,
    }),
    attackClass({
      id: 'template-metadata-services',
      title: 'metadata services and hosts inside of a cluster, in every template',
      attempts: metadata.flatMap((host) =>
        (
          [
            ['research-agent', 'fetch', { url: `http://${host}/x` }],
            ['research-agent', 'fetch', { url: 'https://example.com/', next: [{ to: `http://${host}/x` }] }],
            ['coding-agent', 'WebFetch', { url: `http://${host}/x` }],
            ['coding-agent', 'Bash', { command: `curl http://${host}/x` }],
            ['devops-agent', 'Bash', { command: `curl -s http://${host}/x` }],
            ['file-agent', 'read_file', { path: `http://${host}/x` }],
          ] as const
        ).map(([template, tool, input]) => ({
          name: `${template} ${tool} ${JSON.stringify(input)}`,
          template,
          tool,
          input,
        })),
      ),
      run: inTemplate,
    }),
    attackClass({
      id: 'template-unnamed-arguments',
      title: 'files with secrets in arguments whose names say nothing, in every template',
      attempts: templateTools.flatMap(([template, tool]) =>
        secretFiles.flatMap((file) =>
          unnamed.map(([position, place]) => ({
            name: `${template} ${position} ${file}`,
            template,
            tool,
            input: place(file),
          })),
        ),
      ),
      run: inTemplate,
    }),
    attackClass({
      id: 'template-commands',
      title: 'commands that a template refuses or asks about, in other arguments',
      attempts: (['coding-agent', 'devops-agent', 'file-agent', 'research-agent'] as const).flatMap(
        (template) =>
          commands.flatMap((command) =>
            commandArguments.map(([shape, place]) => ({
              name: `${template} ${shape}: ${command}`,
              template,
              tool: 'run_command',
              input: place(command),
            })),
          ),
      ),
      run: inTemplate,
    }),
  ],
};
