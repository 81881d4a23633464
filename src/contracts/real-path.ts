/** The port of policies to the file system: where a path leads once links are followed. */
import { readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, join, parse, resolve, sep } from 'node:path';

/** As many links without a target as are followed one behind the other; systems give up here as well. */
const mostLinks = 40;

/**
 * The path with every link of its longest existing ancestor resolved, and the rest as written. A link whose target is
 * missing exists: who writes to it makes the target. Gives back what it cannot resolve, and never throws.
 */
export function realPath(absolutePath: string): string {
  if (!isAbsolute(absolutePath)) return absolutePath;
  return attempt(() => realpathSync.native(absolutePath)) ?? walk(resolve(absolutePath), mostLinks);
}

/** Component by component from the top, until one is missing. */
function walk(path: string, linksLeft: number): string {
  const { root } = parse(path);
  const parts = path.slice(root.length).split(sep);
  let reached = root;
  for (const [index, part] of parts.entries()) {
    const next = join(reached, part);
    const real = attempt(() => realpathSync.native(next));
    if (real === undefined) {
      const target = attempt(() => readlinkSync(next));
      if (target === undefined || linksLeft === 0) return join(next, ...parts.slice(index + 1));
      return walk(resolve(reached, target, ...parts.slice(index + 1)), linksLeft - 1);
    }
    reached = real;
  }
  return reached;
}

function attempt(look: () => string): string | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
