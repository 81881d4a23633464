import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import ts from 'typescript';
import { readPackages } from '../scripts/packages.ts';

/** The repository, wherever it is checked out. */
export const root: string = join(import.meta.dirname, '..');

/** One file of a package, with a path relative to the repository (`packages/quittance/src/call/decide.ts`). */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

/** An import as written: static, type-only, re-exported, dynamic or inside a type (`import('./x.ts').X`). */
export interface Import {
  readonly from: string;
  /** A repository path if `isFile`, otherwise the name of another package or `node:` module. */
  readonly to: string;
  readonly isFile: boolean;
  /** The name of the package of this repository, if the import says it instead of a path. */
  readonly name: string | undefined;
  readonly line: number;
}

/** Every published source file. Their tests may import anything and are left out. */
export function readSources(): Source[] {
  return globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root, exclude: ['packages/console/**'] })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => !/\.test(-d)?\.tsx?$/.test(path))
    .toSorted()
    .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
}

export function parseSource(path: string, text: string): Source {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  walk(source.tree, (node) => {
    const specifier = specifierOf(node);
    if (specifier === undefined) return;
    const line = lineOf(source, node);
    if (specifier.text.startsWith('.')) {
      const to = posix.join(posix.dirname(source.path), specifier.text);
      found.push({ from: source.path, to, isFile: true, name: undefined, line });
      return;
    }
    const own = findOwn(specifier.text);
    found.push({
      from: source.path,
      to: own?.path ?? specifier.text,
      isFile: own !== undefined,
      name: own?.name,
      line,
    });
  });
  return found;
}

const packages = readPackages();

/** The module of this repository that a program imports by the name of its package. */
function findOwn(specifier: string): { readonly name: string; readonly path: string } | undefined {
  for (const { name, folder, doors } of packages) {
    const door = doors.find((each) => each.name === specifier);
    if (door !== undefined) return { name, path: door.source };
    const [, inner] = specifier.startsWith(`${name}/`)
      ? (/^(?:internal|src)\/(.+?)(?:\.tsx?)?$/.exec(specifier.slice(name.length + 1)) ?? [])
      : [];
    if (inner === undefined) continue;
    const isPage = existsSync(join(root, `${folder}/src/${inner}.tsx`));
    return { name, path: `${folder}/src/${inner}.${isPage ? 'tsx' : 'ts'}` };
  }
  return undefined;
}

function specifierOf(node: ts.Node): ts.StringLiteralLike | undefined {
  let specifier: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) specifier = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    specifier = node.argument.literal;
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    specifier = node.arguments[0];
  return specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier : undefined;
}

export function lineOf(source: Source, node: ts.Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1;
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}
