/** The packages of the workspace, by their manifests. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

export type Door = {
  /** As a program imports it: `@quittance/server/notifications`. */
  readonly name: string;
  /** From the root: `packages/server/src/notifications.ts`. */
  readonly source: string;
  /** Without extension, below `dist`. */
  readonly built: string;
};

export type Package = {
  readonly name: string;
  /** From the root: `packages/server`. */
  readonly folder: string;
  readonly version: string;
  readonly isPrivate: boolean;
  readonly doors: readonly Door[];
  /** The packages whose modules it may import. */
  readonly dependencies: ReadonlySet<string>;
  readonly manifest: Manifest;
};

type Target = { readonly 'quittance-source': string; readonly types: string; readonly default: string };
export type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly private?: boolean;
  readonly files?: readonly string[];
  readonly exports?: Readonly<Record<string, Target | string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
};

const root = join(import.meta.dirname, '..');

/** In the order of their folders, the core first. */
export function readPackages(): readonly Package[] {
  return globSync('packages/*/package.json', { cwd: root })
    .map((path) => path.split(sep).join('/'))
    .map((path) => readPackage(dirname(path)))
    .toSorted((left, right) => rank(left).localeCompare(rank(right)));
}

const rank = ({ name }: Package): string => (name === 'quittance' ? '' : name);

function readPackage(folder: string): Package {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest; // one of our own
  const { name, version, dependencies, peerDependencies } = manifest;
  const doors = Object.entries(manifest.exports ?? {}).flatMap(([path, target]) =>
    typeof target === 'string' || path.includes('*')
      ? []
      : [
          {
            name: path.replace('.', name),
            source: target['quittance-source'].replace('./', `${folder}/`),
            built: target.default.replace(/^\.\/dist\/|\.js$/g, ''),
          },
        ],
  );
  return {
    name,
    folder,
    version,
    isPrivate: manifest.private === true,
    doors,
    dependencies: new Set(Object.keys({ ...dependencies, ...peerDependencies })),
    manifest,
  };
}
