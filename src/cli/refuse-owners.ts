/**
 * An owner of the ledger cannot decide through a program that it started. The start time of a process counts beside its
 * id, because the system uses ids again. Only processes above this one count, not this one.
 */
import { statSync } from 'node:fs';
import { platform } from 'node:os';
import type { ProcessMark, SystemProcess } from '../store/files/system-process.ts';
import {
  isSameProcess,
  readAncestors,
  readOwnNamespace,
  readOwnProcess,
} from '../store/files/system-process.ts';
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
  const owners = await readOwnerProcesses(url);
  if (owners.length === 0) return;
  // If the system lists no processes, no owner has a mark and none can be found. A Linux without /proc hides them.
  if (
    readOwnProcess() === undefined &&
    owners.every((owner) => owner === undefined) &&
    platform() !== 'linux'
  )
    return;
  const { ancestor, isComplete } = findAbove(owners.filter((owner) => owner !== undefined));
  if (ancestor === undefined) {
    const problem = whyUnknown(owners, isComplete);
    if (problem === undefined) return;
    throw new UsageError(
      `${problem} So it is not known whether a process that makes calls started this command.`,
      [
        'Run the command on the machine and in the container of that process, or use the console.',
        'Restart that process if it runs an older version or its record was changed: it then records its process id again.',
      ],
      exitCodes.bad,
    );
  }
  throw new UsageError(
    `${describeProcess(ancestor)} started this command and has the ledger open to run calls. A process that makes calls cannot decide about them, also not through a program that it starts.`,
    ['Run the command in a terminal that this process did not start, or use the console.'],
    exitCodes.bad,
  );
}

type Above = { readonly ancestor: SystemProcess | undefined; readonly isComplete: boolean };

function findAbove(owners: readonly ProcessMark[], tries = 10): Above {
  const ancestors = readAncestors();
  for (;;) {
    const { done, value } = ancestors.next();
    if (done === true)
      // A process above may have ended meanwhile. Those below it then have another parent.
      return value || tries === 1 ? { ancestor: undefined, isComplete: value } : findAbove(owners, tries - 1);
    if (owners.some((owner) => isSameProcess(owner, value))) return { ancestor: value, isComplete: true };
  }
}

/** Why an owner may be above although it was not found; undefined if it cannot be. */
function whyUnknown(owners: readonly (ProcessMark | undefined)[], isComplete: boolean): string | undefined {
  if (owners.includes(undefined))
    return 'A process has the ledger open to run calls, and the process id that it recorded with the ledger is missing or cannot be read.';
  if (!isComplete) return 'Not all processes that led to this command can be read.';
  const own = readOwnNamespace();
  if (owners.some((owner) => owner?.namespace !== undefined && owner.namespace !== own))
    return 'A process that has the ledger open to run calls is in another process namespace, such as a container.';
  return undefined;
}

const describeProcess = ({ pid, name }: SystemProcess): string => `Process ${pid} (${terminalText(name)})`;
