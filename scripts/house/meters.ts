/**
 * Meters of the structure: how many files a reader opens to follow a call, and how wide the ports are. Each but the
 * lines has a recorded value in meters.json, which may only go down.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

export type Meters = {
  /** Files of the packages that run for a plain call on SQLite. */
  readonly filesOfPlainCall: number;
  /** The same for a call that is held, and approved in another process. */
  readonly filesOfHeldCall: number;
  /** Files that exactly one other file imports. */
  readonly filesWithOneImporter: number;
  /** Members of the port `Ledger` and of the ports in it. */
  readonly membersOfLedger: number;
  /** Programs that run in a thread of their own. */
  readonly kindsOfThreads: number;
};

/** A timer that runs during a trace may add files. */
const backgroundFiles = 4;

type Sources = ReadonlyMap<string, string>;

export function measure(root: string): Meters {
  const sources = readSources(root);
  return {
    ...traceCalls(root),
    filesWithOneImporter: [...countImporters(root, sources).values()].filter((count) => count === 1).length,
    membersOfLedger: countLedgerMembers(root),
    kindsOfThreads: countThreads(sources),
  };
}

/** Lines by package, and of the core by room, without tests. Printed, not enforced. */
export function linesByFolder(root: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const [path, text] of readSources(root)) {
    const [, folder = '', , room = ''] = relative(root, path).split('/');
    const name = folder !== 'quittance' ? folder : room.endsWith('.ts') ? 'doors' : `quittance/${room}`;
    lines.set(name, (lines.get(name) ?? 0) + text.split('\n').length - 1);
  }
  return lines;
}

/** The meters that are worse than the recorded ones, in words. */
export const worseMeters = (measured: Meters, recorded: Meters): readonly string[] =>
  (Object.keys(recorded) as (keyof Meters)[])
    .filter((name) => measured[name] > recorded[name] + (name.startsWith('filesOf') ? backgroundFiles : 0))
    .map(
      (name) =>
        `${name} rose from ${recorded[name]} to ${measured[name]}. Merge files, or drop what one caller needs from the port.`,
    );

function readSources(root: string): Sources {
  const paths = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root, exclude: ['packages/console/**'] })
    .filter((name) => !/\.(?:test|test-d|property\.test)\.tsx?$/.test(name))
    .map((name) => join(root, name));
  return new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
}

function countImporters(root: string, sources: Sources): ReadonlyMap<string, number> {
  const counts = new Map([...sources.keys()].map((path) => [path, 0]));
  for (const [path, text] of sources) {
    const imported = new Set(
      [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, name = '']) =>
        resolve(dirname(path), name),
      ),
    );
    for (const [, folder = '', inner = ''] of text.matchAll(
      /'(?:@quittance\/)?([a-z-]+)\/internal\/([\w/.-]+)'/g,
    ))
      imported.add(join(root, 'packages', folder, 'src', `${inner}.ts`));
    for (const each of imported) if (counts.has(each)) counts.set(each, (counts.get(each) ?? 0) + 1);
  }
  return counts;
}

const countThreads = (sources: Sources): number =>
  [...sources.values()].filter((text) =>
    /import \{[^}]*\bparentPort\b[^}]*\} from 'node:worker_threads'/.test(text),
  ).length;

/** A member that is a port of its own counts as its members. */
function countLedgerMembers(root: string): number {
  const file = join(root, 'packages/quittance/src/ledger/ledger.ts');
  const program = ts.createProgram([file], {
    allowImportingTsExtensions: true,
    module: ts.ModuleKind.NodeNext,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const ledger = source?.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === 'Ledger',
  );
  if (ledger === undefined)
    throw new Error('packages/quittance/src/ledger/ledger.ts has no interface Ledger.');
  return checker
    .getTypeAtLocation(ledger)
    .getProperties()
    .map((member) => checker.getNonNullableType(checker.getTypeOfSymbol(member)))
    .map((type) => (isPort(type) ? type.getProperties().length : 1))
    .reduce((sum, count) => sum + count, 0);
}

const isPort = (type: ts.Type): boolean =>
  type.symbol?.declarations?.some(
    (declared) =>
      ts.isInterfaceDeclaration(declared) && /\/src\/ledger\//.test(declared.getSourceFile().fileName),
  ) === true;

function traceCalls(root: string): Pick<Meters, 'filesOfPlainCall' | 'filesOfHeldCall'> {
  const line = execFileSync('npm', ['run', '--silent', 'trace', '--', '--json'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // The last line of scripts/trace.ts.
  const { trace } = JSON.parse(line) as { trace: readonly { name: string; files: number }[] };
  const filesOf = (start: string): number => trace.find(({ name }) => name.startsWith(start))?.files ?? 0;
  return { filesOfPlainCall: filesOf('turn.call to its outcome'), filesOfHeldCall: filesOf('held') };
}
