/**
 * Runs one command under bubblewrap, as a plan says. The command gets its own namespaces and a filter of system calls.
 * It gets no capabilities and no file descriptors of the host.
 *
 * 1. When this returns, no process of the call is left: the kernel ends all of them with the first process of the
 *    process namespace.
 * 2. The host keeps a bounded part of the output, whatever the command prints.
 * 3. The arguments go to bubblewrap through a pipe, so values of the environment do not appear in process lists.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readdirSync, statSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { QuittanceError } from '../base/error.ts';
import {
  argumentsAt,
  busAt,
  filterAt,
  firstFileAt,
  mebibyte,
  statusAt,
  systemTexts,
  toBubblewrapArguments,
  toInnerWords,
} from './bubblewrap-arguments.ts';
import { inodeOf } from './covers.ts';
import type { SandboxPlan } from './plan.ts';
import { createProxy, type Proxy } from './proxy.ts';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';

/** The programs that the executor needs on the host. */
type SandboxEngine = { readonly bubblewrap: string; readonly prlimit: string };

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

type RunOptions = {
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
      ['--args', String(argumentsAt), '--', ...toInnerWords(plan, engine.prlimit, command.words)],
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
    const used = first === undefined ? undefined : measureProcesses(first);
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

/* The processes of a sandbox, as the host sees them. */

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
 * The processes of a sandbox and their memory, through its own /proc, which lists no others. Undefined before it has
 * one, and when it has ended.
 */
export function measureProcesses(
  first: number,
): { readonly processes: number; readonly bytes: number } | undefined {
  const folder = `/proc/${first}/root/proc`;
  let ids: readonly string[];
  try {
    // Until its mounts are made, the sandbox still has the root of the host.
    if (statSync(folder).dev === statSync('/proc').dev) return undefined;
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

/**
 * The system calls that a sandboxed command may not make, as a program for the kernel's filter. Namespaces and missing
 * capabilities stop most escapes. The filter stops those that need neither:
 *
 * - Unix sockets of the host. A socket file in a writable folder, such as `docker.sock`, leads out of every namespace.
 *   Pairs of connected stream sockets stay allowed, because programs talk to their children through them. Pairs of
 *   datagram sockets are not: such a socket can still send to any address.
 * - Sockets of other families. `AF_VSOCK` reaches the hypervisor, because it has no namespace.
 * - `io_uring`, which makes sockets without the system call that is filtered.
 * - Keyrings, which a process inherits. The kernel's log. Input for the terminal of the host.
 * - Interfaces of the kernel that commands do not need and attackers like: bpf, perf, userfaultfd.
 */

type Numbers = { readonly x64: number; readonly arm64: number };

const socket: Numbers = { x64: 41, arm64: 198 };
const socketpair: Numbers = { x64: 53, arm64: 199 };
const ioctl: Numbers = { x64: 16, arm64: 29 };

const refused: Readonly<Record<string, Numbers>> = {
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  syslog: { x64: 103, arm64: 116 },
};

/** IPv4, IPv6, and the messages by which libraries list interfaces. All three belong to the network namespace. */
const allowedFamilies = [2, 10, 16];
const unixFamily = 1;
const streamType = 1;
/** The type of a socket without its flags. */
const typeMask = 0xf;
const terminalInput = [0x5412, 0x541c];

// TIOCSTI, TIOCLINUX

const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

// Offsets in the kernel's seccomp_data, for little-endian machines: the lower half of an argument comes first.
const numberAt = 0;
const architectureAt = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const allow = 0x7fff0000;
const kill = 0x80000000;
const refuse = 0x00050001;

// EPERM

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const answer = (value: number): Instruction => [0x06, 0, 0, value];
const and = (value: number): Instruction => [0x54, 0, 0, value];
/** Continues with the next instruction if equal, and skips `otherwise` instructions if not. */
const equals = (value: number, otherwise: number): Instruction => [0x15, 0, otherwise, value];
const atLeast = (value: number, otherwise: number): Instruction => [0x35, 0, otherwise, value];

/** The filter as bubblewrap reads it from `--seccomp`. Throws for a processor without a table here. */
export function createSeccompFilter(architecture: string): Buffer {
  if (architecture !== 'x64' && architecture !== 'arm64')
    throw new QuittanceError(
      'config.invalid',
      `The sandboxed executor runs on x64 and arm64. This machine is ${architecture}. Use a container or a virtual machine there.`,
    );
  const of = (numbers: Numbers): number => numbers[architecture];
  /** Runs the block for this system call only. The block must end with an answer. */
  const on = (number: number, block: readonly Instruction[]): readonly Instruction[] => [
    equals(number, block.length),
    ...block,
  ];
  const program: readonly Instruction[] = [
    load(architectureAt),
    // A 32-bit program has other numbers.
    equals(architectures[architecture], 1),
    [0x05, 0, 0, 1], // jump over the answer
    answer(kill),
    load(numberAt),
    // Numbers of the x32 interface.
    atLeast(0x40000000, 1),
    answer(refuse),
    ...Object.values(refused).flatMap((numbers) => on(of(numbers), [answer(refuse)])),
    ...on(of(socket), [
      load(argumentAt(0)),
      ...allowedFamilies.flatMap((family) => [equals(family, 1), answer(allow)]),
      answer(refuse),
    ]),
    ...on(of(socketpair), [
      load(argumentAt(0)),
      equals(unixFamily, 4),
      load(argumentAt(1)),
      and(typeMask),
      equals(streamType, 1),
      answer(allow),
      answer(refuse),
    ]),
    ...on(of(ioctl), [
      load(argumentAt(1)),
      ...terminalInput.flatMap((request) => [equals(request, 1), answer(refuse)]),
      answer(allow),
    ]),
    answer(allow),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
