/** Finds sandbox rules that allow the agent into a folder with the runtime's own files. */
import type { ComposedRules } from '../language/composed-rules.ts';
import { readBase, type Base } from '../sandbox/found-path.ts';
import { foldParts, readPath } from '../sandbox/path-spelling.ts';
import { locateOwnFile, normalizePart, type OwnFile, type OwnFilesWorld } from './own-file.ts';
import { relatePath } from './relate-path.ts';

export type Exposure = {
  readonly ruleId: string;
  readonly source: string | undefined;
  readonly line: number | undefined;
  /** The entry of `within`, as written. */
  readonly area: string;
  readonly file: OwnFile;
};

/** The package lies in `node_modules` of most projects and may be read, so it needs no warning. */
const isWorthAWarning = ({ kind }: OwnFile): boolean => kind !== 'runtime_package';

export function findExposures(
  composed: ComposedRules,
  files: readonly OwnFile[],
  world: Pick<OwnFilesWorld, 'realPath' | 'workingDirectories' | 'homeDirectory'>,
): readonly Exposure[] {
  const placed = files.filter(isWorthAWarning).map((file) => locateOwnFile(file, world.realPath));
  return composed.rules.flatMap(({ id, source, line, rule }) => {
    if (rule.type !== 'sandbox') return [];
    const denied = rule.notWithin.flatMap((area) => placesOf(area, world));
    const found: Exposure[] = [];
    for (const area of rule.within ?? [])
      for (const own of placed) {
        const holds = placesOf(area, world).some((place) => covers(place, own));
        if (!holds || denied.some((place) => covers(place, own))) continue;
        found.push({ ruleId: id, source, line, area, file: own.file });
      }
    return found;
  });
}

const covers = (place: Base, own: ReturnType<typeof locateOwnFile>): boolean =>
  relatePath([place.root, ...place.parts].map(normalizePart), own) !== undefined &&
  own.paths.some(({ parts }) => parts.length > place.parts.length);

/** Start of a rule's prefix: as spelled, and with links resolved. */
function placesOf(area: string, world: Parameters<typeof findExposures>[2]): readonly Base[] {
  return (readPath(area) ?? []).flatMap((spelling) => {
    const starts =
      spelling.root === undefined
        ? world.workingDirectories().slice(0, 1)
        : spelling.root === '~'
          ? [world.homeDirectory ?? '']
          : [spelling.root === '/' ? '/' : `${spelling.root}/`];
    return starts.flatMap((start) => {
      const base = readBase(start);
      if (base === undefined) return [];
      const parts = foldParts([...base.parts, ...spelling.parts]);
      const path = base.root === '/' ? `/${parts.join('/')}` : `${base.root}/${parts.join('/')}`;
      return [
        { root: base.root, parts },
        ...(readBase(world.realPath(path)) === undefined ? [] : [readBase(world.realPath(path)) as Base]),
      ];
    });
  });
}
