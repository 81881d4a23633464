/** What is wrong with a value that may be one of several things, told of the one it comes closest to being. */
import { isJsonObject } from '../base/json.ts';
import type { JsonSchemaChecker } from '../tool/json-schema.ts';
import { compileJsonSchema } from '../tool/json-schema.ts';
import type { SchemaIssue } from '../tool/schema-issue.ts';
import type { AnyShape } from './shape.ts';
import { wholeSchema } from './shape.ts';

export function checkOptions(options: readonly AnyShape[]): JsonSchemaChecker {
  const checks = options.map((option) => compileJsonSchema(wholeSchema(option)));
  return (value) => {
    const tried = checks.map((check) => check(value));
    if (tried.some((issues) => issues.length === 0)) return [];
    const given = isJsonObject(value) ? Object.keys(value) : [];
    /** Issues with what is there, as against what is missing. */
    const wrong = (issues: readonly SchemaIssue[]): readonly SchemaIssue[] =>
      issues.filter(({ path: [field] }) => field === undefined || given.includes(String(field)));
    const wrongFields = tried.map((issues) => new Set(wrong(issues).map(({ path: [field] }) => field)).size);
    const fewest = Math.min(...wrongFields);
    const closest = tried.filter((_, index) => wrongFields[index] === fewest);
    if (closest.length === 1) return closest.flat();
    // Several are as close: what only one of them lacks is nothing to somebody who means another.
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
