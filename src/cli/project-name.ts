/**
 * A project name derived from the folder name. It must be valid as an npm package name and, more narrowly, as the
 * name of contracts.
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

/** Empty: a name in another script. npm reserves the next two. The last is the installed package. */
const refused: ReadonlySet<string> = new Set(['', 'node_modules', 'favicon.ico', 'quittance']);
