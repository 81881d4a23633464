/**
 * The folders that rules and the host name, resolved once for the loaded rules. A sandboxed call can replace a folder
 * inside a writable one by a link. A later plan must not follow that link.
 *
 * 1. A named path whose real path changed since the rules were loaded is refused.
 * 2. A named path that leads through a link inside a folder that calls could write is refused, also after a reload.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { realPath } from '../runtime/own-files.ts';
import { isInsideOne } from './covers.ts';

/** What a sandbox remembers between plans. */
export type SandboxAnchors = {
  /** Resolves these paths if the rules were loaded anew. Returns the real paths known. */
  readonly load: (rules: object, paths: () => readonly string[]) => readonly string[];
  /** Remembers folders that calls may write. They count for as long as the sandbox exists. */
  readonly addWritable: (folders: readonly string[]) => void;
  /** Throws if calls could have changed where this path leads. */
  readonly check: (path: string, what: string) => void;
  readonly writable: () => readonly string[];
  /** Where an excluded path led when the rules were loaded. A call may have replaced its link since. */
  readonly firstPlaceOf: (path: string) => string | undefined;
};

export function createAnchors(): SandboxAnchors {
  const writable = new Set<string>();
  let loaded: object | undefined;
  let places = new Map<string, string>();
  return {
    load: (rules, paths) => {
      if (rules !== loaded) {
        loaded = rules;
        places = new Map(paths().map((path) => [path, realPath(path)]));
      }
      return [...places.values()];
    },
    addWritable: (folders) => {
      for (const each of folders) writable.add(each);
    },
    check: (path, what) => {
      const link = findLinkIn(path, [...writable]);
      if (link !== undefined)
        throw new QuittanceError(
          'config.invalid',
          `${what} ${path} leads through the link ${link}, which a sandboxed command could have made. Check where it leads. Then remove the link, or name the real path.`,
        );
      const known = places.get(path);
      if (known !== undefined && known !== realPath(path))
        throw new QuittanceError(
          'config.invalid',
          `${what} ${path} led to ${known} when the rules were loaded. Now it leads to ${realPath(path)}. Load the rules again if the host changed it.`,
        );
    },
    writable: () => [...writable],
    firstPlaceOf: (path) => places.get(path),
  };
}

/** Most links that are followed in a row. Operating systems have the same limit. */
const mostLinks = 40;

/** The first link on the way of this path, and of its targets, that lies in one of these folders. */
export function findLinkIn(path: string, folders: readonly string[]): string | undefined {
  let at = '/';
  let links = 0;
  const rest = path.split('/');
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      at = dirname(at);
      continue;
    }
    const next = join(at, part);
    const target = readLink(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    links += 1;
    if (isInsideOne(folders, next) || links > mostLinks) return next;
    if (target.startsWith('/')) at = '/';
    rest.unshift(...target.split('/'));
  }
  return undefined;
}

function readLink(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
      ? readlinkSync(path)
      : undefined;
  } catch {
    return undefined; // the user who runs commands cannot look at it either
  }
}
