import { unreleasedEntries } from './changelog-text.ts';

/** A file that differs from the main branch. */
export type ChangedFile = { readonly path: string; readonly before: string; readonly after: string };

/** Files that change only if users can see the change, and the part of the product each describes. */
const visible: readonly (readonly [pattern: RegExp, part: string])[] = [
  [/^test\/doors\.txt$/, 'the exported names'],
  [/^packages\/quittance\/schema\//, 'the events or the contract language'],
  [/^packages\/quittance\/templates\//, 'the templates'],
  [/^docs\/(?:reason-codes|outcomes|audit|model-content)\.md$/, 'the reasons or the outcomes'],
];

/** The parts of `package.json` that users depend on. */
const manifestFields = [
  'exports',
  'bin',
  'engines',
  'dependencies',
  'optionalDependencies',
  'peerDependencies',
];

/** The parts of the product that changed. */
export function visibleChanges(files: readonly ChangedFile[]): string[] {
  const parts = files.flatMap(({ path, before, after }) => {
    if (/^packages\/[^/]+\/package\.json$/.test(path))
      return changedFields(before, after).map((field) => `\`${field}\` of ${path}`);
    return visible.filter(([pattern]) => pattern.test(path)).map(([, part]) => `${part} (${path})`);
  });
  return [...new Set(parts)];
}

function changedFields(before: string, after: string): string[] {
  const fieldOf = (text: string, field: string): string => {
    const manifest: unknown = text === '' ? {} : JSON.parse(text);
    return JSON.stringify(new Map(Object.entries(manifest as object)).get(field)) ?? '';
  };
  return manifestFields.filter((field) => fieldOf(before, field) !== fieldOf(after, field));
}

/** Does the changelog say something that it did not say before? */
export function hasNewEntry(before: string, after: string): boolean {
  const known = new Set(unreleasedEntries(before));
  return unreleasedEntries(after).some((entry) => !known.has(entry));
}
