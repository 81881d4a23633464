/** All packages have one version, and need each other in exactly that version. */

const isOwn = (name: string): boolean => name === 'quittance' || name.startsWith('@quittance/');

type Manifest = {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
};

/** The text of a package.json with the version. Its formatting and the versions of other packages stay. */
export const withVersion = (manifest: string, version: string): string =>
  write(setVersion(JSON.parse(manifest) as Manifest, version));

/** The text of the lock file of the workspace with the version. */
export function lockedWithVersion(lock: string, version: string): string {
  const { packages, ...rest } = JSON.parse(lock) as { readonly packages: Readonly<Record<string, Manifest>> };
  const changed = Object.entries(packages).map(([path, manifest]): [string, Manifest] => [
    path,
    path === '' || path.startsWith('packages/') ? setVersion(manifest, version) : manifest,
  ]);
  return write({ ...rest, version, packages: Object.fromEntries(changed) });
}

function setVersion(manifest: Manifest, version: string): Manifest {
  const ranges = (given: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(given).map(([name, range]) => [name, isOwn(name) ? version : range]));
  return {
    ...manifest,
    ...(manifest.version !== undefined && { version }),
    ...(manifest.dependencies && { dependencies: ranges(manifest.dependencies) }),
    ...(manifest.peerDependencies && { peerDependencies: ranges(manifest.peerDependencies) }),
  };
}

const write = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
