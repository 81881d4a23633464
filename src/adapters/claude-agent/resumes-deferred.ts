/**
 * Can this version of the SDK resume a deferred call? Earlier versions stopped the run and lost the call on resume;
 * the earliest let the call run. In these versions, calls wait for approval in place.
 *
 * In its first message to a server the SDK sends its own version, or that of its program.
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
