/** Reads and changes the text of CHANGELOG.md. */

const unreleased = '## Unreleased';

/** The entries under "Unreleased", one per list item; throws if the heading is missing. */
export function unreleasedEntries(changelog: string): string[] {
  return sectionOf(changelog)
    .split(/^- /m)
    .slice(1)
    .map((entry) =>
      entry
        .replace(/\n#[^]*$/, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
}

/** The changelog with "Unreleased" empty and its entries under the new version. */
export function releaseEntries(changelog: string, version: string, date: string): string {
  if (unreleasedEntries(changelog).length === 0)
    throw new Error('CHANGELOG.md has no entries under "Unreleased". There is nothing to release.');
  return changelog.replace(`${unreleased}\n`, `${unreleased}\n\n## ${version} (${date})\n`);
}

function sectionOf(changelog: string): string {
  const start = changelog.indexOf(`${unreleased}\n`);
  if (start === -1) throw new Error('CHANGELOG.md has no heading "## Unreleased".');
  const rest = changelog.slice(start + unreleased.length);
  const end = rest.indexOf('\n## ');
  return end === -1 ? rest : rest.slice(0, end);
}
