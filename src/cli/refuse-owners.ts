/**
 * An owner of the ledger cannot decide through a program that it started. The start time of a process counts beside its
 * id, because the system uses ids again. Only processes above this one count, not this one.
 */
import { statSync } from 'node:fs';
import type { SystemProcess } from '../store/files/system-process.ts';
import { readAncestors, showProcessMark } from '../store/files/system-process.ts';
import { readOwnerProcesses } from '../store/owner-processes.ts';
import { exitCodes } from './exit-code.ts';
import { ledgerFile } from './find-ledger.ts';
import { terminalText } from './terminal-text.ts';
import { UsageError } from './usage-error.ts';

/** Refuses if a process that has the ledger open to run calls started this program, directly or not. */
export async function refuseOwners(url: string | undefined): Promise<void> {
  if (url === undefined) return;
  const path = ledgerFile(url);
  // Under a second name, the file has other owners and other tokens next to it.
  if (path !== undefined && (statSync(path, { throwIfNoEntry: false })?.nlink ?? 1) > 1)
    throw new UsageError(
      `The ledger file ${path} has several names (hard links), so its owners and tokens cannot be known. Remove the other names.`,
      [],
      exitCodes.bad,
    );
  const ancestor = await findOwnerAbove(url);
  if (ancestor === undefined) return;
  throw new UsageError(
    `${describeProcess(ancestor)} started this command and has the ledger open to run calls. A process that makes calls cannot decide about them, also not through a program that it starts.`,
    ['Run the command in a terminal that this process did not start, or use the console.'],
    exitCodes.bad,
  );
}

async function findOwnerAbove(url: string): Promise<SystemProcess | undefined> {
  const owners = new Set((await readOwnerProcesses(url)).map(showProcessMark));
  if (owners.size === 0) return undefined;
  for (const ancestor of readAncestors()) if (owners.has(showProcessMark(ancestor))) return ancestor;
  return undefined;
}

const describeProcess = ({ pid, name }: SystemProcess): string => `Process ${pid} (${terminalText(name)})`;
