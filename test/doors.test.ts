import { existsSync, globSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { beforeAll, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { root } from './sources.ts';

interface Door {
  readonly name: string;
  readonly source: string;
}

const doors: Door[] = Object.entries(manifest.exports).flatMap(([subpath, door]) =>
  typeof door === 'string'
    ? []
    : [{ name: subpath.replace('.', 'quittance'), source: door['quittance-source'].replace('./', '') }],
);

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
  existsSync(join(root, 'packages/adapter-kit/src', door.replace('quittance/', ''), 'govern-tools.ts'));

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

test('a barrel exists only at a door: every src/*.ts and src/**/index.ts is in package.json exports', () => {
  const barrels = globSync(['src/*.ts', 'src/**/index.ts'], { cwd: root }).map((path) =>
    path.split(sep).join('/'),
  );
  const unlisted = barrels
    .filter((path) => !/\.test(-d)?\.ts$/.test(path))
    .filter((path) => !doors.some(({ source }) => source === path));
  expect(unlisted).toEqual([]);
});

test('every door is built to a file of its own and declares its types', () => {
  for (const [subpath, door] of Object.entries(manifest.exports)) {
    if (typeof door === 'string') continue;
    const name = subpath === '.' ? 'index' : subpath.replace('./', '');
    expect(Object.keys(door)).toEqual(['quittance-source', 'types', 'default']);
    expect(door).toMatchObject({ types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` });
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
