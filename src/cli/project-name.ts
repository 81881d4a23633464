/**
 * A name for the project in a folder, made of the folder's: one that npm takes for a package, and that contracts take
 * too, which is narrower.
 */
export function projectName(folder: string): string {
  const name = folder
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, longest);
  return refused.has(name) ? standIn : name;
}

const standIn = 'my-agent';
const longest = 100;

/** Nothing is left of a name in another script. npm takes the next two for no package; the last is what is installed. */
const refused: ReadonlySet<string> = new Set(['', 'node_modules', 'favicon.ico', 'quittance']);
