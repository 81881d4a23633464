/**
 * Compares tool schemas with the JSON Schema Test Suite: `npm run schema-suite -- FOLDER`. FOLDER is a checkout of
 * that suite, or a folder in it that contains `tests`. Prints a table by class and file, and one line of JSON.
 *
 * Nothing is fetched. So the documents in `remotes` that a schema refers to are bundled into its `$defs` first, as an
 * author of a tool does.
 *
 * A schema that cannot be checked correctly must be refused when the tool is defined. A verdict therefore agrees; is
 * stricter by choice, because formats are checked; is a refusal; or is wrong. Only the last is silent.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { isQuittanceError } from 'quittance';
import { compileSchema } from '../../packages/quittance/src/tool/schema.ts';
import { printTable } from '../table.ts';

type Group = {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly {
    readonly description: string;
    readonly data: unknown;
    readonly valid: boolean;
  }[];
};

type End = 'agrees' | 'stricter' | 'refused' | 'wrong';
type Tally = { tests: number } & Record<End, number>;

const drafts = ['draft2020-12', 'draft2019-09', 'draft7', 'draft6'];
const dialects: Readonly<Record<string, string>> = {
  'draft2019-09': 'https://json-schema.org/draft/2019-09/schema',
  draft7: 'http://json-schema.org/draft-07/schema#',
  draft6: 'http://json-schema.org/draft-06/schema#',
};

const folder = process.argv[2];
const tests = folder === undefined ? undefined : [join(folder, 'tests'), folder].find(hasDrafts);
if (tests === undefined) {
  process.stderr.write(
    `${folder === undefined ? 'Missing folder.' : `${folder} contains no tests/${drafts[0] ?? ''}.`} ` +
      'Clone the suite first:\n  git clone --depth 1 ' +
      'https://github.com/json-schema-org/JSON-Schema-Test-Suite suite\n  npm run schema-suite -- ' +
      'suite\n',
  );
  process.exitCode = 2;
} else run(tests);

function hasDrafts(path: string): boolean {
  return drafts.some((draft) => existsSync(join(path, draft)));
}

function run(root: string): void {
  const classes = new Map<string, Map<string, Tally>>();
  const wrong: string[] = [];
  for (const draft of drafts.filter((name) => existsSync(join(root, name)))) {
    const remotes = readRemotes(join(root, '../remotes', draft), draft);
    for (const file of findFiles(join(root, draft))) {
      const name = relative(join(root, draft), file);
      const isOptional = name.startsWith('optional');
      const label = `${draft} ${!isOptional ? 'mandatory' : /format[\\/]/.test(name) ? 'optional, formats' : 'optional'}`;
      const files = classes.get(label) ?? new Map<string, Tally>();
      classes.set(label, files);
      const tally = { tests: 0, agrees: 0, stricter: 0, refused: 0, wrong: 0 };
      files.set(name, tally);
      for (const group of JSON.parse(readFileSync(file, 'utf8')) as readonly Group[])
        for (const { at, end } of judge({ ...group, schema: bundle(group.schema, remotes) }, draft)) {
          tally.tests++;
          tally[end]++;
          if (end === 'wrong') wrong.push(`${label}: ${name}: ${group.description}: ${at}`);
        }
    }
  }
  print(classes, wrong);
}

type Remote = { readonly id: string; readonly name: string; readonly schema: object };

function readRemotes(folder: string, draft: string): readonly Remote[] {
  if (!existsSync(folder)) return [];
  return findFiles(folder).map((file) => ({
    id: `http://localhost:1234/${draft}/${relative(folder, file).replaceAll('\\', '/')}`,
    name: basename(file),
    schema: JSON.parse(readFileSync(file, 'utf8')) as object,
  }));
}

/** The schema with every remote document that it, or another of them, names. */
function bundle(schema: unknown, remotes: readonly Remote[]): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const isNamed = (text: string, { name }: Remote): boolean =>
    text.includes(`/${name}`) || text.includes(`"${name}`);
  let named: readonly Remote[] = [];
  for (;;) {
    const text = JSON.stringify([schema, ...named.map(({ schema: remote }) => remote)]);
    const more = remotes.filter((remote) => isNamed(text, remote));
    if (more.length === named.length) break;
    named = more;
  }
  if (named.length === 0) return schema;
  const bundled = named.flatMap(({ id, schema: remote }): [string, object][] => {
    const { $id } = remote as { $id?: string };
    const own = $id === undefined ? id : new URL($id, id).href;
    // A document that has another name is there under both.
    const alias: [string, object][] = own === id ? [] : [[`remote ${id}`, { $id: id, $ref: own }]];
    return [[`remote ${own}`, { ...remote, $id: own }], ...alias];
  });
  const { $defs } = schema as { $defs?: object };
  return { ...schema, $defs: { ...$defs, ...Object.fromEntries(bundled) } };
}

