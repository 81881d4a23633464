/** The parts of package.json that a release reads. */
export type Manifest = { readonly version: string; readonly repository?: unknown };

/**
 * Throws unless `next` is the next patch, minor or major version after `current`. Before the first release, `current`
 * itself is allowed: the changelog has no section for it yet.
 */
export function checkVersion(current: string, next: string, changelog: string): void {
  const candidates = [...(hasSection(changelog, current) ? [] : [current]), ...nextVersions(current)];
  if (!candidates.includes(next))
    throw new Error(`${next} does not follow ${current}. Expected one of ${candidates.join(', ')}.`);
}

function nextVersions(current: string): string[] {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number);
  return [`${major}.${minor}.${patch + 1}`, `${major}.${minor + 1}.0`, `${major + 1}.0.0`];
}

const hasSection = (changelog: string, version: string): boolean => changelog.includes(`\n## ${version} (`);

/** Everything that is missing before the current commit can be published. */
export function publishProblems(
  { version, repository }: Manifest,
  tags: readonly string[],
  unreleased: readonly string[],
  changelog: string,
): string[] {
  return [
    ...(repository === undefined
      ? ['package.json has no `repository`. Provenance needs the public address of the repository.']
      : []),
    ...(tags.includes(`v${version}`) ? [] : [`The current commit has no tag v${version}.`]),
    ...(hasSection(changelog, version) ? [] : [`CHANGELOG.md has no section "## ${version}".`]),
    ...(unreleased.length > 0
      ? [
          `CHANGELOG.md has ${unreleased.length} entries under "Unreleased". Run npm run release -- VERSION first.`,
        ]
      : []),
  ];
}
