/**
 * Runs one command under bubblewrap, as a plan says. The command gets its own namespaces for users, processes, network,
 * mounts, IPC and host name, no capabilities, a filter of system calls, and no file descriptors of the host.
 *
 * 1. When this returns, no process of the call is left: the kernel ends all of them with the first process of the
 *    process namespace.
 * 2. The host keeps a bounded part of the output, whatever the command prints.
 * 3. The arguments go to bubblewrap through a pipe, so values of the environment do not appear in process lists.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { QuittanceError } from '../base/error.ts';
import { homeFolder, inodeOf, programFolder, scratchFolder } from './plan.ts';
import type { SandboxCover, SandboxPlan } from './plan.ts';
import { createProxy, type Proxy } from './proxy.ts';
import { createSeccompFilter } from './seccomp-filter.ts';

/** The programs that the executor needs on the host. */
export type SandboxEngine = { readonly bubblewrap: string; readonly prlimit: string };

/** A command: its words, and what it reads from its input. */
export type SandboxCommand = {
  readonly words: readonly string[];
  readonly input?: string;
  /** Shown inside as `/.quittance/files.mjs`. */
  readonly withFileProgram?: boolean;
};

export type SandboxRun = {
  /** Undefined if the executor ended the command. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of both streams that were not kept. */
  readonly omittedBytes: number;
  /** Why the executor ended the command. Undefined if it ended by itself. */
  readonly stopped: SandboxStop | undefined;
  /** Excluded paths that did not exist before the call and do now, or were replaced. */
  readonly changedPaths: readonly string[];
  readonly refusedHosts: readonly string[];
};

export type SandboxStop = 'timeout' | 'memory' | 'processes' | 'cancelled' | 'relay';

export type RunOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly onReached?: (target: string) => void;
};

const programPlaces = ['/usr/bin', '/bin', '/usr/local/bin', '/usr/sbin', '/sbin'];

/** Throws with what to install if a program is missing or the system is not supported. */
export function findEngine(platform: string = process.platform): SandboxEngine {
  if (platform !== 'linux')
    throw new QuittanceError(
      'config.invalid',
      `The sandboxed executor needs Linux. This is ${platform}: run the agent in a container or a virtual machine.`,
    );
  const find = (name: string, packageName: string): string => {
    const found = programPlaces.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));
    if (found !== undefined) return found;
    throw new QuittanceError(
      'config.invalid',
      `The sandboxed executor needs the program ${name}, which is in none of ${programPlaces.join(', ')}. Install it: apt-get install ${packageName}, dnf install ${packageName} or apk add ${packageName}.`,
    );
  };
  return { bubblewrap: find('bwrap', 'bubblewrap'), prlimit: find('prlimit', 'util-linux') };
}

// File descriptors that bubblewrap reads. The accounts and names of the sandbox follow from here.
const argumentsAt = 3;
const filterAt = 4;
const statusAt = 5;
const firstFileAt = 6;

const systemTexts: readonly (readonly [path: string, text: string])[] = [
  [
    '/etc/passwd',
    `agent:x:1000:1000:agent:${homeFolder}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n`,
  ],
  ['/etc/group', 'agent:x:1000:\nnogroup:x:65534:\n'],
  ['/etc/hosts', '127.0.0.1 localhost\n::1 localhost\n'],
  ['/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files\n'],
];
const busAt = firstFileAt + systemTexts.length;
const proxyPort = 3128;
const nodeInside = `${programFolder}/node`;

const mebibyte = 1_048_576;
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
export const fileProgramWords: readonly string[] = [
  nodeInside,
  '--disable-warning=ExperimentalWarning',
  insideOf('files'),
];

/** The command behind the programs that bound it and connect it. */
function toInnerWords(
  plan: SandboxPlan,
  { prlimit }: SandboxEngine,
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
    ...(plan.hosts.length === 0
      ? []
      : [
          nodeInside,
          '--disable-warning=ExperimentalWarning',
          insideOf('relay'),
          String(busAt),
          String(proxyPort),
        ]),
    ...words,
  ];
}

