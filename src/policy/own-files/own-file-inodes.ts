import type { OwnFile, OwnFilesWorld, LocatedOwnFile } from './own-file.ts';

/** Own files by device and inode, looked up only for a path that has several names. */
export class Inodes {
  readonly #placed: readonly LocatedOwnFile[];
  readonly #world: OwnFilesWorld;
  #known: ReadonlyMap<string, OwnFile> | undefined;

  constructor(placed: readonly LocatedOwnFile[], world: OwnFilesWorld) {
    this.#placed = placed;
    this.#world = world;
  }

  find(path: string): OwnFile | undefined {
    const inode = this.#world.sharedInode(path);
    if (inode === undefined) return undefined;
    this.#known ??= new Map(
      this.#placed.flatMap(({ file }) => this.#world.inodesOf(file).map((each) => [each, file] as const)),
    );
    return this.#known.get(inode);
  }
}
