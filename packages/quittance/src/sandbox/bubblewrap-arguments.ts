/** A plan in the words of bubblewrap: mounts, namespaces, environment, and the programs in front of the command. */
import { fileURLToPath } from 'node:url';
import type { SandboxCover } from './covers.ts';
import { homeFolder, programFolder, scratchFolder, type SandboxPlan } from './plan.ts';

// File descriptors that bubblewrap reads. The accounts and names of the sandbox follow from here.
export const argumentsAt = 3;
export const filterAt = 4;
export const statusAt = 5;
export const firstFileAt = 6;

export const systemTexts: readonly (readonly [path: string, text: string])[] = [
  [
    '/etc/passwd',
    `agent:x:1000:1000:agent:${homeFolder}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n`,
  ],
  ['/etc/group', 'agent:x:1000:\nnogroup:x:65534:\n'],
  ['/etc/hosts', '127.0.0.1 localhost\n::1 localhost\n'],
  ['/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files\n'],
];
export const busAt: number = firstFileAt + systemTexts.length;
const proxyPort = 3128;
const nodeInside = `${programFolder}/node`;

export const mebibyte = 1_048_576;
/** V8 reserves about half a gibibyte that counts as data although it is not used. */
const reservedMb = 1_024;

/** The arguments of bubblewrap for a plan, without the command. */
export function toBubblewrapArguments(
  plan: SandboxPlan,
  { node, withFileProgram = false }: { readonly node: string; readonly withFileProgram?: boolean },
): readonly string[] {
  const { limits } = plan;
  const scratchBytes = String(limits.scratchMb * mebibyte);
  const environment = { ...plan.environment, ...(plan.hosts.length > 0 && proxyEnvironment) };
  const binds = [
    ...plan.readOnly.map((path) => ['--ro-bind', path, path]),
    ...plan.writable.map((path) => ['--bind', path, path]),
    // Outer folders first. A stable sort keeps the order of equal depths.
  ].sort((left, right) => depthOf(left) - depthOf(right));
  const needsNode = withFileProgram || plan.hosts.length > 0;
  const options: readonly (readonly string[])[] = [
    ['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'],
    ['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ['--die-with-parent', '--new-session'],
    ['--clearenv'],
    ...Object.entries(environment).map(([name, value]) => ['--setenv', name, value]),
    // Read-only, because root of the host owns /proc/sys, and may be the user who runs this.
    ['--proc', '/proc', '--remount-ro', '/proc'],
    ['--dev', '/dev', '--size', scratchBytes, '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ['--perms', '1777', '--size', scratchBytes, '--tmpfs', scratchFolder, '--dir', homeFolder],
    ...systemTexts.map(([path], index) => ['--ro-bind-data', String(firstFileAt + index), path]),
    ...binds,
    ...plan.links.map(({ path, target }) => ['--symlink', target, path]),
    ...plan.covers.map(toCoverOptions),
    needsNode ? ['--ro-bind', node, nodeInside] : [],
    withFileProgram ? ['--ro-bind', programFile('sandbox-files'), insideOf('files')] : [],
    plan.hosts.length > 0 ? ['--ro-bind', programFile('sandbox-relay'), insideOf('relay')] : [],
    ['--remount-ro', '/', '--chdir', plan.workingDirectory],
    ['--seccomp', String(filterAt), '--json-status-fd', String(statusAt)],
  ];
  return options.flat();
}

function toCoverOptions({ kind, path }: SandboxCover): readonly string[] {
  switch (kind) {
    case 'hidden_folder':
      return ['--perms', '0555', '--tmpfs', path, '--remount-ro', path];
    case 'hidden_file':
      return ['--ro-bind', '/dev/null', path];
    case 'read_only':
      return ['--ro-bind', path, path];
    case 'pinned':
      return ['--bind', path, path];
  }
}

const depthOf = (bind: readonly string[]): number => (bind[2] ?? '').split('/').length;

const proxyUrl = `http://127.0.0.1:${proxyPort}`;
const proxyEnvironment: Readonly<Record<string, string>> = {
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  ALL_PROXY: proxyUrl,
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  all_proxy: proxyUrl,
  NO_PROXY: 'localhost,127.0.0.1',
  no_proxy: 'localhost,127.0.0.1',
  NODE_USE_ENV_PROXY: '1',
};

/** After a build the programs are JavaScript beside the bundle; in the sources they are TypeScript. */
const isSource = import.meta.url.endsWith('.ts');
const programFile = (name: string): string =>
  fileURLToPath(new URL(`./${name}${isSource ? '.ts' : '.js'}`, import.meta.url));
const insideOf = (name: string): string => `${programFolder}/${name}${isSource ? '.mts' : '.mjs'}`;

/** The words that run the file program inside. */
export const fileProgramWords: readonly string[] = [nodeInside, insideOf('files')];

/** The command behind the programs that bound it and connect it. */
export function toInnerWords(
  plan: SandboxPlan,
  prlimit: string,
  words: readonly string[],
): readonly string[] {
  const { memoryMb, processes, fileMb } = plan.limits;
  return [
    prlimit,
    `--data=${(memoryMb + reservedMb) * mebibyte}`,
    `--nproc=${processes}`,
    `--fsize=${fileMb * mebibyte}`,
    '--core=0',
    '--nofile=4096',
    '--',
    ...(plan.hosts.length === 0 ? [] : [nodeInside, insideOf('relay'), String(busAt), String(proxyPort)]),
    ...words,
  ];
}