/** Runs the command and waits until every process of it is gone. */
export async function runSandboxed(
  engine: SandboxEngine,
  plan: SandboxPlan,
  command: SandboxCommand,
  { signal, onReached = () => undefined }: RunOptions = {},
): Promise<SandboxRun> {
  signal?.throwIfAborted();
  const refusedHosts = new Set<string>();
  const proxy =
    plan.hosts.length === 0
      ? undefined
      : createProxy({ rules: plan.hosts, onReached, onRefused: (host) => refusedHosts.add(host) });
  const nowhere = openSync('/dev/null', 'r+');
  let child: ChildProcess;
  try {
    child = spawn(
      engine.bubblewrap,
      ['--args', String(argumentsAt), '--', ...toInnerWords(plan, engine, command.words)],
      { stdio: makeStdio(command, plan, nowhere), env: {}, cwd: '/' },
    );
  } finally {
    closeSync(nowhere);
  }
  const keepers = [
    createOutputKeeper(plan.limits.outputBytes),
    createOutputKeeper(plan.limits.outputBytes),
  ] as const;
  (child.stdout as Readable).on('data', keepers[0].add);
  (child.stderr as Readable).on('data', keepers[1].add);
  const status = sendSetup(child, plan, command);

  let stopped: SandboxStop | undefined;
  const stop = (why: SandboxStop): void => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const end = await watchUntilEnd(child, plan, { signal, status, stop, proxy });
  await waitUntilGone(status.processId());
  proxy?.close();
  if (end instanceof Error) throw end;
  const [stdout, stderr] = [keepers[0].text(), keepers[1].text()];
  if (stopped === undefined && !status.hasEnded())
    throw new QuittanceError(
      'config.invalid',
      `bubblewrap could not start the command: ${stderr.trim() || 'it gave no reason'}. Run quittance doctor to see what is missing.`,
    );
  return {
    exitCode: stopped === undefined ? (end ?? undefined) : undefined,
    stdout,
    stderr,
    omittedBytes: keepers[0].omittedBytes() + keepers[1].omittedBytes(),
    stopped,
    changedPaths: plan.watched.filter(({ path, inode }) => inodeOf(path) !== inode).map(({ path }) => path),
    refusedHosts: [...refusedHosts],
  };
}

/**
 * Pipes for the descriptors above. Node passes on every descriptor of its own that is not marked to be closed, so
 * those are replaced by one that leads nowhere.
 */
function makeStdio(command: SandboxCommand, plan: SandboxPlan, nowhere: number): StdioOptions {
  const stdio: ('pipe' | 'ignore' | number)[] = [
    command.input === undefined ? 'ignore' : 'pipe',
    ...Array.from({ length: busAt - 1 + (plan.hosts.length > 0 ? 1 : 0) }, () => 'pipe' as const),
  ];
  const used = stdio.length;
  for (const descriptor of findInheritable()) {
    if (descriptor < used || descriptor === nowhere) continue;
    while (stdio.length < descriptor) stdio.push('ignore');
    stdio[descriptor] = nowhere;
  }
  return stdio;
}

const closeOnExec = 0o2000000;

/** Descriptors of this process that a child would inherit. */
function findInheritable(): readonly number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => {
      try {
        const flags = /^flags:\s*([0-7]+)/m.exec(
          readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'),
        )?.[1];
        return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
      } catch {
        return false; // closed meanwhile
      }
    });
}

type Status = {
  /** The first process of the sandbox, as the host numbers it. */
  readonly processId: () => number | undefined;
  /** Did the command start and end? */
  readonly hasEnded: () => boolean;
};

function sendSetup(child: ChildProcess, plan: SandboxPlan, command: SandboxCommand): Status {
  const pipes: readonly (Readable | Writable | null | undefined)[] = child.stdio;
  const write = (descriptor: number, content: string | Buffer): void => {
    const pipe = pipes[descriptor] as Writable | undefined;
    // bubblewrap may end before it has read everything. Its exit says so.
    pipe?.on('error', () => undefined);
    pipe?.end(content);
  };
  const given = toBubblewrapArguments(plan, {
    node: process.execPath,
    withFileProgram: command.withFileProgram ?? false,
  });
  write(argumentsAt, given.map((word) => `${word}\0`).join(''));
  write(filterAt, createSeccompFilter(process.arch));
  for (const [index, [, text]] of systemTexts.entries()) write(firstFileAt + index, text);
  if (command.input !== undefined) write(0, command.input);
  let text = '';
  (pipes[statusAt] as Readable | undefined)?.on('data', (chunk: Buffer) => {
    if (text.length < 10_000) text += chunk.toString();
  });
  return {
    processId: () => {
      const found = /"child-pid":\s*(\d+)/.exec(text)?.[1];
      return found === undefined ? undefined : Number(found);
    },
    hasEnded: () => /"exit-code":/.test(text),
  };
}

