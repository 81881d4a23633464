/** The processes of a sandbox, as the host sees them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';

/**
 * bubblewrap may end shortly before the first process of its namespace. The kernel has ended all others when that one
 * is gone, or waits to be collected by a parent.
 */
export async function waitUntilGone(first: number | undefined): Promise<void> {
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
