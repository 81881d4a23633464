/**
 * What the branches of a union refused. A validator reports one issue for the union, often with a message that says
 * nothing, such as "Invalid input". The branches are inside it: zod has `errors` or `unionErrors`, others have `issues`.
 */
import type { JsonPath } from '../base/json.ts';
import { formatPath } from '../base/json.ts';
import { toJsonPath } from './schema-issue.ts';

/** A model needs a few examples, not all branches. */
const mostBranches = 5;

type Issue = { readonly message?: unknown; readonly path?: unknown };

/** The message of an issue at this path, with the reasons of the branches. */
export function withBranches(message: string, issue: object, path: JsonPath): string {
  const { errors, unionErrors, issues } = issue as Readonly<Record<string, unknown>>;
  const branches = [errors, unionErrors, issues].find((list) => Array.isArray(list)) ?? [];
  const reasons = (branches as readonly unknown[]).flatMap((branch): readonly string[] => {
    const { message: reason, path: place } = firstIssue(branch);
    if (typeof reason !== 'string' || reason === '') return [];
    const steps = Array.isArray(place) ? toJsonPath(place, undefined) : [];
    // Zod 3 reports whole paths, the others report paths within the union.
    const inside = Array.isArray(unionErrors) ? steps.slice(path.length) : steps;
    const said = reason.startsWith(`${message}: `) ? reason.slice(message.length + 2) : reason;
    if (inside.length > 0) return [`${formatPath([...path, ...inside])}: ${said}`];
    return namesTypes.test(message) ? [] : [said];
  });
  const shown = [...new Set(reasons)];
  if (shown.length === 0) return message;
  const more = shown.length > mostBranches ? '; or …' : '';
  return `${message} (${shown.slice(0, mostBranches).join('; or ')}${more})`;
}

/** Some validators list the types of all branches in the message itself. */
const namesTypes = /expected/i;

/** A branch is a list of issues, an error with such a list, or one issue. */
function firstIssue(branch: unknown): Issue {
  const inError = (branch as { readonly issues?: unknown } | null)?.issues;
  const list: readonly unknown[] = Array.isArray(branch)
    ? branch
    : Array.isArray(inError)
      ? inError
      : [branch];
  return list[0] ?? {};
}
