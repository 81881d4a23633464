import { globSync } from 'node:fs';
import { join, sep } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
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

test('every door exports exactly the names listed in test/doors.txt', async () => {
  // A changed list is a changed public interface. When it is meant: npx vitest run test/doors.test.ts -u
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(
    doors.map(({ source }) => join(root, source)),
    options,
  );
  const listing = doors.map((door) => [door.name, ...exportedNames(program, door)].join('\n')).join('\n\n');
  await expect(`${listing}\n`).toMatchFileSnapshot('doors.txt');
});

test('a barrel stands only at a door: every src/*.ts and src/**/index.ts is in package.json exports', () => {
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

/** `value name` for what exists at run time, `type name` for what only the compiler sees. */
function exportedNames(program: ts.Program, { source }: Door): string[] {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(join(root, source));
  if (file === undefined) throw new Error(`The door ${source} does not exist.`);
  const module = checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`The door ${source} is not a module.`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => `  ${isValue(checker, symbol) ? 'value' : 'type '} ${symbol.name}`)
    .toSorted();
}

function isValue(checker: ts.TypeChecker, symbol: ts.Symbol): boolean {
  const typeOnly = symbol.declarations?.some(ts.isTypeOnlyExportDeclaration) ?? false;
  if (typeOnly) return false;
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return (target.flags & ts.SymbolFlags.Value) !== 0;
}
