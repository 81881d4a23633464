/**
 * What a call names, as texts for conditions: `found.paths`, `found.names`, `found.hosts`, `found.commands`,
 * `found.urls`. Found in all arguments, at every depth, as for sandbox rules; a condition holds if it holds for one of
 * them.
 */
import type { JsonValue } from '../base/json.ts';
import { roleOf, type ArgumentRole } from './argument-role.ts';
import type { FoundTexts } from './found-kinds.ts';
import type { FoundPath } from './found-path.ts';
import type { PolicyCall } from './policy-call.ts';
import type { Resources } from './resources.ts';
import type { ProgramRun } from './run-programs.ts';

const longestName = 256;
const longestUrl = 8192;
const mostTexts = 2000;

export function toTexts(
  call: PolicyCall,
  { paths, commands, hosts }: Resources,
  workingDirectory: string | undefined,
): FoundTexts {
  const names = new Set<string>();
  const urls = new Set<string>();
  readStrings(call.input, (text, role) => {
    if (
      text.length <= longestName &&
      !/^(?:prose|words|command)$/.test(role) &&
      text !== '' &&
      !/\s/.test(text)
    )
      names.add(text);
    if (role === 'url' && text.length <= longestUrl) urls.add(text.trim());
    if (role !== 'prose' || !/\s/.test(text))
      for (const [url] of text.slice(0, longestUrl).matchAll(/[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi))
        urls.add(url);
  });
  return {
    paths: [...new Set(paths.flatMap(pathTexts).map((path) => relate(path, workingDirectory)))],
    names: [...names],
    hosts: [
      ...new Set(hosts.flatMap(({ name, carries = [] }) => (name === undefined ? [] : [name, ...carries]))),
    ],
    commands: [...new Set(commands.flatMap(({ runs }) => (runs ?? []).flatMap(runTexts)))],
    urls: [...urls],
  };
}

/** Every text of the arguments with the role of its place; keys are texts of their own. */
function readStrings(input: JsonValue, visit: (text: string, role: ArgumentRole) => void): void {
  const rest: { readonly value: JsonValue; readonly role: ArgumentRole }[] = [
    { value: input, role: 'other' },
  ];
  let seen = 0;
  for (let item = rest.pop(); item !== undefined && seen < mostTexts; item = rest.pop()) {
    const { value, role } = item;
    if (typeof value === 'string') {
      seen++;
      visit(value, role);
    } else if (Array.isArray(value))
      for (const inner of value as readonly JsonValue[]) rest.push({ value: inner, role });
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) {
        visit(key, 'other');
        const own = roleOf(key);
        rest.push({ value: inner, role: own === 'other' ? role : own });
      }
  }
}

/** Below the working directory as `./…`: the names of the folders above say nothing about the call. */
function relate(path: string, directory: string | undefined): string {
  const base = directory?.replace(/\/+$/, '');
  return base !== undefined && base !== '' && path.startsWith(`${base}/`)
    ? `.${path.slice(base.length)}`
    : path;
}

function pathTexts(path: FoundPath): readonly string[] {
  switch (path.type) {
    case 'placed':
      return [path.path, ...(path.real() ?? [])];
    case 'pattern':
      return [`${path.folder.path.replace(/\/$/, '')}/${path.parts.join('/')}`];
    case 'floating':
      return [path.parts.join('/')];
    case 'unreadable':
      return [];
  }
}

/** The words of a command and of those it runs, the program without its folder. */
function runTexts({ words, inner }: ProgramRun): readonly string[] {
  const [first = '', ...rest] = words.map(({ text }) => text);
  const program = first.slice(first.lastIndexOf('/') + 1);
  return [
    [program, ...rest].join(' '),
    ...inner.flatMap(({ runs }) => (typeof runs === 'object' ? runs.flatMap(runTexts) : [])),
  ];
}
