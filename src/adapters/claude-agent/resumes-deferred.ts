/**
 * Whether a version of the SDK can go on with a call that was deferred. Before, it stopped the run and lost the call on
 * the way back; the earliest let the call through. Where it cannot, calls wait for people where they are.
 *
 * In the first message to a server the SDK gives its own version, or that of the program it starts.
 */
export function resumesDeferred(version: string): boolean {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  const found = parts.map(Number);
  if (found.length === 0) return false;
  const first = found[0] === 0 ? firstSdk : firstProgram;
  for (const [index, part] of first.entries()) if (found[index] !== part) return (found[index] ?? 0) > part;
  return true;
}

const firstSdk = [0, 3, 325] as const;
const firstProgram = [2, 1, 325] as const;