function judge(
  { schema, tests: cases }: Group,
  draft: string,
): readonly { readonly at: string; readonly end: End }[] {
  const $schema = dialects[draft];
  const named =
    $schema === undefined || typeof schema !== 'object' || schema === null || '$schema' in schema
      ? schema
      : { $schema, ...schema };
  let compiled: ReturnType<typeof compileSchema>;
  try {
    compiled = compileSchema(named, { what: 'output', tool: 'suite' });
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    return cases.map(({ description }) => ({ at: description, end: 'refused' }));
  }
  return cases.map(({ description, data, valid }) => {
    const check = compiled.check(data);
    if (check instanceof Promise) throw new TypeError('A JSON Schema must answer synchronously.');
    const { ok } = check as { readonly ok: boolean };
    if (ok === valid) return { at: description, end: 'agrees' };
    // The suite treats `format` as an annotation; here known formats are checked.
    const isFormat =
      valid && 'issues' in check && check.issues.every(({ message }) => /format/.test(message));
    return { at: description, end: isFormat ? 'stricter' : 'wrong' };
  });
}

function findFiles(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(path, name));
}

function print(classes: ReadonlyMap<string, ReadonlyMap<string, Tally>>, wrong: readonly string[]): void {
  const add = (tallies: Iterable<Tally>): Tally => {
    const sum = { tests: 0, agrees: 0, stricter: 0, refused: 0, wrong: 0 };
    for (const tally of tallies)
      for (const key of ['tests', 'agrees', 'stricter', 'refused', 'wrong'] as const) sum[key] += tally[key];
    return sum;
  };
  const cells = ({ tests: all, agrees, stricter, refused, wrong: bad }: Tally): readonly string[] => [
    String(all),
    String(agrees),
    String(stricter),
    String(refused),
    String(bad),
    `${all === 0 ? '100.0' : ((agrees / all) * 100).toFixed(1)} %`,
  ];
  const heading = ['class', 'tests', 'agrees', 'stricter', 'refused', 'wrong', 'agreement'];
  printTable(
    heading,
    [...classes].map(([label, files]) => [label, ...cells(add(files.values()))]),
  );
  const short = [...classes].flatMap(([label, files]) =>
    [...files]
      .filter(([, tally]) => tally.agrees < tally.tests)
      .map(([name, tally]) => [`${label}: ${name}`, ...cells(tally)]),
  );
  if (short.length > 0) printTable(['files that do not fully agree', ...heading.slice(1)], short);
  for (const line of wrong) process.stdout.write(`wrong: ${line}\n`);
  if (wrong.length > 0) process.stdout.write('\n');
  const summary = Object.fromEntries([...classes].map(([label, files]) => [label, add(files.values())]));
  const silent = wrong.filter((line) => line.includes(' mandatory: ')).length;
  process.stdout.write(
    `${JSON.stringify({ type: 'schema-suite', classes: summary, silentlyWrongMandatory: silent })}\n`,
  );
  // The command fails if the schema gives a wrong verdict without a refusal.
  if (silent > 0) process.exitCode = 1;
}