const watchEveryMs = 100;

/** Waits for the end of all processes, and stops them when a limit is passed. Resolves to the exit code. */
async function watchUntilEnd(
  child: ChildProcess,
  { limits, hosts }: SandboxPlan,
  watch: {
    readonly signal: AbortSignal | undefined;
    readonly status: Status;
    readonly stop: (why: SandboxStop) => void;
    readonly proxy: Proxy | undefined;
  },
): Promise<number | null | Error> {
  const { signal, status, stop, proxy } = watch;
  const cancel = (): void => stop('cancelled');
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted === true) cancel();
  const deadline = setTimeout(() => stop('timeout'), limits.timeoutMs);
  const meter = setInterval(() => {
    const first = status.processId();
    const used = first === undefined ? undefined : measure(first);
    if (used === undefined) return;
    if (used.processes > limits.processes) stop('processes');
    else if (used.bytes > limits.memoryMb * mebibyte) stop('memory');
  }, watchEveryMs);
  const pipes: readonly unknown[] = child.stdio;
  // A pipe of Node is a pair of sockets, so it carries both directions.
  if (hosts.length > 0) proxy?.serve(pipes[busAt] as Duplex, () => stop('relay'));
  try {
    return await new Promise((resolve) => {
      child.once('error', resolve);
      child.once('close', (code) => resolve(code));
    });
  } finally {
    clearTimeout(deadline);
    clearInterval(meter);
    signal?.removeEventListener('abort', cancel);
  }
}

/**
 * bubblewrap may end shortly before the first process of its namespace. The kernel has ended all others when that one
 * is gone, or waits to be collected by a parent.
 */
async function waitUntilGone(first: number | undefined): Promise<void> {
  if (first === undefined) return;
  for (let waitedMs = 0; waitedMs < longestEndMs; waitedMs++) {
    try {
      if (/^State:\s*[ZX]/m.test(readFileSync(`/proc/${first}/status`, 'latin1'))) return;
    } catch {
      return;
    }
    await setTimeoutPromise(1);
  }
  throw new Error(`Process ${first} of the sandbox was killed and has not ended.`);
}

/** A killed process can wait for a slow disk. */
const longestEndMs = 30_000;

/**
 * The processes of a sandbox and their memory, through its own /proc, which lists no others. Undefined when it has ended.
 */
function measure(first: number): { readonly processes: number; readonly bytes: number } | undefined {
  const folder = `/proc/${first}/root/proc`;
  let ids: readonly string[];
  try {
    ids = readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
  let bytes = 0;
  for (const id of ids)
    try {
      const status = readFileSync(`${folder}/${id}/status`, 'latin1');
      for (const [, kibibytes = '0'] of status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB/gm))
        bytes += Number(kibibytes) * 1_024;
    } catch {
      // The process has ended.
    }
  return { processes: ids.length, bytes };
}

/** Keeps the beginning and the end of a stream. */
export function createOutputKeeper(mostBytes: number): {
  readonly add: (chunk: Buffer) => void;
  readonly text: () => string;
  readonly omittedBytes: () => number;
} {
  const headBytes = Math.ceil(mostBytes / 2);
  const tailBytes = mostBytes - headBytes;
  const head: Buffer[] = [];
  let headLength = 0;
  let tail: Buffer = Buffer.alloc(0);
  let total = 0;
  const omittedBytes = (): number => Math.max(0, total - mostBytes);
  return {
    add: (chunk) => {
      total += chunk.length;
      const room = headBytes - headLength;
      // A copy: the chunk may be a small part of a large buffer.
      if (room > 0) head.push(Buffer.from(chunk.subarray(0, room)));
      headLength += Math.min(room, chunk.length);
      const rest = chunk.subarray(Math.max(0, room));
      if (rest.length > 0)
        tail =
          tailBytes === 0
            ? tail
            : Buffer.concat([tail, rest].map((each) => each.subarray(-tailBytes))).subarray(-tailBytes);
    },
    text: () => {
      const decode = (bytes: Buffer, stream: boolean): string => new TextDecoder().decode(bytes, { stream });
      const start = Buffer.concat(head);
      if (omittedBytes() === 0) return decode(Buffer.concat([start, tail]), false);
      // Both cuts may be in the middle of a letter.
      const from = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
      return `${decode(start, true)}\n[${omittedBytes()} bytes omitted here]\n${decode(tail.subarray(Math.max(0, from)), false)}`;
    },
    omittedBytes,
  };
}
