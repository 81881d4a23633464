/**
 * The baseline of bench/policy.ts: a simple implementation of the policy language. It scans all rules for every call,
 * matches the tool by a precompiled regular expression, and evaluates the condition as a tree. It does less than
 * ours: backtracking patterns, no limits, no messages, and a sandbox that checks only `path`.
 */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

export type ScannedCall = { readonly toolName: string; readonly input: Readonly<Record<string, unknown>> };

type Tree = { readonly [word: string]: unknown };
type Rule = {
  readonly type: string;
  readonly tool: string;
  readonly when: Tree;
  readonly within: readonly string[];
};
type Scanned = { readonly rule: Rule; readonly matches: RegExp; readonly patterns: Map<string, RegExp> };

export type LinearScan = {
  /** Number of rules that fire. */
  readonly before: (call: ScannedCall) => number;
  readonly after: (call: ScannedCall, output: unknown) => number;
};

export function createLinearScan(texts: readonly string[]): LinearScan {
  const rules = texts
    .flatMap((text) => (parse(text) as { rules: Rule[] }).rules)
    .map((rule): Scanned => ({ rule, matches: globToRegExp(rule.tool), patterns: new Map() }));
  return {
    before: (call) => {
      let fired = 0;
      for (const { rule, matches, patterns } of rules) {
        if (rule.type === 'post' || !matches.test(call.toolName)) continue;
        if (rule.type === 'sandbox' ? isOutside(rule, call) : holds(rule.when, call, undefined, patterns))
          fired++;
      }
      return fired;
    },
    after: (call, output) => {
      const text = typeof output === 'string' ? output : JSON.stringify(output);
      let fired = 0;
      for (const { rule, matches, patterns } of rules)
        if (rule.type === 'post' && matches.test(call.toolName) && holds(rule.when, call, text, patterns))
          fired++;
      return fired;
    },
  };
}

const globToRegExp = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .replaceAll(/[.+^${}()|\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  );

function holds(
  tree: Tree,
  call: ScannedCall,
  text: string | undefined,
  patterns: Map<string, RegExp>,
): boolean {
  for (const [word, below] of Object.entries(tree)) {
    if (word === 'all') return (below as Tree[]).every((each) => holds(each, call, text, patterns));
    if (word === 'any') return (below as Tree[]).some((each) => holds(each, call, text, patterns));
    if (word === 'not') return !holds(below as Tree, call, text, patterns);
    const [operator, operand] = Object.entries(below as Tree)[0] as [string, unknown];
    return compare(operator, operand, select(word, call, text), patterns);
  }
  return false;
}

function select(selector: string, call: ScannedCall, text: string | undefined): unknown {
  if (selector === 'output.text') return text;
  let at: unknown = { args: call.input, tool: { name: call.toolName } };
  for (const key of selector.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Tree)[key];
  }
  return at;
}

function compare(operator: string, operand: unknown, field: unknown, patterns: Map<string, RegExp>): boolean {
  switch (operator) {
    case 'equals':
      return field === operand;
    case 'contains':
      return typeof field === 'string' && field.includes(operand as string);
    case 'gt':
      return typeof field === 'number' && field > (operand as number);
    case 'matches': {
      const source = operand as string;
      let pattern = patterns.get(source);
      if (pattern === undefined) patterns.set(source, (pattern = new RegExp(source)));
      return typeof field === 'string' && pattern.test(field);
    }
    default:
      throw new Error(`The linear scan does not support the operator ${operator}.`);
  }
}

function isOutside({ within }: Rule, { input }: ScannedCall): boolean {
  let path = resolve(String(input['path']));
  try {
    path = realpathSync.native(path);
  } catch {
    // The path does not exist: use it as written.
  }
  return !within.some((allowed) => path === allowed || path.startsWith(`${allowed}/`));
}
