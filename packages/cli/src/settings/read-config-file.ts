/**
 * Reads the configuration file: YAML, or JSON, which is a subset of it. Every problem is reported with its line, and an
 * unknown key is one: a misspelt setting would silently have no effect.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DocumentReader } from 'quittance/internal/policy/read/document-reader';
import type { DocumentReading } from 'quittance/internal/policy/read/document-reading';
import { readYamlDocument } from 'quittance/internal/policy/read/yaml-document';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import { compileJsonSchema } from 'quittance/internal/tool/schema';
import { sourcePosition } from '../load-or-explain.ts';
import { UsageError } from '../usage-error.ts';
import type { Setting, Settings } from './setting.ts';
import { settingSections, spanPattern } from './setting.ts';

/** The values that one source gives: texts, or true or false for a switch. By name of the setting. */
export type GivenValues = ReadonlyMap<string, readonly string[] | boolean>;

export type ConfigReading = {
  readonly values: GivenValues;
  readonly problems: readonly ContractsProblem[];
};

/** Reads the file, or throws an error that lists its problems. */
export function readConfigFile(path: string, settings: Settings): GivenValues {
  const { values, problems } = tryConfigFile(path, settings);
  const [first, second] = problems;
  if (first === undefined) return values;
  const rest = problems.length - 2;
  throw new UsageError(
    [first, ...(second === undefined ? [] : [second])]
      .map((problem) => `${sourcePosition(problem)}: ${problem.message}`)
      .join(' ') + (rest > 0 ? ` And ${rest} more.` : ''),
    [`quittance doctor --config ${path}`, 'quittance help serve'],
  );
}

/** Reads the file. Throws only if it cannot be opened. */
export function tryConfigFile(path: string, settings: Settings): ConfigReading {
  const text = readText(path);
  const starts = [0, ...text.matchAll(/\n/g).map(({ index }) => index + 1)];
  const reading: DocumentReading = {
    source: path,
    locate: (offset) => {
      const line = starts.findLastIndex((start) => start <= offset);
      return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
    },
    problems: [],
  };
  const values = new Map<string, readonly string[] | boolean>();
  // A file with comments only is a configuration without settings.
  if (text.replaceAll(/^\s*(?:#.*)?$/gm, '').trim() === '') return { values, problems: [] };
  const node = readYamlDocument(text, reading);
  if (node === undefined) return { values, problems: reading.problems };
  const sections = settingSections(settings);
  const top = [...(sections.get('')?.keys() ?? []), ...sections.keys()].filter((key) => key !== '');
  const root = new DocumentReader(node, reading).closed(top);
  for (const [section, keys] of sections) {
    const at = section === '' ? root : root?.optional(section)?.closed([...keys.keys()]);
    for (const [key, name] of keys) {
      const member = at?.optional(key);
      const setting = settings[name];
      if (member === undefined || setting === undefined) continue;
      const value = readValue(member, setting);
      if (value !== undefined) values.set(name, resolveFiles(value, setting, path));
    }
  }
  return { values, problems: reading.problems };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'ENOENT'
        ? `There is no configuration file ${path}.`
        : `The configuration file ${path} cannot be read: ${code}.`,
      ['quittance serve --config quittance.yaml', 'export QUITTANCE_CONFIG=/etc/quittance/quittance.yaml'],
    );
  }
}

function readValue(member: DocumentReader, setting: Setting): readonly string[] | boolean | undefined {
  if (setting.kind === 'json') return readJson(member, setting);
  if (setting.value === undefined) return member.flag();
  const isList = setting.multiple === true && member.node.type === 'list';
  const items = isList ? (member.items() ?? []) : [member];
  const texts = items.map((item) => readScalar(item, setting));
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

function readScalar(member: DocumentReader, { kind, choices }: Setting): string | undefined {
  if (kind === 'integer') return member.integer({ least: 0 })?.toString();
  if (kind === 'span')
    return member.text({ pattern: spanPattern, patternWords: 'a time span such as 30s, 15m or 90d' });
  return choices === undefined ? member.text() : member.oneOf(choices);
}

function readJson(member: DocumentReader, { schema }: Setting): readonly string[] | undefined {
  const value = member.json();
  const issues = schema === undefined ? [] : compileJsonSchema(schema)(value);
  for (const { path, message } of issues)
    member.refuse(`${[member.name, ...path.map(String)].join('.')}: ${message}`);
  return issues.length > 0 ? undefined : [JSON.stringify(value)];
}

/** Relative names of files in the configuration are relative to its folder, wherever the server was started. */
function resolveFiles(
  value: readonly string[] | boolean,
  { file }: Setting,
  configPath: string,
): readonly string[] | boolean {
  if (file !== true || typeof value === 'boolean') return value;
  return value.map((path) => resolveFile(path, dirname(resolve(configPath))));
}

/** A ledger may also be a URL, such as `postgres://…`, or `sqlite:` and a path. */
function resolveFile(path: string, folder: string): string {
  const [, scheme = '', rest = ''] = /^(sqlite:)?(.*)$/su.exec(path) ?? [];
  return /^[a-z][\w+.-]+:/i.test(rest) ? path : `${scheme}${resolve(folder, rest)}`;
}
