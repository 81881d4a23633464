/** Checks a value against several alternatives. Issues name the alternative that the value comes closest to. */
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type { JsonSchemaChecker } from '../tool/json-schema.ts';
import { compileJsonSchema } from '../tool/json-schema.ts';
import type { SchemaIssue } from '../tool/schema-issue.ts';

export function checkOptions(options: readonly JsonObject[]): JsonSchemaChecker {
  const checks = options.map((option) => compileJsonSchema(option));
  return (value) => {
    const tried = checks.map((check) => check(value));
    if (tried.some((issues) => issues.length === 0)) return [];
    const given = isJsonObject(value) ? Object.keys(value) : [];
    /** Issues about fields that are present, not about missing ones. */
    const wrong = (issues: readonly SchemaIssue[]): readonly SchemaIssue[] =>
      issues.filter(({ path: [field] }) => field === undefined || given.includes(String(field)));
    const wrongFields = tried.map((issues) => new Set(wrong(issues).map(({ path: [field] }) => field)).size);
    const fewest = Math.min(...wrongFields);
    const closest = tried.filter((_, index) => wrongFields[index] === fewest);
    if (closest.length === 1) return closest.flat();
    // Several are equally close: a field that only one of them lacks says nothing about the others.
    if (fewest > 0) return closest.flatMap(wrong);
    const [first = [], ...others] = closest;
    const common = first.filter((issue) =>
      others.every((issues) => issues.some((each) => isAlike(each, issue))),
    );
    return common.length > 0 ? common : closest.flat();
  };
}

const isAlike = (one: SchemaIssue, other: SchemaIssue): boolean =>
  one.message === other.message && one.path.join('/') === other.path.join('/');
