/** Processes of this machine, as the system lists them. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, platform } from 'node:os';

/** The start time tells a process from a later one with the same id. Its form depends on the system. */
export type ProcessMark = {
  readonly pid: number;
  readonly startedAt: string;
  /** The space that the id counts in, on Linux: a container or `unshare --pid` has another one. */
  readonly namespace?: string;
  /** The running system, on Linux: every container on it has the same, and no other machine does. */
  readonly boot?: string;
};

export type SystemProcess = ProcessMark & { readonly parentId: number; readonly name: string };

/** Undefined if the process has ended, or if the system has neither `/proc` nor `ps`. */
export function readProcess(pid: number): SystemProcess | undefined {
  if (platform() === 'win32') return undefined;
  return platform() === 'linux' ? readFromProc(pid) : readFromPs(pid);
}

function readFromProc(pid: number): SystemProcess | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // `pid (name) state ppid …`: the name may contain spaces and brackets. The start time is field 22.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const [parentId, startedAt] = [Number(fields[1]), fields[19]];
  if (end === -1 || !Number.isSafeInteger(parentId) || startedAt === undefined) return undefined;
  return { pid, startedAt, parentId, name: text.slice(text.indexOf('(') + 1, end) };
}

function readFromPs(pid: number): SystemProcess | undefined {
  let text: string;
  try {
    // By its path: another program named ps could hide a process.
    text = execFileSync('/bin/ps', ['-o', 'ppid=,lstart=,comm=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return undefined;
  }
  // `ppid Mon Jan  2 15:04:05 2006 name`
  const found = /^\s*(\d+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/m.exec(text);
  const [, parentId, startedAt, name] = found ?? [];
  if (parentId === undefined || startedAt === undefined || name === undefined) return undefined;
  return { pid, startedAt: startedAt.replaceAll(/\s+/g, ' '), parentId: Number(parentId), name };
}

/** This process; undefined where the system does not list processes. */
export function readOwnProcess(): ProcessMark | undefined {
  const found = readProcess(process.pid);
  const [namespace, boot] = [readOwnNamespace(), readBoot()];
  return (
    found && {
      pid: found.pid,
      startedAt: found.startedAt,
      ...(namespace !== undefined && { namespace }),
      ...(boot !== undefined && { boot }),
    }
  );
}

/** Undefined where the system does not tell. */
function readBoot(): string | undefined {
  try {
    const found = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return bootPattern.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

const bootPattern = /^[0-9a-f-]{36}$/;

/** `pid:[4026531836]`; undefined where the system has no such spaces, or does not tell. */
export function readOwnNamespace(): string | undefined {
  try {
    const found = readlinkSync('/proc/self/ns/pid');
    return namespacePattern.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

const namespacePattern = /^pid:\[\d+\]$/;

/**
 * The process that started this one, the one that started that, and so on. Returns whether these are all: the first
 * process of the system may be hidden, the others may not.
 */
export function* readAncestors(): Generator<SystemProcess, boolean> {
  const seen = new Set([process.pid]);
  for (let pid = process.ppid; pid > 0 && !seen.has(pid);) {
    seen.add(pid);
    const found = readProcess(pid);
    if (found === undefined) return pid === 1;
    yield found;
    pid = found.parentId;
  }
  return true;
}

/** As one line, for where owners register. */
export const showProcessMark = ({ pid, startedAt, namespace, boot }: ProcessMark): string =>
  [pid, startedAt, namespace, boot].filter((part) => part !== undefined).join(' ');

export const isSameProcess = (one: ProcessMark, other: ProcessMark): boolean =>
  one.pid === other.pid && one.startedAt === other.startedAt;

export function parseProcessMark(text: string): ProcessMark | undefined {
  const [, pid, startedAt, namespace, boot] =
    /^(\d+) (.+?)(?: (pid:\[\d+\]))?(?: ([0-9a-f-]{36}))?$/.exec(text) ?? [];
  if (pid === undefined || startedAt === undefined) return undefined;
  return {
    pid: Number(pid),
    startedAt,
    ...(namespace !== undefined && { namespace }),
    ...(boot !== undefined && { boot }),
  };
}

/**
 * The process that a note such as `web-1 4711 1089277 pid:[4026531836] BOOT` names. `elsewhere`: it is on another
 * machine. Undefined: the note cannot be read, so the process may be on this one.
 *
 * A process can change the name of the host that it sees, so the running system decides. Earlier versions wrote notes
 * without it. Such a note counts by its host. If the host has another name, only the id and the start time count.
 */
export function readPlace(note: string, own: ProcessMark | undefined): ProcessMark | 'elsewhere' | undefined {
  const [host = '', ...rest] = note.split(' ');
  const isHere = host === '' || host === hostname();
  // The system of the owner lists no processes.
  if (rest.length === 0) return isHere ? undefined : 'elsewhere';
  const mark = parseProcessMark(rest.join(' '));
  if (mark === undefined) return undefined;
  if (mark.boot !== undefined && own?.boot !== undefined) return mark.boot === own.boot ? mark : 'elsewhere';
  return isHere ? mark : { pid: mark.pid, startedAt: mark.startedAt };
}
