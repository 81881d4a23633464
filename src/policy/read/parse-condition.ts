/**
 * Parses the conditions of stage gates: a name and its arguments, `exec("npm test", exit_code=0)`. Texts are in
 * double quotes with JSON escapes, so a backslash of a regular expression is written twice.
 */
import { nearestNames, quote } from '../../base/nearest.ts';
import type { RegexReading } from '../regex/linear-regex.ts';
import type { StageCondition } from '../language/workflow.ts';

export type ConditionReading =
  | { readonly ok: true; readonly condition: StageCondition }
  | { readonly ok: false; readonly problem: string };

/** The syntax of each condition. */
const forms = {
  stage_complete: 'stage_complete("stage")',
  file_read: 'file_read("path")',
  approval: 'approval() or approval("stage")',
  command_matches: 'command_matches("pattern")',
  command_not_matches: 'command_not_matches("pattern")',
  mcp_result_matches: 'mcp_result_matches("tool", "field", "value")',
  exec: 'exec("command", exit_code=0)',
} as const;
type ConditionName = StageCondition['type'];

const isConditionName = (name: string): name is ConditionName => Object.hasOwn(forms, name);

export function parseCondition(
  text: string,
  parseRegex: (pattern: string) => RegexReading,
): ConditionReading {
  const name = /^\s*([A-Za-z_]\w*)\s*\(/.exec(text);
  if (name?.[1] === undefined)
    return refuse(`${quote(text)} is not a condition; expected one of ${formList()}.`);
  if (!isConditionName(name[1])) {
    const [nearest] = nearestNames(name[1], Object.keys(forms), 1);
    const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
    return refuse(`There is no condition named ${quote(name[1])}.${meant} Known conditions: ${formList()}.`);
  }
  const read = readArguments(text, name[0].length);
  if (typeof read === 'string') return refuse(`${read} Expected ${forms[name[1]]}.`);
  return build(name[1], read.texts, read.exitCode, parseRegex);
}

function build(
  name: ConditionName,
  texts: readonly string[],
  exitCode: number | undefined,
  parseRegex: (pattern: string) => RegexReading,
): ConditionReading {
  const [first, second, third] = texts;
  const takes = name === 'mcp_result_matches' ? 3 : 1;
  if (exitCode !== undefined && name !== 'exec')
    return refuse(`${name} takes no exit_code; expected ${forms[name]}.`);
  if (name === 'approval' && texts.length < 2) return accept({ type: name, stageId: first || undefined });
  if (texts.length !== takes || first === undefined)
    return refuse(
      `${name} has ${texts.length} ${texts.length === 1 ? 'text' : 'texts'}; expected ${forms[name]}.`,
    );
  switch (name) {
    case 'stage_complete':
      return accept({ type: name, stageId: first });
    case 'file_read':
      return first === '' ? refuse('file_read has an empty path.') : accept({ type: name, path: first });
    case 'approval':
      return accept({ type: name, stageId: first });
    case 'command_matches':
    case 'command_not_matches': {
      // In JSON text `\b` is a backspace: the pattern could never match, and the check would never apply.
      if (/[\b\f]/.test(first))
        return refuse(
          `The pattern of ${name} contains a backspace or form feed; a word boundary is written \\\\b.`,
        );
      const reading = parseRegex(first);
      if (!reading.ok) return refuse(`The regex ${quote(first)} of ${name} is invalid: ${reading.problem}`);
      return accept({ type: name, regex: reading.regex });
    }
    case 'mcp_result_matches':
      return accept({ type: name, tool: first, field: second ?? '', value: third ?? '' });
    case 'exec':
      return first.trim() === ''
        ? refuse('exec has an empty command.')
        : accept({ type: name, command: first, exitCode: exitCode ?? 0 });
  }
}

type Arguments = { readonly texts: readonly string[]; readonly exitCode: number | undefined };

/** Texts, then an optional exit code, then the closing parenthesis; else the problem. */
function readArguments(source: string, start: number): Arguments | string {
  const texts: string[] = [];
  let exitCode: number | undefined;
  let at = skipSpace(source, start);
  if (source[at] === ')') return endsAt(source, at) ?? { texts, exitCode };
  for (;;) {
    if (source[at] === '"') {
      const end = endOfText(source, at);
      if (end === undefined) return 'A text has no closing quotation mark.';
      const text = unescape(source.slice(at, end));
      if (text === undefined)
        return `${quote(source.slice(at, end))} is not a valid JSON string; a backslash is written twice.`;
      texts.push(text);
      at = end;
    } else {
      const code = /^exit_code\s*=\s*(\d{1,10})(?!\w)/.exec(source.slice(at, at + 64));
      if (code?.[1] === undefined)
        return `Found ${quote(source.slice(at, at + 20))}; expected a text in double quotes.`;
      exitCode = Number(code[1]);
      at += code[0].length;
    }
    at = skipSpace(source, at);
    if (source[at] === ')') return endsAt(source, at) ?? { texts, exitCode };
    if (source[at] !== ',' || exitCode !== undefined) return 'The condition has no closing parenthesis.';
    at = skipSpace(source, at + 1);
  }
}

function endsAt(source: string, parenthesis: number): string | undefined {
  const rest = source.slice(parenthesis + 1).trim();
  return rest === '' ? undefined : `${quote(rest)} follows the condition; a gate has exactly one condition.`;
}

function skipSpace(source: string, start: number): number {
  let at = start;
  while (source[at] === ' ' || source[at] === '\t' || source[at] === '\n' || source[at] === '\r') at++;
  return at;
}

/** The position after the closing quotation mark. */
function endOfText(source: string, start: number): number | undefined {
  for (let at = start + 1; at < source.length; at++)
    if (source[at] === '\\') at++;
    else if (source[at] === '"') return at + 1;
  return undefined;
}

function unescape(quoted: string): string | undefined {
  try {
    const text: unknown = JSON.parse(quoted);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

const formList = (): string => Object.values(forms).join(', ');
const accept = (condition: StageCondition): ConditionReading => ({ ok: true, condition });
const refuse = (problem: string): ConditionReading => ({ ok: false, problem });
