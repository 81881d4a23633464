import { existsSync, globSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { beforeAll, expect, test } from 'vitest';
import type { Door } from '../scripts/packages.ts';
import { readPackages } from '../scripts/packages.ts';
import { root } from './sources.ts';

const packages = readPackages().filter(({ isPrivate }) => !isPrivate);
const doors: readonly Door[] = packages.flatMap((each) => each.doors);

let program: ts.Program;
beforeAll(() => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  program = ts.createProgram(
    doors.map(({ source }) => join(root, source)),
    options,
  );
});

test('every door exports exactly the names listed in test/doors.txt', async () => {
  // A changed list is a changed public interface. If it is intended: npx vitest run test/doors.test.ts -u
  const listing = doors.map((door) => [door.name, ...exportedNames(program, door)].join('\n')).join('\n\n');
  await expect(`${listing}\n`).toMatchFileSnapshot('doors.txt');
});

/** Every framework's door exports these names for that framework. */
const onePerFramework: ReadonlySet<string> = new Set(['governTools', 'GovernedTools']);
const isFramework = (door: string): boolean =>
  existsSync(join(root, door.replace('@quittance', 'packages'), 'src/govern-tools.ts'));

test('a name means one thing: no two doors export different things under one name', () => {
  const meanings = new Map<string, Map<string, string[]>>();
  for (const door of doors)
    for (const symbol of exportsOf(program, door)) {
      if (onePerFramework.has(symbol.name) && isFramework(door.name)) continue;
      const meaning = declarationOf(program, symbol);
      const known = meanings.get(symbol.name) ?? new Map<string, string[]>();
      meanings.set(symbol.name, known.set(meaning, [...(known.get(meaning) ?? []), door.name]));
    }
  const ambiguous = [...meanings]
    .filter(([, known]) => known.size > 1)
    .map(([name, known]) => `${name}: ${[...known.values()].join(' and ')}`);
  expect(ambiguous).toEqual([]);
});

test('the root door stays small: at most 95 names', () => {
  const [rootDoor] = doors;
  expect(rootDoor?.name).toBe('quittance');
  expect(rootDoor && exportsOf(program, rootDoor).length).toBeLessThanOrEqual(95);
});

test('an index.ts exists only at a door', () => {
  const barrels = globSync('packages/*/src/**/index.ts', { cwd: root }).map((path) =>
    path.split(sep).join('/'),
  );
  expect(barrels.filter((path) => !doors.some(({ source }) => source === path))).toEqual([]);
});

test('every door is built to a file of its own and declares its types', () => {
  for (const { manifest, doors: own } of packages) {
    expect(new Set(own.map(({ built }) => built)).size).toBe(own.length);
    for (const door of Object.values(manifest.exports ?? {})) {
      if (typeof door === 'string') continue;
      expect(Object.keys(door)).toEqual(['quittance-source', 'types', 'default']);
      expect(door.types).toBe(door.default.replace(/\.js$/, '.d.ts'));
    }
  }
});

/** `value name` for exports that exist at run time, `type name` for types. */
function exportedNames(compiled: ts.Program, door: Door): string[] {
  const checker = compiled.getTypeChecker();
  return exportsOf(compiled, door)
    .map((symbol) => `  ${isValue(checker, symbol) ? 'value' : 'type '} ${symbol.name}`)
    .toSorted();
}

function exportsOf(compiled: ts.Program, { source }: Door): readonly ts.Symbol[] {
  const file = compiled.getSourceFile(join(root, source));
  if (file === undefined) throw new Error(`The door ${source} does not exist.`);
  const module = compiled.getTypeChecker().getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`The door ${source} is not a module.`);
  return compiled.getTypeChecker().getExportsOfModule(module);
}

/** Where an export is declared. */
function declarationOf(compiled: ts.Program, symbol: ts.Symbol): string {
  const target =
    symbol.flags & ts.SymbolFlags.Alias ? compiled.getTypeChecker().getAliasedSymbol(symbol) : symbol;
  return (target.declarations ?? []).map((each) => `${each.getSourceFile().fileName}:${each.pos}`).join();
}

function isValue(checker: ts.TypeChecker, symbol: ts.Symbol): boolean {
  const typeOnly = symbol.declarations?.some(ts.isTypeOnlyExportDeclaration) ?? false;
  if (typeOnly) return false;
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return (target.flags & ts.SymbolFlags.Value) !== 0;
}
