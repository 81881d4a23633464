/** The names that files declare and export, and the words they are made of. */
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { parseSource, root, walk, type Source } from './sources.ts';

export type Exported = { readonly name: string; readonly isFunction: boolean; readonly path: string };

/** Every source file of the package and of the console, without tests. */
export function readNamedSources(): readonly Source[] {
  return globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => !/\.test(-d)?\.tsx?$/.test(path))
    .toSorted()
    .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
}

/** The exports of a file: its declarations, and re-exports by name. */
export function exportsOf({ path, tree }: Source): readonly Exported[] {
  return tree.statements.flatMap((statement): readonly Exported[] => {
    if (ts.isExportDeclaration(statement)) return reExported(statement, path);
    if (!ts.canHaveModifiers(statement) || !isExported(statement)) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name, initializer }) => ({
        name: name.getText(tree),
        isFunction: initializer !== undefined && ts.isArrowFunction(initializer),
        path,
      }));
    const { name } = statement as { readonly name?: ts.Node };
    return name === undefined
      ? []
      : [{ name: name.getText(tree), isFunction: ts.isFunctionDeclaration(statement), path }];
  });
}

const reExported = ({ exportClause }: ts.ExportDeclaration, path: string): readonly Exported[] =>
  exportClause !== undefined && ts.isNamedExports(exportClause)
    ? exportClause.elements.map(({ name }) => ({ name: name.text, isFunction: false, path }))
    : [];

const isExported = (node: ts.HasModifiers): boolean =>
  ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;

/** Every name that a file declares: variables, parameters, functions, types and their members. */
export function declaredNames({ tree }: Source): ReadonlySet<string> {
  const found = new Set<string>();
  walk(tree, (node) => {
    if (ts.isPropertyAccessExpression(node) || ts.isImportSpecifier(node) || ts.isExportSpecifier(node))
      return;
    const { name } = node as { readonly name?: ts.Node };
    if (name !== undefined && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name))) found.add(name.text);
  });
  return found;
}

/** `readJsonText`, `read-json-text` and `READ_JSON_TEXT` have the words read, json and text. */
export const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
