/** Collects the paths that texts of one call name, in every spelling and once per use. */
import { decodePercent } from '../sandbox/percent-decoding.ts';
import type { PathSpelling } from '../sandbox/path-spelling.ts';
import { ResourceReader } from '../sandbox/resource-reader.ts';
import type { FileUse } from './command-use.ts';
import { expandBraces, expandPathVariables, tailOf } from './expand-path.ts';

export type NamedPath = PathUse & { readonly spelling: PathSpelling };

export type PathUse = {
  readonly use: FileUse;
  /** The folder is acted upon, not only used as a starting point. */
  readonly isTarget: boolean;
  /** The path is in a command: a shell's wildcards skip hidden names. */
  readonly inCommand: boolean;
  /** Starts at a place the runtime does not know, such as a variable. */
  readonly isTail: boolean;
};

const mostCandidates = 1_500;
export const longestPath = 4_096;

export class PathCollector {
  readonly #readers = new Map<string, { readonly reader: ResourceReader; readonly how: PathUse }>();
  readonly #direct = new Map<string, NamedPath>();
  /** Texts already read, by use: a long script names the same files repeatedly. */
  readonly #read = new Set<string>();
  /** Number of candidates so far. */
  count = 0;

  /** If so, the call is denied, whatever else it names. */
  get isFull(): boolean {
    return this.count > mostCandidates;
  }

  get paths(): readonly NamedPath[] {
    const paths: NamedPath[] = [...this.#direct.values()];
    for (const { reader, how } of this.#readers.values())
      for (const spelling of reader.paths.values())
        if (how.isTail || !this.#direct.has(keyOf(how, spelling))) paths.push({ ...how, spelling });
    return paths;
  }

  add(text: string, how: PathUse): void {
    const known = `${keyOfUse(how)} ${text}`;
    if (this.isFull || text.length > longestPath || this.#read.has(known)) return;
    this.#read.add(known);
    for (const one of expandBraces(text)) {
      this.count++;
      const expanded = expandPathVariables(one);
      const tail = tailOf(expanded);
      if (tail !== undefined) this.#readerFor({ ...how, isTail: true }).readPath(tail, true);
      this.#readerFor(how).readPath(expanded, true);
      this.#spellDirectly(expanded, how);
      // Any scheme may come before a path: `sqlite:x`, `jar:file:x`.
      const bare = expanded.replace(/^(?:[a-z][a-z0-9+.-]+:)+(?:\/\/(?=\/))?/i, '');
      if (bare !== expanded && bare !== '')
        this.#readerFor(how).readPath(bare.split(/[?#!]/, 1)[0] ?? '', true);
    }
  }

  /**
   * An allow list cannot read paths such as `/proc/self/fd/3` or a file stream. They still lead to a file, so the file
   * system is asked.
   */
  #spellDirectly(text: string, how: PathUse): void {
    for (const one of new Set([text.trim(), decodePercent(text).trim()])) {
      if (one.includes('\0')) continue;
      const root = one.startsWith('/') ? '/' : /^~(?=$|[/\\])/.test(one) ? '~' : undefined;
      const parts = (root === '~' ? one.slice(1) : one)
        .split('/')
        .filter((part) => part !== '' && part !== '.');
      const spelling = { root, parts } as const;
      this.#direct.set(keyOf(how, spelling), { ...how, spelling });
    }
  }

  #readerFor(how: PathUse): ResourceReader {
    const key = keyOfUse(how);
    const known = this.#readers.get(key) ?? { reader: new ResourceReader(), how };
    this.#readers.set(key, known);
    return known.reader;
  }
}

const keyOfUse = ({ use, isTarget, inCommand, isTail }: PathUse): string =>
  `${use} ${isTarget} ${inCommand} ${isTail}`;

const keyOf = (how: PathUse, { root, parts }: PathSpelling): string =>
  `${keyOfUse(how)} ${root ?? ''} ${parts.join('/')}`;
